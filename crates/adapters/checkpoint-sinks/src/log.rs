//! Notes as lines of the service's log.

use vestry_ports::anchors::{CheckpointSink, LOG_SINK, SinkError};
use vestry_ports::port;

use crate::bounds;

/// The target of the lines. A note must not be lost, so they are not queued with others.
pub const LOG_TARGET: &str = "vestry_checkpoint_sinks::log";

/// Writes each note as the field `note` of a log line, so that log shipping carries it elsewhere without further set-up. The level is
/// `info`; if that level is disabled, nothing is stored.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogSink;

#[port]
impl CheckpointSink for LogSink {
    fn name(&self) -> &str {
        LOG_SINK
    }

    async fn put(&self, number: i64, note: &str) -> Result<(), SinkError> {
        bounds::check(number, note)?;
        let note = note.to_owned();
        // The log may be written to a pipe that is not read, which blocks the thread.
        let logged = tokio::task::spawn_blocking(move || {
            tracing::info!(target: LOG_TARGET, checkpoint = number, note, "audit log checkpoint");
        });
        logged
            .await
            .map_err(|stopped| SinkError::Unavailable(stopped.into()))
    }

    /// Always `None`: the log cannot be read back from here.
    async fn newest(&self) -> Result<Option<String>, SinkError> {
        Ok(None)
    }
}
