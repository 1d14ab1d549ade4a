//! Work that is done for all who ask for it at the same time, by one task at a time: what a statement or a commit costs is
//! shared by however many wait for one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

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
    queue: Mutex<Queue<B>>,
}

struct Queue<B: Batch> {
    waiting: Vec<Waiting<B>>,
    /// Whoever has it serves: it is not here while somebody does.
    memory: Option<B::Memory>,
}

struct Waiting<B: Batch> {
    asked: B::Asked,
    answer: oneshot::Sender<B::Answer>,
}

impl<B: Batch> Together<B> {
    pub(crate) fn new(batch: B) -> Self {
        Self {
            batch,
            queue: Mutex::new(Queue {
                waiting: Vec::new(),
                memory: Some(B::Memory::default()),
            }),
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue<B>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the answer will be told; and the turn to serve, when nobody does: then the caller has to see to it.
    pub(crate) fn join(
        self: &Arc<Self>,
        asked: B::Asked,
    ) -> (oneshot::Receiver<B::Answer>, Option<Turn<B>>) {
        let (sender, answer) = oneshot::channel();
        let mut queue = self.queue();
        queue.waiting.push(Waiting {
            asked,
            answer: sender,
        });
        let turn = queue.memory.take().map(|memory| Turn {
            desk: Arc::clone(self),
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
        let mut queue = self.desk.queue();
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
        // only after the memory is back: it may come again at once.
        let mut queue = self.desk.queue();
        queue.memory = Some(B::Memory::default());
        queue.waiting.clear();
    }
}

#[cfg(test)]
mod tests;
