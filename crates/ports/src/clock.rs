//! The clock.

use vestry_domain::{Timestamp, World};

/// Returns the time of a world. A test world can have its own clock.
pub trait Clock: Send + Sync {
    /// The time used by codes, sessions, tokens and records of this world.
    fn now(&self, world: &World) -> Timestamp;

    /// The machine's time, for anything that belongs to no world, such as Apps, worker leases and rate limits.
    fn machine(&self) -> Timestamp;
}
