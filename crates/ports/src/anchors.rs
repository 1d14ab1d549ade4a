//! Keeping checkpoints of the audit log outside of the database.

use std::error::Error;

use vestry_port_macro::port;

/// Why a sink does not have a note, or whether it has it is not known. The caller tries again in every case.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// There is another note of this number, which stays. Either the database was set back and its numbers are given once more,
    /// or two deployments share the sink.
    #[error("the sink has another note of number {number}")]
    Differs {
        /// The number.
        number: i64,
    },
    /// It may work later: no connection, no answer in time, no room.
    #[error("the sink did not take the note for now")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    /// It will not work until somebody changes the settings: says why, and nothing of the note.
    #[error("the sink cannot be used so: {0}")]
    Refused(String),
}

/// The name of the sink that is the service's own log. Whether anybody keeps that, nobody here knows.
pub const LOG_SINK: &str = "log";

/// A place that keeps checkpoints, as signed notes.
#[port]
pub trait CheckpointSink: Send + Sync {
    /// Which one it is, for people: as in the settings, without anything secret.
    fn name(&self) -> &str;

    /// Keeps a note for good. The same note of the same number again is no error: whoever does not know how the first attempt ended
    /// makes another one.
    ///
    /// # Errors
    /// See [`SinkError`]. `Ok` means that the sink took responsibility for the note.
    async fn put(&self, number: i64, note: &str) -> Result<(), SinkError>;

    /// The note with the highest number. `None` where there is none, and of a sink that cannot be read.
    ///
    /// # Errors
    /// See [`SinkError`].
    async fn newest(&self) -> Result<Option<String>, SinkError>;
}
