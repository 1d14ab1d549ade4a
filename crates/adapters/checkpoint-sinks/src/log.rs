//! Notes as lines of the service's log.

use vestry_ports::anchors::{CheckpointSink, LOG_SINK, SinkError};
use vestry_ports::port;

use crate::bounds;

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
        tracing::info!(checkpoint = number, note, "audit log checkpoint");
        Ok(())
    }

    /// Always `None`: the log cannot be read back from here.
    async fn newest(&self) -> Result<Option<String>, SinkError> {
        Ok(None)
    }
}
