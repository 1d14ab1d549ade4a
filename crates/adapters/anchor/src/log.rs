//! Notes as lines of the service's log.

use vestry_ports::anchors::{CheckpointSink, LOG_SINK, SinkError};
use vestry_ports::port;

use crate::bounds;

/// Writes each note as the field `note` of a line: whoever ships logs has them elsewhere without doing anything. A line is of level
/// `info`; where that is not written, nothing is kept.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogSink;

#[port]
impl CheckpointSink for LogSink {
    fn name(&self) -> &str {
        LOG_SINK
    }

    async fn put(&self, number: i64, note: &str) -> Result<(), SinkError> {
        bounds::check(number, note)?;
        tracing::info!(checkpoint = number, note, "a checkpoint of the audit log");
        Ok(())
    }

    /// Nobody is asked: what became of the log is not known here.
    async fn newest(&self) -> Result<Option<String>, SinkError> {
        Ok(None)
    }
}
