//! The clocks of test worlds.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use vestry_domain::ids::AppId;
use vestry_domain::test_clock::TestClock;
use vestry_domain::{Environment, World};

/// The clocks that are set, as far as this process knows.
#[derive(Default)]
pub(crate) struct TestClocks(RwLock<HashMap<AppId, TestClock>>);

impl TestClocks {
    /// The clock of a test world, if one was ever set. Live worlds have none (S-17).
    pub(crate) fn of(&self, world: &World) -> Option<TestClock> {
        if world.environment == Environment::Live {
            return None;
        }
        let clocks = self.0.read().unwrap_or_else(PoisonError::into_inner);
        clocks.get(&world.app_id).copied()
    }

    /// Takes note of a clock that was read or set; an older reading than the known one changes nothing.
    pub(crate) fn follow(&self, app: AppId, clock: TestClock) {
        let known =
            |clocks: &HashMap<AppId, TestClock>| clocks.get(&app).map_or(0, |known| known.revision);
        // Nearly always there is nothing to note, and readers do not wait for one another.
        if clock.revision <= known(&self.0.read().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        let mut clocks = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if clock.revision > known(&clocks) {
            clocks.insert(app, clock);
        }
    }
}
