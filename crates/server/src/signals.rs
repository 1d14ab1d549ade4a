//! Signals that ask the process to stop or to look at its certificate again.

use std::process;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{Context, Failure};

/// SIGTERM and SIGINT, from the moment of its making on.
pub(crate) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// Takes both over from the system. To be called inside a runtime.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let take = |kind| signal(kind).context("signals cannot be listened to");
        Ok(Self {
            terminate: take(SignalKind::terminate())?,
            interrupt: take(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next one and names it.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }

    /// Waits for one more and ends the process at once, with exit code 1: somebody does not want to wait for us.
    pub(crate) async fn next_one_ends_the_process(mut self) {
        let signal = self.next().await;
        tracing::warn!(signal, "stopping at once");
        process::exit(1);
    }
}

/// Calls `action` at each SIGHUP, for as long as it is polled.
pub(crate) async fn on_hangup(action: impl Fn()) -> Result<(), Failure> {
    let mut hangup = signal(SignalKind::hangup()).context("signals cannot be listened to")?;
    while hangup.recv().await.is_some() {
        action();
    }
    Ok(())
}
