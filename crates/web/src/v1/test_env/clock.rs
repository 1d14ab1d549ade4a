//! The response of the three test clock calls.

use serde::Serialize;
use utoipa::ToSchema;
use vestry_app::platform::test_clock::ClockReading;

/// The clock of a test environment.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TestClock)]
pub(crate) struct Clock {
    /// Current time in this App's test environment, in Unix seconds.
    now: i64,
    /// Whether the clock is stopped.
    frozen: bool,
    /// Whether the environment has its own clock; if false, it uses the machine's clock.
    set: bool,
}

impl From<ClockReading> for Clock {
    fn from(reading: ClockReading) -> Self {
        Self {
            now: reading.now.unix(),
            frozen: reading.frozen,
            set: reading.is_set,
        }
    }
}
