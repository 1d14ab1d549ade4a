//! Committing transactions.

use std::time::Duration;

use diesel::QueryResult;
use diesel_async::SimpleAsyncConnection;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::row_chunks::row_chunks;
use vestry_store_rows::rows::events::UnsequencedRow;
use vestry_store_rows::schema::unsequenced_events;

use super::connection::Conn;
use super::failover;

/// How long a commit may take. A commit that waits for a standby which has become the primary never ends, and must not block its
/// connection. The server is not asked to cancel it, because it would then report success.
const COMMIT_WITHIN: Duration = Duration::from_secs(5);

/// Extra time for a commit that is sent together with statements, which can wait for a lock. The server reports a lock timeout after five
/// seconds, so the two cases can be told apart. If two of the statements wait long, one after the other, they cannot.
const LOCKED_WITHIN: Duration = Duration::from_secs(1);

/// Returns the outcome of a commit, or `None` if it took too long. Its outcome is then unknown, and the connection must be closed.
pub(crate) async fn commit_in_time<T>(commit: impl Future<Output = T>) -> Option<T> {
    commit_within(COMMIT_WITHIN, commit).await
}

async fn commit_within<T>(limit: Duration, commit: impl Future<Output = T>) -> Option<T> {
    let answer = tokio::time::timeout(limit, commit).await.ok();
    if answer.is_none() {
        failover::write_unconfirmed();
    }
    answer
}

/// Writes unsequenced events and commits, with the time limit of [`commit_in_time`].
pub(crate) async fn commit_with_events(
    conn: &mut Conn,
    rows: Vec<UnsequencedRow>,
) -> Option<QueryResult<()>> {
    if let Err(error) = conn.finish().await {
        return Some(Err(error));
    }
    let limit = match conn.has_deferred() {
        true => COMMIT_WITHIN + LOCKED_WITHIN,
        false => COMMIT_WITHIN,
    };
    let sizes: Vec<usize> = row_chunks(&rows).map(<[_]>::len).collect();
    let mut rows = rows.into_iter();
    for size in sizes {
        let chunk: Vec<UnsequencedRow> = rows.by_ref().take(size).collect();
        let insert = diesel::insert_into(unsequenced_events::table).values(chunk);
        if let Err(error) = conn.defer(Prepared(insert), size).await {
            return Some(Err(error));
        }
    }
    commit_within(limit, conn.batch_execute("COMMIT")).await
}
