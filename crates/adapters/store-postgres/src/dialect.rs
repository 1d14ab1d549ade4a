//! Postgres-specific SQL and behaviour.

use std::future::{Ready, ready};
use std::time::{Duration, Instant};

use diesel::QueryResult;
use vestry_store_rows::filter_sql::Deadline;

pub(crate) use super::array_queries::{
    add_activity, append_step_by_step, append_to_audit_log, commit_to_audit_log,
    sessions_by_tokens, wallets_with_keys, whole_user_rows,
};
pub(crate) use super::commit::commit_with_events;
pub(crate) use super::connection::{Conn, classify, close};
pub(crate) use super::events::place;
pub(crate) use super::manager::Manager;

/// Opens a writing transaction, together with its first statement.
pub(crate) fn begin(conn: &mut Conn, begin: &'static str) -> Ready<QueryResult<()>> {
    conn.begin(begin);
    ready(Ok(()))
}

/// Opens a read transaction in which each statement sees everything committed before it begins, as it would without a transaction.
pub(crate) const BEGIN_READS: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY";

/// Sets the statement timeout of this transaction. 0 would disable it.
pub(crate) fn limit(left: Duration) -> String {
    let milliseconds = left.as_millis().clamp(1, 3_600_000);
    format!("SET LOCAL statement_timeout = {milliseconds}")
}

/// The server enforces the deadline.
pub(crate) const fn deadline(_end: Instant) -> Deadline {
    Deadline::NONE
}

/// How long a rollback may take before the connection is closed, which rolls back as well.
pub(crate) const ROLLBACK_TIMEOUT: Duration = Duration::from_secs(5);

/// 1 if diesel's migrations table exists, else 0.
pub(crate) const COUNT_BOOKS_OF_MIGRATIONS: &str = "SELECT count(*) FROM information_schema.tables \
     WHERE table_schema = current_schema() AND table_name = '__diesel_schema_migrations'";

/// 1 if a restore has begun and not ended, else 0.
pub(crate) const COUNT_UNFINISHED_RESTORES: &str = "SELECT count(*) FROM information_schema.tables \
     WHERE table_schema = current_schema() AND table_name = 'unfinished_restore'";

/// Leases due jobs of a queue, and skips those that another worker is leasing at the moment.
///
/// Each priority and lane with jobs is found with one look-up in the index, then the first due jobs of each. The cost does not grow with the
/// number of jobs. The jobs of a lane are taken in rounds: one share of each lane before the next share of any.
///
/// Parameters: owner, end of the lease, time, maximum number of jobs, environment, channel, share of a lane, jobs to look up in each lane.
/// The last is more than are leased, because others may be leasing the first ones.
pub(crate) const CLAIM: &str = "\
    WITH RECURSIVE lanes AS ( \
        (SELECT priority, lane FROM outbox WHERE ended_at IS NULL AND environment = $5 AND channel = $6 \
            ORDER BY priority, lane LIMIT 1) \
        UNION ALL \
        SELECT further.priority, further.lane FROM lanes CROSS JOIN LATERAL ( \
            SELECT priority, lane FROM outbox WHERE ended_at IS NULL AND environment = $5 AND channel = $6 \
                AND (priority, lane) > (lanes.priority, lanes.lane) \
            ORDER BY priority, lane LIMIT 1 \
        ) AS further \
    ), \
    first AS ( \
        SELECT job.app_id, job.environment, job.id, job.due_at, lanes.priority, (row_number() OVER ( \
                PARTITION BY lanes.lane ORDER BY lanes.priority, job.due_at, job.id \
            ) - 1) / $7 AS round \
        FROM lanes CROSS JOIN LATERAL ( \
            SELECT app_id, environment, id, due_at FROM outbox \
            WHERE ended_at IS NULL AND environment = $5 AND channel = $6 \
                AND priority = lanes.priority AND lane = lanes.lane AND due_at <= $3 \
            ORDER BY due_at, id LIMIT $8 \
        ) AS job \
        ORDER BY round, lanes.priority, job.due_at, job.id LIMIT $8 \
    ), \
    due AS ( \
        SELECT outbox.app_id, outbox.environment, outbox.id FROM first JOIN outbox \
            ON outbox.app_id = first.app_id AND outbox.environment = first.environment AND outbox.id = first.id \
        WHERE outbox.ended_at IS NULL AND outbox.due_at <= $3 \
        ORDER BY first.round, first.priority, first.due_at, first.id LIMIT $4 FOR UPDATE OF outbox SKIP LOCKED \
    ) \
    UPDATE outbox SET attempts = outbox.attempts + 1, lease_owner = $1, due_at = $2 FROM due \
    WHERE outbox.app_id = due.app_id AND outbox.environment = due.environment AND outbox.id = due.id \
    RETURNING outbox.app_id, outbox.environment, outbox.id, outbox.channel, outbox.priority, outbox.lane, \
        outbox.payload_key_version, outbox.payload, outbox.not_before, outbox.deliver_before, outbox.attempts, \
        outbox.failures, outbox.due_at, outbox.cause, outbox.created_at";

/// Runs three queries in the time of one round trip.
///
/// A macro, because the compiler cannot see that a future holding a generic query and `&Conn` is `Send`.
macro_rules! load_three {
    ($conn:expr, $first:expr, $second:expr, $third:expr) => {{
        use futures_util::FutureExt;
        let (first, second, third) = ($first, $second, $third);
        async {
            let conn = $conn.flush_deferred().await?;
            let first = RunQueryDsl::load(first, &mut &*conn).boxed();
            let second = RunQueryDsl::load(second, &mut &*conn).boxed();
            let third = RunQueryDsl::load(third, &mut &*conn).boxed();
            futures_util::try_join!(first, second, third)
        }
    }};
}
pub(crate) use load_three;

/// Defers a statement to the next one, which fails if this one does.
macro_rules! defer {
    ($conn:expr, $statement:expr) => {
        $conn.defer($statement, 0)
    };
}
pub(crate) use defer;

/// Defers a statement to just before the commit. For rows that many transactions change.
macro_rules! defer_to_commit {
    ($conn:expr, $rank:expr, $statement:expr) => {
        $conn.defer_to_commit($rank, $statement)
    };
}
pub(crate) use defer_to_commit;

/// Inserts rows in one statement. Its text depends on their number, so it is for lists that are short or of constant length.
macro_rules! insert_all {
    ($conn:expr, $table:expr, $rows:expr) => {{
        let insert = diesel::insert_into($table).values($rows);
        RunQueryDsl::execute(vestry_store_rows::prepared::Prepared(insert), $conn)
    }};
}
pub(crate) use insert_all;

/// Locks rows so that no other transaction can delete them before this one ends.
macro_rules! for_key_share {
    ($query:expr) => {
        $query.for_key_share()
    };
}
pub(crate) use for_key_share;

/// Locks rows so that no other transaction can change them before this one ends.
macro_rules! for_share {
    ($query:expr) => {
        $query.for_share()
    };
}
pub(crate) use for_share;

/// Locks rows exclusively until the transaction ends.
macro_rules! for_update {
    ($query:expr) => {
        $query.for_update()
    };
}
pub(crate) use for_update;

/// Locks rows exclusively until the transaction ends, skipping those that are already locked.
macro_rules! skip_locked {
    ($query:expr) => {
        $query.for_update().skip_locked()
    };
}
pub(crate) use skip_locked;
