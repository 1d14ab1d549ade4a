//! Numbers about the outbox, for metrics.

use std::time::Duration;

use vestry_domain::message::{Channel, JobEnd};
use vestry_ports::store::Backlog;

use crate::kernel::fault::causes;
use crate::{Fault, Service};

/// Interval between counts of waiting jobs (PR-142).
const COUNT_EVERY: Duration = Duration::from_secs(15);

/// Numbers about the outbox, as this process knows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxNumbers {
    /// E-mail.
    pub email: ChannelNumbers,
    /// Text messages.
    pub sms: ChannelNumbers,
}

/// Numbers about the messages of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelNumbers {
    /// Whether the transport has failed ten times in a row, and has not succeeded since.
    pub is_failing: bool,
    /// How many jobs this process has ended, by their end.
    pub ends: Vec<(JobEnd, u64)>,
    /// The jobs of all Apps that wait, by priority, as they were last counted.
    pub backlog: Vec<Backlog>,
}

impl ChannelNumbers {
    /// How many jobs this process has ended in this way.
    pub fn ended(&self, end: JobEnd) -> u64 {
        let found = self.ends.iter().find(|(one, _)| *one == end);
        found.map(|(_, count)| *count).unwrap_or_default()
    }
}

impl Service {
    /// Returns the numbers, without any I/O.
    pub fn outbox_numbers(&self) -> OutboxNumbers {
        OutboxNumbers {
            email: self.numbers_of(Channel::Email),
            sms: self.numbers_of(Channel::Sms),
        }
    }

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
        self.outbox_counts.set_waiting(crowded, backlog);
        Ok(())
    }

    fn numbers_of(&self, channel: Channel) -> ChannelNumbers {
        let ends = JobEnd::ALL.map(|end| (end, self.outbox_counts.ends(channel, end)));
        ChannelNumbers {
            is_failing: self.breakers.is_open(channel),
            ends: ends.to_vec(),
            backlog: self.outbox_counts.backlog(channel),
        }
    }
}
