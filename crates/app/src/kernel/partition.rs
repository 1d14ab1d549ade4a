//! Work on the partitions of the database, one after the other.

use std::time::Duration;

use vestry_ports::store::Partitions;

use crate::Fault;

/// Time limit for work on one of several partitions, so that it does not delay the others.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(1);

/// Does work on a partition, with a time limit if there are several.
pub(crate) async fn limited<T>(
    partitions: Partitions,
    work: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    match partitions {
        Partitions::One => work.await,
        Partitions::PerApp => {
            let done = tokio::time::timeout(TIME_LIMIT, work).await;
            done.unwrap_or_else(|_too_long| Err(Fault::Overloaded))
        }
    }
}
