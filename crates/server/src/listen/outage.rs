//! Waiting while the service is unreachable.

use std::time::Duration;

use super::client::Unavailable;
use super::report::say;

const MIN_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// The longest Retry-After that is honoured.
const MAX_REQUESTED: Duration = Duration::from_secs(3600);

/// How often the service has been unreachable in a row, and whether that was reported.
#[derive(Debug, Default)]
pub(super) struct Outage {
    misses: u32,
    reported: bool,
}

impl Outage {
    /// Waits, and reports the outage once. The first broken connection is not reported: a service that restarted or closed an idle
    /// connection is back at the next request.
    pub(super) async fn wait(&mut self, unavailable: &Unavailable) {
        self.misses = self.misses.saturating_add(1);
        if !self.reported && (self.misses > 1 || !unavailable.connection_broke) {
            self.reported = true;
            say(&format!(
                "service is unreachable ({}); retrying",
                unavailable.why
            ));
        }
        tokio::time::sleep(pause(self.misses, unavailable.retry_after)).await;
    }

    /// Whether the last request was answered.
    pub(super) const fn is_over(&self) -> bool {
        self.misses == 0
    }

    /// Ends the outage.
    pub(super) fn end(&mut self) {
        if self.reported {
            say("service is reachable again");
        }
        *self = Self::default();
    }
}

/// The pause before the next request: doubles each time, and is at least the Retry-After.
fn pause(misses: u32, retry_after: Option<Duration>) -> Duration {
    let doublings = misses.saturating_sub(1).min(8);
    let growing = MIN_PAUSE.saturating_mul(1 << doublings).min(MAX_PAUSE);
    let asked = retry_after.unwrap_or_default().min(MAX_REQUESTED);
    growing.max(asked)
}

#[cfg(test)]
mod tests;
