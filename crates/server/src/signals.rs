//! Signals that stop the process or reload its certificate.

use std::process;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{Context, Failure};
use crate::logging;

/// SIGTERM and SIGINT, caught from its creation on.
pub(crate) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// Installs handlers for both signals. Must be called inside a runtime.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let take = |kind| signal(kind).context("cannot install a signal handler");
        Ok(Self {
            terminate: take(SignalKind::terminate())?,
            interrupt: take(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next signal and returns its name.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }

    /// Waits for another signal, then ends the process at once with exit code 1.
    pub(crate) async fn next_one_ends_the_process(mut self) {
        let signal = self.next().await;
        tracing::warn!(signal, "stopping at once");
        logging::flush();
        process::exit(1);
    }
}

/// Calls `action` at each SIGHUP, for as long as it is polled.
pub(crate) async fn on_hangup(action: impl Fn()) -> Result<(), Failure> {
    let mut hangup = signal(SignalKind::hangup()).context("cannot install a signal handler")?;
    while hangup.recv().await.is_some() {
        action();
    }
    Ok(())
}
