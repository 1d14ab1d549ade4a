//! The end of a transaction.

use std::time::Duration;

use diesel::QueryResult;
use diesel_async::SimpleAsyncConnection;
use vestry_store_rows::portions::portions;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::events::InboxRow;
use vestry_store_rows::schema::events_inbox;

use super::connection::Conn;
use super::primary;

/// How long a commit may take. One that waits for a standby which is the primary by now never ends, and must not keep its connection.
/// The server is not asked to cancel it: it would answer that it has committed.
const COMMIT_WITHIN: Duration = Duration::from_secs(5);

/// How much longer it may take where statements are sent with it, which may wait for a lock: one that was not to be had in time is
/// answered after five seconds, and that is told apart from no answer. Where two of them wait for long, one after the other, it is not.
const LOCKED_WITHIN: Duration = Duration::from_secs(1);

/// The answer to what commits, unless it takes too long: then it is open whether it happened, and the connection is to be closed.
pub(crate) async fn commit_in_time<T>(commit: impl Future<Output = T>) -> Option<T> {
    commit_within(COMMIT_WITHIN, commit).await
}

async fn commit_within<T>(limit: Duration, commit: impl Future<Output = T>) -> Option<T> {
    let answer = tokio::time::timeout(limit, commit).await.ok();
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
    if let Err(error) = conn.finish().await {
        return Some(Err(error));
    }
    let limit = match conn.is_keeping() {
        true => COMMIT_WITHIN + LOCKED_WITHIN,
        false => COMMIT_WITHIN,
    };
    let sizes: Vec<usize> = portions(&told).map(<[_]>::len).collect();
    let mut rows = told.into_iter();
    for size in sizes {
        let portion: Vec<InboxRow> = rows.by_ref().take(size).collect();
        let insert = diesel::insert_into(events_inbox::table).values(portion);
        if let Err(error) = conn.later(Prepared(insert), size).await {
            return Some(Err(error));
        }
    }
    commit_within(limit, conn.batch_execute("COMMIT")).await
}
