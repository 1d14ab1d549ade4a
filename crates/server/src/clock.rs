//! The machine's clock.

use std::time::{SystemTime, UNIX_EPOCH};

use vestry_domain::{Timestamp, World};
use vestry_ports::clock::Clock;

/// The machine's clock, for every environment.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self, _world: &World) -> Timestamp {
        self.machine()
    }

    /// A clock set before 1970 counts as 1970. Everything then looks expired, which is the safe side.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the adapter that reads the machine's clock"
    )]
    fn machine(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let seconds = since.map_or(0, |since| since.as_secs());
        Timestamp::from_unix(i64::try_from(seconds).unwrap_or(i64::MAX))
    }
}
