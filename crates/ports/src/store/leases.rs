//! Work that one process of all does at a time.

use vestry_domain::Timestamp;
use vestry_port_macro::port;

use super::StoreResult;

/// Whose work it is. A lease belongs to no world.
#[port]
pub trait Leases: Send {
    /// Takes some work, or keeps it, until the given moment, in one guarded statement; `false` while another has it.
    async fn take(
        &mut self,
        work: &str,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> StoreResult<bool>;
}
