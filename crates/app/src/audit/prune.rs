//! `vestry audit prune`: exports old entries, then removes them.
//!
//! A marker under the log's keyed hash records where a chain now begins, so a chain cannot be shortened without the key.

use std::io;

use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, ControlEntry, Detail, Subject};
use vestry_domain::audit::{AuditEntry, AuditMarker};
use vestry_domain::extent::Extent;
use vestry_domain::ids::AuditChainId;
use vestry_domain::{Invalid, Timestamp, World};
use vestry_ports::store::ChainEntry;

use super::verify::End;
use crate::kernel::fault::retried;
use crate::kernel::state::chain_macs::new_marker;
use crate::{Fault, Principal, Refusal, Service};

/// Entries read in one query and removed in one transaction.
const STEP: i64 = 1_000;

/// An entry being exported.
#[derive(Debug, Clone, Copy)]
pub enum Exported<'a> {
    /// An entry of the wallet log.
    Use(&'a AuditEntry),
    /// An entry of the control log.
    Change(&'a ControlEntry),
}

/// The entries that were exported and can be removed.
#[derive(Debug)]
pub struct Prunable {
    before: Timestamp,
    chains: Vec<PrunableChain>,
}

impl Prunable {
    /// Returns the number of entries.
    pub fn entries(&self) -> u64 {
        self.chains.iter().map(|chain| chain.entries).sum()
    }
}

/// The exported beginning of a chain.
#[derive(Debug)]
struct PrunableChain {
    world: World,
    chain: AuditChainId,
    entries: u64,
    /// Sequence number and hash of the last entry of each transaction. The chain begins after the last of them once all are done.
    ends: Vec<(i64, [u8; 32])>,
}

impl Service {
    /// Exports the entries written before a given time, for all chains of Apps.
    ///
    /// Each chain is exported from its beginning up to the first newer entry. The last entry of a chain is kept, and so is the deployment's
    /// chain, which explains the others.
    ///
    /// # Errors
    /// [`Refusal`]: the time is in the future, the log has findings, or `write` failed.
    pub async fn export_audit_log(
        &self,
        by: &Principal,
        before: Timestamp,
        write: &mut (dyn FnMut(Exported<'_>) -> io::Result<()> + Send),
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Prunable, Refusal> {
        by.authorize(Action::PruneAuditLog, Extent::Deployment)?;
        if before > self.machine_time() {
            return Err(Invalid::value("before", "before must not be in the future").into());
        }
        // A damaged log is evidence, so it must not be pruned.
        let report = self.verify_audit_log(progress).await?;
        if !report.findings.is_empty() {
            return Err(Refusal::NotNow(
                "audit log verification failed; run `vestry audit verify`, and acknowledge explained findings with `vestry audit acknowledge`",
            ));
        }
        let mut prunable = Prunable {
            before,
            chains: Vec::new(),
        };
        for world in self.worlds_of_logs().await? {
            if world.app_id == World::DEPLOYMENT.app_id {
                continue;
            }
            for end in self.ends_of(&world).await? {
                let chain = self.export_chain(&end, before, write).await?;
                prunable.chains.extend((chain.entries > 0).then_some(chain));
            }
        }
        Ok(prunable)
    }

    async fn export_chain(
        &self,
        end: &End,
        before: Timestamp,
        write: &mut (dyn FnMut(Exported<'_>) -> io::Result<()> + Send),
    ) -> Result<PrunableChain, Refusal> {
        let mut chain = PrunableChain {
            world: end.world,
            chain: end.chain,
            entries: 0,
            ends: Vec::new(),
        };
        let marker = self.marker_of(&end.world, end.chain).await?;
        let Some(mut walked) = self.beginning(marker.as_ref()).await? else {
            return Ok(chain);
        };
        loop {
            let from = walked.sequence;
            let page = self.page_behind(end, from).await?;
            for entry in &page {
                let link = entry.link();
                // The last entry of a chain stays.
                let may_go = link.sequence < end.sequence && link.at < before;
                if !may_go || !self.is_next(&end.world, &walked, &link).await? {
                    break;
                }
                write(exported(entry)).map_err(|error| Fault::Internal(Box::new(error)))?;
                walked.step(&link, end);
                chain.entries = chain.entries.saturating_add(1);
            }
            if walked.sequence > from {
                chain.ends.push((walked.sequence, walked.hash));
            }
            let gone = usize::try_from(walked.sequence.saturating_sub(from)).unwrap_or_default();
            if page.is_empty() || gone < page.len() {
                return Ok(chain);
            }
        }
    }

    async fn page_behind(&self, end: &End, sequence: i64) -> Result<Vec<ChainEntry>, Fault> {
        let mut read = self.ports.store.read().await?;
        let chains = read.audit_chains();
        let page = chains.entries(&end.world, end.log, end.chain, sequence, STEP);
        Ok(page.await?)
    }

    /// Removes the exported entries, once the export is safely stored. The entry about each chain records `file_sha256`, the hash of the
    /// exported file.
    ///
    /// # Errors
    /// [`Refusal`], for example if another process is pruning. Entries removed by then stay removed.
    pub async fn prune_audit_log(
        &self,
        by: &Principal,
        prunable: &Prunable,
        file_sha256: &str,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<(), Refusal> {
        by.authorize(Action::PruneAuditLog, Extent::Deployment)?;
        let mut removed = 0;
        for chain in &prunable.chains {
            let Some((through, _)) = chain.ends.last() else {
                continue;
            };
            let detail = Detail::default()
                .with("before", prunable.before.unix())
                .with("entries", chain.entries)
                .with("through", *through)
                .with("file_sha256", file_sha256);
            let subject = Subject::from(chain.chain);
            let action = ControlAction::AuditPrune;
            let event = self.done(&by.at(World::DEPLOYMENT), action, subject, &detail);
            self.record_for_deployment(event).await?;
            for (sequence, hash) in &chain.ends {
                self.begin_behind(chain, *sequence, *hash).await?;
            }
            removed += chain.entries;
            progress(removed);
        }
        Ok(())
    }

    /// Makes a chain begin after this entry.
    async fn begin_behind(
        &self,
        chain: &PrunableChain,
        sequence: i64,
        hash: [u8; 32],
    ) -> Result<(), Refusal> {
        let (world, id) = (&chain.world, chain.chain);
        let sealer = &*self.ports.sealer;
        let marker = new_marker(sealer, world, id, sequence, hash)
            .await
            .map_err(Fault::from)?;
        if retried(|| self.try_begin(&marker)).await? {
            return Ok(());
        }
        Err(Refusal::NotNow(
            "another process is pruning the audit log; try again when it has finished",
        ))
    }

    async fn try_begin(&self, marker: &AuditMarker) -> Result<bool, Fault> {
        let mut tx = self.ports.store.begin().await?;
        let log = tx.audit_chains();
        let before = log.marker(&marker.world, marker.chain).await?;
        let (is_there, is_beyond) = before.as_ref().map_or((false, false), |before| {
            let is_there = (before.sequence, before.hash) == (marker.sequence, marker.hash);
            (is_there, before.sequence >= marker.sequence)
        });
        if is_there {
            // An earlier attempt was committed, but its response was lost.
            return Ok(true);
        }
        if is_beyond || !log.move_marker(before.as_ref(), marker).await? {
            return Ok(false);
        }
        log.prune(marker).await?;
        tx.commit().await?;
        Ok(true)
    }
}

const fn exported(entry: &ChainEntry) -> Exported<'_> {
    match entry {
        ChainEntry::Use(entry) => Exported::Use(entry),
        ChainEntry::Change(entry) => Exported::Change(entry),
    }
}
