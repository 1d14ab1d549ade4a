//! Checks whether the server keeps what it acknowledges (K8).

use diesel::QueryableByName;
use diesel::sql_types::{Nullable, Text};
use diesel_async::RunQueryDsl;
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
    Ok(findings)
}
