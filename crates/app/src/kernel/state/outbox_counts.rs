//! Numbers about messages: how those that this process delivered ended, and how many wait.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use vestry_domain::World;
use vestry_domain::message::{Channel, JobEnd, Priority};
use vestry_ports::store::Backlog;

/// Counts of one process: of ends since its start, and of waiting jobs when it last counted them.
#[derive(Default)]
pub(crate) struct OutboxCounts {
    ended: Mutex<HashMap<(Channel, JobEnd), u64>>,
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

    /// Counts a job that has ended.
    pub(crate) fn ended(&self, channel: Channel, end: JobEnd) {
        let mut ended = lock(&self.ended);
        let count = ended.entry((channel, end)).or_default();
        *count = count.saturating_add(1);
    }

    /// Returns the number of jobs of a channel that ended in this way.
    pub(crate) fn ends(&self, channel: Channel, end: JobEnd) -> u64 {
        let count = lock(&self.ended).get(&(channel, end)).copied();
        count.unwrap_or_default()
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
