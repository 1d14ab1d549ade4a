//! Which kinds of messages wait in too large a number.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use vestry_domain::World;
use vestry_domain::message::{Channel, Priority};

/// The kinds of which too many waited when this process last counted them.
#[derive(Default)]
pub(crate) struct OutboxCounts(Mutex<HashSet<(World, Channel, Priority)>>);

impl OutboxCounts {
    /// Replaces the kinds.
    pub(crate) fn set_crowded(&self, crowded: Vec<(World, Channel, Priority)>) {
        *self.lock() = crowded.into_iter().collect();
    }

    /// Whether too many messages of this kind wait.
    pub(crate) fn is_crowded(&self, world: World, channel: Channel, priority: Priority) -> bool {
        self.lock().contains(&(world, channel, priority))
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<(World, Channel, Priority)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
