//! Entries on their way to the disk: those that wait are written in one transaction (group commit), so that the log costs each
//! caller the time of one commit and the database a commit for many.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use vestry_domain::World;
use vestry_domain::audit::{AuditEntry, AuditEvent, AuditHead};
use vestry_domain::ids::{AuditChainId, AuditEntryId};
use vestry_ports::custody::{CustodyError, Sealer};
use vestry_ports::entropy::Entropy;
use vestry_ports::store::{SeenWallet, Store};

use super::{entry_mac, new_head};
use crate::fault::{causes, retried};
use crate::service::Ports;
use crate::together::{Announced, Batch};
use crate::{Fault, Service, mint};

/// Entries in one transaction at most: one statement can take so many, and nobody waits for a thousand others.
const MOST_AT_ONCE: usize = 256;
/// Chains whose ends are remembered at most. Beyond it all are forgotten, and the worlds begin new ones.
const MOST_ENDS: usize = 10_000;

/// Where the log is written.
pub(crate) struct Trail {
    store: Arc<dyn Store>,
    sealer: Arc<dyn Sealer>,
    entropy: Arc<dyn Entropy>,
}

/// What is to be written.
pub(crate) struct Note {
    event: AuditEvent,
    /// The wallet that it is about, if it may only be written while the wallet is as it was seen.
    seen: Option<SeenWallet>,
}

/// What became of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// It is on disk.
    Yes,
    /// The wallet is not as it was seen; nothing was written of it.
    WalletChanged,
}

/// What became of a note; after a fault that is not known.
pub(crate) type Outcome = Result<Written, Fault>;

/// Where the chains of this process end.
pub(crate) type Ends = HashMap<World, End>;

/// The last entry of a chain.
#[derive(Clone, Copy)]
pub(crate) struct End {
    chain: AuditChainId,
    sequence: i64,
    hash: [u8; 32],
    id: Option<AuditEntryId>,
}

/// Entries that have their places.
#[derive(Default)]
struct Placed {
    entries: Vec<AuditEntry>,
    /// The new ends of the chains that it lengthens.
    ends: Ends,
    /// Wallets that must not have changed.
    seen: HashSet<SeenWallet>,
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
        Fault::Overloaded
        | Fault::Unavailable(_)
        | Fault::NoTransport(_)
        | Fault::StaleRoot(..)
        | Fault::LostRace => unwritten(),
    }
}

impl Service {
    /// Writes an event to the log. When this answers, the entry is on disk.
    ///
    /// # Errors
    /// The entry may not be there: what it is about must not be answered.
    pub(crate) async fn record(&self, event: AuditEvent) -> Result<(), Fault> {
        let note = Note { event, seen: None };
        self.write(note, None).await.map(|_on_disk| ())
    }

    /// Announces an event that has only to be worked out before it is recorded.
    pub(crate) fn announce_event(&self) -> Announced<Trail> {
        self.trail.announce()
    }

    /// The same as [`Service::record`] for an event that was announced, if the wallet is as it was seen, at a moment after this was
    /// called; `false` when it is not.
    ///
    /// # Errors
    /// As for [`Service::record`].
    pub(crate) async fn record_if_unchanged(
        &self,
        event: AuditEvent,
        seen: SeenWallet,
        announced: Announced<Trail>,
    ) -> Result<bool, Fault> {
        let seen = Some(seen);
        let written = self.write(Note { event, seen }, Some(announced)).await?;
        Ok(written == Written::Yes)
    }

    async fn write(&self, note: Note, announced: Option<Announced<Trail>>) -> Outcome {
        let written = self.together(&self.trail, note, announced).await;
        written.unwrap_or_else(|| Err(unwritten()))
    }
}

impl Batch for Trail {
    type Asked = Note;
    type Answer = Outcome;
    type Memory = Ends;

    const MOST: usize = MOST_AT_ONCE;
    /// Postgres spends about as much on a transaction as on thirty entries.
    const ENOUGH: usize = 32;

    /// Writes notes in one transaction; what became of each. After a panic it is not known how far the chains go, and new
    /// ones are begun.
    async fn serve(&self, notes: Vec<Note>, ends: &mut Ends) -> Vec<Outcome> {
        let mut changed = HashSet::new();
        loop {
            let (batch, outcomes) = self.placed(&notes, &changed, ends).await;
            match self.keep(&batch).await {
                Ok(more) if more.is_empty() => {
                    if ends.len() >= MOST_ENDS {
                        ends.clear();
                    }
                    ends.extend(batch.ends);
                    return outcomes;
                }
                // Nothing was written. The others have their places without these.
                Ok(more) if batch.seen.is_superset(&more) => changed.extend(more),
                outcome => {
                    let fault = outcome.err().unwrap_or_else(unwritten);
                    tracing::error!(error = causes(&fault), "the audit log was not written");
                    // Whether it happened after all is not known: these chains are left as they are, and new ones begun.
                    ends.retain(|world, _| !batch.ends.contains_key(world));
                    let told = outcomes.into_iter().map(|outcome| match outcome {
                        Ok(Written::Yes) => Err(shared(&fault)),
                        decided => decided,
                    });
                    return told.collect();
                }
            }
        }
    }
}

impl Trail {
    pub(crate) fn new(ports: &Ports) -> Self {
        Self {
            store: Arc::clone(&ports.store),
            sealer: Arc::clone(&ports.sealer),
            entropy: Arc::clone(&ports.entropy),
        }
    }

    /// A place for each note whose wallet has not changed, and what becomes of each if those are written.
    async fn placed(
        &self,
        notes: &[Note],
        changed: &HashSet<SeenWallet>,
        ends: &Ends,
    ) -> (Placed, Vec<Outcome>) {
        let mut batch = Placed::default();
        let mut outcomes = Vec::with_capacity(notes.len());
        for Note { event, seen } in notes {
            if seen.as_ref().is_some_and(|seen| changed.contains(seen)) {
                outcomes.push(Ok(Written::WalletChanged));
                continue;
            }
            let world = event.world;
            let end = batch.ends.get(&world).or_else(|| ends.get(&world)).copied();
            let entry = self.in_place(event.clone(), end).await;
            outcomes.push(entry.map(|entry| {
                batch.ends.insert(world, End::at(&entry));
                batch.entries.push(entry);
                batch.seen.extend(seen.clone());
                Written::Yes
            }));
        }
        (batch, outcomes)
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

    /// Writes all of it, or none: then the answer is the wallets that have changed.
    async fn keep(&self, batch: &Placed) -> Result<HashSet<SeenWallet>, Fault> {
        if batch.entries.is_empty() {
            return Ok(HashSet::new());
        }
        let mut heads: Vec<AuditHead> = Vec::with_capacity(batch.ends.len());
        for (world, end) in &batch.ends {
            let sealer = &*self.sealer;
            heads.push(new_head(sealer, world, end.chain, end.sequence, end.hash).await?);
        }
        let seen: Vec<_> = batch.seen.iter().cloned().collect();
        let changed = retried(|| async {
            let appended = self
                .store
                .append_to_audit_log(&batch.entries, &heads, &seen);
            Ok::<_, Fault>(appended.await?)
        });
        Ok(changed.await?.into_iter().collect())
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
