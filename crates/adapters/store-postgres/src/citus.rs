//! Distribution of the tables over the servers of a Citus cluster (PR-57).
//!
//! Every table that names an App is distributed by it, all in the same way. All data of an App is therefore on one server, and a statement
//! that names the App is sent only there. A few small tables are queried without the App: each server has a complete copy of them. Data
//! that belongs to no App stays on the coordinator.

use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Bool, Text};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use vestry_ports::store::{StoreError, StoreResult};

use super::connection::{Conn, classify};

/// Reference tables, copied to every server in this order: others refer to the first.
const COPIED: [&str; 3] = ["apps", "api_keys", "provider_connections"];

/// Distributed before all others, which refer to them. The others are co-located with the first.
const FIRST: [&str; 3] = ["users", "totps", "wallets"];

/// Whether the extension is installed.
const HAS_CITUS: &str = "to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL";

const IS_DISTRIBUTED: &str = "EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass('users') AND partmethod = 'h')";

/// Tables that must be distributed and are not.
const UNDISTRIBUTED: &str = "\
    SELECT relname::text AS name FROM pg_class \
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' \
        AND (relname = 'apps' OR EXISTS (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'app_id')) \
        AND NOT EXISTS (SELECT FROM pg_dist_partition \
            WHERE logicalrelid = pg_class.oid AND (partmethod = 'h' OR repmodel = 't')) \
    ORDER BY relname";

/// Tables whose rows are on the servers.
const MOVED: &str =
    "SELECT logicalrelid::text AS name FROM pg_dist_partition WHERE partmethod = 'h' ORDER BY name";

/// Other sessions of the service on this database.
const OTHERS: &str = "(SELECT count(*) FROM pg_stat_activity \
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'vestry')";

/// The number of servers with shards, and of shards per table.
const WIDTH: &str = "\
    SELECT count(DISTINCT (nodename, nodeport)) AS servers, count(DISTINCT shardid) AS shards \
    FROM citus_shards WHERE table_name = 'users'::regclass";

/// Tables that are not co-located with the users.
const ELSEWHERE: &str = "\
    SELECT logicalrelid::text AS name FROM pg_dist_partition \
    WHERE partmethod = 'h' AND colocationid <> (SELECT colocationid FROM pg_dist_partition WHERE logicalrelid = 'users'::regclass) \
    ORDER BY name";

/// The App with the most users, and the number of users overall.
const LARGEST: &str = "\
    SELECT app_id AS app, users::BIGINT, (SUM(users) OVER ())::BIGINT AS whole \
    FROM (SELECT app_id, SUM(users) AS users FROM user_counts GROUP BY app_id) AS of_apps \
    ORDER BY users DESC, app LIMIT 1";

/// How the tables are distributed over the servers of a cluster.
#[derive(Debug)]
pub struct Distribution {
    /// The number of servers with Apps.
    pub servers: i64,
    /// The number of shards of each table.
    pub shards: i64,
    /// Tables that are sharded differently from the users, so that a statement about one App would have to visit several servers.
    pub elsewhere: Vec<String>,
    /// The App with the most users, its number of users, and the number of users of all Apps.
    pub largest: Option<(String, i64, i64)>,
}

#[derive(diesel::QueryableByName)]
struct Width {
    #[diesel(sql_type = BigInt)]
    servers: i64,
    #[diesel(sql_type = BigInt)]
    shards: i64,
}

#[derive(diesel::QueryableByName)]
struct Largest {
    #[diesel(sql_type = Text)]
    app: String,
    #[diesel(sql_type = BigInt)]
    users: i64,
    #[diesel(sql_type = BigInt)]
    whole: i64,
}

#[derive(diesel::QueryableByName)]
struct Name {
    #[diesel(sql_type = Text)]
    name: String,
}

/// Why a database cannot be distributed or used.
#[derive(Debug, thiserror::Error)]
enum DistributeError {
    #[error(
        "this database has no Citus: put citus into shared_preload_libraries of every server, run CREATE EXTENSION citus on each, \
         make this one the coordinator (citus_set_coordinator_host) and add the others (citus_add_node); docs/scale.md has the steps"
    )]
    NoCitus,
    #[error(
        "{0} sessions of the service are open on this database: stop every `vestry serve` and `vestry worker` before you \
         distribute its tables, and start them again afterwards"
    )]
    InUse(i64),
    #[error(
        "some tables are not distributed yet ({0}): run `vestry migrate --distribute` again, which resumes where it stopped"
    )]
    Unfinished(String),
}

impl From<DistributeError> for StoreError {
    fn from(error: DistributeError) -> Self {
        Self::Other(Box::new(error))
    }
}

async fn is(conn: &mut Conn, condition: &str) -> StoreResult<bool> {
    let found = diesel::select(sql::<Bool>(condition))
        .get_result(conn)
        .await;
    found.map_err(|error| classify(error, Some(conn)))
}

/// Whether Apps are distributed over several servers, or distribution has begun.
pub(super) async fn is_distributed(conn: &mut Conn) -> StoreResult<bool> {
    Ok(is(conn, HAS_CITUS).await? && is(conn, IS_DISTRIBUTED).await?)
}

/// The same, with a check that distribution is complete.
///
/// # Errors
/// [`StoreError::Other`] if distribution was begun and is not complete.
pub(super) async fn is_fully_distributed(conn: &mut Conn) -> StoreResult<bool> {
    if !is_distributed(conn).await? {
        return Ok(false);
    }
    let left = undistributed(conn).await?;
    match left.is_empty() {
        true => Ok(true),
        false => Err(DistributeError::Unfinished(left.join(", ")).into()),
    }
}

/// Reports how the tables are distributed.
pub(super) async fn report(conn: &mut Conn) -> StoreResult<Distribution> {
    let width = diesel::sql_query(WIDTH).get_result::<Width>(conn).await;
    let Width { servers, shards } = width.map_err(|error| classify(error, Some(conn)))?;
    let elsewhere = diesel::sql_query(ELSEWHERE).load::<Name>(conn).await;
    let elsewhere = elsewhere.map_err(|error| classify(error, Some(conn)))?;
    let largest = diesel::sql_query(LARGEST).load::<Largest>(conn).await;
    let largest = largest.map_err(|error| classify(error, Some(conn)))?;
    Ok(Distribution {
        servers,
        shards,
        elsewhere: elsewhere.into_iter().map(|table| table.name).collect(),
        largest: largest
            .into_iter()
            .next()
            .map(|Largest { app, users, whole }| (app, users, whole)),
    })
}

async fn undistributed(conn: &mut Conn) -> StoreResult<Vec<String>> {
    let found = diesel::sql_query(UNDISTRIBUTED).load::<Name>(conn).await;
    let found = found.map_err(|error| classify(error, Some(conn)))?;
    Ok(found.into_iter().map(|table| table.name).collect())
}

/// Distributes every table that is not distributed yet, and returns their names. Each table has its own transaction, so that an interrupted
/// run can be resumed. `progress` is called before each table, with the number of tables left including it. Moved rows also stay on the
/// coordinator until [`clear`].
///
/// # Errors
/// [`StoreError::Other`] without Citus, or if processes of the service are connected while existing data would be moved.
pub(super) async fn distribute(
    conn: &mut Conn,
    progress: &(dyn Fn(&str, usize) + Sync),
) -> StoreResult<Vec<String>> {
    if !is(conn, HAS_CITUS).await? {
        return Err(DistributeError::NoCitus.into());
    }
    let tables = in_order(undistributed(conn).await?);
    // Tables that a migration adds to a distributed database are empty and not used yet.
    if tables.iter().any(|table| table == FIRST[0]) {
        let others = diesel::select(sql::<BigInt>(OTHERS)).get_result(conn).await;
        let others: i64 = others.map_err(|error| classify(error, Some(conn)))?;
        if others > 0 {
            return Err(DistributeError::InUse(others).into());
        }
    }
    for (done, table) in tables.iter().enumerate() {
        progress(table, tables.len() - done);
        place(conn, table).await?;
    }
    Ok(tables)
}

/// Deletes the coordinator's copies of moved rows, which are no longer read.
pub(super) async fn clear(conn: &mut Conn) -> StoreResult<()> {
    let moved = diesel::sql_query(MOVED).load::<Name>(conn).await;
    for Name { name } in moved.map_err(|error| classify(error, Some(conn)))? {
        let clear =
            format!("SELECT truncate_local_data_after_distributing_table('{name}'::regclass)");
        say(conn, &clear).await?;
    }
    Ok(())
}

/// Sorts tables so that referenced ones come first.
fn in_order(tables: Vec<String>) -> Vec<String> {
    let rank = |table: &String| {
        let early = COPIED.iter().chain(&FIRST);
        early
            .clone()
            .position(|one| one == table)
            .unwrap_or(usize::MAX)
    };
    let mut tables = tables;
    tables.sort_by_key(rank);
    tables
}

/// Distributes one table.
async fn place(conn: &mut Conn, table: &String) -> StoreResult<()> {
    if let Err(error) = say(conn, &placement(table)).await {
        // A previous run may have been killed while the server carried on to the end.
        if undistributed(conn).await?.contains(table) {
            return Err(error);
        }
    }
    // When referring rows are distributed, each is looked up in this table. Without statistics each look-up would scan its whole App.
    say(conn, &format!("ANALYZE \"{table}\"")).await
}

fn placement(table: &str) -> String {
    if COPIED.contains(&table) {
        return format!("SELECT create_reference_table('{table}'::regclass)");
    }
    let beside = if table == FIRST[0] { "none" } else { FIRST[0] };
    format!(
        "SELECT create_distributed_table('{table}'::regclass, 'app_id', colocate_with => '{beside}')"
    )
}

async fn say(conn: &mut Conn, statement: &str) -> StoreResult<()> {
    let said = conn.batch_execute(statement).await;
    said.map_err(|error| classify(error, Some(conn)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn referenced_tables_are_distributed_first() {
        let tables = [
            "api_keys",
            "apps",
            "audit_chains",
            "totps",
            "user_emails",
            "users",
            "wallets",
        ];
        let ordered = in_order(tables.map(str::to_owned).to_vec());
        let expected = [
            "apps",
            "api_keys",
            "users",
            "totps",
            "wallets",
            "audit_chains",
            "user_emails",
        ];
        assert_eq!(ordered, expected);
    }
}
