//! The gauges that need a look at something: they are refreshed every 15 seconds, so that a scrape waits for nothing (PR-32, PR-33).

use std::time::Duration;

use vestry_domain::envelope::KeyPurpose;
use vestry_domain::timestamp::Seconds;
use vestry_ports::meter::Gauge;

use crate::Service;
use crate::kernel::measures::{flag, seconds};

/// Interval between refreshes.
const EVERY: Duration = Duration::from_secs(15);
/// How long the database may take to return a connection, as for `/readyz`.
const READY_WITHIN: Duration = Duration::from_millis(500);
/// Time limit of each other look.
const PATIENCE: Duration = Duration::from_secs(2);

impl Service {
    /// Refreshes the gauges every 15 seconds until `stop` completes.
    pub async fn run_measurements(&self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        loop {
            tokio::select! {
                biased;
                () = &mut stop => return,
                () = self.measure() => {}
            }
            tokio::select! {
                () = &mut stop => return,
                () = tokio::time::sleep(EVERY) => {}
            }
        }
    }

    /// Refreshes the gauges once. What cannot be read keeps its value.
    pub async fn measure(&self) {
        let meter = self.meter();
        self.ports.store.measure();
        meter.set(Gauge::LimiterAlone, flag(self.ports.limiter.is_alone()));
        if let Some(waiting) = self.journal_waiting() {
            meter.set(Gauge::JournalWaiting, waiting);
        }
        let stalled = self.sequencing_delay();
        meter.set(Gauge::EventsUnsequenced, stalled.as_secs_f64());
        for purpose in KeyPurpose::ALL {
            let status = tokio::time::timeout(PATIENCE, self.has_root_key(purpose)).await;
            meter.set(Gauge::VaultUp(purpose), flag(matches!(status, Ok(Ok(())))));
        }
        let ready = tokio::time::timeout(READY_WITHIN, self.ready()).await;
        let is_ready = matches!(ready, Ok(Ok(()))) && !self.is_draining() && !self.is_held_back();
        meter.set(Gauge::Ready, flag(is_ready));
        if is_ready {
            self.measure_checkpoints().await;
            self.measure_backups().await;
        }
    }

    /// Number of changes that wait for the journal, if there is one.
    fn journal_waiting(&self) -> Option<f64> {
        let waiting = self.changes.as_ref()?.waiting();
        Some(u32::try_from(waiting).unwrap_or(u32::MAX).into())
    }

    async fn measure_backups(&self) {
        let last = tokio::time::timeout(PATIENCE, self.last_backup()).await;
        if let Ok(Ok(Some(last))) = last {
            let last = seconds(Seconds(last.unix()));
            self.meter().set(Gauge::BackupSucceeded, last);
        }
    }

    async fn measure_checkpoints(&self) {
        let progress = tokio::time::timeout(PATIENCE, self.checkpoint_progress()).await;
        let Ok(Ok(progress)) = progress else {
            return;
        };
        // A sink that lacks nothing has had everything since the last round, even if that made no checkpoint.
        let whole = progress
            .sinks
            .iter()
            .any(|sink| sink.waiting_since.is_none());
        let sinks = progress.sinks.iter().filter_map(|sink| sink.at);
        let since = sinks.chain(progress.round.filter(|_| whole)).max();
        let since = since.unwrap_or(self.started_at);
        let age = (self.machine_time() - since).max(Seconds(0));
        self.meter().set(Gauge::CheckpointAge, seconds(age));
    }
}
