//! Writer of control log entries within the transaction of the change (AUD-1), and the remembered chain ends.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vestry_domain::audit::control::{
    ControlAction, ControlEntry, ControlEvent, ControlHead, Detail, Outcome,
};
use vestry_domain::envelope::SecretKind;
use vestry_domain::event::Actor;
use vestry_domain::ids::{AuditChainId, AuditEntryId};
use vestry_domain::metric::TamperKind;
use vestry_domain::{Timestamp, World};
use vestry_ports::custody::{CustodyError, Sealer};
use vestry_ports::entropy::Entropy;
use vestry_ports::meter::{Counted, Meter};
use vestry_ports::store::{Repositories, Store};

use crate::Fault;
use crate::kernel::mint;
use crate::kernel::ports::Ports;
use crate::kernel::state::chain_macs::{
    control_head_matches, entry_mac, held, marker_matches, new_control_head,
};

/// Maximum number of chain ends kept in memory. Beyond it, all are forgotten, and a rollback of exactly those chains goes unnoticed by this
/// process.
const MAX_ENDS: usize = 10_000;

/// The writer.
pub(crate) struct ControlTrail {
    sealer: Arc<dyn Sealer>,
    entropy: Arc<dyn Entropy>,
    meter: Arc<dyn Meter>,
    ends: Mutex<HashMap<World, ControlHead>>,
}

/// New chain ends, valid once the transaction is committed.
#[must_use = "pass it to `ControlTrail::committed` after the commit"]
pub(crate) struct NewEnds(Vec<ControlHead>);

impl ControlTrail {
    pub(crate) fn new(ports: &Ports) -> Self {
        Self {
            sealer: Arc::clone(&ports.sealer),
            entropy: Arc::clone(&ports.entropy),
            meter: Arc::clone(&ports.meter),
            ends: Mutex::default(),
        }
    }

    /// Loads the key for an environment's hashes before the transaction, so that no transaction waits for the key provider.
    pub(crate) async fn make_ready(&self, world: &World) -> Result<(), CustodyError> {
        let made = self.sealer.mac(world, SecretKind::Audit, &[]).await;
        made.map(drop)
    }

    /// Loads the key that authenticated the end of the chain, which may be an older version.
    pub(crate) async fn look_at_end(&self, store: &dyn Store, world: &World) -> Result<(), Fault> {
        let heads = store.read().await?.control_log().heads(world).await?;
        if let Some(head) = heads.last() {
            self.is_ours(head).await?;
        }
        Ok(())
    }

    /// Returns whether the service wrote a head.
    async fn is_ours(&self, head: &ControlHead) -> Result<bool, CustodyError> {
        held(control_head_matches(&*self.sealer, head).await)
    }

    /// Appends entries to their chains. Call it last in a transaction: from here to the commit, other writers of the same chain wait.
    pub(crate) async fn write(
        &self,
        tx: &mut dyn Repositories,
        events: Vec<ControlEvent>,
    ) -> Result<NewEnds, Fault> {
        // Lock chains in the order of environments to avoid deadlocks.
        let mut by_world = BTreeMap::<World, Vec<ControlEvent>>::new();
        for event in events {
            by_world.entry(event.world).or_default().push(event);
        }
        let mut ends = Vec::with_capacity(by_world.len());
        for (world, events) in by_world {
            ends.push(self.write_in(tx, &world, events).await?);
        }
        Ok(NewEnds(ends))
    }

    async fn write_in(
        &self,
        tx: &mut dyn Repositories,
        world: &World,
        events: Vec<ControlEvent>,
    ) -> Result<ControlHead, Fault> {
        let found = tx.control_log().lock_head(world).await?;
        let (mut end, restart) = self.ground(tx, world, found.as_ref(), &events).await?;
        let mut entries = Vec::with_capacity(events.len().saturating_add(1));
        for event in restart.into_iter().chain(events) {
            entries.push(self.place(event, &mut end).await?);
        }
        let Some(last) = entries.last() else {
            return Err(Fault::Internal("change without an audit entry".into()));
        };
        let sealer = &*self.sealer;
        let head = new_control_head(sealer, end.number, last).await?;
        let log = tx.control_log();
        if !log.append(found.as_ref(), &entries, &head).await? {
            // A concurrent transaction has begun the first chain.
            return Err(Fault::LostRace);
        }
        Ok(head)
    }

    /// Returns the end that the next entry follows.
    ///
    /// Normally that is the last entry. If entries that this process has seen are gone, or the end was altered, continuing would put a
    /// valid end over the traces. Such a chain is abandoned, and a new one begins with an entry about it.
    async fn ground(
        &self,
        tx: &mut dyn Repositories,
        world: &World,
        found: Option<&ControlHead>,
        events: &[ControlEvent],
    ) -> Result<(End, Option<ControlEvent>), Fault> {
        let remembered = lock(&self.ends).get(world).cloned();
        if let Some(remembered) = remembered
            && was_set_back(tx, &*self.sealer, found, &remembered).await?
        {
            let number = found.map_or(0, |found| found.number);
            let number = number.max(remembered.number).saturating_add(1);
            let event = restarted(found, &remembered, events);
            self.meter.count(Counted::TamperAlarm(TamperKind::Rollback));
            return Ok((End::of_new_chain(number), event));
        }
        let Some(found) = found else {
            return Ok((End::of_new_chain(1), None));
        };
        let log = tx.control_log();
        let last = log.mark_at(world, found.chain, found.sequence).await?;
        match last {
            Some((id, hash)) if hash == found.hash && self.is_ours(found).await? => {
                let end = End {
                    number: found.number,
                    chain: Some(found.chain),
                    sequence: found.sequence,
                    hash,
                    id: Some(id),
                };
                Ok((end, None))
            }
            _ => {
                let number = found.number.saturating_add(1);
                self.meter.count(Counted::TamperAlarm(TamperKind::Chain));
                Ok((End::of_new_chain(number), altered(found, events)))
            }
        }
    }

    async fn place(&self, event: ControlEvent, end: &mut End) -> Result<ControlEntry, Fault> {
        let entropy = &*self.entropy;
        let chain = end.chain.unwrap_or_else(|| mint::id(entropy, event.at));
        // The clock of the process that wrote the last entry may be ahead.
        let earlier = end.id.map_or(event.at, |id| id.timestamp());
        let id = mint::id_behind(entropy, event.at.max(earlier), end.id);
        let sequence = end.sequence.saturating_add(1);
        let hash = ControlEntry::digest(id, chain, sequence, &event, &end.hash);
        let entry = ControlEntry {
            id,
            chain,
            sequence,
            mac: entry_mac(&*self.sealer, &event.world, &hash).await?,
            event,
            previous: end.hash,
            hash,
        };
        *end = End {
            number: end.number,
            chain: Some(chain),
            sequence,
            hash,
            id: Some(id),
        };
        Ok(entry)
    }

    /// Remembers the new ends after the commit.
    pub(crate) fn committed(&self, ends: NewEnds) {
        let mut known = lock(&self.ends);
        if known.len() >= MAX_ENDS {
            known.clear();
        }
        for end in ends.0 {
            match known.get(&end.world) {
                // A later commit of this process got here first.
                Some(later) if (later.number, later.sequence) > (end.number, end.sequence) => {}
                _ => {
                    known.insert(end.world, end);
                }
            }
        }
    }
}

/// The end that the next entry follows.
struct End {
    number: i64,
    chain: Option<AuditChainId>,
    sequence: i64,
    hash: [u8; 32],
    id: Option<AuditEntryId>,
}

impl End {
    const fn of_new_chain(number: i64) -> Self {
        Self {
            number,
            chain: None,
            sequence: 0,
            hash: [0; 32],
            id: None,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether entries that this process has seen committed are gone.
async fn was_set_back(
    tx: &mut dyn Repositories,
    sealer: &dyn Sealer,
    found: Option<&ControlHead>,
    remembered: &ControlHead,
) -> Result<bool, Fault> {
    let Some(found) = found else {
        return Ok(true);
    };
    if found.number != remembered.number {
        // If the chain is newer, another process has already recorded the restart.
        return Ok(found.number < remembered.number);
    }
    if found.sequence <= remembered.sequence || found.chain != remembered.chain {
        let is_same = (found.chain, found.sequence, found.hash)
            == (remembered.chain, remembered.sequence, remembered.hash);
        return Ok(!is_same);
    }
    let log = tx.control_log();
    let there = log.mark_at(&found.world, found.chain, remembered.sequence);
    if let Some((_, hash)) = there.await? {
        return Ok(hash != remembered.hash);
    }
    // The entry may have been pruned since.
    let marker = tx.audit_chains().marker(&found.world, found.chain).await?;
    Ok(match marker {
        Some(marker) if marker.sequence >= remembered.sequence => {
            !held(marker_matches(sealer, &marker).await)?
        }
        _ => true,
    })
}

/// Builds the entry about a chain abandoned because its end was altered, and raises the alarm.
fn altered(found: &ControlHead, events: &[ControlEvent]) -> Option<ControlEvent> {
    let at = events.first()?.at;
    tracing::error!(
        alert = "VestryAuditFailing",
        world = %found.world,
        chain = %found.chain,
        found_at = found.sequence,
        "ALARM: end of an audit chain was altered (possible tampering); a new chain was started; run `vestry audit verify`"
    );
    let detail = Detail::default()
        .with("chain", found.chain.to_string())
        .with("found_at", found.sequence)
        .with("is_altered", true);
    Some(restart(found, &detail, at))
}

fn restart(left: &ControlHead, detail: &Detail, at: Timestamp) -> ControlEvent {
    ControlEvent {
        world: left.world,
        actor: Actor::System,
        action: ControlAction::ChainRestart,
        subject: left.chain.into(),
        detail: detail.text(),
        outcome: Outcome::Done,
        request_id: None,
        at,
    }
}

/// Builds the entry about a chain abandoned after a rollback, with its actual and expected end, and raises the alarm.
fn restarted(
    found: Option<&ControlHead>,
    remembered: &ControlHead,
    events: &[ControlEvent],
) -> Option<ControlEvent> {
    let at = events.first()?.at;
    let found_at = found.filter(|found| found.chain == remembered.chain);
    let found_at = found_at.map(|found| found.sequence);
    tracing::error!(
        alert = "VestryAuditFailing",
        world = %remembered.world,
        chain = %remembered.chain,
        ended_at = remembered.sequence,
        ?found_at,
        "ALARM: database rollback detected (audit entries are lost); a new audit chain was started; run `vestry audit verify --against`"
    );
    let detail = Detail::default()
        .with("chain", remembered.chain.to_string())
        .with("ended_at", remembered.sequence)
        .with("hash", hex::encode(remembered.hash))
        .with("found_at", found_at);
    Some(restart(remembered, &detail, at))
}
