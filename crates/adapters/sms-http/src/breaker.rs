//! A circuit breaker for a failing provider.

use std::time::Duration;

use tokio::time::Instant;

/// Consecutive failures that open the breaker (F4: at most ten).
pub(crate) const FAILURES: u32 = 10;
/// The first pause.
const SHORTEST: Duration = Duration::from_secs(2);
/// The longest pause: shorter than the interval at which the outbox tries a failing transport (PR-74).
const MAX_PAUSE: Duration = Duration::from_secs(4);
/// A trial without a reported outcome expires after this time; a call is shorter.
const TRIAL: Duration = Duration::from_secs(60);

/// The state of the breaker.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    /// Consecutive failures.
    failures: u32,
    /// No calls are made before this moment.
    opens_again: Option<Instant>,
    pause: Duration,
    /// When the current trial of one message began.
    trial: Option<Instant>,
}

impl Breaker {
    /// Whether a message may be sent now; if not, how long to wait.
    pub(crate) fn admit(&mut self, now: Instant) -> Result<(), Duration> {
        let Some(moment) = self.opens_again else {
            return Ok(());
        };
        if now < moment {
            return Err(moment - now);
        }
        match self.trial {
            Some(since) if now < since + TRIAL => Err(SHORTEST),
            Some(_) | None => {
                self.trial = Some(now);
                Ok(())
            }
        }
    }

    /// Records a response, which means that the provider works.
    pub(crate) fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// Records that the provider did not respond, or not sensibly.
    pub(crate) fn failed(&mut self, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        let was_trial = self.trial.take().is_some();
        if was_trial {
            self.pause = (self.pause * 2).min(MAX_PAUSE);
        } else if self.failures == FAILURES {
            self.pause = SHORTEST;
        } else {
            // Too few failures, or late failures of calls that were running when it opened.
            return;
        }
        self.opens_again = Some(now + self.pause);
    }
}

#[cfg(test)]
mod tests;
