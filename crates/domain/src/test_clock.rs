//! A separate clock for an App's test environment, so that a seven-day link can be tested in a moment.

use serde::{Deserialize, Serialize};

use crate::timestamp::Seconds;
use crate::{Invalid, Timestamp};

/// Earliest and latest time of a test clock in Unix seconds: 2014-05-13, before which ids cannot represent a time, and 2100-01-01.
pub const BOUNDS: (i64, i64) = (1_400_000_000, 4_102_444_800);
/// A test clock that is not set for this long falls back to the machine's clock. Otherwise a forgotten one would keep old rows for ever.
const LAPSE: Seconds = Seconds(7 * 86_400);

/// The stored test clock of an App.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestClock {
    /// Number of changes so far, from 0; the reading with the higher number is newer.
    pub revision: i64,
    /// The machine's time at the last change.
    pub set_at: Timestamp,
    /// What the clock shows.
    #[serde(flatten)]
    pub mode: Mode,
}

/// What a test clock shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum Mode {
    /// The machine's time.
    Machine,
    /// A fixed time.
    Frozen {
        /// The time.
        shows: Timestamp,
    },
    /// Started at this time when it was set, and running since.
    Running {
        /// The time.
        shows: Timestamp,
    },
}

impl Default for TestClock {
    fn default() -> Self {
        Self {
            revision: 0,
            set_at: Timestamp::from_unix(0),
            mode: Mode::Machine,
        }
    }
}

/// A change of a test clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClockChange {
    /// Set it to this time, in Unix seconds.
    pub now: Option<i64>,
    /// Advance it by this many seconds, 0 or more.
    pub advance_seconds: Option<i64>,
    /// Freeze it or let it run. If absent, this stays the same; a clock that is set for the first time runs.
    pub frozen: Option<bool>,
}

impl TestClock {
    /// The time that it shows when the machine's clock shows `machine`.
    pub fn now(&self, machine: Timestamp) -> Timestamp {
        match self.mode_at(machine) {
            Mode::Machine => machine,
            Mode::Frozen { shows } => shows,
            Mode::Running { shows } => shows + (machine - self.set_at),
        }
    }

    /// The time used for rate limits. It jumps when the clock is set but never stands still, because a frozen clock would lock out its own
    /// App.
    pub fn for_limits(&self, machine: Timestamp) -> Timestamp {
        match self.mode_at(machine) {
            Mode::Machine => machine,
            Mode::Frozen { shows } | Mode::Running { shows } => shows + (machine - self.set_at),
        }
    }

    /// Whether it is frozen.
    pub fn is_frozen(&self, machine: Timestamp) -> bool {
        matches!(self.mode_at(machine), Mode::Frozen { .. })
    }

    fn mode_at(&self, machine: Timestamp) -> Mode {
        if machine < self.set_at + LAPSE {
            self.mode
        } else {
            Mode::Machine
        }
    }

    /// The clock after a change.
    ///
    /// # Errors
    /// If there is nothing to change, both `now` and `advance_seconds` are given, or the time is outside [`BOUNDS`]; names the field.
    pub fn changed(&self, change: ClockChange, machine: Timestamp) -> Result<Self, Invalid> {
        let present = self.now(machine);
        let (param, shows) = match (change.now, change.advance_seconds, change.frozen) {
            (Some(_), Some(_), _) => {
                return Err(Invalid::value(
                    "advance_seconds",
                    "send now or advance_seconds, not both",
                ));
            }
            (Some(now), None, _) => ("now", now),
            (None, Some(seconds), _) if seconds < 0 => {
                return Err(Invalid::value(
                    "advance_seconds",
                    "advance_seconds must be 0 or more; to set an earlier time, send now",
                ));
            }
            (None, Some(seconds), _) => ("advance_seconds", present.unix().saturating_add(seconds)),
            (None, None, Some(_)) => ("frozen", present.unix()),
            (None, None, None) => return Err(Invalid::missing("now")),
        };
        let (least, most) = BOUNDS;
        if !(least..=most).contains(&shows) {
            return Err(Invalid::value(
                param,
                format!("the clock must show Unix seconds from {least} to {most}"),
            ));
        }
        let shows = Timestamp::from_unix(shows);
        let frozen = change.frozen.unwrap_or_else(|| self.is_frozen(machine));
        Ok(Self {
            revision: self.revision + 1,
            set_at: machine,
            mode: if frozen {
                Mode::Frozen { shows }
            } else {
                Mode::Running { shows }
            },
        })
    }

    /// The clock after a reset to the machine's time.
    #[must_use]
    pub const fn reset(&self, machine: Timestamp) -> Self {
        Self {
            revision: self.revision + 1,
            set_at: machine,
            mode: Mode::Machine,
        }
    }
}

#[cfg(test)]
mod tests;
