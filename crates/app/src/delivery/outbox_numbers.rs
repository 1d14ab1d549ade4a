//! Numbers about the outbox, for metrics.

use vestry_domain::message::{Channel, JobEnd};

use crate::Service;

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

    fn numbers_of(&self, channel: Channel) -> ChannelNumbers {
        let ends = JobEnd::ALL.map(|end| (end, self.outbox_counts.ends(channel, end)));
        ChannelNumbers {
            is_failing: self.breakers.is_open(channel),
            ends: ends.to_vec(),
        }
    }
}
