//! Whether a pooler stands before the server, and whether statements survive it (PR-51).

use diesel::QueryResult;
use diesel::dsl::sql;
use diesel::sql_types::{Bool, Integer};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use vestry_ports::store::StoreResult;

use super::connection::{Conn, classify};

/// What a pooler does with prepared statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooler {
    /// It gives a session a server of its own, which has the session's statements.
    OfSessions,
    /// It gives a transaction a server, and statements are found again on whichever comes next.
    KeepsStatements,
    /// The same, and they are not: PgBouncer before 1.21, or without `max_prepared_statements`. Calls fail, now and then.
    LosesStatements,
}

/// PgBouncer gives the statements that it keeps names of its own. A statement that looks for them is prepared itself, so there is
/// one in any case, and its name on the server is ours where nobody keeps it.
const ARE_RENAMED: &str =
    "EXISTS (SELECT FROM pg_prepared_statements WHERE name LIKE 'PGBOUNCER%')";

/// How often two sessions are asked which server they have. A pooler of transactions gives the server that it was given back last, unless
/// somebody else asked for it in between.
const LOOKS: u32 = 20;

/// What the pooler does between these two sessions and the server.
pub(super) async fn find(one: &mut Conn, other: &mut Conn) -> StoreResult<Pooler> {
    let renamed = are_renamed(one).await;
    if renamed.map_err(|error| classify(error, Some(one)))? {
        return Ok(Pooler::KeepsStatements);
    }
    for _ in 0..LOOKS {
        if server(one).await? == server(other).await? {
            return Ok(Pooler::LosesStatements);
        }
    }
    Ok(Pooler::OfSessions)
}

/// In a transaction, which stays on one server.
async fn are_renamed(conn: &mut Conn) -> QueryResult<bool> {
    conn.batch_execute("BEGIN").await?;
    let renamed = diesel::select(sql::<Bool>(ARE_RENAMED))
        .get_result(conn)
        .await;
    conn.batch_execute("ROLLBACK").await?;
    renamed
}

/// Which process of the server a session has now. In a transaction, so that the statement is carried out where it was prepared.
async fn server(conn: &mut Conn) -> StoreResult<i32> {
    let asked = asked(conn).await;
    asked.map_err(|error| classify(error, Some(conn)))
}

async fn asked(conn: &mut Conn) -> QueryResult<i32> {
    conn.batch_execute("BEGIN").await?;
    let server = diesel::select(sql::<Integer>("pg_backend_pid()"))
        .get_result(conn)
        .await;
    conn.batch_execute("ROLLBACK").await?;
    server
}
