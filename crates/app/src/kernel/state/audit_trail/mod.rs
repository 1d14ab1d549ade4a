//! Writer of wallet audit entries with group commit.
//!
//! Pending entries are written in one transaction, so each caller waits for one commit and the database does one commit for many callers.

use std::collections::HashMap;
use std::sync::Arc;

use vestry_domain::World;
use vestry_domain::audit::control::{ControlAction, ControlEvent, Detail, Outcome};
use vestry_domain::audit::{AuditAction, AuditEntry, AuditEvent, AuditStep, Format};
use vestry_domain::event::{Actor, Fact, NewEvent, RpcMethod, SignedBy};
use vestry_domain::ids::{AppId, AuditChainId, AuditEntryId, EventId, UserId};
use vestry_domain::metric::{AuditLogName, TamperKind};
use vestry_domain::wallet::WalletType;
use vestry_ports::clock::Clock;
use vestry_ports::custody::{CustodyError, Sealer};
use vestry_ports::entropy::Entropy;
use vestry_ports::meter::{Counted, Meter};
use vestry_ports::store::Store;

use crate::Fault;
use crate::kernel::batcher::Batch;
use crate::kernel::fault::{causes, retried};
use crate::kernel::mint;
use crate::kernel::ports::Ports;
use crate::kernel::state::chain_macs::{entry_mac, new_head};
use crate::kernel::state::control_trail::ControlTrail;

/// Maximum entries per transaction. It is bounded by what one statement can hold and by how long a caller should wait for others.
const MAX_AT_ONCE: usize = 256;
/// Maximum number of chain ends kept in memory. Beyond it, all are forgotten and new chains begin.
const MAX_ENDS: usize = 10_000;

/// An audit event, and the event to emit in the same transaction.
pub(crate) struct AuditNote {
    pub(crate) event: AuditEvent,
    pub(crate) pending: Option<PendingEvent>,
}

/// An event to emit once its audit entry has an id.
pub(crate) struct PendingEvent {
    pub(crate) id: EventId,
    pub(crate) actor: Actor,
    pub(crate) request_id: Option<String>,
    pub(crate) usage: EmittedUse,
}

/// What happened to the wallet of an audit entry.
#[derive(Clone, Copy)]
pub(crate) enum EmittedUse {
    Signed(SignedBy),
    Exported(UserId, WalletType),
    Tampered,
}

/// The writer of the wallet audit log.
pub(crate) struct ChainWriter {
    store: Arc<dyn Store>,
    sealer: Arc<dyn Sealer>,
    entropy: Arc<dyn Entropy>,
    clock: Arc<dyn Clock>,
    meter: Arc<dyn Meter>,
    /// Records that a chain was abandoned.
    control: Arc<ControlTrail>,
}

/// Ends of the chains of this process.
pub(crate) type Ends = HashMap<World, End>;

/// The last entry of a chain.
#[derive(Clone, Copy)]
pub(crate) struct End {
    chain: AuditChainId,
    sequence: i64,
    hash: [u8; 32],
    id: Option<AuditEntryId>,
}

/// Entries with an assigned position in their chain.
#[derive(Default)]
struct Placed {
    entries: Vec<(AuditEntry, Option<PendingEvent>)>,
    /// Events to emit about them.
    events: Vec<NewEvent>,
    /// New ends of the chains that the batch extends.
    ends: Ends,
}

const UNWRITTEN: &str = "the audit log could not be written";

/// The error when it is unknown whether an entry was written.
pub(crate) fn unwritten() -> Fault {
    Fault::Unavailable(UNWRITTEN.into())
}

/// Copies a failure for each caller that waited for the same commit. Its cause is logged once.
fn shared(fault: &Fault) -> Fault {
    match fault {
        Fault::Sealed(_) => Fault::Sealed(CustodyError::Sealed(UNWRITTEN.into())),
        Fault::Tampered(_) | Fault::Internal(_) => Fault::Internal(UNWRITTEN.into()),
        Fault::Overloaded
        | Fault::TooManyWaiting
        | Fault::Unavailable(_)
        | Fault::NoTransport(_)
        | Fault::StaleRoot(..)
        | Fault::LostRace => unwritten(),
    }
}

impl Batch for ChainWriter {
    type Asked = AuditNote;
    /// After a fault it is unknown whether the entry was written.
    type Answer = Result<(), Fault>;
    type Memory = Ends;

    const MAX_SIZE: usize = MAX_AT_ONCE;

    fn app(note: &AuditNote) -> AppId {
        note.event.world.app_id
    }

    /// Writes notes in one transaction and returns the outcome of each. After a panic the chain ends are unknown, so new chains begin.
    async fn serve(&self, notes: Vec<AuditNote>, ends: &mut Ends) -> Vec<Result<(), Fault>> {
        let (batch, outcomes) = self.placed(notes, ends).await;
        let Err(fault) = self.keep(batch, ends).await else {
            return outcomes;
        };
        let failed = Counted::AuditFailure(AuditLogName::Wallets);
        self.meter.count(failed);
        tracing::error!(
            alert = "VestryAuditFailing",
            error = causes(&fault),
            "audit log write failed; wallet operations are rejected"
        );
        let outcomes = outcomes
            .into_iter()
            .map(|outcome| outcome.and_then(|()| Err(shared(&fault))));
        outcomes.collect()
    }
}

impl ChainWriter {
    pub(crate) fn new(ports: &Ports, control: &Arc<ControlTrail>) -> Self {
        Self {
            store: Arc::clone(&ports.store),
            sealer: Arc::clone(&ports.sealer),
            entropy: Arc::clone(&ports.entropy),
            clock: Arc::clone(&ports.clock),
            meter: Arc::clone(&ports.meter),
            control: Arc::clone(control),
        }
    }

    /// Assigns a position to each note. Returns the batch, and each note's outcome if the batch is written.
    async fn placed(&self, notes: Vec<AuditNote>, ends: &Ends) -> (Placed, Vec<Result<(), Fault>>) {
        let mut batch = Placed::default();
        let mut outcomes = Vec::with_capacity(notes.len());
        for AuditNote { event, pending } in notes {
            let placed = self.place(event, pending, &mut batch, ends).await;
            outcomes.push(placed);
        }
        (batch, outcomes)
    }

    async fn place(
        &self,
        event: AuditEvent,
        pending: Option<PendingEvent>,
        batch: &mut Placed,
        ends: &Ends,
    ) -> Result<(), Fault> {
        let world = event.world;
        let end = batch.ends.get(&world).or_else(|| ends.get(&world)).copied();
        let entry = self.in_place(event, end).await?;
        batch.ends.insert(world, End::at(&entry));
        batch
            .events
            .extend(pending.as_ref().map(|pending| pending.of(&entry)));
        batch.entries.push((entry, pending));
        Ok(())
    }

    /// Builds the entry that follows the end of its chain, or begins a new chain.
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
        let format = Format::V2;
        let hash = AuditEntry::digest(format, id, end.chain, sequence, &event, &end.hash);
        let mac = entry_mac(&*self.sealer, &event.world, &hash).await?;
        Ok(AuditEntry {
            id,
            chain: end.chain,
            sequence,
            format,
            event,
            previous: end.hash,
            hash,
            mac,
        })
    }

    /// Writes the whole batch, or returns an error if the outcome is unknown.
    ///
    /// Entries of chains that do not end where this process left them begin new chains (AUD-4).
    async fn keep(&self, batch: Placed, ends: &mut Ends) -> Result<(), Fault> {
        let mut batch = batch;
        let mut lost = Vec::new();
        // At most two rounds: in the second, those chains are new.
        while !batch.entries.is_empty() {
            let Written { left, is_whole } = match self.write(&batch, ends, &lost).await {
                Ok(written) => written,
                Err(fault) => {
                    // It is unknown whether the commit happened, so abandon these chains and begin new ones.
                    ends.retain(|world, _| !batch.ends.contains_key(world));
                    return Err(fault);
                }
            };
            let newly = lost_ends(ends, &left);
            if newly.is_empty() && !left.is_empty() {
                return Err(Fault::Internal("a new audit chain already exists".into()));
            }
            lost.extend(newly);
            let is_again = |chain: AuditChainId| !is_whole || left.contains(&chain);
            if ends.len() >= MAX_ENDS {
                ends.clear();
            }
            let moved = batch.ends.iter().filter(|(_, end)| !is_again(end.chain));
            ends.extend(moved.map(|(world, end)| (*world, *end)));
            let again = batch.entries.into_iter();
            let again = again.filter(|(entry, _)| is_again(entry.chain));
            let again = again.map(|(entry, pending)| AuditNote {
                event: entry.event,
                pending,
            });
            let (placed, outcomes) = self.placed(again.collect(), ends).await;
            if let Some(failed) = outcomes.into_iter().find_map(Result::err) {
                return Err(failed);
            }
            batch = placed;
        }
        Ok(())
    }

    async fn write(
        &self,
        batch: &Placed,
        ends: &Ends,
        lost: &[(World, End)],
    ) -> Result<Written, Fault> {
        let mut steps: Vec<AuditStep> = Vec::with_capacity(batch.ends.len());
        for (world, end) in &batch.ends {
            let sealer = &*self.sealer;
            let before = ends.get(world).filter(|before| before.chain == end.chain);
            steps.push(AuditStep {
                head: new_head(sealer, world, end.chain, end.sequence, end.hash).await?,
                after: before.map_or(0, |before| before.sequence),
                after_hash: before.map_or([0; 32], |before| before.hash),
            });
        }
        let entries: Vec<AuditEntry> = batch
            .entries
            .iter()
            .map(|(entry, _)| entry.clone())
            .collect();
        retried(|| async {
            if batch.events.is_empty() && lost.is_empty() {
                let appended = self.store.append_to_audit_log(&entries, &steps);
                return Ok(Written {
                    left: appended.await?,
                    is_whole: true,
                });
            }
            let mut tx = self.store.begin().await?;
            let left = tx.audit_log().append(&entries, &steps).await?;
            if !left.is_empty() {
                // The emitted events are one list for the whole batch, so they are written only if all entries can be.
                return Ok(Written {
                    left,
                    is_whole: false,
                });
            }
            tx.events().append(&batch.events).await?;
            let restarts = lost.iter().map(|(world, end)| self.restarted(*world, end));
            let restarts: Vec<_> = restarts.collect();
            let written = self.control.write(&mut *tx, restarts).await?;
            tx.commit().await?;
            self.control.committed(written);
            Ok(Written {
                left,
                is_whole: true,
            })
        })
        .await
    }

    /// Returns the control log entry about an abandoned chain.
    fn restarted(&self, world: World, end: &End) -> ControlEvent {
        self.meter.count(Counted::TamperAlarm(TamperKind::Rollback));
        tracing::error!(
            alert = "VestryAuditFailing",
            %world,
            chain = %end.chain,
            ended_at = end.sequence,
            "ALARM: database rollback detected (audit entries are lost); a new audit chain was started; run `vestry audit verify --against`"
        );
        let detail = Detail::default()
            .with("chain", end.chain.to_string())
            .with("ended_at", end.sequence)
            .with("hash", hex::encode(end.hash));
        ControlEvent {
            world,
            actor: Actor::System,
            action: ControlAction::ChainRestart,
            subject: end.chain.into(),
            detail: detail.text(),
            outcome: Outcome::Done,
            request_id: None,
            at: self.clock.machine(),
        }
    }
}

/// Result of writing a batch.
struct Written {
    /// Chains that do not end where this process left them. None of their entries was written.
    left: Vec<AuditChainId>,
    /// Whether all other entries were written. If not, none was.
    is_whole: bool,
}

/// Removes and returns the remembered ends of the abandoned chains.
fn lost_ends(ends: &mut Ends, left: &[AuditChainId]) -> Vec<(World, End)> {
    let lost = ends.iter().filter(|(_, end)| left.contains(&end.chain));
    let lost: Vec<_> = lost.map(|(world, end)| (*world, *end)).collect();
    for (world, _) in &lost {
        ends.remove(world);
    }
    lost
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

impl PendingEvent {
    fn of(&self, entry: &AuditEntry) -> NewEvent {
        let fact = self.usage.fact(entry);
        NewEvent {
            id: self.id,
            world: entry.event.world,
            kind: fact.kind,
            user_id: fact.user_id,
            wallet_id: fact.wallet_id,
            actor: self.actor,
            request_id: self.request_id.clone(),
            data: fact.data(),
            created_at: entry.event.at,
        }
    }
}

impl EmittedUse {
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
