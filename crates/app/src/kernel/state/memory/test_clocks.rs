//! The clocks of test worlds.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use vestry_domain::ids::AppId;
use vestry_domain::test_clock::TestClock;
use vestry_domain::{Environment, World};

/// The configured clocks, as far as this process knows.
#[derive(Default)]
pub(crate) struct TestClocks(RwLock<HashMap<AppId, TestClock>>);

impl TestClocks {
    /// Returns the clock of a test world if one was ever set. Live worlds have none (S-17).
    pub(crate) fn of(&self, world: &World) -> Option<TestClock> {
        if world.environment == Environment::Live {
            return None;
        }
        let clocks = self.0.read().unwrap_or_else(PoisonError::into_inner);
        clocks.get(&world.app_id).copied()
    }

    /// Records a clock that was read or set. A reading older than the known one changes nothing.
    pub(crate) fn follow(&self, app: AppId, clock: TestClock) {
        let known =
            |clocks: &HashMap<AppId, TestClock>| clocks.get(&app).map_or(0, |known| known.revision);
        // Usually there is nothing to record, and readers do not block each other.
        if clock.revision <= known(&self.0.read().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        let mut clocks = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if clock.revision > known(&clocks) {
            clocks.insert(app, clock);
        }
    }
}
