//! Leases for work that only one process does at a time.

use vestry_domain::Timestamp;
use vestry_domain::timestamp::Seconds;
use vestry_port_macro::port;

use super::StoreResult;

/// The maximum duration of a lease. One that ends later than this from now was not created by the service and counts as ended.
pub const MAX_LEASE: Seconds = Seconds(7_200);

/// Leases, which belong to no world.
#[port]
pub trait Leases: Send {
    /// Acquires or extends a lease until the given time, in one guarded statement; `false` if another process holds it. A lease that ends
    /// more than [`MAX_LEASE`] after `now` blocks no one.
    async fn take(
        &mut self,
        work: &str,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> StoreResult<bool>;
}
