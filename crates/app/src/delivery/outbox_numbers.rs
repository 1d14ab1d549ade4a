//! Counting the messages that wait: for the metrics, and to refuse more of a kind that fills the outbox.

use std::time::Duration;

use vestry_domain::Timestamp;
use vestry_domain::message::Channel;
use vestry_domain::timestamp::Seconds;
use vestry_ports::meter::Gauge;
use vestry_ports::store::Backlog;

use crate::kernel::fault::causes;
use crate::kernel::measures::{flag, seconds};
use crate::{Fault, Service};

/// The number at which the metric of waiting jobs stops.
const MAX_WAITING: i64 = 10_000;
/// Interval between counts of waiting jobs (PR-142).
const COUNT_EVERY: Duration = Duration::from_secs(15);

impl Service {
    /// Counts the waiting jobs every 15 seconds until `stop` completes.
    pub async fn run_outbox_counts(&self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        loop {
            if let Err(fault) = self.count_outbox().await {
                // The previous counts remain.
                tracing::debug!(error = causes(&fault), "waiting messages were not counted");
            }
            tokio::select! {
                () = &mut stop => return,
                () = tokio::time::sleep(COUNT_EVERY) => {}
            }
        }
    }

    /// Counts the waiting jobs once.
    ///
    /// # Errors
    /// The database could not be read. The previous counts remain.
    pub async fn count_outbox(&self) -> Result<(), Fault> {
        let now = self.ports.clock.machine();
        let mut read = self.ports.store.read().await?;
        let crowded = read.outbox().crowded(self.settings.max_waiting).await?;
        let backlog = read.outbox().backlog(now).await?;
        self.measure_outbox(&backlog, now);
        self.outbox_counts.set_crowded(crowded);
        Ok(())
    }

    fn measure_outbox(&self, backlog: &[Backlog], now: Timestamp) {
        let meter = self.meter();
        for channel in Channel::ALL {
            let of_channel = || backlog.iter().filter(|of| of.channel == channel);
            let waiting: i64 = of_channel().map(|of| of.waiting).sum();
            let waiting = Seconds(waiting.min(MAX_WAITING));
            meter.set(Gauge::OutboxWaiting(channel), seconds(waiting));
            let oldest = of_channel().filter_map(|of| of.due_since).min();
            let age = oldest.map_or(Seconds(0), |oldest| now - oldest);
            meter.set(Gauge::OutboxOldest(channel), seconds(age.max(Seconds(0))));
            let is_open = self.breakers.is_open(channel);
            meter.set(Gauge::OutboxBreakerOpen(channel), flag(is_open));
        }
    }
}
