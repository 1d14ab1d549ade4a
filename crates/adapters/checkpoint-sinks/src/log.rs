//! Notes as lines of the service's log.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use vestry_ports::anchors::{CheckpointSink, LOG_SINK, SinkError};
use vestry_ports::port;

use crate::bounds;

/// The target of the lines. A note must not be lost, so they are not queued with others.
pub const LOG_TARGET: &str = "vestry_checkpoint_sinks::log";

/// Writes each note as the field `note` of a log line, so that log shipping carries it elsewhere without further set-up. The level is
/// `info`; if that level is disabled, nothing is stored.
#[derive(Debug, Clone, Default)]
pub struct LogSink {
    /// Whether a line is being written.
    is_busy: Arc<AtomicBool>,
}

/// How long a line may take. The log may go to a pipe that is not read.
const WITHIN: Duration = Duration::from_secs(2);

#[port]
impl CheckpointSink for LogSink {
    fn name(&self) -> &str {
        LOG_SINK
    }

    async fn put(&self, number: i64, note: &str) -> Result<(), SinkError> {
        bounds::check(number, note)?;
        let blocked = || SinkError::Unavailable("stderr is blocked".into());
        // A line that is still being written keeps its thread. A second one must not take another.
        if self.is_busy.swap(true, Ordering::Relaxed) {
            return Err(blocked());
        }
        let (note, is_busy) = (note.to_owned(), Arc::clone(&self.is_busy));
        let logged = tokio::task::spawn_blocking(move || {
            tracing::info!(target: LOG_TARGET, checkpoint = number, note, "audit log checkpoint");
            is_busy.store(false, Ordering::Relaxed);
        });
        match tokio::time::timeout(WITHIN, logged).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(stopped)) => Err(SinkError::Unavailable(stopped.into())),
            Err(_elapsed) => Err(blocked()),
        }
    }

    /// Always `None`: the log cannot be read back from here.
    async fn newest(&self) -> Result<Option<String>, SinkError> {
        Ok(None)
    }

    /// As [`Self::newest`].
    async fn since(&self, _number: i64) -> Result<Vec<String>, SinkError> {
        Ok(Vec::new())
    }
}
