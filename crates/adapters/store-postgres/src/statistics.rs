//! Planner statistics of tables that grow quickly.
//!
//! Every key begins with the App and the environment. Until Postgres has analysed a table, it assumes that few rows share each of the two.
//! All indexes then look equally good to it, and it may scan a whole App for every requested row. Autovacuum analyses tables too, once a
//! minute. For the first minute of a busy service, or of an import, that is too late.

use std::time::Duration;

use deadpool::managed::Pool;
use diesel::QueryableByName;
use diesel::sql_types::Text;
use diesel_async::RunQueryDsl;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio::time::{MissedTickBehavior, interval_at};
use vestry_ports::store::{StoreError, StoreResult};

use super::connection::{Conn, classify};
use super::manager::Manager;
use vestry_store_rows::failure;

/// Interval between checks.
const EVERY: Duration = Duration::from_secs(5);

/// Our tables that have grown by half, and by fifty rows, since they were analysed. The audit log is excluded: it grows fastest and has the
/// widest rows. Analysing it takes a sixth of a second of one core, and its queries use the same indexes without statistics.
///
/// Tables of more than half a MiB that were never analysed are included. Their growth counters may be missing: a crash loses them, and
/// `pg_upgrade` loses them together with the statistics.
const GROWN: &str = "\
    SELECT c.relname::text AS name FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid \
    WHERE s.schemaname = current_schema() AND pg_get_userbyid(c.relowner) = current_user \
        AND (s.relname <> 'audit_entries' AND s.n_mod_since_analyze > 50 + GREATEST(c.reltuples, 0) / 2 \
            OR c.reltuples < 0 AND pg_relation_size(c.oid) > 524288)";

#[derive(QueryableByName)]
struct Grown {
    #[diesel(sql_type = Text)]
    name: String,
}

/// The task that analyses such tables; it is aborted when this value is dropped.
pub(super) struct Statistics(AbortHandle);

impl Statistics {
    pub(super) fn keep(pool: Pool<Manager>, runtime: &Handle) -> Self {
        let task = async move {
            let start = tokio::time::Instant::now() + EVERY;
            let mut ticks = interval_at(start, EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                if let Err(error) = refresh(&pool).await {
                    // This only costs performance, and an engine that merely speaks the protocol may not have these tables.
                    tracing::debug!(%error, "planner statistics were not refreshed");
                }
            }
        };
        Self(runtime.spawn(task).abort_handle())
    }
}

impl Drop for Statistics {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn refresh(pool: &Pool<Manager>) -> StoreResult<()> {
    let mut connection = pool.get().await.map_err(failure::of_pool)?;
    let conn: &mut Conn = &mut connection;
    let grown = diesel::sql_query(GROWN).load::<Grown>(conn).await;
    let grown = grown.map_err(|error| classify(error, None))?;
    for Grown { name } in grown {
        let quoted = name.replace('"', "\"\"");
        // Another process may be analysing it right now; then there is nothing to do.
        let analyze = format!("ANALYZE (SKIP_LOCKED) \"{quoted}\"");
        let read = diesel::sql_query(analyze).execute(conn).await;
        read.map_err(|error: diesel::result::Error| -> StoreError { classify(error, None) })?;
    }
    Ok(())
}
