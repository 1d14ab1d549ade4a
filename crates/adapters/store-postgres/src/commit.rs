//! The end of a transaction.

use std::time::Duration;

use diesel::QueryResult;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use vestry_store_rows::portions::portions;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::events::InboxRow;
use vestry_store_rows::schema::events_inbox;

use super::connection::Conn;
use super::primary;

/// How long a commit may take. One that waits for a standby which is the primary by now never ends, and must not keep its connection.
/// The server is not asked to cancel it: it would answer that it has committed.
const COMMIT_WITHIN: Duration = Duration::from_secs(5);

/// The answer to what commits, unless it takes too long: then it is open whether it happened, and the connection is to be closed.
pub(crate) async fn commit_in_time<T>(commit: impl Future<Output = T>) -> Option<T> {
    let answer = tokio::time::timeout(COMMIT_WITHIN, commit).await.ok();
    if answer.is_none() {
        primary::did_not_write();
    }
    answer
}

/// Leaves events in the inbox and commits, unless that takes too long: see [`commit_in_time`].
pub(crate) async fn tell_and_commit(
    conn: &mut Conn,
    told: Vec<InboxRow>,
) -> Option<QueryResult<()>> {
    let mut portions = portions(&told).peekable();
    while let Some(portion) = portions.next() {
        let insert = Prepared(diesel::insert_into(events_inbox::table).values(portion));
        if portions.peek().is_none() && conn.has_told(portion.len()) {
            return commit_in_time(conn.last(insert)).await;
        }
        if let Err(error) = insert.execute(conn).await {
            return Some(Err(error));
        }
        conn.note_told(portion.len());
    }
    commit_in_time(conn.batch_execute("COMMIT")).await
}
