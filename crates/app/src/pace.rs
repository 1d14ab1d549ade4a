//! Long work of an admin command beside a service that runs.

use std::time::Instant;

/// A piece of such work that writes, and then a rest as long as it took. SQLite has one writer at a time, and other processes
/// ask for their turn now and then: they would hardly ever come at the right moment if the next piece followed at once.
pub(crate) async fn paced<T>(piece: impl Future<Output = T>) -> T {
    let begun = Instant::now();
    let done = piece.await;
    tokio::time::sleep(begun.elapsed()).await;
    done
}
