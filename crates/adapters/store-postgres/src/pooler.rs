//! Whether statements survive a pooler that stands before the server (PR-51). One that is told of a session's settings and passes them on is
//! not seen.

use diesel::QueryResult;
use diesel::dsl::sql;
use diesel::result::Error;
use diesel::sql_types::Integer;
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
const RENAMED: &str =
    "(SELECT count(*)::INT4 FROM pg_prepared_statements WHERE name LIKE 'PGBOUNCER%')";

/// Which process of the server a session has.
const SERVER: &str = "pg_backend_pid()";

/// How often two sessions are asked which server they have. A pooler of transactions gives the server that it was given back last, or, where
/// others ask as well, any.
const LOOKS: u32 = 20;

/// What a server says of a statement that another session left behind under the same name, or that is on another server.
const OF_STATEMENTS: &str = "prepared statement";

/// What the pooler does between these two sessions and the server.
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
        // A session that has a server of its own never sees another one, and nobody else sees that one.
        if asked(other, SERVER).await? == first || asked(one, SERVER).await? != first {
            return Ok(Pooler::LosesStatements);
        }
    }
    Ok(Pooler::OfSessions)
}

/// A number, asked for in a transaction, so that the statement is carried out on the server on which it was prepared.
async fn asked(conn: &mut Conn, number: &'static str) -> QueryResult<i32> {
    conn.batch_execute("BEGIN").await?;
    let answer = diesel::select(sql::<Integer>(number))
        .get_result(conn)
        .await;
    conn.batch_execute("ROLLBACK").await?;
    answer
}
