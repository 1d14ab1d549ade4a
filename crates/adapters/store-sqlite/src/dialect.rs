//! SQLite-specific SQL and behaviour.

use std::time::{Duration, Instant};

use diesel::QueryResult;
use diesel_async::SimpleAsyncConnection;
use vestry_store_rows::filter_sql::Deadline;

use super::statement_deadline;

pub(crate) use super::batch_queries::{
    add_activity, append_to_audit_log, append_to_audit_log as append_step_by_step,
    commit_to_audit_log, sessions_by_tokens, wallets_with_keys, whole_user_rows,
};
pub(crate) use super::connection::{Conn, classify, close};
pub(crate) use super::events::{commit_with_events, place};
pub(crate) use super::manager::Manager;

/// Takes the write lock at once: a transaction that starts to write later could fail halfway.
pub(super) const BEGIN: &str = "BEGIN IMMEDIATE";

/// Opens a writing transaction.
pub(crate) async fn begin(conn: &mut Conn, begin: &'static str) -> QueryResult<()> {
    conn.batch_execute(begin).await
}

/// The same for reads, which take no lock that blocks others.
pub(crate) const BEGIN_READS: &str = "BEGIN DEFERRED";

/// SQLite has no statement timeout, so there is nothing to set.
pub(crate) const fn limit(_left: Duration) -> &'static str {
    ""
}

/// Checks the deadline for each row first.
pub(crate) fn deadline(end: Instant) -> Deadline {
    Deadline::checked_by(statement_deadline::CALL, statement_deadline::moment(end))
}

/// How long a rollback may take.
pub(crate) const ROLLBACK_TIMEOUT: Duration = Duration::from_secs(30);

/// 1 if diesel's migrations table exists, else 0.
pub(crate) const COUNT_BOOKS_OF_MIGRATIONS: &str = "SELECT count(*) FROM sqlite_master \
     WHERE type = 'table' AND name = '__diesel_schema_migrations'";

/// 1 if a restore has begun and not ended, else 0.
pub(crate) const COUNT_UNFINISHED_RESTORES: &str = "SELECT count(*) FROM sqlite_master \
     WHERE type = 'table' AND name = 'unfinished_restore'";

/// Leases due jobs of a queue. The transaction's write lock excludes other workers.
///
/// The first due jobs of each priority and lane are looked up in the index, so that the cost does not grow with the number of jobs. The jobs
/// of a lane are taken in rounds: one share of each lane before the next share of any.
///
/// Parameters: owner, end of the lease, time, maximum number of jobs, environment, channel, share of a lane, jobs to look up in each lane.
/// Only Postgres needs the last.
pub(crate) const CLAIM: &str = "\
    WITH RECURSIVE lanes (lane) AS (VALUES (0) UNION ALL SELECT lane + 1 FROM lanes WHERE lane < 63), \
    priorities (priority) AS (VALUES (0), (1), (2)), \
    due (job, round, priority, due_at, id) AS ( \
        SELECT outbox.rowid, (row_number() OVER ( \
                PARTITION BY lanes.lane ORDER BY priorities.priority, outbox.due_at, outbox.id \
            ) - 1) / ?7, priorities.priority, outbox.due_at, outbox.id \
        FROM lanes CROSS JOIN priorities CROSS JOIN outbox \
        WHERE outbox.rowid IN ( \
            SELECT first.rowid FROM outbox AS first \
            WHERE first.ended_at IS NULL AND first.environment = ?5 AND first.channel = ?6 \
                AND first.priority = priorities.priority AND first.lane = lanes.lane AND first.due_at <= ?3 \
            ORDER BY first.due_at, first.id LIMIT min(?4, ?8) \
        ) \
    ) \
    UPDATE outbox SET attempts = attempts + 1, lease_owner = ?1, due_at = ?2 \
    WHERE rowid IN (SELECT job FROM due ORDER BY round, priority, due_at, id LIMIT ?4) \
    RETURNING app_id, environment, id, channel, priority, lane, payload_key_version, payload, not_before, \
        deliver_before, attempts, failures, due_at, cause, created_at";

/// Runs three queries in sequence: there is no round trip to save.
macro_rules! load_three {
    ($conn:expr, $first:expr, $second:expr, $third:expr) => {
        async move {
            let conn = $conn;
            let first = RunQueryDsl::load($first, conn).await?;
            let second = RunQueryDsl::load($second, conn).await?;
            let third = RunQueryDsl::load($third, conn).await?;
            diesel::QueryResult::Ok((first, second, third))
        }
    };
}
pub(crate) use load_three;

/// Runs a statement whose result nothing waits for. There is no round trip to save.
macro_rules! defer {
    ($conn:expr, $statement:expr) => {{
        let (conn, statement) = ($conn, $statement);
        async move { RunQueryDsl::execute(statement, conn).await.map(drop) }
    }};
}
pub(crate) use defer;

/// Runs a statement at once. On Postgres it would be deferred to the commit; here there is only one writer, and nothing waits for the row.
macro_rules! defer_to_commit {
    ($conn:expr, $rank:expr, $statement:expr) => {{
        let _rank: vestry_store_rows::lock_order::Rank = $rank;
        $crate::dialect::defer!($conn, $statement)
    }};
}
pub(crate) use defer_to_commit;

/// Inserts rows one at a time, without leaving the blocking thread.
macro_rules! insert_all {
    ($conn:expr, $table:expr, $rows:expr) => {{
        let rows: Vec<_> = $rows;
        $conn.spawn_blocking(move |conn| {
            let mut inserted = 0;
            for row in rows {
                let insert = diesel::insert_into($table).values(row);
                inserted += diesel::RunQueryDsl::execute(insert, conn)?;
            }
            diesel::QueryResult::Ok(inserted)
        })
    }};
}
pub(crate) use insert_all;

/// Rows that no other transaction deletes before this one ends: there is only one writer.
macro_rules! for_key_share {
    ($query:expr) => {
        $query
    };
}
pub(crate) use for_key_share;

/// Rows that no other transaction changes before this one ends, for the same reason.
macro_rules! for_share {
    ($query:expr) => {
        $query
    };
}
pub(crate) use for_share;

/// Rows locked exclusively until the transaction ends, for the same reason.
macro_rules! for_update {
    ($query:expr) => {
        $query
    };
}
pub(crate) use for_update;

/// Rows that no other transaction has locked.
macro_rules! skip_locked {
    ($query:expr) => {
        $query
    };
}
pub(crate) use skip_locked;
