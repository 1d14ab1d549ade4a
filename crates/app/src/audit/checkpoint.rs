//! Checkpoints (AUD-3): once per period, one process signs the end of every chain and event log. It sends the result to the sinks, which
//! are outside the database.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};
use vestry_domain::audit::checkpoint::{
    Checkpoint, Line, NoteSignature, SignedNote, VerifierKey, check_deployment,
};
use vestry_domain::audit::control::{ControlAction, Detail, Outcome, Subject};
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::ids::JobId;
use vestry_domain::metric::{Job, TamperKind};
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Timestamp, World};
use vestry_ports::anchors::{CheckpointSink, SinkError};
use vestry_ports::meter::Counted;
use vestry_ports::store::{SWEEP_STEP, SinkProgress, StoredCheckpoint};

use super::finding::{About, AuditFinding, FindingKind};
use crate::kernel::fault::{causes, retried};
use crate::kernel::state::chain_macs::{held, new_progress, progress_matches};
use crate::{Fault, Service};

/// Name of the lease.
const WORK: &str = "checkpoint";
/// Extra time after a period before another process takes over from a silent leader.
const GRACE: Seconds = Seconds(60);
/// How long a process that stops may take to return the lease.
const RETURN_WITHIN: Duration = Duration::from_secs(2);
/// Heads read in one query.
const HEADS: i64 = 1_000;
/// Checkpoints sent to a sink before its progress is recorded.
const PAGE: i64 = 50;
/// How long checkpoints stay in the database after all sinks have them.
const KEPT: Seconds = Seconds(7 * 86_400);
/// Periods without success before an alarm: a failing sink, or no checkpoint at all.
const ALARM_AFTER: i64 = 10;
/// Name under which the leader records its rounds. It cannot collide with a sink: those are named `kind:…`, or are the server log.
const ROUNDS: &str = "rounds";

/// A newly created checkpoint.
#[derive(Debug, Clone)]
pub struct MadeCheckpoint {
    /// Its number.
    pub number: i64,
    /// Number of chains and event logs listed in it.
    pub lines: usize,
    /// The signed note.
    pub note: String,
}

/// A checkpoint sink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkStatus {
    /// Its name, such as `file:/srv/anchor`.
    pub name: String,
    /// The newest checkpoint that it has; `None` before the first one.
    pub number: Option<i64>,
    /// When that checkpoint was made, or when there was nothing newer to send.
    pub at: Option<Timestamp>,
    /// When the oldest checkpoint that it lacks was made; `None` if it has all.
    pub waiting_since: Option<Timestamp>,
}

/// How far checkpoints and their sinks are.
pub(crate) struct CheckpointProgress {
    /// The last round, with or without a new checkpoint; `None` before the first one.
    pub(crate) round: Option<Timestamp>,
    /// The sinks of the settings.
    pub(crate) sinks: Vec<SinkStatus>,
}

/// Number of consecutive failed periods.
#[derive(Default)]
struct Failures(i64);

impl Failures {
    /// Counts a period and returns whether to raise the alarm, which is once per series of failures.
    const fn note(&mut self, is_good: bool) -> bool {
        self.0 = if is_good { 0 } else { self.0.saturating_add(1) };
        self.0 == ALARM_AFTER
    }
}

/// Reason why sending to a sink stopped.
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
    /// Creates checkpoints until `stop` completes. It first compares the sinks with the database. In the end it returns the lease, so that
    /// another process continues within one period (PR-146).
    pub async fn run_checkpoints(&self, stop: impl Future<Output = ()>) {
        let holder: JobId = self.new_id(self.machine_time());
        let holder = holder.to_string();
        self.checkpoint_until(stop, &holder).await;
        let returned = tokio::time::timeout(RETURN_WITHIN, self.return_lease(&holder)).await;
        if !matches!(returned, Ok(Ok(()))) {
            tracing::warn!("audit checkpoint lease was not returned; it will expire");
        }
    }

    async fn checkpoint_until(&self, stop: impl Future<Output = ()>, holder: &str) {
        let every = self.settings.checkpoint_every;
        let mut stop = std::pin::pin!(stop);
        tokio::select! {
            biased;
            () = &mut stop => return,
            held = self.hold_deployment_key(KeyPurpose::Audit) => {
                // It signs one period after its creation. Otherwise the first round creates it.
                if let Err(fault) = held {
                    let error = causes(&fault);
                    tracing::warn!(error, "key of audit checkpoints is not available yet");
                }
            }
        }
        // The first checkpoint waits for one period: a process that lives for seconds has nothing to add that its successor would not.
        let mut period = interval_at(Instant::now() + every, every);
        period.set_missed_tick_behavior(MissedTickBehavior::Delay);
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
                made = self.checkpoint_round(holder) => {
                    if let Err(fault) = &made {
                        let error = causes(fault);
                        tracing::warn!(error, "audit checkpoint failed; retrying next period");
                    }
                    if failures.note(made.is_ok()) {
                        tracing::error!(
                            alert = "VestryAuditFailing",
                            periods = ALARM_AFTER,
                            "ALARM: audit checkpoints have failed for many periods (deleted audit entries may go undetected); check the preceding checkpoint warnings"
                        );
                    }
                }
            }
        }
    }

    /// Runs one period of the process that holds the lease. Other processes do nothing, unless the leader has recorded no round for many
    /// periods.
    ///
    /// # Errors
    /// See [`Fault`]. A failing sink is not an error: it is logged and retried.
    pub async fn checkpoint_round(&self, holder: &str) -> Result<(), Fault> {
        if !retried(|| self.leads(holder)).await? {
            self.checkpoints.forget();
            if !self.is_round_overdue().await? {
                return Ok(());
            }
            // It is safe for two processes to create checkpoints at the same time.
            tracing::error!(
                alert = "VestryAuditFailing",
                periods = ALARM_AFTER,
                "ALARM: audit checkpoint lease is held but no checkpoint was made for many periods (possible tampering with table `leases`); this process makes one now"
            );
        }
        // Entries written from now on may be missing from the checkpoint.
        let begun = self.machine_time();
        self.make_checkpoint().await?;
        self.bring(Some(begun)).await;
        self.round_done(begun).await?;
        self.sweep_checkpoints().await
    }

    /// Returns whether no authentic record shows recent rounds. The lease itself proves nothing: anyone with write access to the database
    /// can take it.
    async fn is_round_overdue(&self) -> Result<bool, Fault> {
        let now = self.machine_time();
        match self.recorded_progress(ROUNDS).await {
            Ok(Recorded::Authentic(round)) if round.at <= now => {
                self.checkpoints.round_done(round.at);
            }
            Ok(_) => {}
            // Without the sign-in key, a round can be neither recorded nor verified.
            Err(Fault::Sealed(_)) => return Ok(false),
            Err(fault) => return Err(fault),
        }
        Ok(self.checkpoints.is_overdue(now, self.checkpoint_patience()))
    }

    /// Returns how long a process or a sink may be silent before an alarm.
    pub(crate) fn checkpoint_patience(&self) -> Seconds {
        let waited = self.period().0.saturating_mul(ALARM_AFTER);
        Seconds(waited.saturating_add(GRACE.0))
    }

    /// Returns the progress of checkpoints, by authentic records only.
    pub(crate) async fn checkpoint_progress(&self) -> Result<CheckpointProgress, Fault> {
        let mut read = self.ports.store.read().await?;
        let rows = read.checkpoints().sinks(&World::DEPLOYMENT).await?;
        drop(read);
        let (mut known, mut is_sealed) = (HashMap::new(), false);
        for row in rows {
            match held(progress_matches(&*self.ports.sealer, &row).await).map_err(Fault::from) {
                Ok(true) => drop(known.insert(row.sink.clone(), row)),
                Ok(false) => {}
                // Without the sign-in key, nothing tells how far the sinks are.
                Err(Fault::Sealed(_)) => is_sealed = true,
                Err(fault) => return Err(fault),
            }
        }
        let mut sinks = Vec::new();
        for sink in &self.ports.sinks {
            let recorded = known.get(sink.name());
            let reached = recorded.map_or(0, |progress| progress.number);
            let mut read = self.ports.store.read().await?;
            let lacks = read.checkpoints().after(&World::DEPLOYMENT, reached, 1);
            let waiting_since = lacks.await?.first().map(|first| first.at);
            sinks.push(SinkStatus {
                name: sink.name().to_owned(),
                number: recorded.map(|progress| progress.number),
                at: recorded.map(|progress| progress.at),
                waiting_since: waiting_since.filter(|_| !is_sealed),
            });
        }
        Ok(CheckpointProgress {
            round: known.get(ROUNDS).map(|round| round.at),
            sinks,
        })
    }

    async fn round_done(&self, begun: Timestamp) -> Result<(), Fault> {
        self.checkpoints.round_done(begun);
        self.job_succeeded(Job::Checkpoint);
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

    /// Ends the lease, if this process holds it.
    async fn return_lease(&self, holder: &str) -> Result<(), Fault> {
        let now = self.machine_time();
        let mut tx = self.ports.store.begin().await?;
        tx.leases().take(WORK, holder, now, now).await?;
        Ok(tx.commit().await?)
    }

    fn period(&self) -> Seconds {
        let seconds = self.settings.checkpoint_every.as_secs();
        Seconds(i64::try_from(seconds).unwrap_or(i64::MAX))
    }

    /// Returns how long no checkpoint is made yet, because its key is younger than one period. A failover could lose such a key, and then
    /// nothing verifies what it has signed (PR-144). Creates the key if there is none.
    ///
    /// # Errors
    /// See [`Fault`]; [`Fault::Sealed`] without the root key of wallets.
    pub async fn checkpoint_key_ripens_in(&self) -> Result<Seconds, Fault> {
        self.hold_deployment_key(KeyPurpose::Audit).await?;
        let mut read = self.ports.store.read().await?;
        let keys = read.app_keys();
        let key = keys.newest(&World::DEPLOYMENT, KeyPurpose::Audit).await?;
        let ripe = key.map(|key| key.created_at + self.period());
        let wait = ripe.map_or(Seconds(0), |ripe| ripe - self.machine_time());
        Ok(wait.max(Seconds(0)))
    }

    /// Creates a checkpoint of everything new since the last one that this process knows. Returns `None` if there is nothing new, or if the
    /// key is too young.
    ///
    /// # Errors
    /// See [`Fault`]; [`Fault::Sealed`] without the root key of wallets.
    pub async fn make_checkpoint(&self) -> Result<Option<MadeCheckpoint>, Fault> {
        if self.checkpoint_key_ripens_in().await? > Seconds(0) {
            return Ok(None);
        }
        // Recompute on each retry: another process may have stored a checkpoint under this number.
        retried(|| self.try_checkpoint(None)).await
    }

    /// Creates a checkpoint of everything, the first of an epoch, with a number above this one.
    pub(super) async fn make_checkpoint_of(
        &self,
        above: i64,
        epoch: i64,
    ) -> Result<Option<MadeCheckpoint>, Fault> {
        retried(|| {
            self.checkpoints.forget();
            self.try_checkpoint(Some((above, epoch)))
        })
        .await
    }

    async fn try_checkpoint(
        &self,
        raised: Option<(i64, i64)>,
    ) -> Result<Option<MadeCheckpoint>, Fault> {
        let before = self.newest_checkpoint().await?;
        let newest = before.as_ref().map_or(0, |before| before.number);
        // Sinks never replace a checkpoint, so do not reuse a number that one of them has.
        let reached = match raised {
            Some((above, _)) => above,
            None => self.furthest_sink(newest).await?,
        };
        let before = match before {
            Some(before) => self.stated_by(&before).await?,
            None => None,
        };
        let due = self.checkpoints.due(newest, self.ends().await?);
        if due.is_empty() {
            return Ok(None);
        }
        let epoch = match (raised, &before) {
            (Some((_, epoch)), _) => epoch,
            (None, Some((_, before))) => before.epoch(),
            (None, None) => 1,
        };
        let mut lines = due;
        if epoch > 1 {
            lines.push(Line::Epoch(epoch));
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
        let kept = StoredCheckpoint {
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

    async fn signed(&self, text: String) -> Result<String, Fault> {
        let checkpoint_signer = &self.ports.checkpoint_signer;
        let key = self.checkpoint_key().await?;
        let signature = checkpoint_signer
            .sign_checkpoint(&World::DEPLOYMENT, text.as_bytes())
            .await?;
        let signatures = vec![NoteSignature {
            key_id: key.key_id(),
            name: key.name,
            signature,
        }];
        let written = SignedNote { text, signatures }.written();
        written.map_err(|error| Fault::Internal(Box::new(error)))
    }

    /// Returns the named public key that verifies this deployment's checkpoints.
    ///
    /// # Errors
    /// See [`Fault`]; [`Fault::Sealed`] without the root key of wallets.
    pub async fn checkpoint_key(&self) -> Result<VerifierKey, Fault> {
        let key = self.own_checkpoint_key().await?;
        let key = VerifierKey::new(self.deployment()?, key);
        key.map_err(|error| Fault::Internal(Box::new(error)))
    }

    /// Returns host and port of the public URL, which name this deployment in its checkpoints.
    fn deployment(&self) -> Result<&str, Fault> {
        let name = self.settings.issuer_host.as_str();
        match check_deployment(name) {
            Ok(()) => Ok(name),
            Err(error) => Err(Fault::Internal(Box::new(error))),
        }
    }

    /// Returns the current end of every chain and event log.
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

    /// Sends each sink the checkpoints that it lacks, in order.
    pub async fn bring_to_sinks(&self) {
        self.bring(None).await;
    }

    /// Sends missing checkpoints. If `begun` is set, the checkpoints cover everything up to that time.
    async fn bring(&self, begun: Option<Timestamp>) {
        for sink in &self.ports.sinks {
            let name = sink.name();
            match self.bring_to(sink, begun).await {
                Ok(()) => {
                    if self.checkpoints.took(name) {
                        tracing::info!(sink = name, "audit sink recovered");
                    }
                }
                Err(Stop::Sink(error)) => self.sink_failed(name, &error).await,
                Err(Stop::Store(fault)) => {
                    tracing::warn!(
                        sink = name,
                        error = causes(&fault),
                        "audit sink update failed; retrying next period"
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
        // Number of the last row read. It also advances past rows that are not authentic, which are not counted as sent.
        let mut read_to = reached;
        let mut is_another_told = false;
        loop {
            let mut read = self.ports.store.read().await?;
            let page = read.checkpoints().after(world, read_to, PAGE).await?;
            drop(read);
            if page.is_empty() {
                self.is_all_there(reached)?;
                // With `require_anchor`, also record that there was nothing new to send.
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
                    // The conflicting checkpoint stays in the sink. Later ones restate the current ends.
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

    /// Returns the number of the last checkpoint that a sink has, and whether an authentic record says so.
    ///
    /// A record that is forged or ahead of the database raises an alarm, and the sink itself is queried instead.
    async fn reached(&self, sink: &Arc<dyn CheckpointSink>) -> Result<(i64, bool), Fault> {
        let newest = self.newest_checkpoint().await?;
        let newest = newest.map_or(0, |kept| kept.number);
        let name = sink.name();
        let finding = match self.recorded_progress(name).await {
            Ok(Recorded::Authentic(progress)) if progress.number <= newest => {
                return Ok((progress.number, true));
            }
            // There is no record, or it cannot be verified without the sign-in key.
            Ok(Recorded::Nothing) | Err(Fault::Sealed(_)) => {
                return Ok((self.reached_by_itself(sink, newest).await, false));
            }
            Ok(Recorded::Authentic(progress)) => beyond(progress.number, newest),
            Ok(Recorded::Forged) => AuditFinding {
                about: About::Note(name.to_owned()),
                kind: FindingKind::ForgedProgress,
            },
            Err(fault) => return Err(fault),
        };
        self.progress_differs(name, newest, &finding).await;
        Ok((self.reached_by_itself(sink, newest).await, false))
    }

    /// Queries the sink for its newest checkpoint. Returns its number if the database has the same one.
    ///
    /// Otherwise, or if the sink cannot be read, returns 0: all checkpoints are sent again, which is harmless.
    async fn reached_by_itself(&self, sink: &Arc<dyn CheckpointSink>, newest: i64) -> i64 {
        let Ok(Some(note)) = sink.newest().await else {
            return 0;
        };
        match self.number_in_database(&note).await {
            Ok(Some(number)) if number <= newest => number,
            _ => 0,
        }
    }

    /// Returns the highest number that any sink has according to authentic records. A number beyond the newest checkpoint raises an alarm.
    async fn furthest_sink(&self, newest: i64) -> Result<i64, Fault> {
        let mut furthest = 0;
        for sink in &self.ports.sinks {
            let name = sink.name();
            match self.recorded_progress(name).await {
                Ok(Recorded::Authentic(progress)) => {
                    if progress.number > newest {
                        let finding = beyond(progress.number, newest);
                        self.progress_differs(name, newest, &finding).await;
                    }
                    furthest = furthest.max(progress.number);
                }
                Ok(_) | Err(Fault::Sealed(_)) => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(furthest)
    }

    /// Recorded progress of a sink.
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

    /// Returns findings about the recorded progress of the sinks.
    pub(super) async fn findings_of_progress(&self) -> Result<Vec<AuditFinding>, Fault> {
        let mut findings = Vec::new();
        for sink in &self.ports.sinks {
            let finding = match self.recorded_progress(sink.name()).await? {
                Recorded::Nothing => continue,
                Recorded::Forged => AuditFinding {
                    about: About::Note(sink.name().to_owned()),
                    kind: FindingKind::ForgedProgress,
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
            findings.push(finding);
        }
        Ok(findings)
    }

    async fn progress_differs(&self, sink: &str, newest: i64, finding: &AuditFinding) {
        self.ports
            .meter
            .count(Counted::TamperAlarm(TamperKind::Chain));
        tracing::error!(
            alert = "VestryAuditFailing",
            sink,
            newest,
            flaw = finding.to_string(),
            "ALARM: recorded progress of an audit sink is wrong (possible tampering or rollback); missing checkpoints are re-sent; run `vestry audit verify --against`"
        );
        self.note_findings(sink, newest, std::slice::from_ref(finding))
            .await;
    }

    /// Returns the checkpoint in a row, or `None` and an alarm if the service did not write it.
    async fn stated_by(
        &self,
        kept: &StoredCheckpoint,
    ) -> Result<Option<(String, Checkpoint)>, Fault> {
        let stated = self.own_checkpoint(kept).await?;
        if stated.is_none() {
            self.ports
                .meter
                .count(Counted::TamperAlarm(TamperKind::Chain));
            tracing::error!(
                alert = "VestryAuditFailing",
                number = kept.number,
                "ALARM: audit checkpoint in the database is not authentic (possible tampering); it is not sent to sinks; run `vestry audit verify`"
            );
        }
        Ok(stated)
    }

    /// Checks that the last checkpoint made by this process is still in the database.
    fn is_all_there(&self, reached: i64) -> Result<(), Fault> {
        let Some(newest) = self.checkpoints.newest().filter(|newest| *newest > reached) else {
            return Ok(());
        };
        self.checkpoints.forget();
        self.ports
            .meter
            .count(Counted::TamperAlarm(TamperKind::Rollback));
        tracing::error!(
            alert = "VestryAuditFailing",
            number = newest,
            "ALARM: audit checkpoint disappeared before all sinks had it (possible tampering); the next one lists every chain; run `vestry audit verify --against`"
        );
        Err(Fault::Internal(
            "an audit checkpoint disappeared from the database".into(),
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
        let waited = Seconds(self.period().0.saturating_mul(ALARM_AFTER));
        let error = causes(error);
        if !self.checkpoints.failed(name, now, now - waited) {
            tracing::warn!(
                sink = name,
                error,
                "audit sink rejected a checkpoint or is unreachable; retrying"
            );
            return;
        }
        tracing::error!(
            alert = "VestryAuditFailing",
            sink = name,
            error,
            "ALARM: audit sink has stored no checkpoint for ten periods (audit log is not anchored there); check the sink and its credentials"
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
        self.ports
            .meter
            .count(Counted::TamperAlarm(TamperKind::Rollback));
        tracing::error!(
            alert = "VestryAuditFailing",
            sink = name,
            number,
            "ALARM: audit sink has a different checkpoint with this number (database rollback, or two deployments share the sink); run `vestry audit verify --against`"
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

    /// Deletes checkpoints that all sinks have had for a week.
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

/// Recorded progress of a sink.
enum Recorded {
    /// No record.
    Nothing,
    /// A record that the service did not write.
    Forged,
    /// A record that the service wrote, possibly an old one put back.
    Authentic(SinkProgress),
}

fn beyond(number: i64, newest: i64) -> AuditFinding {
    AuditFinding {
        about: About::Checkpoint(number),
        kind: FindingKind::NotInDatabase { newest },
    }
}

fn next_number(last: i64) -> Result<i64, Fault> {
    let next = last.checked_add(1);
    next.ok_or_else(|| {
        Fault::Internal("table checkpoints has a row with the highest possible number".into())
    })
}

#[cfg(test)]
mod tests {
    use super::Failures;

    #[test]
    fn ten_periods_without_a_checkpoint_raise_one_alarm() {
        let mut failures = Failures::default();
        let mut alarms = |is_good: bool, periods: usize| {
            let alarms = (0..periods).filter(|_| failures.note(is_good));
            alarms.count()
        };
        assert_eq!(alarms(false, 9), 0);
        assert_eq!(alarms(true, 1), 0);
        assert_eq!(alarms(false, 9), 0);
        assert_eq!(alarms(false, 1), 1);
        assert_eq!(alarms(false, 100), 0);
        assert_eq!(alarms(true, 1), 0);
        assert_eq!(alarms(false, 10), 1);
    }
}
