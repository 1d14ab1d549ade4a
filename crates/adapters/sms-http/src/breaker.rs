//! Leaves a provider alone that has failed too often.

use std::time::Duration;

use tokio::time::Instant;

/// Failures in a row that open the breaker (F4: at most ten).
pub(crate) const FAILURES: u32 = 10;
/// The first pause.
const SHORTEST: Duration = Duration::from_secs(2);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(30);
/// A trial whose end nobody reported is over after so long; a call takes less.
const TRIAL: Duration = Duration::from_secs(60);

/// The state of the breaker.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    /// Failures in a row.
    failures: u32,
    /// Nothing is asked before this moment.
    opens_again: Option<Instant>,
    pause: Duration,
    /// Since when one message is being tried.
    trial: Option<Instant>,
}

impl Breaker {
    /// Whether a message may be tried now; if not, how long to wait.
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

    /// The provider answered: it is well.
    pub(crate) fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// The provider did not answer, or not sensibly.
    pub(crate) fn failed(&mut self, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        let was_trial = self.trial.take().is_some();
        if was_trial {
            self.pause = (self.pause * 2).min(LONGEST);
        } else if self.failures == FAILURES {
            self.pause = SHORTEST;
        } else {
            // Fewer than it takes, or answers to what was under way when it opened.
            return;
        }
        self.opens_again = Some(now + self.pause);
    }
}

#[cfg(test)]
mod tests;
