//! Request coalescing: concurrent requests share the cost of one statement or commit, served by one task at a time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use vestry_domain::ids::AppId;
use vestry_ports::store::{Partition, Partitions};

/// Work that can be done for several requests at once.
pub(crate) trait Batch: Send + Sync + 'static {
    /// One request.
    type Asked: Send;
    /// The result of one request.
    type Answer: Send;
    /// State passed from one batch to the next. It is reset when a batch panicked.
    type Memory: Default + Send;

    /// Maximum number of requests in a batch.
    const MAX_SIZE: usize;

    /// The App that a request belongs to.
    fn app(asked: &Self::Asked) -> AppId;

    /// Serves a batch: returns one result per request, in their order.
    fn serve(
        &self,
        asked: Vec<Self::Asked>,
        memory: &mut Self::Memory,
    ) -> impl Future<Output = Vec<Self::Answer>> + Send;
}

/// The waiting requests, and the work that serves them.
pub(crate) struct Batcher<B: Batch> {
    batch: B,
    /// Each partition has a queue of its own, so that an unavailable database of one App does not delay another.
    partitions: Partitions,
    queues: Mutex<Queues<B>>,
}

type Queues<B> = HashMap<Partition, Queue<B>>;

struct Queue<B: Batch> {
    waiting: Vec<Waiting<B>>,
    /// Held by the task that serves the queue; absent while one does.
    memory: Option<B::Memory>,
}

struct Waiting<B: Batch> {
    asked: B::Asked,
    answer: oneshot::Sender<B::Answer>,
}

impl<B: Batch> Default for Queue<B> {
    fn default() -> Self {
        Self {
            waiting: Vec::new(),
            memory: Some(B::Memory::default()),
        }
    }
}

impl<B: Batch> Batcher<B> {
    /// Creates one. Apps of different partitions are not served together.
    pub(crate) fn new(batch: B, partitions: Partitions) -> Self {
        Self {
            batch,
            partitions,
            queues: Mutex::new(HashMap::new()),
        }
    }

    fn queues(&self) -> MutexGuard<'_, Queues<B>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a request and returns the receiver of its result. If no task is serving, it also returns the flush, which the caller must run.
    pub(crate) fn join(
        self: &Arc<Self>,
        asked: B::Asked,
    ) -> (oneshot::Receiver<B::Answer>, Option<Flush<B>>) {
        let (sender, answer) = oneshot::channel();
        let of = self.partitions.of(B::app(&asked));
        let mut queues = self.queues();
        let queue = queues.entry(of).or_default();
        queue.waiting.push(Waiting {
            asked,
            answer: sender,
        });
        let flush = queue.memory.take().map(|memory| Flush {
            batcher: Arc::clone(self),
            of,
            memory: Some(memory),
            receivers: Vec::new(),
        });
        (answer, flush)
    }
}

/// The work of one task.
///
/// It always ends with the memory back in the queue, even if it never starts: otherwise no other task would serve again.
pub(crate) struct Flush<B: Batch> {
    batcher: Arc<Batcher<B>>,
    /// The partition whose queue this is.
    of: Partition,
    memory: Option<B::Memory>,
    /// Where the results of the current batch go.
    receivers: Vec<oneshot::Sender<B::Answer>>,
}

impl<B: Batch> Flush<B> {
    /// Serves until the queue is empty.
    pub(crate) async fn serve(mut self) {
        let batcher = Arc::clone(&self.batcher);
        loop {
            // Tasks of this runtime that are about to ask run first: the busier it is, the larger the batches.
            tokio::task::yield_now().await;
            let Some((asked, memory)) = self.next() else {
                return;
            };
            let answers = batcher.batch.serve(asked, memory).await;
            for (receiver, answer) in self.receivers.drain(..).zip(answers) {
                // The requester may be gone; then there is no one to notify.
                drop(receiver.send(answer));
            }
        }
    }

    /// The longest-waiting requests; `None` when the queue is empty, and this task stops serving.
    fn next(&mut self) -> Option<(Vec<B::Asked>, &mut B::Memory)> {
        let mut queues = self.batcher.queues();
        let queue = queues.entry(self.of).or_default();
        if queue.waiting.is_empty() {
            queue.memory = self.memory.take();
            return None;
        }
        let many = queue.waiting.len().min(B::MAX_SIZE);
        let next = queue.waiting.drain(..many);
        let (asked, receivers) = next.map(|next| (next.asked, next.answer)).unzip();
        self.receivers = receivers;
        Some((asked, self.memory.as_mut()?))
    }
}

impl<B: Batch> Drop for Flush<B> {
    fn drop(&mut self) {
        if self.memory.is_none() {
            return;
        }
        // It panicked, or the service is stopping. Waiting requests learn from their closed channel that nothing was done. The broken queue
        // is removed first and recreated, because they may retry at once.
        let broken = self.batcher.queues().remove(&self.of);
        drop(broken);
    }
}

#[cfg(test)]
mod tests;
