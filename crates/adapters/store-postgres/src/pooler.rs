//! Detects whether prepared statements survive a pooler in front of the server (PR-51). A pooler that accepts session options and passes
//! them on is not detected.
//! not seen.

use diesel::QueryResult;
use diesel::dsl::sql;
use diesel::result::Error;
use diesel::sql_types::Integer;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use vestry_ports::store::StoreResult;

use super::connection::{Conn, classify};

/// How a pooler handles prepared statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooler {
    /// Session pooling: each session has its own server connection, with the session's statements.
    OfSessions,
    /// Transaction pooling, with prepared statements tracked across server connections.
    KeepsStatements,
    /// Transaction pooling that loses prepared statements: PgBouncer before 1.21, or without `max_prepared_statements`. Calls fail
    /// occasionally.
    LosesStatements,
}

/// PgBouncer renames the statements that it tracks. This query is itself prepared, so there is always one, and its name on the server is
/// ours if no pooler tracks it.
const RENAMED: &str =
    "(SELECT count(*)::INT4 FROM pg_prepared_statements WHERE name LIKE 'PGBOUNCER%')";

/// The server process of a session.
const SERVER: &str = "pg_backend_pid()";

/// How often two sessions are asked for their server process. A transaction pooler assigns the server connection that was returned last or,
/// under load, any.
const LOOKS: u32 = 20;

/// Part of the server's error if another session left a statement with the same name, or if the statement is on another server connection.
const OF_STATEMENTS: &str = "prepared statement";

/// Detects how the pooler between these two sessions and the server behaves.
pub(super) async fn find(one: &mut Conn, other: &mut Conn) -> StoreResult<Pooler> {
    match seen(one, other).await {
        Err(Error::DatabaseError(_, refusal)) if refusal.message().contains(OF_STATEMENTS) => {
            Ok(Pooler::LosesStatements)
        }
        seen => seen.map_err(|error| classify(error, Some(one))),
    }
}

async fn seen(one: &mut Conn, other: &mut Conn) -> QueryResult<Pooler> {
    if asked(one, RENAMED).await? > 0 {
        return Ok(Pooler::KeepsStatements);
    }
    let first = asked(one, SERVER).await?;
    for _ in 0..LOOKS {
        // A session with its own server connection never sees another one, and no other session sees it.
        if asked(other, SERVER).await? == first || asked(one, SERVER).await? != first {
            return Ok(Pooler::LosesStatements);
        }
    }
    Ok(Pooler::OfSessions)
}

/// Queries a number in a transaction, so that the statement runs on the server connection on which it was prepared.
async fn asked(conn: &mut Conn, number: &'static str) -> QueryResult<i32> {
    conn.batch_execute("BEGIN").await?;
    let answer = diesel::select(sql::<Integer>(number))
        .get_result(conn)
        .await;
    conn.batch_execute("ROLLBACK").await?;
    answer
}
