//! `vestry audit verify`: checks that no audit entry was altered or removed.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use vestry_domain::World;
use vestry_domain::audit::AuditHead;
use vestry_domain::audit::control::ControlHead;
use vestry_domain::ids::AuditChainId;
use vestry_ports::store::{ChainEntry, ChainLink, ChainLog, StoreError, StoreResult};

use super::checkpoint_audit::{CheckpointClaims, SourcedNote};
use super::finding::{About, AuditFinding, AuditReport, FindingKind};
use super::markers::FoundMarker;
use super::signed_checkpoints::TrustedKeys;
use crate::kernel::state::chain_macs::{
    control_head_matches, entry_matches, head_matches, held, marker_matches,
};
use crate::{Fault, Service};

/// Entries read in one query.
const PAGE: i64 = 1_000;

/// End of a chain according to its head.
pub(super) struct End {
    pub(super) log: ChainLog,
    pub(super) world: World,
    pub(super) chain: AuditChainId,
    pub(super) sequence: i64,
    hash: [u8; 32],
    is_authentic: bool,
}

impl End {
    fn of(head: &AuditHead, is_authentic: bool) -> Self {
        Self {
            log: ChainLog::Wallets,
            world: head.world,
            chain: head.chain,
            sequence: head.sequence,
            hash: head.hash,
            is_authentic,
        }
    }

    /// Returns a placeholder for a chain without a head.
    const fn unknown(log: ChainLog, world: World, chain: AuditChainId) -> Self {
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
            log: ChainLog::Control,
            world: head.world,
            chain: head.chain,
            sequence: head.sequence,
            hash: head.hash,
            is_authentic,
        }
    }
}

/// Progress of a walk along a chain.
pub(super) struct Walked {
    pub(super) sequence: i64,
    pub(super) hash: [u8; 32],
    /// Hash of the entry at the head's sequence number when the walk began.
    at_head: Option<[u8; 32]>,
}

impl Service {
    /// Verifies every chain, the database's own checkpoints and every event log. It can run while the service writes.
    ///
    /// Each entry must match its hash and keyed hash and follow its predecessor, from the first up to the head. Event logs are compared
    /// with their heads.
    ///
    /// # Errors
    /// See [`Fault`]; a damaged log is a finding, not an error.
    pub async fn verify_audit_log(
        &self,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<AuditReport, Fault> {
        self.verify_audit_log_against(&[], &TrustedKeys::Own, progress)
            .await
    }

    /// Does the same as [`Service::verify_audit_log`], and compares the database with checkpoints kept outside it. Everything that a
    /// checkpoint states must still be there.
    ///
    /// # Errors
    /// As for [`Service::verify_audit_log`].
    pub async fn verify_audit_log_against(
        &self,
        notes: &[SourcedNote],
        keys: &TrustedKeys,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<AuditReport, Fault> {
        let mut report = AuditReport::default();
        // Read the checkpoints first: the log advances, but what they state already exists.
        let mut claims = if notes.is_empty() {
            CheckpointClaims::default()
        } else {
            self.claims(notes, keys).await?
        };
        report.findings.extend(self.findings_of_progress().await?);
        self.take_own_checkpoints(&mut claims).await?;
        report.checkpoints = claims.checkpoints;
        report.own_checkpoints = claims.own_checkpoints;
        for world in self.worlds_of_logs().await? {
            self.verify_world(&world, &mut report, progress).await?;
            if let Some(kind) = self.finding_of_events(&world).await? {
                let about = About::Events(world);
                report.findings.push(AuditFinding { about, kind });
            }
        }
        report
            .findings
            .extend(self.unborne(&claims, progress).await?);
        report.findings.extend(claims.findings);
        self.set_acknowledged_aside(&mut report).await?;
        Ok(report)
    }

    /// Returns every environment with a row in any log. It does not rely on the table of Apps, which could hide one.
    pub(super) async fn worlds_of_logs(&self) -> Result<Vec<World>, Fault> {
        let mut worlds: Vec<World> = Vec::new();
        loop {
            let mut read = self.ports.store.read().await?;
            let next = read
                .audit_chains()
                .next_world(worlds.last().copied())
                .await?;
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
        let marked = read.audit_chains().marked_chains(world).await?;
        let of_wallets = read
            .audit_chains()
            .headless(world, ChainLog::Wallets)
            .await?;
        let of_control = read
            .audit_chains()
            .headless(world, ChainLog::Control)
            .await?;
        drop(read);
        let of_wallets = of_wallets
            .into_iter()
            .map(|chain| (chain, ChainLog::Wallets));
        let of_control = of_control
            .into_iter()
            .map(|chain| (chain, ChainLog::Control));
        let mut headless: BTreeMap<_, _> = of_wallets.chain(of_control).collect();
        let mut markers = BTreeMap::new();
        for chain in marked {
            let marker = self.marker_of(world, chain).await?;
            markers.extend(marker.map(|marker| (chain, marker)));
        }
        let ends = self.ends_of(world).await?.into_iter();
        let stretches: Vec<_> = ends.map(|end| (markers.remove(&end.chain), end)).collect();
        // A pruned chain had a head, and pruning keeps it.
        for chain in markers.into_keys() {
            headless.entry(chain).or_insert(ChainLog::Wallets);
        }
        for (chain, log) in headless {
            report.chains += 1;
            let about = About::Chain(*world, chain);
            let kind = FindingKind::NoHead;
            let end = End::unknown(log, *world, chain);
            report.traces.insert(about.clone(), self.trace(&end).await?);
            report.findings.push(AuditFinding { about, kind });
        }
        for (begins, end) in stretches {
            report.chains += 1;
            let about = About::Chain(*world, end.chain);
            let (log, chain) = (end.log, end.chain);
            if let Some(kind) = self.finding_of(end, begins, report, progress).await? {
                let mut ends = self.ends_of(world).await?.into_iter();
                let end = ends.find(|end| end.chain == chain);
                let end = end.unwrap_or_else(|| End::unknown(log, *world, chain));
                report.traces.insert(about.clone(), self.trace(&end).await?);
                report.findings.push(AuditFinding { about, kind });
            }
        }
        Ok(())
    }

    /// Returns the ends of an environment's chains according to their heads.
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

    /// Returns the first finding about a chain. The marker was read before the head, and the head before the entries.
    async fn finding_of(
        &self,
        mut head: End,
        mut begins: Option<FoundMarker>,
        report: &mut AuditReport,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Option<FindingKind>, Fault> {
        loop {
            if !head.is_authentic {
                return Ok(Some(FindingKind::ForgedHead));
            }
            let finding = match self.beginning(begins.as_ref()).await? {
                Some(walked) => self.finding_behind(walked, &head, report, progress).await?,
                None => Some(FindingKind::ForgedMarker),
            };
            if finding.is_none() {
                return Ok(None);
            }
            let now = self.marker_of(&head.world, head.chain).await?;
            if now == begins {
                return Ok(finding);
            }
            // The chain is being pruned, perhaps beyond its former end.
            begins = now;
            let mut ends = self.ends_of(&head.world).await?.into_iter();
            let Some(end) = ends.find(|end| end.chain == head.chain) else {
                return Ok(Some(FindingKind::NoHead));
            };
            head = end;
        }
    }

    /// Returns the start of a walk along a chain, or `None` if the service did not write the marker.
    pub(super) async fn beginning(
        &self,
        marker: Option<&FoundMarker>,
    ) -> Result<Option<Walked>, Fault> {
        let marker = match marker {
            None => {
                return Ok(Some(Walked {
                    sequence: 0,
                    hash: [0; 32],
                    at_head: None,
                }));
            }
            Some(FoundMarker::Unreadable) => return Ok(None),
            Some(FoundMarker::Whole(marker)) => marker,
        };
        let is_ours = held(marker_matches(&*self.ports.sealer, marker).await)?;
        Ok(is_ours.then_some(Walked {
            sequence: marker.sequence,
            hash: marker.hash,
            at_head: None,
        }))
    }

    /// Returns a hash of everything that is wrong with a chain, from its beginning to its end.
    ///
    /// It does not change as the chain grows, and does change if more is altered. The search for a finding cannot serve for this, as it
    /// stops at the first.
    async fn trace(&self, head: &End) -> Result<String, Fault> {
        let mut trace = Sha256::new();
        let marker = self.marker_of(&head.world, head.chain).await?;
        let begins = self.beginning(marker.as_ref()).await?;
        match (&begins, &marker) {
            (None, Some(FoundMarker::Whole(marker))) => {
                trace.update(marker.sequence.to_be_bytes());
                trace.update(marker.hash);
            }
            (None, Some(FoundMarker::Unreadable)) => trace.update(b"unreadable marker"),
            (None, None) | (Some(_), _) => {}
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

    async fn finding_behind(
        &self,
        mut walked: Walked,
        head: &End,
        report: &mut AuditReport,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Option<FindingKind>, Fault> {
        loop {
            let Some(page) = self.entries_after(head, walked.sequence).await? else {
                let sequence = walked.sequence.saturating_add(1);
                return Ok(Some(FindingKind::Broken { sequence }));
            };
            if page.is_empty() {
                break;
            }
            for entry in page {
                if !self.is_next(&head.world, &walked, &entry).await? {
                    let sequence = walked.sequence.saturating_add(1);
                    return Ok(Some(FindingKind::Broken { sequence }));
                }
                walked.step(&entry, head);
                report.entries += 1;
            }
            progress(report.entries);
        }
        if walked.at_head != Some(head.hash) {
            let (found, expected) = (walked.sequence, head.sequence);
            return Ok(Some(FindingKind::Ends { found, expected }));
        }
        // Entries written during the walk have advanced the head.
        let expected = self.sequence_now(head).await?;
        let found = walked.sequence;
        Ok((found > expected).then_some(FindingKind::Ends { found, expected }))
    }

    /// Returns the current end of the chain.
    async fn sequence_now(&self, end: &End) -> Result<i64, Fault> {
        let mut read = self.ports.store.read().await?;
        Ok(match end.log {
            ChainLog::Wallets => {
                let head = read.audit_log().head(&end.world, end.chain).await?;
                head.map_or(0, |head| head.sequence)
            }
            ChainLog::Control => {
                let heads = read.control_log().heads(&end.world).await?;
                let head = heads.iter().find(|head| head.chain == end.chain);
                head.map_or(0, |head| head.sequence)
            }
        })
    }

    /// Returns the entries after a position: a page, or only the next one if something in the page cannot be read. Returns `None` if the
    /// next one cannot be read.
    async fn entries_after(
        &self,
        end: &End,
        sequence: i64,
    ) -> Result<Option<Vec<ChainLink>>, Fault> {
        for limit in [PAGE, 1] {
            match self.links_after(end, sequence, limit).await {
                Ok(page) => return Ok(Some(page)),
                Err(StoreError::Corrupt { .. }) => {}
                Err(other) => return Err(other.into()),
            }
        }
        Ok(None)
    }

    async fn links_after(
        &self,
        end: &End,
        sequence: i64,
        limit: i64,
    ) -> StoreResult<Vec<ChainLink>> {
        let mut read = self.ports.store.read().await?;
        let chains = read.audit_chains();
        let page = chains.entries(&end.world, end.log, end.chain, sequence, limit);
        Ok(page.await?.iter().map(ChainEntry::link).collect())
    }

    pub(super) async fn is_next(
        &self,
        world: &World,
        walked: &Walked,
        entry: &ChainLink,
    ) -> Result<bool, Fault> {
        let is_behind = walked.sequence.checked_add(1) == Some(entry.sequence)
            && walked.hash == entry.previous
            && entry.is_own;
        let sealer = &*self.ports.sealer;
        Ok(is_behind && held(entry_matches(sealer, world, &entry.hash, &entry.mac).await)?)
    }
}

impl Walked {
    pub(super) fn step(&mut self, entry: &ChainLink, head: &End) {
        self.sequence = entry.sequence;
        self.hash = entry.hash;
        if entry.sequence == head.sequence {
            self.at_head = Some(entry.hash);
        }
    }
}
