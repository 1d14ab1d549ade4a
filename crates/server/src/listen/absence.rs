//! A service that is away for a while.

use std::time::Duration;

use super::client::Away;
use super::report::say;

const SHORTEST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(10);
/// How long somebody in front of the service may ask to be left alone.
const LONGEST_ASKED: Duration = Duration::from_secs(3600);

/// How long the service has been away, and whether that was said.
#[derive(Debug, Default)]
pub(super) struct Absence {
    misses: u32,
    told: bool,
}

impl Absence {
    /// Waits, and says once that there is nobody. A connection that broke is not said at first: a service that was started anew, or
    /// had closed a connection for being idle, is there when it is asked again.
    pub(super) async fn wait(&mut self, away: &Away) {
        self.misses = self.misses.saturating_add(1);
        if !self.told && (self.misses > 1 || !away.broke_off) {
            self.told = true;
            say(&format!(
                "the service is away ({}); waiting for it",
                away.why
            ));
        }
        tokio::time::sleep(pause(self.misses, away.retry_after)).await;
    }

    /// Whether the service was there when it was last asked.
    pub(super) const fn is_over(&self) -> bool {
        self.misses == 0
    }

    /// It has answered.
    pub(super) fn end(&mut self) {
        if self.told {
            say("the service is back");
        }
        *self = Self::default();
    }
}

/// Twice as long each time, and never shorter than was asked for.
fn pause(misses: u32, retry_after: Option<Duration>) -> Duration {
    let doublings = misses.saturating_sub(1).min(8);
    let growing = SHORTEST.saturating_mul(1 << doublings).min(LONGEST);
    let asked = retry_after.unwrap_or_default().min(LONGEST_ASKED);
    growing.max(asked)
}

#[cfg(test)]
mod tests;
