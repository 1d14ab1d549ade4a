//! What became of the messages that this process delivered.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use vestry_domain::message::{Channel, JobEnd};

/// Counts of one process since its start.
#[derive(Default)]
pub(crate) struct OutboxCounts {
    ended: Mutex<HashMap<(Channel, JobEnd), u64>>,
}

impl OutboxCounts {
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
