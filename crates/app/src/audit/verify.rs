//! `vestry audit verify`: whether anybody altered the log, or took something out of it.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use vestry_domain::World;
use vestry_domain::audit::control::{ControlEntry, ControlHead};
use vestry_domain::audit::{AuditEntry, AuditHead, AuditMarker};
use vestry_domain::envelope::Mac;
use vestry_domain::ids::AuditChainId;
use vestry_ports::store::{StoreError, StoreResult};

use super::flaw::{About, AuditFlaw, AuditReport, Flaw};
use super::witness::{FoundNote, TrustedKeys, Witness};
use crate::audit_seals::{control_head_matches, entry_matches, head_matches, held, marker_matches};
use crate::{Fault, Service};

/// Entries looked at in one step.
const PAGE: i64 = 1_000;

/// Which of the two logs a chain is of.
#[derive(Clone, Copy)]
pub(super) enum Log {
    /// What was done with wallets.
    Wallets,
    /// What was done to Apps, keys and settings.
    Control,
}

/// How far a chain goes, by its head.
pub(super) struct End {
    pub(super) log: Log,
    pub(super) world: World,
    pub(super) chain: AuditChainId,
    pub(super) sequence: i64,
    hash: [u8; 32],
    is_authentic: bool,
}

impl End {
    fn of(head: &AuditHead, is_authentic: bool) -> Self {
        Self {
            log: Log::Wallets,
            world: head.world,
            chain: head.chain,
            sequence: head.sequence,
            hash: head.hash,
            is_authentic,
        }
    }

    /// That of a chain whose head is gone.
    const fn unknown(log: Log, world: World, chain: AuditChainId) -> Self {
        Self {
            log,
            world,
            chain,
            sequence: 0,
            hash: [0; 32],
            is_authentic: false,
        }
    }

    fn of_control(head: &ControlHead, is_authentic: bool) -> Self {
        Self {
            log: Log::Control,
            world: head.world,
            chain: head.chain,
            sequence: head.sequence,
            hash: head.hash,
            is_authentic,
        }
    }
}

/// What the walk looks at of an entry.
pub(super) struct Link {
    sequence: i64,
    previous: [u8; 32],
    hash: [u8; 32],
    mac: Mac,
    /// Whether its hash is that of what it says.
    is_own: bool,
}

impl From<AuditEntry> for Link {
    fn from(entry: AuditEntry) -> Self {
        let is_own = entry.follows(entry.sequence.saturating_sub(1), &entry.previous);
        Self {
            sequence: entry.sequence,
            previous: entry.previous,
            hash: entry.hash,
            mac: entry.mac,
            is_own,
        }
    }
}

impl From<ControlEntry> for Link {
    fn from(entry: ControlEntry) -> Self {
        let is_own = entry.follows(entry.sequence.saturating_sub(1), &entry.previous);
        Self {
            sequence: entry.sequence,
            previous: entry.previous,
            hash: entry.hash,
            mac: entry.mac,
            is_own,
        }
    }
}

/// How far a walk along a chain came.
pub(super) struct Walked {
    pub(super) sequence: i64,
    pub(super) hash: [u8; 32],
    /// What the entry had that stands where the head was when the walk began.
    at_head: Option<[u8; 32]>,
}

impl Service {
    /// Walks every chain of which there is a row: each entry hashes to what it says, under the keyed hash, behind the one before it,
    /// from the first up to the head. Compares all that with the database's own checkpoints, and each log of events with its head.
    /// Can be run while the service writes.
    ///
    /// # Errors
    /// See [`Fault`]; what is wrong with the log is a finding, not an error.
    pub async fn verify_audit_log(
        &self,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<AuditReport, Fault> {
        self.verify_audit_log_against(&[], &TrustedKeys::Own, progress)
            .await
    }

    /// The same, and compares the database with checkpoints that were kept outside of it: what was there when one was made has to be
    /// there now.
    ///
    /// # Errors
    /// As for [`Service::verify_audit_log`].
    pub async fn verify_audit_log_against(
        &self,
        notes: &[FoundNote],
        keys: &TrustedKeys,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<AuditReport, Fault> {
        let mut report = AuditReport::default();
        // Before the rest, which goes on: what they state is there already.
        let mut witness = if notes.is_empty() {
            Witness::default()
        } else {
            self.witness(notes, keys).await?
        };
        report.flaws.extend(self.flaws_of_progress().await?);
        self.take_own_checkpoints(&mut witness).await?;
        report.checkpoints = witness.checkpoints;
        report.own_checkpoints = witness.own_checkpoints;
        for world in self.worlds_of_logs().await? {
            self.verify_world(&world, &mut report, progress).await?;
            if let Some(flaw) = self.flaw_of_events(&world).await? {
                let about = About::Events(world);
                report.flaws.push(AuditFlaw { about, flaw });
            }
        }
        report.flaws.extend(self.unborne(&witness, progress).await?);
        report.flaws.extend(witness.flaws);
        self.set_acknowledged_aside(&mut report).await?;
        Ok(report)
    }

    /// Every world of which any log has a row, by the rows: the table of Apps does not decide what is verified.
    pub(super) async fn worlds_of_logs(&self) -> Result<Vec<World>, Fault> {
        let mut worlds: Vec<World> = Vec::new();
        loop {
            let mut read = self.ports.store.read().await?;
            let next = read.audit_log().next_world(worlds.last().copied()).await?;
            let Some(next) = next else {
                return Ok(worlds);
            };
            worlds.push(next);
        }
    }

    async fn verify_world(
        &self,
        world: &World,
        report: &mut AuditReport,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<(), Fault> {
        let mut read = self.ports.store.read().await?;
        let markers = read.audit_log().markers(world).await?;
        let of_wallets = read.audit_log().headless(world).await?;
        let of_control = read.control_log().headless(world).await?;
        drop(read);
        let of_wallets = of_wallets.into_iter().map(|chain| (chain, Log::Wallets));
        let of_control = of_control.into_iter().map(|chain| (chain, Log::Control));
        let mut headless: BTreeMap<_, _> = of_wallets.chain(of_control).collect();
        let mut markers: BTreeMap<_, _> = markers
            .into_iter()
            .map(|marker| (marker.chain, marker))
            .collect();
        let ends = self.ends_of(world).await?.into_iter();
        let stretches: Vec<_> = ends.map(|end| (markers.remove(&end.chain), end)).collect();
        // What was pruned had a head, which stays.
        for chain in markers.into_keys() {
            headless.entry(chain).or_insert(Log::Wallets);
        }
        for (chain, log) in headless {
            report.chains += 1;
            let about = About::Chain(*world, chain);
            let flaw = Flaw::NoHead;
            let end = End::unknown(log, *world, chain);
            report.traces.insert(about.clone(), self.trace(&end).await?);
            report.flaws.push(AuditFlaw { about, flaw });
        }
        for (begins, end) in stretches {
            report.chains += 1;
            let about = About::Chain(*world, end.chain);
            let (log, chain) = (end.log, end.chain);
            if let Some(flaw) = self.flaw_of(end, begins, report, progress).await? {
                let mut ends = self.ends_of(world).await?.into_iter();
                let end = ends.find(|end| end.chain == chain);
                let end = end.unwrap_or_else(|| End::unknown(log, *world, chain));
                report.traces.insert(about.clone(), self.trace(&end).await?);
                report.flaws.push(AuditFlaw { about, flaw });
            }
        }
        Ok(())
    }

    /// Where the chains of a world end, by their heads.
    pub(super) async fn ends_of(&self, world: &World) -> Result<Vec<End>, Fault> {
        let mut read = self.ports.store.read().await?;
        let heads = read.audit_log().heads(world).await?;
        let control_heads = read.control_log().heads(world).await?;
        drop(read);
        let sealer = &*self.ports.sealer;
        let mut ends = Vec::with_capacity(heads.len().saturating_add(control_heads.len()));
        for head in &heads {
            ends.push(End::of(head, held(head_matches(sealer, head).await)?));
        }
        for head in &control_heads {
            let is_authentic = held(control_head_matches(sealer, head).await)?;
            ends.push(End::of_control(head, is_authentic));
        }
        Ok(ends)
    }

    /// The first thing that is wrong with a chain. Its marker was read before its head, and that before its entries.
    async fn flaw_of(
        &self,
        mut head: End,
        mut begins: Option<AuditMarker>,
        report: &mut AuditReport,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Option<Flaw>, Fault> {
        loop {
            if !head.is_authentic {
                return Ok(Some(Flaw::ForgedHead));
            }
            let flaw = match self.beginning(begins.as_ref()).await? {
                Some(walked) => self.flaw_behind(walked, &head, report, progress).await?,
                None => Some(Flaw::ForgedMarker),
            };
            if flaw.is_none() {
                return Ok(None);
            }
            let now = self.marker_of(&head).await?;
            if now == begins {
                return Ok(flaw);
            }
            // It is being pruned at this moment, perhaps beyond where it ended before.
            begins = now;
            let mut ends = self.ends_of(&head.world).await?.into_iter();
            let Some(end) = ends.find(|end| end.chain == head.chain) else {
                return Ok(Some(Flaw::NoHead));
            };
            head = end;
        }
    }

    pub(super) async fn marker_of(&self, end: &End) -> Result<Option<AuditMarker>, Fault> {
        let mut read = self.ports.store.read().await?;
        Ok(read.audit_log().marker(&end.world, end.chain).await?)
    }

    /// Where a walk along a chain begins; `None` where the service did not write the marker.
    pub(super) async fn beginning(
        &self,
        marker: Option<&AuditMarker>,
    ) -> Result<Option<Walked>, Fault> {
        let Some(marker) = marker else {
            return Ok(Some(Walked {
                sequence: 0,
                hash: [0; 32],
                at_head: None,
            }));
        };
        let is_ours = held(marker_matches(&*self.ports.sealer, marker).await)?;
        Ok(is_ours.then_some(Walked {
            sequence: marker.sequence,
            hash: marker.hash,
            at_head: None,
        }))
    }

    /// A hash of everything that is wrong with a chain from its beginning to its end. It stays the same when the chain goes on, and is
    /// another one when more is altered: the walk that looks for a finding stops at the first.
    async fn trace(&self, head: &End) -> Result<String, Fault> {
        let mut trace = Sha256::new();
        let marker = self.marker_of(head).await?;
        let begins = self.beginning(marker.as_ref()).await?;
        if let (None, Some(marker)) = (&begins, &marker) {
            trace.update(marker.sequence.to_be_bytes());
            trace.update(marker.hash);
        }
        let mut walked = begins.unwrap_or(Walked {
            sequence: 0,
            hash: [0; 32],
            at_head: None,
        });
        loop {
            let Some(page) = self.entries_after(head, walked.sequence).await? else {
                trace.update(b"unreadable");
                break;
            };
            if page.is_empty() {
                break;
            }
            for entry in page {
                if !self.is_next(&head.world, &walked, &entry).await? {
                    trace.update(walked.sequence.to_be_bytes());
                    trace.update(entry.sequence.to_be_bytes());
                    trace.update(entry.hash);
                    trace.update(&entry.mac.tag);
                }
                walked.step(&entry, head);
            }
        }
        if !head.is_authentic || walked.at_head != Some(head.hash) {
            trace.update(head.sequence.to_be_bytes());
            trace.update(head.hash);
            trace.update(walked.sequence.to_be_bytes());
        }
        Ok(hex::encode(trace.finalize()).chars().take(32).collect())
    }

    async fn flaw_behind(
        &self,
        mut walked: Walked,
        head: &End,
        report: &mut AuditReport,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Option<Flaw>, Fault> {
        loop {
            let Some(page) = self.entries_after(head, walked.sequence).await? else {
                let sequence = walked.sequence.saturating_add(1);
                return Ok(Some(Flaw::Broken { sequence }));
            };
            if page.is_empty() {
                break;
            }
            for entry in page {
                if !self.is_next(&head.world, &walked, &entry).await? {
                    let sequence = walked.sequence.saturating_add(1);
                    return Ok(Some(Flaw::Broken { sequence }));
                }
                walked.step(&entry, head);
                report.entries += 1;
            }
            progress(report.entries);
        }
        if walked.at_head != Some(head.hash) {
            let (found, expected) = (walked.sequence, head.sequence);
            return Ok(Some(Flaw::Ends { found, expected }));
        }
        // What was written during the walk moved the head along.
        let expected = self.sequence_now(head).await?;
        let found = walked.sequence;
        Ok((found > expected).then_some(Flaw::Ends { found, expected }))
    }

    /// How far the chain goes by now.
    async fn sequence_now(&self, end: &End) -> Result<i64, Fault> {
        let mut read = self.ports.store.read().await?;
        Ok(match end.log {
            Log::Wallets => {
                let head = read.audit_log().head(&end.world, end.chain).await?;
                head.map_or(0, |head| head.sequence)
            }
            Log::Control => {
                let heads = read.control_log().heads(&end.world).await?;
                let head = heads.iter().find(|head| head.chain == end.chain);
                head.map_or(0, |head| head.sequence)
            }
        })
    }

    /// The entries behind a place of a chain: a page, or only the next one when something in the page cannot be read. `None` when
    /// it is that one.
    async fn entries_after(&self, end: &End, sequence: i64) -> Result<Option<Vec<Link>>, Fault> {
        for limit in [PAGE, 1] {
            match self.links_after(end, sequence, limit).await {
                Ok(page) => return Ok(Some(page)),
                Err(StoreError::Corrupt { .. }) => {}
                Err(other) => return Err(other.into()),
            }
        }
        Ok(None)
    }

    async fn links_after(&self, end: &End, sequence: i64, limit: i64) -> StoreResult<Vec<Link>> {
        let (world, chain) = (&end.world, end.chain);
        let mut read = self.ports.store.read().await?;
        Ok(match end.log {
            Log::Wallets => {
                let page = read.audit_log().of_chain(world, chain, sequence, limit);
                page.await?.into_iter().map(Link::from).collect()
            }
            Log::Control => {
                let page = read.control_log().of_chain(world, chain, sequence, limit);
                page.await?.into_iter().map(Link::from).collect()
            }
        })
    }

    pub(super) async fn is_next(
        &self,
        world: &World,
        walked: &Walked,
        entry: &Link,
    ) -> Result<bool, Fault> {
        let is_behind = walked.sequence.checked_add(1) == Some(entry.sequence)
            && walked.hash == entry.previous
            && entry.is_own;
        let sealer = &*self.ports.sealer;
        Ok(is_behind && held(entry_matches(sealer, world, &entry.hash, &entry.mac).await)?)
    }
}

impl Walked {
    pub(super) fn step(&mut self, entry: &Link, head: &End) {
        self.sequence = entry.sequence;
        self.hash = entry.hash;
        if entry.sequence == head.sequence {
            self.at_head = Some(entry.hash);
        }
    }
}
