//! Entries on their way to the disk: those that wait are written in one transaction (group commit), so that the log costs each
//! caller the time of one commit and the database a commit for many.

pub(crate) mod seals;

use std::collections::HashMap;
use std::sync::Arc;

use vestry_domain::World;
use vestry_domain::audit::{AuditAction, AuditEntry, AuditEvent, AuditHead};
use vestry_domain::event::{Actor, Fact, NewEvent, RpcMethod, SignedBy};
use vestry_domain::ids::{AppId, AuditChainId, AuditEntryId, EventId, UserId};
use vestry_domain::wallet::WalletType;
use vestry_ports::custody::{CustodyError, Sealer};
use vestry_ports::entropy::Entropy;
use vestry_ports::store::{Store, StoreResult};

use crate::fault::{causes, retried};
use crate::ports::Ports;
use crate::together::Batch;
use crate::{Fault, mint};
use seals::{entry_mac, new_head};

/// Entries in one transaction at most: one statement can take so many, and nobody waits for a thousand others.
const MOST_AT_ONCE: usize = 256;
/// Chains whose ends are remembered at most. Beyond it all are forgotten, and the worlds begin new ones.
const MOST_ENDS: usize = 10_000;

/// What goes into the log, and what else is told of it, in the transaction of its entry.
pub(crate) struct Note {
    pub(crate) event: AuditEvent,
    pub(crate) tale: Option<Tale>,
}

/// An event that waits for the entry of which it tells.
pub(crate) struct Tale {
    pub(crate) id: EventId,
    pub(crate) actor: Actor,
    pub(crate) request_id: Option<String>,
    pub(crate) told: Told,
}

/// What happened to the wallet of an entry.
#[derive(Clone, Copy)]
pub(crate) enum Told {
    Signed(SignedBy),
    Exported(UserId, WalletType),
    Tampered,
}

/// Where the log is written.
pub(crate) struct Trail {
    store: Arc<dyn Store>,
    sealer: Arc<dyn Sealer>,
    entropy: Arc<dyn Entropy>,
}

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
    /// What is told of them.
    told: Vec<NewEvent>,
    /// The new ends of the chains that it lengthens.
    ends: Ends,
}

const UNWRITTEN: &str = "the audit log could not be written";

/// It may be on disk, or not.
pub(crate) fn unwritten() -> Fault {
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

impl Batch for Trail {
    type Asked = Note;
    /// After a fault it is not known whether the entry is there.
    type Answer = Result<(), Fault>;
    type Memory = Ends;

    const MOST: usize = MOST_AT_ONCE;

    fn app(note: &Note) -> AppId {
        note.event.world.app_id
    }

    /// Writes notes in one transaction; what became of each. After a panic it is not known how far the chains go, and new
    /// ones are begun.
    async fn serve(&self, notes: Vec<Note>, ends: &mut Ends) -> Vec<Result<(), Fault>> {
        let (batch, outcomes) = self.placed(notes, ends).await;
        let Err(fault) = self.keep(&batch).await else {
            if ends.len() >= MOST_ENDS {
                ends.clear();
            }
            ends.extend(batch.ends);
            return outcomes;
        };
        tracing::error!(error = causes(&fault), "the audit log was not written");
        // Whether it happened after all is not known: these chains are left as they are, and new ones begun.
        ends.retain(|world, _| !batch.ends.contains_key(world));
        let told = outcomes
            .into_iter()
            .map(|outcome| outcome.and_then(|()| Err(shared(&fault))));
        told.collect()
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

    /// A place for each note, and what becomes of each if those are written.
    async fn placed(&self, notes: Vec<Note>, ends: &Ends) -> (Placed, Vec<Result<(), Fault>>) {
        let mut batch = Placed::default();
        let mut outcomes = Vec::with_capacity(notes.len());
        for Note { event, tale } in notes {
            let world = event.world;
            let end = batch.ends.get(&world).or_else(|| ends.get(&world)).copied();
            let entry = self.in_place(event, end).await;
            outcomes.push(entry.map(|entry| {
                batch.ends.insert(world, End::at(&entry));
                batch.told.extend(tale.map(|tale| tale.of(&entry)));
                batch.entries.push(entry);
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

    /// Writes all of it, or none.
    async fn keep(&self, batch: &Placed) -> Result<(), Fault> {
        if batch.entries.is_empty() {
            return Ok(());
        }
        let mut heads: Vec<AuditHead> = Vec::with_capacity(batch.ends.len());
        for (world, end) in &batch.ends {
            let sealer = &*self.sealer;
            heads.push(new_head(sealer, world, end.chain, end.sequence, end.hash).await?);
        }
        let appended = retried(|| async {
            let appended = if batch.told.is_empty() {
                let appended = self.store.append_to_audit_log(&batch.entries, &heads);
                appended.await
            } else {
                self.append_and_tell(batch, &heads).await
            };
            Ok::<_, Fault>(appended?)
        });
        appended.await
    }

    async fn append_and_tell(&self, batch: &Placed, heads: &[AuditHead]) -> StoreResult<()> {
        let mut tx = self.store.begin().await?;
        tx.audit_log().append(&batch.entries, heads).await?;
        tx.events().append(&batch.told).await?;
        tx.commit().await
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

impl Tale {
    fn of(self, entry: &AuditEntry) -> NewEvent {
        let fact = self.told.fact(entry);
        NewEvent {
            id: self.id,
            world: entry.event.world,
            kind: fact.kind,
            user_id: fact.user_id,
            wallet_id: fact.wallet_id,
            actor: self.actor,
            request_id: self.request_id,
            data: fact.data(),
            created_at: entry.event.at,
        }
    }
}

impl Told {
    fn fact(self, entry: &AuditEntry) -> Fact {
        let event = &entry.event;
        let wallet = event.wallet_id;
        match self {
            Self::Signed(by) => {
                let is_rpc = event.action == AuditAction::Rpc;
                let method = is_rpc.then(|| RpcMethod(event.detail.clone()));
                let result = event.result.map(|hash| hash.0);
                Fact::wallet_signed(wallet, by, method, result, entry.id)
            }
            Self::Exported(user, wallet_type) => Fact::wallet_exported(user, wallet, wallet_type),
            Self::Tampered => Fact::wallet_tampered(wallet),
        }
    }
}
