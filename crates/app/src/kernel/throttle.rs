//! Throttling of long admin commands that run beside a live service.

use std::time::Instant;

/// Runs one writing step, then rests for as long as it took.
///
/// SQLite has one writer at a time, and waiting processes only poll for their turn. They would rarely succeed if the next step followed at
/// once.
pub(crate) async fn paced<T>(piece: impl Future<Output = T>) -> T {
    let begun = Instant::now();
    let done = piece.await;
    tokio::time::sleep(begun.elapsed()).await;
    done
}
