//! Checkpoints: once in a period one process of all states where every chain and every log of events ends, signs that, and brings it
//! to the sinks, which are outside of the database (AUD-3).

use std::sync::Arc;

use tokio::time::{Instant, MissedTickBehavior, interval_at};
use vestry_domain::audit::checkpoint::{
    Checkpoint, Line, NoteSignature, SignedNote, VerifierKey, check_deployment,
};
use vestry_domain::audit::control::{ControlAction, ControlEvent, Detail, Outcome, Subject};
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::event::Actor;
use vestry_domain::ids::JobId;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Timestamp, World};
use vestry_ports::anchors::{CheckpointSink, SinkError};
use vestry_ports::store::{KeptCheckpoint, SWEEP_STEP, SinkProgress};

use super::flaw::{About, AuditFlaw, Flaw};
use crate::audit_seals::{held, new_progress, progress_matches};
use crate::fault::{causes, retried};
use crate::key_holds::hold_root;
use crate::{Fault, Service};

/// The name of the lease.
const WORK: &str = "checkpoint";
/// How long beyond a period the process that makes checkpoints may be silent before another one does.
const GRACE: Seconds = Seconds(60);
/// Heads that are read at once.
const HEADS: i64 = 1_000;
/// Checkpoints that are brought to a sink before it is noted how far it is.
const PAGE: i64 = 50;
/// How long checkpoints stay in the database after all sinks have them.
const KEPT: Seconds = Seconds(7 * 86_400);
/// Periods without success after which it is told that a sink fails, or that there is no checkpoint to bring to one.
const TOLD_AFTER: i64 = 10;
/// The name under which the process with the lease records its rounds. Sinks have a kind in front of a colon, or are the log.
const ROUNDS: &str = "rounds";
/// The version of a key that is the first.
const FIRST_VERSION: u32 = 1;

/// A checkpoint that was made.
#[derive(Debug, Clone)]
pub struct MadeCheckpoint {
    /// Its number.
    pub number: i64,
    /// How many chains and logs it names.
    pub lines: usize,
    /// The signed note.
    pub note: String,
}

/// How many periods in a row came to nothing.
#[derive(Default)]
struct Failures(i64);

impl Failures {
    /// Counts a period; whether it is the one for which somebody is told.
    const fn note(&mut self, is_good: bool) -> bool {
        self.0 = if is_good { 0 } else { self.0.saturating_add(1) };
        self.0 == TOLD_AFTER
    }
}

/// What stopped a sink.
enum Stop {
    Sink(SinkError),
    Store(Fault),
}

impl<E: Into<Fault>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Store(error.into())
    }
}

impl Service {
    /// Makes checkpoints until `stop` is done. At first it looks whether the database bears out what the sinks have.
    pub async fn run_checkpoints(&self, stop: impl Future<Output = ()>) {
        let holder: JobId = self.new_id(self.machine_time());
        let holder = holder.to_string();
        let every = self.settings.checkpoint_every;
        // Not at once: a process that lives for seconds has nothing to state that the next one would not.
        let mut period = interval_at(Instant::now() + every, every);
        period.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut stop = std::pin::pin!(stop);
        tokio::select! {
            biased;
            () = &mut stop => return,
            () = self.look_at_sinks() => {}
        }
        let mut failures = Failures::default();
        loop {
            tokio::select! {
                biased;
                () = &mut stop => return,
                _ = period.tick() => {}
            }
            tokio::select! {
                biased;
                () = &mut stop => return,
                made = self.checkpoint_round(&holder) => {
                    if let Err(fault) = &made {
                        let error = causes(fault);
                        tracing::warn!(error, "no checkpoint of the audit log was made");
                    }
                    if failures.note(made.is_ok()) {
                        tracing::error!(
                            periods = TOLD_AFTER,
                            "ALARM: no checkpoint of the audit log could be made for many periods; what is taken out of the database meanwhile leaves no trace"
                        );
                    }
                }
            }
        }
    }

    /// One period of the process that has the lease; nothing in any other, unless the holder of the lease does nothing either.
    ///
    /// # Errors
    /// See [`Fault`]. That sinks take nothing is none: it is told, and they are tried again.
    pub async fn checkpoint_round(&self, holder: &str) -> Result<(), Fault> {
        if !retried(|| self.leads(holder)).await? {
            self.checkpoints.forget();
            if !self.is_round_overdue().await? {
                return Ok(());
            }
            // Two processes that make checkpoints at once do no harm.
            tracing::error!(
                periods = TOLD_AFTER,
                "ALARM: no process has made audit checkpoints for many periods although the lease is held (possible tampering with the table leases); this process makes one now"
            );
        }
        // What happens from now on may not be in it.
        let begun = self.machine_time();
        self.make_checkpoint().await?;
        self.bring(Some(begun)).await;
        self.round_done(begun).await?;
        self.sweep_checkpoints().await
    }

    /// Whether no authentic record says that rounds go on. The lease is a row that anyone who writes the database can take, so it
    /// is no proof.
    async fn is_round_overdue(&self) -> Result<bool, Fault> {
        let now = self.machine_time();
        match self.recorded_progress(ROUNDS).await {
            Ok(Recorded::Authentic(round)) if round.at <= now => {
                self.checkpoints.round_done(round.at);
            }
            Ok(_) => {}
            // Without the sign-in key nobody can tell, and nobody could record a round.
            Err(Fault::Sealed(_)) => return Ok(false),
            Err(fault) => return Err(fault),
        }
        let waited = self.period().0.saturating_mul(TOLD_AFTER);
        let most = Seconds(waited.saturating_add(GRACE.0));
        Ok(self.checkpoints.is_overdue(now, most))
    }

    async fn round_done(&self, begun: Timestamp) -> Result<(), Fault> {
        self.checkpoints.round_done(begun);
        let number = self.checkpoints.newest().unwrap_or_default();
        match self.note_sink(ROUNDS, number, begun).await {
            Err(Fault::Sealed(_)) | Ok(()) => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    async fn leads(&self, holder: &str) -> Result<bool, Fault> {
        let now = self.machine_time();
        let until = now + self.period() + GRACE;
        let mut tx = self.ports.store.begin().await?;
        let leads = tx.leases().take(WORK, holder, now, until).await?;
        tx.commit().await?;
        Ok(leads)
    }

    fn period(&self) -> Seconds {
        let seconds = self.settings.checkpoint_every.as_secs();
        Seconds(i64::try_from(seconds).unwrap_or(i64::MAX))
    }

    /// Makes a checkpoint of what went on since the last one that this process knows; `None` when nothing did.
    ///
    /// # Errors
    /// See [`Fault`]; [`Fault::Sealed`] without the root key of wallets.
    pub async fn make_checkpoint(&self) -> Result<Option<MadeCheckpoint>, Fault> {
        self.hold_deployment_key(KeyPurpose::Audit).await?;
        // Anew each time: whoever was faster has written another one in its place.
        retried(|| self.try_checkpoint()).await
    }

    async fn try_checkpoint(&self) -> Result<Option<MadeCheckpoint>, Fault> {
        let before = self.newest_checkpoint().await?;
        let newest = before.as_ref().map_or(0, |before| before.number);
        // Sinks keep what they have, so a number that one of them has is not given again.
        let reached = self.furthest_sink(newest).await?;
        let before = match before {
            Some(before) => self.stated_by(&before).await?,
            None => None,
        };
        let lines = self.checkpoints.due(newest, self.ends().await?);
        if lines.is_empty() {
            return Ok(None);
        }
        let checkpoint = Checkpoint {
            deployment: self.deployment()?.to_owned(),
            number: next_number(newest.max(reached))?,
            at: self.machine_time(),
            previous: before.map_or(Checkpoint::NONE_BEFORE, |(text, _)| {
                Checkpoint::hash_of(&text)
            }),
            lines,
        };
        let kept = KeptCheckpoint {
            number: checkpoint.number,
            at: checkpoint.at,
            note: self.signed(checkpoint.text()).await?,
        };
        let mut tx = self.ports.store.begin().await?;
        if !tx.checkpoints().add(&World::DEPLOYMENT, &kept).await? {
            self.checkpoints.forget();
            return Err(Fault::LostRace);
        }
        tx.commit().await?;
        self.checkpoints.made(checkpoint.number, &checkpoint.lines);
        Ok(Some(MadeCheckpoint {
            number: kept.number,
            lines: checkpoint.lines.len(),
            note: kept.note,
        }))
    }

    pub(super) async fn newest_checkpoint(&self) -> Result<Option<KeptCheckpoint>, Fault> {
        let mut read = self.ports.store.read().await?;
        Ok(read.checkpoints().newest(&World::DEPLOYMENT).await?)
    }

    async fn signed(&self, text: String) -> Result<String, Fault> {
        let notary = &self.ports.notary;
        let key = self.checkpoint_key().await?;
        let signature = notary.notarise(&World::DEPLOYMENT, text.as_bytes()).await?;
        let signatures = vec![NoteSignature {
            key_id: key.key_id(),
            name: key.name,
            signature,
        }];
        let written = SignedNote { text, signatures }.written();
        written.map_err(|error| Fault::Internal(Box::new(error)))
    }

    /// The key that verifies this deployment's checkpoints.
    ///
    /// # Errors
    /// See [`Fault`]; [`Fault::Sealed`] without the root key of wallets.
    pub async fn checkpoint_key(&self) -> Result<VerifierKey, Fault> {
        let key = self.own_checkpoint_key().await?;
        let key = VerifierKey::new(self.deployment()?, key);
        key.map_err(|error| Fault::Internal(Box::new(error)))
    }

    /// The same without its name.
    pub(super) async fn own_checkpoint_key(&self) -> Result<[u8; 32], Fault> {
        self.hold_deployment_key(KeyPurpose::Audit).await?;
        Ok(self.ports.notary.notary_key(&World::DEPLOYMENT).await?)
    }

    /// Host and port of the public URL, which name this deployment in its checkpoints.
    fn deployment(&self) -> Result<&str, Fault> {
        let name = self.settings.issuer_host.as_str();
        match check_deployment(name) {
            Ok(()) => Ok(name),
            Err(error) => Err(Fault::Internal(Box::new(error))),
        }
    }

    /// Where all chains and all logs of events end now.
    async fn ends(&self) -> Result<Vec<Line>, Fault> {
        let mut lines = Vec::new();
        let (mut last, mut more) = (None, true);
        while more {
            let mut read = self.ports.store.read().await?;
            let heads = read.audit_log().all_heads(last, HEADS).await?;
            last = heads.last().map(|head| (head.world, head.chain));
            more = last.is_some();
            lines.extend(heads.into_iter().map(Line::from));
        }
        let (mut last, mut more) = (None, true);
        while more {
            let mut read = self.ports.store.read().await?;
            let heads = read.control_log().all_heads(last, HEADS).await?;
            last = heads.last().map(|head| (head.world, head.number));
            more = last.is_some();
            lines.extend(heads.into_iter().map(Line::from));
        }
        let (mut last, mut more) = (None, true);
        while more {
            let mut read = self.ports.store.read().await?;
            let heads = read.events().heads(last, HEADS).await?;
            last = heads.last().map(|(world, _)| *world);
            more = last.is_some();
            lines.extend(heads.into_iter().filter_map(|(world, head)| {
                let newest = head.newest?;
                Some(Line::Events {
                    world,
                    log: head.log,
                    position: newest.position,
                    newest: newest.id,
                })
            }));
        }
        Ok(lines)
    }

    /// Has the deployment's key of this purpose, and makes it where there is none yet.
    pub(crate) async fn hold_deployment_key(&self, purpose: KeyPurpose) -> Result<(), Fault> {
        let world = &World::DEPLOYMENT;
        let mut read = self.ports.store.read().await?;
        let is_there = read.app_keys().newest(world, purpose).await?.is_some();
        drop(read);
        if is_there {
            return Ok(());
        }
        retried(|| self.add_deployment_key(purpose)).await
    }

    async fn add_deployment_key(&self, purpose: KeyPurpose) -> Result<(), Fault> {
        let (world, now) = (&World::DEPLOYMENT, self.machine_time());
        let custodian = &self.ports.custodian;
        let key = custodian.mint_app_key(world, purpose, FIRST_VERSION, now);
        let key = key.await?;
        let mut tx = self.ports.store.begin().await?;
        hold_root(&mut *tx, &key).await?;
        // Where another process was faster, its key is the one.
        tx.app_keys().add(&key).await?;
        Ok(tx.commit().await?)
    }

    /// Brings to each sink what it does not have yet, in order.
    pub async fn bring_to_sinks(&self) {
        self.bring(None).await;
    }

    /// The same, where everything that happened until `begun` is in a checkpoint.
    async fn bring(&self, begun: Option<Timestamp>) {
        for sink in &self.ports.sinks {
            let name = sink.name();
            match self.bring_to(sink, begun).await {
                Ok(()) => {
                    if self.checkpoints.took(name) {
                        tracing::info!(sink = name, "the sink takes checkpoints again");
                    }
                }
                Err(Stop::Sink(error)) => self.sink_failed(name, &error).await,
                Err(Stop::Store(fault)) => {
                    tracing::warn!(
                        sink = name,
                        error = causes(&fault),
                        "checkpoints could not be brought to the sink, and will be"
                    );
                }
            }
        }
    }

    async fn bring_to(
        &self,
        sink: &Arc<dyn CheckpointSink>,
        begun: Option<Timestamp>,
    ) -> Result<(), Stop> {
        let world = &World::DEPLOYMENT;
        let (mut reached, is_recorded) = self.reached(sink).await?;
        // Up to where rows were read. Of those that the service did not write nothing counts, the number included.
        let mut read_to = reached;
        let mut is_another_told = false;
        loop {
            let mut read = self.ports.store.read().await?;
            let page = read.checkpoints().after(world, read_to, PAGE).await?;
            drop(read);
            if page.is_empty() {
                self.is_all_there(reached)?;
                // Whoever requires an anchor also wants to know that there was nothing to take.
                let is_wanted = self.settings.require_anchor.is_some() || !is_recorded;
                if let Some(begun) = begun.filter(|_| is_wanted) {
                    self.note_sink(sink.name(), reached, begun).await?;
                }
                return Ok(());
            }
            let mut taken_at = None;
            for kept in page {
                read_to = kept.number;
                let Some((_, checkpoint)) = self.stated_by(&kept).await? else {
                    continue;
                };
                match sink.put(kept.number, &kept.note).await {
                    Ok(()) => {}
                    // It stays there, and the next ones say what holds now.
                    Err(SinkError::Differs { number }) => {
                        self.checkpoints.forget();
                        if !is_another_told {
                            self.sink_differs(sink.name(), number).await;
                        }
                        is_another_told = true;
                    }
                    Err(error) => {
                        if let Some(at) = taken_at {
                            self.note_sink(sink.name(), reached, at).await?;
                        }
                        return Err(Stop::Sink(error));
                    }
                }
                reached = kept.number;
                taken_at = Some(checkpoint.at);
            }
            if let Some(at) = taken_at {
                self.note_sink(sink.name(), reached, at).await?;
            }
        }
    }

    /// The number of the last checkpoint that a sink has, and whether an authentic record says so. Any other record is an alarm, and
    /// the sink itself is asked in its place.
    async fn reached(&self, sink: &Arc<dyn CheckpointSink>) -> Result<(i64, bool), Fault> {
        let newest = self.newest_checkpoint().await?;
        let newest = newest.map_or(0, |kept| kept.number);
        let name = sink.name();
        let flaw = match self.recorded_progress(name).await {
            Ok(Recorded::Authentic(progress)) if progress.number <= newest => {
                return Ok((progress.number, true));
            }
            // Nothing was recorded, or without the sign-in key nobody can tell.
            Ok(Recorded::Nothing) | Err(Fault::Sealed(_)) => {
                return Ok((self.reached_by_itself(sink, newest).await, false));
            }
            Ok(Recorded::Authentic(progress)) => beyond(progress.number, newest),
            Ok(Recorded::Forged) => AuditFlaw {
                about: About::Note(name.to_owned()),
                flaw: Flaw::ForgedProgress,
            },
            Err(fault) => return Err(fault),
        };
        self.progress_differs(name, newest, &flaw).await;
        Ok((self.reached_by_itself(sink, newest).await, false))
    }

    /// What a sink says itself: the number of its newest checkpoint, if the database has the same one; 0 else, and of a sink that
    /// cannot be read. It is brought what it has once more then, which does no harm.
    async fn reached_by_itself(&self, sink: &Arc<dyn CheckpointSink>, newest: i64) -> i64 {
        let Ok(Some(note)) = sink.newest().await else {
            return 0;
        };
        match self.number_in_database(&note).await {
            Ok(Some(number)) if number <= newest => number,
            _ => 0,
        }
    }

    /// The highest number that a sink has by authentic records. One that is beyond the newest checkpoint is an alarm.
    async fn furthest_sink(&self, newest: i64) -> Result<i64, Fault> {
        let mut furthest = 0;
        for sink in &self.ports.sinks {
            let name = sink.name();
            match self.recorded_progress(name).await {
                Ok(Recorded::Authentic(progress)) => {
                    if progress.number > newest {
                        let flaw = beyond(progress.number, newest);
                        self.progress_differs(name, newest, &flaw).await;
                    }
                    furthest = furthest.max(progress.number);
                }
                Ok(_) | Err(Fault::Sealed(_)) => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(furthest)
    }

    /// What the database says of how far a sink is.
    async fn recorded_progress(&self, sink: &str) -> Result<Recorded, Fault> {
        let mut read = self.ports.store.read().await?;
        let known = read.checkpoints().sinks(&World::DEPLOYMENT).await?;
        drop(read);
        let Some(progress) = known.into_iter().find(|known| known.sink == sink) else {
            return Ok(Recorded::Nothing);
        };
        if held(progress_matches(&*self.ports.sealer, &progress).await)? {
            Ok(Recorded::Authentic(progress))
        } else {
            Ok(Recorded::Forged)
        }
    }

    /// What is wrong with the records of how far the sinks are.
    pub(super) async fn flaws_of_progress(&self) -> Result<Vec<AuditFlaw>, Fault> {
        let mut flaws = Vec::new();
        for sink in &self.ports.sinks {
            let flaw = match self.recorded_progress(sink.name()).await? {
                Recorded::Nothing => continue,
                Recorded::Forged => AuditFlaw {
                    about: About::Note(sink.name().to_owned()),
                    flaw: Flaw::ForgedProgress,
                },
                Recorded::Authentic(progress) => {
                    let newest = self.newest_checkpoint().await?;
                    let newest = newest.map_or(0, |kept| kept.number);
                    if progress.number <= newest {
                        continue;
                    }
                    beyond(progress.number, newest)
                }
            };
            flaws.push(flaw);
        }
        Ok(flaws)
    }

    async fn progress_differs(&self, sink: &str, newest: i64, flaw: &AuditFlaw) {
        tracing::error!(
            sink,
            newest,
            flaw = flaw.to_string(),
            "ALARM: the recorded progress of an audit sink is wrong (possible tampering or rollback); the sink is sent all checkpoints that it may lack. Run `vestry audit verify --against`"
        );
        self.note_flaws(sink, newest, std::slice::from_ref(flaw))
            .await;
    }

    /// What a row states, if the service wrote it; one that it did not write is an alarm.
    async fn stated_by(
        &self,
        kept: &KeptCheckpoint,
    ) -> Result<Option<(String, Checkpoint)>, Fault> {
        let stated = self.own_checkpoint(kept).await?;
        if stated.is_none() {
            tracing::error!(
                number = kept.number,
                "ALARM: a row of the table checkpoints is not authentic (possible tampering); it is not sent to sinks. Run `vestry audit verify`"
            );
        }
        Ok(stated)
    }

    /// Whether what this process made last is there to be brought.
    fn is_all_there(&self, reached: i64) -> Result<(), Fault> {
        let Some(newest) = self.checkpoints.newest().filter(|newest| *newest > reached) else {
            return Ok(());
        };
        self.checkpoints.forget();
        tracing::error!(
            number = newest,
            "ALARM: an audit checkpoint is gone from the database before all sinks had it (possible tampering); the next one names everything. Run `vestry audit verify --against`"
        );
        Err(Fault::Internal(
            "a checkpoint is gone from the database".into(),
        ))
    }

    async fn note_sink(&self, sink: &str, number: i64, at: Timestamp) -> Result<(), Fault> {
        self.hold_deployment_key(KeyPurpose::Secrets).await?;
        let progress = new_progress(&*self.ports.sealer, sink, number, at).await?;
        retried(|| async {
            let mut tx = self.ports.store.begin().await?;
            tx.checkpoints()
                .note_sink(&World::DEPLOYMENT, &progress)
                .await?;
            Ok::<_, Fault>(tx.commit().await?)
        })
        .await
    }

    async fn sink_failed(&self, name: &str, error: &SinkError) {
        let now = self.machine_time();
        let waited = Seconds(self.period().0.saturating_mul(TOLD_AFTER));
        let error = causes(error);
        if !self.checkpoints.failed(name, now, now - waited) {
            tracing::warn!(sink = name, error, "the sink took no checkpoint");
            return;
        }
        tracing::error!(
            sink = name,
            error,
            "ALARM: the sink has taken no checkpoint for ten periods"
        );
        let subject = Subject::audit_sink(name);
        let outcome = Outcome::Failed;
        self.note_of_log(
            ControlAction::AuditSinkFail,
            subject,
            outcome,
            &Detail::default(),
        )
        .await;
    }

    async fn sink_differs(&self, name: &str, number: i64) {
        tracing::error!(
            sink = name,
            number,
            "ALARM: the sink has another checkpoint of this number: the database was set back, or two deployments share the sink"
        );
        let detail = Detail::default().with("number", number);
        let subject = Subject::audit_sink(name);
        self.note_of_log(
            ControlAction::AuditSinkConflict,
            subject,
            Outcome::Done,
            &detail,
        )
        .await;
    }

    /// Notes something about the log itself. That it could not be noted is in the log of the service.
    pub(crate) async fn note_of_log(
        &self,
        action: ControlAction,
        subject: Subject,
        outcome: Outcome,
        detail: &Detail,
    ) {
        let event = ControlEvent {
            world: World::DEPLOYMENT,
            actor: Actor::System,
            action,
            subject,
            detail: detail.text(),
            outcome,
            request_id: None,
            at: self.machine_time(),
        };
        if let Err(fault) = self.record_for_deployment(event).await {
            let error = causes(&fault);
            tracing::error!(error, %action, "the audit log could not be told");
        }
    }

    /// Writes an entry into the deployment's own chain.
    pub(crate) async fn record_for_deployment(&self, event: ControlEvent) -> Result<(), Fault> {
        self.hold_deployment_key(KeyPurpose::Secrets).await?;
        self.record_change(event).await
    }

    /// Deletes what all sinks have had for days.
    async fn sweep_checkpoints(&self) -> Result<(), Fault> {
        let world = &World::DEPLOYMENT;
        let before = self.machine_time() - KEPT;
        let mut all_have = i64::MAX;
        for sink in &self.ports.sinks {
            let reached = match self.recorded_progress(sink.name()).await {
                Ok(Recorded::Authentic(progress)) => progress.number,
                Ok(_) | Err(Fault::Sealed(_)) => 0,
                Err(fault) => return Err(fault),
            };
            all_have = all_have.min(reached);
        }
        if all_have == 0 || self.ports.sinks.is_empty() {
            return Ok(());
        }
        retried(|| async {
            let mut tx = self.ports.store.begin().await?;
            let checkpoints = tx.checkpoints();
            checkpoints
                .sweep(world, all_have, before, SWEEP_STEP)
                .await?;
            Ok::<_, Fault>(tx.commit().await?)
        })
        .await
    }
}

/// What the database says of how far a sink is.
enum Recorded {
    /// Nothing.
    Nothing,
    /// Something that the service did not write.
    Forged,
    /// What the service wrote, now or at an earlier time.
    Authentic(SinkProgress),
}

fn beyond(number: i64, newest: i64) -> AuditFlaw {
    AuditFlaw {
        about: About::Checkpoint(number),
        flaw: Flaw::NotInDatabase { newest },
    }
}

fn next_number(last: i64) -> Result<i64, Fault> {
    let next = last.checked_add(1);
    next.ok_or_else(|| {
        Fault::Internal("the table checkpoints has a row with the highest number".into())
    })
}

#[cfg(test)]
mod tests {
    use super::Failures;

    #[test]
    fn ten_periods_without_a_checkpoint_are_told_once() {
        let mut failures = Failures::default();
        let mut told = |is_good: bool, periods: usize| {
            let told = (0..periods).filter(|_| failures.note(is_good));
            told.count()
        };
        assert_eq!(told(false, 9), 0);
        assert_eq!(told(true, 1), 0);
        assert_eq!(told(false, 9), 0);
        assert_eq!(told(false, 1), 1);
        assert_eq!(told(false, 100), 0);
        assert_eq!(told(true, 1), 0);
        assert_eq!(told(false, 10), 1);
    }
}
