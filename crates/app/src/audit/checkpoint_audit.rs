//! Comparison of the database with checkpoints kept outside it (AUD-3).

use std::collections::{BTreeMap, HashMap};

use vestry_domain::World;
use vestry_domain::audit::AuditMarker;
use vestry_domain::audit::checkpoint::{Checkpoint, Line, SignedNote};
use vestry_domain::ids::AuditChainId;
use vestry_domain::metric::TamperKind;
use vestry_ports::anchors::{CheckpointSink, SinkError};
use vestry_ports::custody::CheckpointSigner;
use vestry_ports::meter::Counted;
use vestry_ports::store::{ChainEntry, ChainLog, Store, StoreError, StoreResult};

use super::event_logs::StatedEvent;
use super::finding::{About, AuditFinding, FindingKind};
use super::signed_checkpoints::{TrustedKeys, believed};
use crate::kernel::fault::causes;
use crate::kernel::state::checkpoint_state::last_full;
use crate::{Fault, Service};

/// A signed note and its location.
#[derive(Debug, Clone)]
pub struct SourcedNote {
    /// The location, such as a file path.
    pub place: String,
    /// The signed note.
    pub note: String,
}

/// Checkpoints read from the database in one query.
const PAGE: i64 = 100;

/// A checkpoint's statement that a chain reached this entry.
struct StatedEnd {
    sequence: i64,
    hash: [u8; 32],
    checkpoint: i64,
}

/// Everything that checkpoints state, and the findings about the checkpoints themselves.
#[derive(Default)]
pub(super) struct CheckpointClaims {
    chains: BTreeMap<(World, AuditChainId), Vec<StatedEnd>>,
    events: BTreeMap<World, Vec<StatedEvent>>,
    /// The latest statement of the database's own checkpoints about each chain. Its hash covers all earlier entries.
    own_chains: BTreeMap<(World, AuditChainId), StatedEnd>,
    /// Number of checkpoints supplied, and number in the database.
    pub(super) checkpoints: u64,
    pub(super) own_checkpoints: u64,
    /// Number of the newest supplied checkpoint.
    pub(super) newest: i64,
    pub(super) findings: Vec<AuditFinding>,
}

impl CheckpointClaims {
    /// BatchedReads notes in any order. Notes that are not checkpoints signed by a trusted key are ignored and reported.
    fn read(
        notes: &[SourcedNote],
        keys: &TrustedKeys,
        own: Option<[u8; 32]>,
        checkpoint_signer: &dyn CheckpointSigner,
    ) -> Self {
        let mut claims = Self::default();
        let mut by_number = BTreeMap::<i64, Vec<(String, Checkpoint)>>::new();
        for found in notes {
            match believed(&found.note, keys, own, checkpoint_signer) {
                Ok((text, checkpoint)) => {
                    let same = by_number.entry(checkpoint.number).or_default();
                    if same.iter().all(|(other, _)| *other != text) {
                        same.push((text, checkpoint));
                    }
                }
                Err(kind) => claims.findings.push(AuditFinding {
                    about: About::Note(found.place.clone()),
                    kind,
                }),
            }
        }
        claims.link(&by_number);
        for (number, same) in by_number {
            claims.newest = number;
            for (_, checkpoint) in same {
                claims.checkpoints += 1;
                claims.take(checkpoint, false);
            }
        }
        claims
    }

    /// Reports missing and duplicate numbers, and hashes that do not match the previous checkpoint. The first checkpoint of an epoch follows
    /// one that the recovered database still had.
    fn link(&mut self, by_number: &BTreeMap<i64, Vec<(String, Checkpoint)>>) {
        let mut before: Option<(i64, Vec<[u8; 32]>)> = None;
        let mut epoch = 0;
        for (number, same) in by_number {
            if same.len() > 1 {
                self.blame(*number, FindingKind::GivenTwice);
            }
            let of_number = same.iter().map(|(_, checkpoint)| checkpoint.epoch());
            let newest = of_number.max().unwrap_or(epoch);
            let known = std::mem::replace(&mut epoch, newest);
            if let Some((last, hashes)) = before.as_ref().filter(|_| known >= epoch) {
                let missing = number.saturating_sub(*last).saturating_sub(1);
                let follows =
                    |(_, checkpoint): &(_, Checkpoint)| hashes.contains(&checkpoint.previous);
                if missing > 0 {
                    self.blame(*number, FindingKind::NumbersMissing { missing });
                } else if !same.iter().all(follows) && same.len() <= 1 {
                    self.blame(*number, FindingKind::OtherBefore);
                }
            }
            let hashes = same.iter().map(|(text, _)| Checkpoint::hash_of(text));
            before = Some((*number, hashes.collect()));
        }
    }

    /// Keeps the furthest statement about each chain and log. Its hash covers all earlier entries.
    fn furthest(mut self) -> Self {
        for ends in self.chains.values_mut() {
            ends.sort_by_key(|end| end.sequence);
            ends.drain(..ends.len().saturating_sub(1));
        }
        for events in self.events.values_mut() {
            events.drain(..events.len().saturating_sub(1));
        }
        self
    }

    fn blame(&mut self, number: i64, kind: FindingKind) {
        let about = About::Checkpoint(number);
        self.findings.push(AuditFinding { about, kind });
    }

    fn take(&mut self, stated: Checkpoint, is_own: bool) {
        let (checkpoint, at) = (stated.number, stated.at);
        for line in stated.lines {
            match line {
                Line::Chain {
                    world,
                    chain,
                    sequence,
                    hash,
                } => {
                    let end = StatedEnd {
                        sequence,
                        hash,
                        checkpoint,
                    };
                    if !is_own {
                        let ends = self.chains.entry((world, chain)).or_default();
                        ends.push(end);
                    } else if self
                        .own_chains
                        .get(&(world, chain))
                        .is_none_or(|last| last.sequence < sequence)
                    {
                        self.own_chains.insert((world, chain), end);
                    }
                }
                Line::Events {
                    world,
                    log,
                    position,
                    newest,
                } => {
                    let events = self.events.entry(world).or_default();
                    // An unchanged log is listed in many checkpoints.
                    let is_known = |said: &StatedEvent| {
                        (said.log, said.position, said.event) == (log, position, newest)
                    };
                    if events.last().is_some_and(is_known) {
                        events.pop();
                    }
                    events.push(StatedEvent {
                        log,
                        position,
                        event: newest,
                        checkpoint,
                        at,
                    });
                }
                Line::Epoch(_) | Line::Other(_) => {}
            }
        }
    }
}

impl Service {
    /// BatchedReads the supplied checkpoints.
    ///
    /// # Errors
    /// See [`Fault`]; an invalid checkpoint is a finding, not an error.
    pub(super) async fn claims(
        &self,
        notes: &[SourcedNote],
        keys: &TrustedKeys,
    ) -> Result<CheckpointClaims, Fault> {
        let own = match keys {
            TrustedKeys::Own => Some(self.own_checkpoint_key().await?),
            TrustedKeys::These(_) => None,
        };
        Ok(CheckpointClaims::read(
            notes,
            keys,
            own,
            &*self.ports.checkpoint_signer,
        ))
    }

    /// Adds the statements of the database's own checkpoints. Checkpoints that the service did not write and gaps in the numbers are
    /// findings.
    pub(super) async fn take_own_checkpoints(
        &self,
        claims: &mut CheckpointClaims,
    ) -> Result<(), Fault> {
        let world = &World::DEPLOYMENT;
        let mut before: Option<(i64, i64, [u8; 32])> = None;
        let mut last = 0;
        loop {
            let mut read = self.ports.store.read().await?;
            let page = read.checkpoints().after(world, last, PAGE).await?;
            drop(read);
            if page.is_empty() {
                return Ok(());
            }
            for kept in page {
                last = kept.number;
                let Some((text, checkpoint)) = self.own_checkpoint(&kept).await? else {
                    claims.blame(kept.number, FindingKind::ForgedCheckpoint);
                    continue;
                };
                let epoch = checkpoint.epoch();
                // A recovery skips the numbers that sinks may have.
                if let Some((number, _, hash)) = before.filter(|(_, known, _)| *known >= epoch) {
                    let missing = kept.number.saturating_sub(number).saturating_sub(1);
                    if missing > 0 {
                        claims.blame(kept.number, FindingKind::NumbersMissing { missing });
                    } else if checkpoint.previous != hash {
                        claims.blame(kept.number, FindingKind::OtherBefore);
                    }
                }
                before = Some((kept.number, epoch, Checkpoint::hash_of(&text)));
                claims.own_checkpoints += 1;
                claims.take(checkpoint, true);
            }
        }
    }

    /// Returns the statements that the database contradicts: at most one finding per chain and per event log.
    pub(super) async fn unborne(
        &self,
        claims: &CheckpointClaims,
        progress: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<Vec<AuditFinding>, Fault> {
        let mut findings = Vec::new();
        let mut looked_at = 0_u64;
        let mut chains: BTreeMap<(World, AuditChainId), Vec<&StatedEnd>> = BTreeMap::new();
        for (chain, ends) in &claims.chains {
            chains.entry(*chain).or_default().extend(ends);
        }
        for (chain, end) in &claims.own_chains {
            chains.entry(*chain).or_default().push(end);
        }
        for ((world, chain), stated) in &chains {
            if let Some(kind) = self.finding_of_chain(world, *chain, stated).await? {
                let about = About::Chain(*world, *chain);
                findings.push(AuditFinding { about, kind });
            }
            looked_at += 1;
            if looked_at.is_multiple_of(1_000) {
                progress(looked_at);
            }
        }
        for (world, stated) in &claims.events {
            if let Some(kind) = self.finding_of_stated_events(world, stated).await? {
                let about = About::Events(*world);
                findings.push(AuditFinding { about, kind });
            }
        }
        Ok(findings)
    }

    /// Compares the checkpoints of each readable sink since the last full one with the database (PR-147). A mismatch raises an alarm and
    /// writes an audit entry; the service continues.
    pub async fn look_at_sinks(&self) {
        for sink in &self.ports.sinks {
            let notes = match notes_to_compare(&**sink).await {
                Ok(notes) if notes.is_empty() => continue,
                Ok(notes) => notes,
                Err(error) => {
                    let error = causes(&error);
                    tracing::warn!(
                        sink = sink.name(),
                        error,
                        "audit sink cannot be read; checkpoint comparison skipped"
                    );
                    continue;
                }
            };
            if let Err(fault) = self.look_at(sink.name(), notes).await {
                let error = causes(&fault);
                tracing::warn!(
                    sink = sink.name(),
                    error,
                    "checkpoint of the audit sink could not be compared with the database"
                );
            }
        }
    }

    async fn look_at(&self, sink: &str, notes: Vec<String>) -> Result<(), Fault> {
        let notes = notes.into_iter().map(|note| SourcedNote {
            place: sink.to_owned(),
            note,
        });
        let notes: Vec<_> = notes.collect();
        let claims = self.claims(&notes, &TrustedKeys::Own).await?;
        let mut claims = claims.furthest();
        let mut findings = std::mem::take(&mut claims.findings);
        // Older notes may be elsewhere by now.
        findings.retain(|found| !matches!(found.kind, FindingKind::NumbersMissing { .. }));
        findings.extend(self.unborne(&claims, &|_| {}).await?);
        let newest = self
            .newest_checkpoint()
            .await?
            .map_or(0, |kept| kept.number);
        if newest < claims.newest {
            let about = About::Checkpoint(claims.newest);
            findings.push(AuditFinding {
                about,
                kind: FindingKind::NotInDatabase { newest },
            });
        }
        let Some(first) = findings.first() else {
            return Ok(());
        };
        self.ports
            .meter
            .count(Counted::TamperAlarm(TamperKind::Rollback));
        tracing::error!(
            alert = "VestryAuditFailing",
            sink,
            flaws = findings.len(),
            first = first.to_string(),
            "ALARM: database contradicts the checkpoint in an audit sink (possible rollback or tampering); run `vestry audit verify --against`"
        );
        self.note_findings(sink, claims.newest, &findings).await;
        Ok(())
    }
}

impl Service {
    /// Returns the first statement about a chain that does not hold, or the highest one if the chain is too short for several.
    async fn finding_of_chain(
        &self,
        world: &World,
        chain: AuditChainId,
        stated: &[&StatedEnd],
    ) -> Result<Option<FindingKind>, Fault> {
        let store = &*self.ports.store;
        let mut known = HashMap::<i64, Option<[u8; 32]>>::new();
        let mut marker = None;
        let mut short = None;
        for end in stated {
            let there = match known.get(&end.sequence) {
                Some(there) => *there,
                None => {
                    let there = hash_at(store, world, chain, end.sequence).await?;
                    known.insert(end.sequence, there);
                    there
                }
            };
            if there.is_none() && marker.is_none() {
                marker = Some(self.true_marker(world, chain).await?);
            }
            let pruned = marker.as_ref().and_then(Option::as_ref);
            let is_pruned = |last: &AuditMarker| end.sequence < last.sequence;
            // The marker keeps the hash of the last pruned entry.
            let there = there.or_else(|| {
                let last = pruned.filter(|last| last.sequence == end.sequence);
                last.map(|last| last.hash)
            });
            match there {
                Some(hash) if hash == end.hash => {}
                Some(_) => {
                    return Ok(Some(FindingKind::OtherEntry {
                        sequence: end.sequence,
                        checkpoint: end.checkpoint,
                    }));
                }
                None if pruned.is_some_and(is_pruned) => {}
                None => short = short.max(Some((end.sequence, end.checkpoint))),
            }
        }
        let Some((stated, checkpoint)) = short else {
            return Ok(None);
        };
        let found = end_of(store, world, chain).await?;
        Ok(Some(FindingKind::SetBack {
            found,
            stated,
            checkpoint,
        }))
    }
}

/// Returns the notes of a sink from the last one that lists everything, which the others add to.
async fn notes_to_compare(sink: &dyn CheckpointSink) -> Result<Vec<String>, SinkError> {
    let Some(newest) = sink.newest().await? else {
        return Ok(Vec::new());
    };
    let parsed = SignedNote::parse(&newest).ok();
    let parsed = parsed.and_then(|note| Checkpoint::parse(&note.text).ok());
    let Some(checkpoint) = parsed else {
        return Ok(vec![newest]);
    };
    let mut notes = sink.since(last_full(checkpoint.number)).await?;
    // Those of an earlier epoch may state what a recovery gave up.
    notes.retain(|note| epoch_of(note).is_none_or(|epoch| epoch == checkpoint.epoch()));
    Ok(if notes.is_empty() {
        vec![newest]
    } else {
        notes
    })
}

/// The epoch of a note; `None` if it is no checkpoint.
fn epoch_of(note: &str) -> Option<i64> {
    let note = SignedNote::parse(note).ok()?;
    Some(Checkpoint::parse(&note.text).ok()?.epoch())
}

/// Returns the hash of the entry at this position, in either log. An entry that is unreadable or does not match its hash yields a hash that
/// no checkpoint states.
async fn hash_at(
    store: &dyn Store,
    world: &World,
    chain: AuditChainId,
    sequence: i64,
) -> StoreResult<Option<[u8; 32]>> {
    let mut read = store.read().await?;
    let before = sequence.saturating_sub(1);
    for log in [ChainLog::Wallets, ChainLog::Control] {
        let found = read.audit_chains().entries(world, log, chain, before, 1);
        let Some(found) = readable(found.await)? else {
            return Ok(Some(NOBODYS));
        };
        let link = found.first().map(ChainEntry::link);
        if let Some(link) = link.filter(|link| link.sequence == sequence) {
            return Ok(Some(if link.is_own { link.hash } else { NOBODYS }));
        }
    }
    Ok(None)
}

/// Placeholder hash that no entry has.
const NOBODYS: [u8; 32] = [0; 32];

/// Maps rows that cannot be parsed as entries to `None`.
fn readable<T>(found: StoreResult<Vec<T>>) -> StoreResult<Option<Vec<T>>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(StoreError::Corrupt { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

/// Returns the end of a chain according to its head, or `None` if it has no head.
async fn end_of(store: &dyn Store, world: &World, chain: AuditChainId) -> StoreResult<Option<i64>> {
    let mut read = store.read().await?;
    if let Some(head) = read.audit_log().head(world, chain).await? {
        return Ok(Some(head.sequence));
    }
    let heads = read.control_log().heads(world).await?;
    let head = heads.iter().find(|head| head.chain == chain);
    Ok(head.map(|head| head.sequence))
}
