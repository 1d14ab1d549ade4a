//! How many messages wait.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use vestry_domain::World;
use vestry_domain::message::{Channel, Priority};
use vestry_ports::store::Backlog;

/// The waiting jobs when this process last counted them.
#[derive(Default)]
pub(crate) struct OutboxCounts {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    crowded: HashSet<(World, Channel, Priority)>,
    backlog: Vec<Backlog>,
}

impl OutboxCounts {
    /// Replaces the counts of waiting jobs.
    pub(crate) fn set_waiting(
        &self,
        crowded: impl IntoIterator<Item = (World, Channel, Priority)>,
        backlog: Vec<Backlog>,
    ) {
        *lock(&self.waiting) = Waiting {
            crowded: crowded.into_iter().collect(),
            backlog,
        };
    }

    /// Whether too many messages of this kind wait.
    pub(crate) fn is_crowded(&self, world: World, channel: Channel, priority: Priority) -> bool {
        let waiting = lock(&self.waiting);
        waiting.crowded.contains(&(world, channel, priority))
    }

    /// Returns the waiting jobs of a channel, by priority.
    pub(crate) fn backlog(&self, channel: Channel) -> Vec<Backlog> {
        let waiting = lock(&self.waiting);
        let of_channel = waiting.backlog.iter().filter(|of| of.channel == channel);
        of_channel.copied().collect()
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
