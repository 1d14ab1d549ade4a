//! The queues of the outbox that may have due jobs.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use vestry_domain::message::OutboxQueue;

/// The marked queues of one process.
#[derive(Default)]
pub(crate) struct OutboxBell {
    queues: Mutex<BTreeSet<OutboxQueue>>,
    bell: Notify,
}

impl OutboxBell {
    /// Marks queues that may have due jobs.
    pub(crate) fn ring(&self, queues: impl IntoIterator<Item = OutboxQueue>) {
        self.queues().extend(queues);
        self.bell.notify_one();
    }

    /// Waits until a queue is marked.
    pub(crate) async fn rung(&self) {
        self.bell.notified().await;
    }

    /// Unmarks the marked queues with room, and returns them with it. The others stay marked.
    pub(crate) fn take(&self, room: impl Fn(OutboxQueue) -> i64) -> Vec<(OutboxQueue, i64)> {
        let mut queues = self.queues();
        let marked = queues.iter().map(|queue| (*queue, room(*queue)));
        let taken: Vec<_> = marked.filter(|(_, room)| *room > 0).collect();
        for (queue, _) in &taken {
            queues.remove(queue);
        }
        taken
    }

    fn queues(&self) -> MutexGuard<'_, BTreeSet<OutboxQueue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
