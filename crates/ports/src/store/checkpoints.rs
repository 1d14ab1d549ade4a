//! Checkpoints of the audit log, until they are elsewhere.

use vestry_domain::envelope::Mac;
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::StoreResult;

/// A checkpoint as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptCheckpoint {
    /// Its number, from 1.
    pub number: i64,
    /// When it was made, by the machine's clock.
    pub at: Timestamp,
    /// The signed note.
    pub note: String,
}

/// How far a sink is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkProgress {
    /// The sink, as the settings name it.
    pub sink: String,
    /// The last checkpoint that it was brought.
    pub number: i64,
    /// When that was made, or when the sink was found to miss nothing, by the machine's clock.
    pub at: Timestamp,
    /// Keyed hash over all of this. The store does not check it.
    pub mac: Mac,
}

/// Checkpoints, and how far the sinks are.
#[port]
pub trait Checkpoints: Send {
    /// The one with the highest number.
    async fn newest(&mut self, world: &World) -> StoreResult<Option<KeptCheckpoint>>;
    /// Adds one; `false` when there is one of this number already, and then nothing changes.
    async fn add(&mut self, world: &World, checkpoint: &KeptCheckpoint) -> StoreResult<bool>;
    /// Those behind a number, in their order, at most `limit`.
    async fn after(
        &mut self,
        world: &World,
        number: i64,
        limit: i64,
    ) -> StoreResult<Vec<KeptCheckpoint>>;
    /// How far each sink is, by its name.
    async fn sinks(&mut self, world: &World) -> StoreResult<Vec<SinkProgress>>;
    /// Records a sink's progress in place of what was recorded, also where that is a higher number: the row may have been edited.
    async fn note_sink(&mut self, world: &World, progress: &SinkProgress) -> StoreResult<()>;
    /// Deletes the oldest with a number below `below` that were made before `before`, at most `limit`; returns how many.
    async fn sweep(
        &mut self,
        world: &World,
        below: i64,
        before: Timestamp,
        limit: i64,
    ) -> StoreResult<u64>;
}
