//! Checks whether the server keeps what it acknowledges (K8).

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};
use diesel_async::RunQueryDsl;
use vestry_domain::Timestamp;
use vestry_ports::store::StoreResult;

use super::connection::{Conn, classify};

/// Settings that an engine does not have are `None`.
#[derive(QueryableByName)]
struct Durability {
    #[diesel(sql_type = Nullable<Text>)]
    fsync: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    full_page_writes: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    synchronous_commit: Option<String>,
}

/// Returns a sentence for each setting that could lose an acknowledged change.
pub(super) async fn findings(conn: &mut Conn) -> StoreResult<Vec<String>> {
    let query = diesel::sql_query(
        "SELECT current_setting('fsync', true) AS fsync, \
                current_setting('full_page_writes', true) AS full_page_writes, \
                current_setting('synchronous_commit', true) AS synchronous_commit",
    );
    let found = query.get_result::<Durability>(conn).await;
    let found = found.map_err(|error| classify(error, Some(conn)))?;
    let is_off = |value: &Option<String>| value.as_deref() == Some("off");
    let is_local = found.synchronous_commit.as_deref() == Some("local");
    let mut findings = Vec::new();
    if is_off(&found.fsync) {
        findings.push("Postgres does not force writes to disk (fsync=off)".to_owned());
    }
    if is_off(&found.full_page_writes) {
        findings.push("Postgres cannot repair torn pages (full_page_writes=off)".to_owned());
    }
    if is_off(&found.synchronous_commit) {
        findings.push(
            "Postgres does not wait for the disk at a commit (synchronous_commit=off)".to_owned(),
        );
    }
    if is_local && standbys(conn).await?.0 > 0 {
        findings.push(
            "a failover can lose acknowledged writes; set synchronous_commit = on".to_owned(),
        );
    }
    Ok(findings)
}

#[derive(QueryableByName)]
struct Standbys {
    #[diesel(sql_type = BigInt)]
    connected: i64,
    #[diesel(sql_type = BigInt)]
    waited_for: i64,
}

/// Backups do not count, nor do standbys whose state this role may not see. Returns how many standbys are connected, and for how many of them a commit can wait.
async fn standbys(conn: &mut Conn) -> StoreResult<(i64, i64)> {
    let query = diesel::sql_query(
        "SELECT count(*) AS connected, count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) AS waited_for \
         FROM pg_stat_replication WHERE state IN ('streaming', 'catchup')",
    );
    let found = query.get_result::<Standbys>(conn).await;
    let found = found.map_err(|error| classify(error, Some(conn)))?;
    Ok((found.connected, found.waited_for))
}

/// Whether there are standbys, and a commit waits for none of them.
pub(super) async fn has_only_asynchronous_standbys(conn: &mut Conn) -> StoreResult<bool> {
    Ok(matches!(standbys(conn).await?, (1.., 0)))
}

#[derive(QueryableByName)]
struct Clock {
    #[diesel(sql_type = BigInt)]
    unix: i64,
}

/// Returns the server's clock.
pub(super) async fn clock(conn: &mut Conn) -> StoreResult<Timestamp> {
    let query =
        diesel::sql_query("SELECT floor(extract(epoch FROM clock_timestamp()))::int8 AS unix");
    let found = query.get_result::<Clock>(conn).await;
    let found = found.map_err(|error| classify(error, Some(conn)))?;
    Ok(Timestamp::from_unix(found.unix))
}
