//! Work that is done for all who ask for it at the same time, by one task at a time: what a statement or a commit costs is
//! shared by however many wait for one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use vestry_domain::ids::AppId;

/// Work that can be done for several at once.
pub(crate) trait Batch: Send + Sync + 'static {
    /// What one of them asks for.
    type Asked: Send;
    /// What comes of it.
    type Answer: Send;
    /// What one batch leaves to the next. Begun anew when a batch panicked.
    type Memory: Default + Send;

    /// How many are served at once.
    const MOST: usize;

    /// Whose it is.
    fn app(asked: &Self::Asked) -> AppId;

    /// Does it: an answer for each, in the order in which they asked.
    fn serve(
        &self,
        asked: Vec<Self::Asked>,
        memory: &mut Self::Memory,
    ) -> impl Future<Output = Vec<Self::Answer>> + Send;
}

/// Those who wait, and the work that is done for them.
pub(crate) struct Together<B: Batch> {
    batch: B,
    /// Whether each App has a queue of its own, which is not held up where the database of another one is away.
    apart: bool,
    queues: Mutex<Queues<B>>,
}

/// By App, or one for all of them.
type Queues<B> = HashMap<Option<AppId>, Queue<B>>;

struct Queue<B: Batch> {
    waiting: Vec<Waiting<B>>,
    /// Whoever has it serves: it is not here while somebody does.
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

impl<B: Batch> Together<B> {
    /// A desk; `apart` where Apps are not to be served together ([`Store::is_spread`](vestry_ports::store::Store::is_spread)).
    pub(crate) fn new(batch: B, apart: bool) -> Self {
        Self {
            batch,
            apart,
            queues: Mutex::new(HashMap::new()),
        }
    }

    fn queues(&self) -> MutexGuard<'_, Queues<B>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the answer will be told; and the turn to serve, when nobody does: then the caller has to see to it.
    pub(crate) fn join(
        self: &Arc<Self>,
        asked: B::Asked,
    ) -> (oneshot::Receiver<B::Answer>, Option<Turn<B>>) {
        let (sender, answer) = oneshot::channel();
        let of = self.apart.then(|| B::app(&asked));
        let mut queues = self.queues();
        let queue = queues.entry(of).or_default();
        queue.waiting.push(Waiting {
            asked,
            answer: sender,
        });
        let turn = queue.memory.take().map(|memory| Turn {
            desk: Arc::clone(self),
            of,
            memory: Some(memory),
            told: Vec::new(),
        });
        (answer, turn)
    }
}

/// The work of one task, which ends with the memory back in the queue whatever happens, even if it never begins: nobody else
/// would serve again.
pub(crate) struct Turn<B: Batch> {
    desk: Arc<Together<B>>,
    /// Whose queue it is.
    of: Option<AppId>,
    memory: Option<B::Memory>,
    /// Who waits for what is being done.
    told: Vec<oneshot::Sender<B::Answer>>,
}

impl<B: Batch> Turn<B> {
    /// Serves until nobody waits.
    pub(crate) async fn serve(mut self) {
        let desk = Arc::clone(&self.desk);
        loop {
            // Whoever is about to ask on this runtime comes first: the busier it is, the more are served at once.
            tokio::task::yield_now().await;
            let Some((asked, memory)) = self.next() else {
                return;
            };
            let answers = desk.batch.serve(asked, memory).await;
            for (waiting, answer) in self.told.drain(..).zip(answers) {
                // Whoever asked may be gone; then nobody is to be told.
                drop(waiting.send(answer));
            }
        }
    }

    /// Those who have waited longest; `None` when nobody waits, and then this task serves no more.
    fn next(&mut self) -> Option<(Vec<B::Asked>, &mut B::Memory)> {
        let mut queues = self.desk.queues();
        let queue = queues.entry(self.of).or_default();
        if queue.waiting.is_empty() {
            queue.memory = self.memory.take();
            return None;
        }
        let many = queue.waiting.len().min(B::MOST);
        let next = queue.waiting.drain(..many);
        let (asked, told) = next.map(|next| (next.asked, next.answer)).unzip();
        self.told = told;
        Some((asked, self.memory.as_mut()?))
    }
}

impl<B: Batch> Drop for Turn<B> {
    fn drop(&mut self) {
        if self.memory.is_none() {
            return;
        }
        // It panicked, or the service ends. Who waits learns from the end of its channel that nothing was done for it, and
        // only after the queue is gone, which is begun anew: it may come again at once.
        let broken = self.desk.queues().remove(&self.of);
        drop(broken);
    }
}

#[cfg(test)]
mod tests;
