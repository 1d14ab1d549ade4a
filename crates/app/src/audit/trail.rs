//! Entries on their way to the disk: whoever comes first writes for all who wait, in one transaction (group commit), so that
//! the log costs each caller the time of one commit and the database a commit for many.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;
use vestry_domain::World;
use vestry_domain::audit::{AuditEntry, AuditEvent, AuditHead};
use vestry_domain::ids::{AuditChainId, AuditEntryId};
use vestry_ports::custody::CustodyError;

use super::{entry_mac, new_head};
use crate::fault::{causes, retried};
use crate::{Fault, Service, mint};

/// Entries in one transaction at most: one statement can take so many, and nobody waits for a thousand others.
const MOST_AT_ONCE: usize = 256;
/// Chains whose ends are remembered at most. Beyond it all are forgotten, and the worlds begin new ones.
const MOST_ENDS: usize = 10_000;

/// What waits to be written, and where the chains of this process end.
#[derive(Default)]
pub(crate) struct Trail {
    waiting: Mutex<Vec<Waiting>>,
    /// Held by whoever writes.
    ends: tokio::sync::Mutex<HashMap<World, End>>,
}

struct Waiting {
    event: AuditEvent,
    written: oneshot::Sender<Result<(), Fault>>,
}

/// The last entry of a chain.
#[derive(Clone, Copy)]
struct End {
    chain: AuditChainId,
    sequence: i64,
    hash: [u8; 32],
    id: Option<AuditEntryId>,
}

/// Entries that have their places, and who waits for them.
#[derive(Default)]
struct Batch {
    entries: Vec<AuditEntry>,
    waiting: Vec<oneshot::Sender<Result<(), Fault>>>,
    /// The new ends of the chains that it lengthens.
    ends: HashMap<World, End>,
}

impl Trail {
    fn join(&self, event: AuditEvent) -> oneshot::Receiver<Result<(), Fault>> {
        let (written, outcome) = oneshot::channel();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(Waiting { event, written });
        outcome
    }

    fn next(&self) -> Vec<Waiting> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let many = waiting.len().min(MOST_AT_ONCE);
        waiting.drain(..many).collect()
    }
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
        let mut outcome = self.trail.join(event);
        let mut ends = tokio::select! {
            biased;
            // Somebody else wrote it along with theirs.
            written = &mut outcome => return written.unwrap_or_else(|_gone| Err(unwritten())),
            ends = self.trail.ends.lock() => ends,
        };
        loop {
            match outcome.try_recv() {
                Ok(written) => return written,
                Err(oneshot::error::TryRecvError::Closed) => return Err(unwritten()),
                Err(oneshot::error::TryRecvError::Empty) => self.write_next(&mut ends).await,
            }
        }
    }

    /// Writes those who have waited longest, and tells them.
    async fn write_next(&self, ends: &mut HashMap<World, End>) {
        let mut batch = Batch::default();
        for Waiting { event, written } in self.trail.next() {
            let world = event.world;
            let end = batch.ends.get(&world).or_else(|| ends.get(&world)).copied();
            match self.in_place(event, end).await {
                Ok(entry) => {
                    batch.ends.insert(world, End::at(&entry));
                    batch.entries.push(entry);
                    batch.waiting.push(written);
                }
                // Whoever asked may be gone; then nobody is to be told.
                Err(fault) => drop(written.send(Err(fault))),
            }
        }
        let kept = self.keep_batch(&batch).await;
        match &kept {
            Ok(()) => {
                if ends.len() >= MOST_ENDS {
                    ends.clear();
                }
                ends.extend(batch.ends);
            }
            Err(fault) => {
                tracing::error!(error = causes(fault), "the audit log was not written");
                // Whether it happened after all is not known: these chains are left as they are, and new ones begun.
                ends.retain(|world, _| !batch.ends.contains_key(world));
            }
        }
        for written in batch.waiting {
            drop(written.send(kept.as_ref().copied().map_err(shared)));
        }
    }

    /// The event behind the end of its chain, or at the beginning of a new one.
    async fn in_place(&self, event: AuditEvent, end: Option<End>) -> Result<AuditEntry, Fault> {
        let entropy = &*self.ports.entropy;
        let end = end.unwrap_or_else(|| End {
            chain: mint::id(entropy, event.at),
            sequence: 0,
            hash: [0; 32],
            id: None,
        });
        let id = mint::id_behind(entropy, event.at, end.id);
        let sequence = end.sequence.saturating_add(1);
        let hash = AuditEntry::digest(id, end.chain, sequence, &event, &end.hash);
        let mac = entry_mac(&*self.ports.sealer, &event.world, &hash).await?;
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
            let sealer = &*self.ports.sealer;
            heads.push(new_head(sealer, world, end.chain, end.sequence, end.hash).await?);
        }
        retried(|| async {
            let mut tx = self.ports.store.begin().await?;
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
