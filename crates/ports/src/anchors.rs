//! Storing checkpoints of the audit log outside the database.

use std::error::Error;

use vestry_port_macro::port;

/// The reason that a sink has not confirmed a note. The caller retries in every case.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The sink has a different note with this number, and keeps it. Either the database was rolled back and its numbers are being reused,
    /// or two deployments share the sink.
    #[error("the sink has a different note with number {number}")]
    Differs {
        /// The number.
        number: i64,
    },
    /// A retry may succeed: no connection, no response in time, no space.
    #[error("the sink is temporarily unavailable")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    /// It fails until the settings are changed; says why, without any content of the note.
    #[error("the sink rejected the note: {0}")]
    Refused(String),
}

/// The name of the sink that writes to the service's own log. Whether the log is retained is unknown here.
pub const LOG_SINK: &str = "log";

/// A sink that stores checkpoints as signed notes.
#[port]
pub trait CheckpointSink: Send + Sync {
    /// Its name for people: as in the settings, without secrets.
    fn name(&self) -> &str;

    /// Stores a note permanently. Storing the same note under the same number again is no error: a caller that does not know the outcome of
    /// an attempt retries it.
    ///
    /// # Errors
    /// See [`SinkError`]. `Ok` means that the sink has taken responsibility for the note.
    async fn put(&self, number: i64, note: &str) -> Result<(), SinkError>;

    /// The note with the highest number. `None` if there is none, or if the sink cannot be read.
    ///
    /// # Errors
    /// See [`SinkError`].
    async fn newest(&self) -> Result<Option<String>, SinkError>;

    /// The notes from this number on, in order. None if the sink cannot be read.
    ///
    /// # Errors
    /// See [`SinkError`].
    async fn since(&self, number: i64) -> Result<Vec<String>, SinkError>;
}
