//! What the three calls of the test clock answer.

use serde::Serialize;
use utoipa::ToSchema;
use vestry_app::test_clock::ClockReading;

/// The clock of the test environment.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TestClock)]
pub(crate) struct Clock {
    /// The time that the test environment of this App has, in Unix seconds.
    now: i64,
    /// Whether it stands still.
    frozen: bool,
    /// Whether it is a clock of its own; `false`: it is the machine's.
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
