//! `vestry audit prune`: old entries are exported, then removed. A marker under the keyed hash of the log says from where a chain goes
//! on, so that nobody else can shorten it.

use std::io;

use vestry_domain::audit::control::{ControlAction, ControlEntry, Detail, Subject};
use vestry_domain::audit::{AuditEntry, AuditMarker};
use vestry_domain::ids::AuditChainId;
use vestry_domain::{Invalid, Timestamp, World};

use super::verify::{End, Link, Log};
use crate::admin::AdminError;
use crate::audit_seals::new_marker;
use crate::fault::retried;
use crate::{Fault, Service};

/// Entries that are read at once, and removed in one transaction.
const STEP: i64 = 1_000;

/// An entry on its way out.
#[derive(Debug, Clone, Copy)]
pub enum Exported<'a> {
    /// Of the log of wallets.
    Use(&'a AuditEntry),
    /// Of the control log.
    Change(&'a ControlEntry),
}

/// What was exported and may be removed.
#[derive(Debug)]
pub struct Prunable {
    before: Timestamp,
    chains: Vec<PrunableChain>,
}

impl Prunable {
    /// How many entries these are.
    pub fn entries(&self) -> u64 {
        self.chains.iter().map(|chain| chain.entries).sum()
    }
}

/// The beginning of a chain.
#[derive(Debug)]
struct PrunableChain {
    world: World,
    chain: AuditChainId,
    entries: u64,
    /// Place and hash of the entries at which a transaction ends; the last is where the chain is to begin.
    ends: Vec<(i64, [u8; 32])>,
}

impl Service {
    /// Hands out the entries of all chains of Apps that were written before a moment, each chain by itself from its beginning up to
    /// the first that is younger. The entry in which a chain ends stays, and so does the chain of the deployment, which explains the
    /// others.
    ///
    /// # Errors
    /// [`AdminError`]: the moment lies in the future, the log is not whole, or `write` failed.
    pub async fn export_audit_log(
        &self,
        before: Timestamp,
        write: &mut (dyn FnMut(Exported<'_>) -> io::Result<()> + Send),
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Prunable, AdminError> {
        if before > self.machine_time() {
            return Err(Invalid::value("before", "before must not lie in the future").into());
        }
        // What is broken is evidence, and is not to be cut off.
        let report = self.verify_audit_log(progress).await?;
        if !report.flaws.is_empty() {
            return Err(AdminError::NotNow(
                "the audit log is not whole: run `vestry audit verify`, and explain what it finds with `vestry audit acknowledge`",
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
    ) -> Result<PrunableChain, AdminError> {
        let mut chain = PrunableChain {
            world: end.world,
            chain: end.chain,
            entries: 0,
            ends: Vec::new(),
        };
        let marker = self.marker_of(end).await?;
        let Some(mut walked) = self.beginning(marker.as_ref()).await? else {
            return Ok(chain);
        };
        loop {
            let from = walked.sequence;
            let page = self.page_behind(end, from).await?;
            for entry in &page {
                let link = entry.link();
                if !entry.may_go(end, before) || !self.is_next(&end.world, &walked, &link).await? {
                    break;
                }
                write(entry.exported()).map_err(|error| Fault::Internal(Box::new(error)))?;
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

    async fn page_behind(&self, end: &End, sequence: i64) -> Result<Vec<Entry>, Fault> {
        let (world, chain) = (&end.world, end.chain);
        let mut read = self.ports.store.read().await?;
        Ok(match end.log {
            Log::Wallets => {
                let page = read.audit_log().of_chain(world, chain, sequence, STEP);
                page.await?.into_iter().map(Entry::Use).collect()
            }
            Log::Control => {
                let page = read.control_log().of_chain(world, chain, sequence, STEP);
                page.await?.into_iter().map(Entry::Change).collect()
            }
        })
    }

    /// Removes what was exported, once it is safe where it went; `file_sha256` of that stands in the entry of each chain.
    ///
    /// # Errors
    /// [`AdminError`]: somebody else prunes at this moment, for example. What was removed until then stays removed.
    pub async fn prune_audit_log(
        &self,
        prunable: &Prunable,
        file_sha256: &str,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<(), AdminError> {
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
            let event = self.done_by_cli(World::DEPLOYMENT, action, subject, &detail);
            self.record_for_deployment(event).await?;
            for (sequence, hash) in &chain.ends {
                self.begin_behind(chain, *sequence, *hash).await?;
            }
            removed += chain.entries;
            progress(removed);
        }
        Ok(())
    }

    /// Lets a chain begin behind this entry.
    async fn begin_behind(
        &self,
        chain: &PrunableChain,
        sequence: i64,
        hash: [u8; 32],
    ) -> Result<(), AdminError> {
        let (world, id) = (&chain.world, chain.chain);
        let sealer = &*self.ports.sealer;
        let marker = new_marker(sealer, world, id, sequence, hash)
            .await
            .map_err(Fault::from)?;
        if retried(|| self.try_begin(&marker)).await? {
            return Ok(());
        }
        Err(AdminError::NotNow(
            "somebody else prunes the audit log at this moment: run it again when they are done",
        ))
    }

    async fn try_begin(&self, marker: &AuditMarker) -> Result<bool, Fault> {
        let mut tx = self.ports.store.begin().await?;
        let log = tx.audit_log();
        let before = log.marker(&marker.world, marker.chain).await?;
        let (is_there, is_beyond) = before.as_ref().map_or((false, false), |before| {
            let is_there = (before.sequence, before.hash) == (marker.sequence, marker.hash);
            (is_there, before.sequence >= marker.sequence)
        });
        if is_there {
            // An attempt before this one was committed, and its answer was lost.
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

/// An entry of either log.
enum Entry {
    Use(AuditEntry),
    Change(ControlEntry),
}

impl Entry {
    /// Whether it is older than that, and not the last of its chain.
    fn may_go(&self, end: &End, before: Timestamp) -> bool {
        let (sequence, at) = match self {
            Self::Use(entry) => (entry.sequence, entry.event.at),
            Self::Change(entry) => (entry.sequence, entry.event.at),
        };
        sequence < end.sequence && at < before
    }

    fn link(&self) -> Link {
        match self {
            Self::Use(entry) => entry.clone().into(),
            Self::Change(entry) => entry.clone().into(),
        }
    }

    const fn exported(&self) -> Exported<'_> {
        match self {
            Self::Use(entry) => Exported::Use(entry),
            Self::Change(entry) => Exported::Change(entry),
        }
    }
}
