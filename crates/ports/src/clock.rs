//! The time.

use vestry_domain::{Timestamp, World};

/// Tells the time of a world. A test world can have a clock of its own.
pub trait Clock: Send + Sync {
    /// The time that codes, sessions, tokens and records of this world follow.
    fn now(&self, world: &World) -> Timestamp;

    /// The time of the machine: for what belongs to no world, such as Apps, leases of workers and rate limits.
    fn machine(&self) -> Timestamp;
}
