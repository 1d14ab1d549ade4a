//! Checkpoints of the audit log, stored until all sinks have them.

use vestry_domain::envelope::Mac;
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::StoreResult;

/// A stored checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCheckpoint {
    /// Its number, from 1.
    pub number: i64,
    /// When it was created, by the machine's clock.
    pub at: Timestamp,
    /// The signed note.
    pub note: String,
}

/// The progress of a sink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkProgress {
    /// The sink's name in the settings.
    pub sink: String,
    /// The last checkpoint that it was sent.
    pub number: i64,
    /// When that checkpoint was created, or when the sink was found to be up to date, by the machine's clock.
    pub at: Timestamp,
    /// MAC of all fields. The store does not check it.
    pub mac: Mac,
}

/// Checkpoints, and the progress of the sinks.
#[port]
pub trait Checkpoints: Send {
    /// The checkpoint with the highest number.
    async fn newest(&mut self, world: &World) -> StoreResult<Option<StoredCheckpoint>>;
    /// Adds a checkpoint; `false`, without any change, if there already is one with this number.
    async fn add(&mut self, world: &World, checkpoint: &StoredCheckpoint) -> StoreResult<bool>;
    /// Checkpoints after a number, in order, at most `limit`.
    async fn after(
        &mut self,
        world: &World,
        number: i64,
        limit: i64,
    ) -> StoreResult<Vec<StoredCheckpoint>>;
    /// The progress of each sink, ordered by name.
    async fn sinks(&mut self, world: &World) -> StoreResult<Vec<SinkProgress>>;
    /// Replaces a sink's recorded progress, even if that has a higher number, because the row may have been edited.
    async fn note_sink(&mut self, world: &World, progress: &SinkProgress) -> StoreResult<()>;
    /// Deletes the oldest checkpoints with a number below `below` that were created before `before`, at most `limit`; returns how many.
    async fn sweep(
        &mut self,
        world: &World,
        below: i64,
        before: Timestamp,
        limit: i64,
    ) -> StoreResult<u64>;
}
