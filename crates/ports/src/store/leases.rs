//! Work that one process of all does at a time.

use vestry_domain::Timestamp;
use vestry_domain::timestamp::Seconds;
use vestry_port_macro::port;

use super::StoreResult;

/// The longest lease. One that ends later than this from now was not taken by the service, and counts as ended.
pub const LONGEST_LEASE: Seconds = Seconds(7_200);

/// Whose work it is. A lease belongs to no world.
#[port]
pub trait Leases: Send {
    /// Takes some work, or keeps it, until the given moment, in one guarded statement; `false` while another has it. A lease that ends
    /// more than [`LONGEST_LEASE`] after `now` keeps nobody off.
    async fn take(
        &mut self,
        work: &str,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> StoreResult<bool>;
}
