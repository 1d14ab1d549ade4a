//! The store outside the database that reveals a database that was set back, and from which lost wallets are recovered.

use std::sync::Arc;

use vestry_domain::Timestamp;
use vestry_port_macro::port;

use crate::anchors::{CheckpointSink, SinkError};

/// Lines that only grow, in parts that are named in the order of their beginning.
#[port]
pub trait Journal: Send + Sync {
    /// Stores lines permanently, in order, at this time by the machine's clock. After an error some of them may be stored. A line contains
    /// no line feed.
    ///
    /// # Errors
    /// See [`SinkError`].
    async fn append(&self, at: Timestamp, lines: &[String]) -> Result<(), SinkError>;

    /// The parts that can contain lines from this time on, oldest first.
    ///
    /// # Errors
    /// See [`SinkError`].
    async fn parts(&self, from: Timestamp) -> Result<Vec<String>, SinkError>;

    /// The complete lines of a part, in order. A line that was being written when its process ended is left out.
    ///
    /// # Errors
    /// See [`SinkError`].
    async fn lines(&self, part: &str) -> Result<Vec<String>, SinkError>;
}

/// `epoch.store`: a checkpoint sink that can be read back, and the journal beside its checkpoints.
#[derive(Clone)]
pub struct EpochStore {
    /// The checkpoints.
    pub sink: Arc<dyn CheckpointSink>,
    /// The journal.
    pub journal: Arc<dyn Journal>,
}
