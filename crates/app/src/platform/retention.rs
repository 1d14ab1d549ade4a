//! Retention: deletes expired data in small steps with pauses, in one process at a time (PR-60).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use vestry_domain::activity::Period;
use vestry_domain::ids::{EventId, Id, JobId};
use vestry_domain::metric::Job;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::store::{Repositories, SWEEP_STEP, StoreResult, SweptWorlds};

use crate::kernel::fault::{causes, retried};
use crate::{Fault, Service};

/// Interval between sweeps.
const EVERY: Duration = Duration::from_secs(300);
/// Name of the lease.
const WORK: &str = "sweep";
/// How long a sweeping process may be silent before another takes over.
const LEASE: Seconds = Seconds(60);
/// Minimum pause after a complete sweep. It is somewhat shorter than [`EVERY`], so that the same process continues.
const REST: Seconds = Seconds(240);
/// Maximum heaps per transaction: normally all, unless several Apps have test clocks.
const HEAPS: usize = 64;
/// How long finished jobs, ended sessions and captured messages stay readable for operators.
const KEPT: Seconds = Seconds(7 * 86_400);
/// How long webhook deliveries stay visible, and held ones can still be sent.
const DELIVERIES_KEPT: Seconds = Seconds(30 * 86_400);
/// Event logs read in one query.
const HEADS: i64 = 1_000;
/// How long consecutive failures are remembered after the last one.
///
/// It exceeds any lockout. Waiting for it must also give an attacker fewer attempts than the longest lockout, which allows one a day per
/// account (OTP-5).
const FAILURES_KEPT: Seconds = Seconds(30 * 86_400);

/// Kinds of expired data, deleted by the time of their environment or of the machine.
#[derive(Debug, Clone, Copy)]
enum Remains {
    Codes,
    Links,
    Totps,
    WalletChallenges,
    WalletImports,
    OauthFlows,
    Guards,
    Quotas,
    Idempotency,
    PasskeyChallenges,
    Sessions,
    Jobs,
    Captured,
    Deliveries,
    WebhookSecrets,
    WebhookReplays,
    Activity(Period),
}

impl Remains {
    const OF_WORLDS: [Self; 11] = [
        Self::Codes,
        Self::Links,
        Self::Totps,
        Self::WalletChallenges,
        Self::WalletImports,
        Self::OauthFlows,
        Self::Guards,
        Self::Quotas,
        Self::Idempotency,
        Self::PasskeyChallenges,
        Self::Sessions,
    ];

    const OF_MACHINE: [Self; 7] = [
        Self::Jobs,
        Self::Captured,
        Self::Deliveries,
        Self::WebhookSecrets,
        Self::WebhookReplays,
        Self::Activity(Period::Hour),
        Self::Activity(Period::Day),
    ];

    /// Deletes some expired rows and returns their number.
    async fn sweep(
        self,
        tx: &mut dyn Repositories,
        worlds: &SweptWorlds,
        now: Timestamp,
    ) -> StoreResult<u64> {
        let yesterday = now - Seconds(86_400);
        match self {
            Self::Codes => tx.codes().sweep(worlds, yesterday).await,
            Self::Links => tx.links().sweep(worlds, yesterday).await,
            Self::Totps => tx.totps().sweep(worlds, yesterday).await,
            Self::WalletChallenges => tx.wallet_challenges().sweep(worlds, yesterday).await,
            // Private keys: once expired, nothing encrypted to them may be decrypted.
            Self::WalletImports => tx.wallet_imports().sweep(worlds, now).await,
            Self::OauthFlows => tx.oauth_flows().sweep(worlds, now).await,
            Self::Guards => tx.lockouts().sweep(worlds, now - FAILURES_KEPT).await,
            Self::Quotas => tx.quotas().sweep(worlds, now).await,
            Self::Idempotency => tx.idempotency().sweep(worlds, now).await,
            Self::PasskeyChallenges => tx.passkeys().sweep_challenges(worlds, yesterday).await,
            Self::Sessions => tx.sessions().sweep(worlds, now - KEPT).await,
            Self::Jobs => tx.outbox().sweep(now - KEPT).await,
            // Captured messages are plain text and are read by tests within a minute, so they are not kept for ever.
            Self::Captured => tx.captured().sweep(now - KEPT).await,
            Self::Deliveries => tx.deliveries().sweep(now - DELIVERIES_KEPT).await,
            Self::WebhookSecrets => tx.webhook_endpoints().sweep_secrets(now).await,
            Self::WebhookReplays => tx.webhook_replays().sweep(now - DELIVERIES_KEPT).await,
            Self::Activity(period) => {
                let before = now - period.retention();
                tx.activity().sweep(period, before).await
            }
        }
    }
}

/// Expired data of one kind, in environments with the same time, and that time.
#[derive(Debug, Clone)]
struct Heap {
    remains: Remains,
    worlds: Arc<SweptWorlds>,
    now: Timestamp,
}

fn put_off(fault: &Fault) {
    let error = causes(fault);
    tracing::warn!(error, "retention sweep failed; retrying next round");
}

/// Result of one transaction.
enum Step {
    /// Number of heaps that are finished.
    Gone(usize),
    /// Another process is sweeping.
    Theirs,
    /// The database is down, so trying the next heap is useless.
    Away(Fault),
}

impl Service {
    /// Sweeps until `stop` completes. A step in progress is then rolled back.
    pub async fn run_sweeper(&self, stop: impl Future<Output = ()>) {
        let holder: JobId = self.new_id(self.ports.clock.machine());
        let holder = holder.to_string();
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                biased;
                () = &mut stop => return,
                () = self.sweep(&holder) => {}
            }
            tokio::select! {
                () = &mut stop => return,
                () = tokio::time::sleep(EVERY) => {}
            }
        }
    }

    /// Sweeps once, unless another process is sweeping or has just done so. Failures are left for the next round.
    pub async fn sweep(&self, holder: &str) {
        let Some(is_whole) = self.sweep_heaps(holder).await else {
            return;
        };
        match self.sweep_events(holder).await {
            Ok(()) if is_whole => self.job_succeeded(Job::Sweep),
            // A failed heap was logged when it was put off.
            Ok(()) => {}
            Err(fault) => put_off(&fault),
        }
    }

    /// Deletes events older than their App's retention, oldest first.
    async fn sweep_events(&self, holder: &str) -> Result<(), Fault> {
        let now = self.ports.clock.machine();
        let mut read = self.ports.store.read().await?;
        let apps = self.every_app().await?.into_iter();
        let settings: HashMap<_, _> = apps.map(|app| (app.id, app.settings)).collect();
        let mut last = None;
        loop {
            let heads = read.events().heads(last, HEADS).await?;
            let Some((world, _)) = heads.last() else {
                return Ok(());
            };
            last = Some(*world);
            for (world, head) in heads {
                let Some(settings) = settings.get(&world.app_id) else {
                    continue;
                };
                let before = now - settings.event_retention(world.environment);
                let before = EventId::new(before, [0; 16]);
                let is_due = head.oldest.is_some_and(|oldest| oldest.id < before);
                if is_due && !self.sweep_log(holder, world, before).await? {
                    return Ok(());
                }
            }
        }
    }

    /// Sweeps the event log of one environment. Returns `false` if another process is sweeping.
    async fn sweep_log(&self, holder: &str, world: World, before: EventId) -> Result<bool, Fault> {
        loop {
            let begun = Instant::now();
            let swept = retried(|| async {
                let now = self.ports.clock.machine();
                let mut tx = self.ports.store.begin().await?;
                if !tx.leases().take(WORK, holder, now, now + LEASE).await? {
                    return Ok(None);
                }
                // Events with pending deliveries are kept until those are sent.
                let kept = tx.deliveries().first_waiting(&world).await?;
                let swept = tx.events().sweep(&world, before, kept, SWEEP_STEP).await?;
                tx.commit().await?;
                Ok::<_, Fault>(Some(swept))
            });
            match swept.await? {
                None => return Ok(false),
                Some(swept) if swept < SWEEP_STEP.unsigned_abs() => return Ok(true),
                Some(_) => tokio::time::sleep(begun.elapsed()).await,
            }
        }
    }

    /// Sweeps all heaps, and returns whether none was put off. Returns `None` if another process is sweeping or the database is down.
    async fn sweep_heaps(&self, holder: &str) -> Option<bool> {
        let (heaps, mut is_whole) = self.heaps().await;
        let mut left = heaps.as_slice();
        // Sweep several heaps per transaction, since each usually has few rows. After a failure, sweep each on its own.
        let mut most = HEAPS;
        while !left.is_empty() {
            let begun = Instant::now();
            let next = left.get(..most.min(left.len())).unwrap_or(left);
            let is_last = next.len() == left.len();
            match retried(|| self.step(holder, next, is_last)).await {
                Ok(Step::Gone(gone)) => left = left.get(gone..).unwrap_or_default(),
                Ok(Step::Theirs) => return None,
                Ok(Step::Away(fault)) => {
                    put_off(&fault);
                    return None;
                }
                Err(_told_when_alone) if most > 1 => most = 1,
                Err(fault) => {
                    put_off(&fault);
                    is_whole = false;
                    left = left.get(1..).unwrap_or_default();
                }
            }
            if !left.is_empty() {
                tokio::time::sleep(begun.elapsed()).await;
            }
        }
        Some(is_whole)
    }

    /// Returns everything to sweep now, and whether nothing is missing.
    async fn heaps(&self) -> (Vec<Heap>, bool) {
        let now = self.ports.clock.machine();
        let mut heaps = Vec::new();
        let mut add = |kinds: &[Remains], worlds: SweptWorlds, now| {
            let worlds = Arc::new(worlds);
            heaps.extend(kinds.iter().map(|remains| Heap {
                remains: *remains,
                worlds: Arc::clone(&worlds),
                now,
            }));
        };
        add(&Remains::OF_WORLDS, Environment::Live.into(), now);
        // A test environment's clock may be in the past or in the future. Live environments do not depend on it.
        let is_whole = match self.test_times().await {
            Ok(times) => {
                for (apps, now) in times {
                    let environment = Environment::Test;
                    add(&Remains::OF_WORLDS, SweptWorlds { environment, apps }, now);
                }
                true
            }
            Err(fault) => {
                put_off(&fault);
                false
            }
        };
        // These follow the machine's time, in both environments at once.
        add(&Remains::OF_MACHINE, Environment::Live.into(), now);
        (heaps, is_whole)
    }

    /// Sweeps heaps in one transaction until they are finished or the limit is reached. After the last heap, no process sweeps for a while.
    async fn step(&self, holder: &str, heaps: &[Heap], is_last: bool) -> Result<Step, Fault> {
        let now = self.ports.clock.machine();
        let mut tx = match self.ports.store.begin().await {
            Ok(tx) => tx,
            Err(error) => return Ok(Step::Away(error.into())),
        };
        if !tx.leases().take(WORK, holder, now, now + LEASE).await? {
            return Ok(Step::Theirs);
        }
        let enough = u64::try_from(SWEEP_STEP).unwrap_or(u64::MAX);
        let (mut deleted, mut gone) = (0, 0);
        for heap in heaps {
            let few = heap.remains.sweep(&mut *tx, &heap.worlds, heap.now);
            let few = few.await?;
            deleted += few;
            if few < enough {
                gone += 1;
            }
            if deleted >= enough {
                break;
            }
        }
        if is_last && gone == heaps.len() {
            tx.leases().take(WORK, holder, now, now + REST).await?;
        }
        tx.commit().await?;
        Ok(Step::Gone(gone))
    }
}
