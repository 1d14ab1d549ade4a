//! `vestry audit verify`: whether anybody altered the log, or took something out of it.

use vestry_domain::audit::{AuditEntry, AuditHead};
use vestry_domain::ids::AuditChainId;
use vestry_domain::{Environment, World};
use vestry_ports::custody::CustodyError;
use vestry_ports::store::StoreError;

use crate::audit_trail::seals::{entry_matches, head_matches};
use crate::{Fault, Service};

/// What a verification found.
#[derive(Debug, Clone, Default)]
pub struct AuditReport {
    /// Chains looked at.
    pub chains: u64,
    /// Entries that are what they were.
    pub entries: u64,
    /// What is wrong; at most one finding per chain, its first.
    pub flaws: Vec<AuditFlaw>,
}

/// What is wrong with a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditFlaw {
    /// App and environment.
    pub world: World,
    /// The chain.
    pub chain: AuditChainId,
    /// What it is.
    pub flaw: Flaw,
}

/// Kinds of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// Entries without a head: the record of how far the chain goes is gone.
    NoHead,
    /// The head is not one that the service wrote.
    ForgedHead,
    /// The entry in this place was altered, or does not follow the one before it, or the one in this place is missing.
    Broken {
        /// The place, from 1.
        sequence: i64,
    },
    /// The chain ends at `found`, and its head says that it went on to `expected`, or the other way round.
    Ends {
        /// The last place that was found.
        found: i64,
        /// The last place by the head.
        expected: i64,
    },
}

/// Entries looked at in one step.
const PAGE: i64 = 1_000;

/// How far a walk along a chain came.
struct Walked {
    sequence: i64,
    hash: [u8; 32],
    /// What the entry had that stands where the head was when the walk began.
    at_head: Option<[u8; 32]>,
}

impl Service {
    /// Walks every chain of every world: each entry hashes to what it says, under the keyed hash, behind the one before it,
    /// from the first up to the head. Can be run while the service writes.
    ///
    /// # Errors
    /// See [`Fault`]; what is wrong with the log is a finding, not an error.
    pub async fn verify_audit_log(
        &self,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<AuditReport, Fault> {
        let mut report = AuditReport::default();
        let apps = self.ports.store.read().await?.apps().list().await?;
        for app in apps {
            for environment in Environment::ALL {
                let world = World::new(app.id, environment);
                self.verify_world(&world, &mut report, progress).await?;
            }
        }
        Ok(report)
    }

    async fn verify_world(
        &self,
        world: &World,
        report: &mut AuditReport,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<(), Fault> {
        let mut read = self.ports.store.read().await?;
        let headless = read.audit_log().headless(world).await?;
        let heads = read.audit_log().heads(world).await?;
        drop(read);
        for chain in headless {
            report.chains += 1;
            report.flaws.push(AuditFlaw {
                world: *world,
                chain,
                flaw: Flaw::NoHead,
            });
        }
        for head in heads {
            report.chains += 1;
            if let Some(flaw) = self.flaw_of(&head, report, progress).await? {
                report.flaws.push(AuditFlaw {
                    world: *world,
                    chain: head.chain,
                    flaw,
                });
            }
        }
        Ok(())
    }

    /// The first thing that is wrong with a chain. `head` was read before its entries.
    async fn flaw_of(
        &self,
        head: &AuditHead,
        report: &mut AuditReport,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Option<Flaw>, Fault> {
        let sealer = &*self.ports.sealer;
        if !held(head_matches(sealer, head).await)? {
            return Ok(Some(Flaw::ForgedHead));
        }
        let mut walked = Walked {
            sequence: 0,
            hash: [0; 32],
            at_head: None,
        };
        loop {
            let Some(page) = self.entries_after(head, walked.sequence).await? else {
                let sequence = walked.sequence.saturating_add(1);
                return Ok(Some(Flaw::Broken { sequence }));
            };
            if page.is_empty() {
                break;
            }
            for entry in page {
                if !self.is_next(&walked, &entry).await? {
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
        let mut read = self.ports.store.read().await?;
        let now = read.audit_log().head(&head.world, head.chain).await?;
        let expected = now.map_or(0, |head| head.sequence);
        let found = walked.sequence;
        Ok((found > expected).then_some(Flaw::Ends { found, expected }))
    }

    /// The entries behind a place of a chain: a page, or only the next one when something in the page cannot be read. `None` when
    /// it is that one.
    async fn entries_after(
        &self,
        head: &AuditHead,
        sequence: i64,
    ) -> Result<Option<Vec<AuditEntry>>, Fault> {
        for limit in [PAGE, 1] {
            let mut read = self.ports.store.read().await?;
            let log = read.audit_log();
            match log.of_chain(&head.world, head.chain, sequence, limit).await {
                Ok(page) => return Ok(Some(page)),
                Err(StoreError::Corrupt { .. }) => {}
                Err(other) => return Err(other.into()),
            }
        }
        Ok(None)
    }

    async fn is_next(&self, walked: &Walked, entry: &AuditEntry) -> Result<bool, Fault> {
        let sealer = &*self.ports.sealer;
        Ok(entry.follows(walked.sequence, &walked.hash)
            && held(entry_matches(sealer, &entry.event.world, &entry.hash, &entry.mac).await)?)
    }
}

/// Whether a keyed hash is right. One under a key that is not there, or does not open, is not; which of them `vault verify` tells.
fn held(matches: Result<bool, CustodyError>) -> Result<bool, CustodyError> {
    match matches {
        Err(CustodyError::Tampered { .. }) => Ok(false),
        other => other,
    }
}

impl Walked {
    fn step(&mut self, entry: &AuditEntry, head: &AuditHead) {
        self.sequence = entry.sequence;
        self.hash = entry.hash;
        if entry.sequence == head.sequence {
            self.at_head = Some(entry.hash);
        }
    }
}
