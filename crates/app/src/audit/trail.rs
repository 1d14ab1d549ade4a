//! Entries on their way to the disk: one task writes for all who wait, in one transaction (group commit), so that the log
//! costs each caller the time of one commit and the database a commit for many.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use vestry_domain::World;
use vestry_domain::audit::{AuditEntry, AuditEvent, AuditHead};
use vestry_domain::ids::{AuditChainId, AuditEntryId};
use vestry_ports::custody::{CustodyError, Sealer};
use vestry_ports::entropy::Entropy;
use vestry_ports::store::Store;

use super::{entry_mac, new_head};
use crate::fault::{causes, retried};
use crate::service::Ports;
use crate::{Fault, Service, mint};

/// Entries in one transaction at most: one statement can take so many, and nobody waits for a thousand others.
const MOST_AT_ONCE: usize = 256;
/// Chains whose ends are remembered at most. Beyond it all are forgotten, and the worlds begin new ones.
const MOST_ENDS: usize = 10_000;

/// Where the log is written, and what waits to be.
pub(crate) struct Trail {
    store: Arc<dyn Store>,
    sealer: Arc<dyn Sealer>,
    entropy: Arc<dyn Entropy>,
    queue: Mutex<Queue>,
}

struct Queue {
    waiting: Vec<Waiting>,
    /// Whoever has them writes: they are not here while somebody does.
    ends: Option<Ends>,
}

struct Waiting {
    event: AuditEvent,
    written: oneshot::Sender<Outcome>,
}

/// Whether an entry is on disk.
type Outcome = Result<(), Fault>;

/// Where the chains of this process end.
type Ends = HashMap<World, End>;

/// The last entry of a chain.
#[derive(Clone, Copy)]
struct End {
    chain: AuditChainId,
    sequence: i64,
    hash: [u8; 32],
    id: Option<AuditEntryId>,
}

/// Entries that have their places.
#[derive(Default)]
struct Batch {
    entries: Vec<AuditEntry>,
    /// The new ends of the chains that it lengthens.
    ends: Ends,
}

const UNWRITTEN: &str = "the audit log could not be written";

fn unwritten() -> Fault {
    Fault::Unavailable(UNWRITTEN.into())
}

/// What one failure means to each of those who waited for the same commit; its cause is in the log of the service, once.
fn shared(fault: &Fault) -> Fault {
    match fault {
        Fault::Sealed(_) => Fault::Sealed(CustodyError::Sealed(UNWRITTEN.into())),
        Fault::Tampered(_) | Fault::Internal(_) => Fault::Internal(UNWRITTEN.into()),
        Fault::Overloaded | Fault::Unavailable(_) | Fault::NoTransport(_) | Fault::LostRace => {
            unwritten()
        }
    }
}

impl Service {
    /// Writes an event to the log. When this answers, the entry is on disk.
    ///
    /// # Errors
    /// The entry may not be there: what it is about must not be answered.
    pub(crate) async fn record(&self, event: AuditEvent) -> Result<(), Fault> {
        let (outcome, turn) = self.trail.join(event);
        // A task of its own, and not whoever came first, who has an answer to give once its own entry is written, and whose
        // request may panic or end while others wait.
        if let Some(turn) = turn {
            self.spawn(turn.write());
        }
        outcome.await.unwrap_or_else(|_gone| Err(unwritten()))
    }
}

impl Trail {
    pub(crate) fn new(ports: &Ports) -> Self {
        Self {
            store: Arc::clone(&ports.store),
            sealer: Arc::clone(&ports.sealer),
            entropy: Arc::clone(&ports.entropy),
            queue: Mutex::new(Queue {
                waiting: Vec::new(),
                ends: Some(Ends::new()),
            }),
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the outcome will be told; and the turn to write, when nobody writes: then the caller has to see to it.
    fn join(self: &Arc<Self>, event: AuditEvent) -> (oneshot::Receiver<Outcome>, Option<Turn>) {
        let (written, outcome) = oneshot::channel();
        let mut queue = self.queue();
        queue.waiting.push(Waiting { event, written });
        let turn = queue.ends.take().map(|ends| Turn {
            trail: Arc::clone(self),
            ends: Some(ends),
            told: Vec::new(),
        });
        (outcome, turn)
    }

    /// Writes events in one transaction; what became of each.
    async fn write_batch(&self, events: Vec<AuditEvent>, ends: &mut Ends) -> Vec<Outcome> {
        let mut batch = Batch::default();
        let mut outcomes: Vec<Outcome> = Vec::with_capacity(events.len());
        for event in events {
            let world = event.world;
            let end = batch.ends.get(&world).or_else(|| ends.get(&world)).copied();
            outcomes.push(self.in_place(event, end).await.map(|entry| {
                batch.ends.insert(world, End::at(&entry));
                batch.entries.push(entry);
            }));
        }
        match self.keep_batch(&batch).await {
            Ok(()) => {
                if ends.len() >= MOST_ENDS {
                    ends.clear();
                }
                ends.extend(batch.ends);
            }
            Err(fault) => {
                tracing::error!(error = causes(&fault), "the audit log was not written");
                // Whether it happened after all is not known: these chains are left as they are, and new ones begun.
                ends.retain(|world, _| !batch.ends.contains_key(world));
                for outcome in outcomes.iter_mut().filter(|outcome| outcome.is_ok()) {
                    *outcome = Err(shared(&fault));
                }
            }
        }
        outcomes
    }

    /// The event behind the end of its chain, or at the beginning of a new one.
    async fn in_place(&self, event: AuditEvent, end: Option<End>) -> Result<AuditEntry, Fault> {
        let entropy = &*self.entropy;
        let end = end.unwrap_or_else(|| End {
            chain: mint::id(entropy, event.at),
            sequence: 0,
            hash: [0; 32],
            id: None,
        });
        let id = mint::id_behind(entropy, event.at, end.id);
        let sequence = end.sequence.saturating_add(1);
        let hash = AuditEntry::digest(id, end.chain, sequence, &event, &end.hash);
        let mac = entry_mac(&*self.sealer, &event.world, &hash).await?;
        Ok(AuditEntry {
            id,
            chain: end.chain,
            sequence,
            event,
            previous: end.hash,
            hash,
            mac,
        })
    }

    async fn keep_batch(&self, batch: &Batch) -> Result<(), Fault> {
        if batch.entries.is_empty() {
            return Ok(());
        }
        let mut heads: Vec<AuditHead> = Vec::with_capacity(batch.ends.len());
        for (world, end) in &batch.ends {
            let sealer = &*self.sealer;
            heads.push(new_head(sealer, world, end.chain, end.sequence, end.hash).await?);
        }
        retried(|| async {
            let mut tx = self.store.begin().await?;
            tx.audit_log().append(&batch.entries, &heads).await?;
            Ok(tx.commit().await?)
        })
        .await
    }
}

impl End {
    const fn at(entry: &AuditEntry) -> Self {
        Self {
            chain: entry.chain,
            sequence: entry.sequence,
            hash: entry.hash,
            id: Some(entry.id),
        }
    }
}

/// The writing of one task, which ends with the ends back in the queue whatever happens, even if it never begins: nobody else
/// would write again.
struct Turn {
    trail: Arc<Trail>,
    ends: Option<Ends>,
    /// Who waits for what is being written.
    told: Vec<oneshot::Sender<Outcome>>,
}

impl Turn {
    /// Writes until nothing waits.
    async fn write(mut self) {
        let trail = Arc::clone(&self.trail);
        while let Some((events, ends)) = self.next() {
            let outcomes = trail.write_batch(events, ends).await;
            self.tell(outcomes);
        }
    }

    /// The events that have waited longest; `None` when nothing waits, and then this task writes no more.
    fn next(&mut self) -> Option<(Vec<AuditEvent>, &mut Ends)> {
        let mut queue = self.trail.queue();
        if queue.waiting.is_empty() {
            queue.ends = self.ends.take();
            return None;
        }
        let many = queue.waiting.len().min(MOST_AT_ONCE);
        let next = queue.waiting.drain(..many);
        let (events, told) = next.map(|next| (next.event, next.written)).unzip();
        self.told = told;
        Some((events, self.ends.as_mut()?))
    }

    fn tell(&mut self, outcomes: Vec<Outcome>) {
        for (written, outcome) in self.told.drain(..).zip(outcomes) {
            // Whoever asked may be gone; then nobody is to be told.
            drop(written.send(outcome));
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.ends.is_none() {
            return;
        }
        // It panicked, or the service ends. How far the chains go is not known: new ones are begun. Who waits learns from the
        // end of its channel that nothing was written for it, and only now: it may come again at once.
        let mut queue = self.trail.queue();
        queue.ends = Some(Ends::new());
        queue.waiting.clear();
    }
}
