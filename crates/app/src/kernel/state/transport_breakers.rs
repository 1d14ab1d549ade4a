//! One circuit breaker for each transport of live messages (PR-74).

use std::sync::{Mutex, MutexGuard, PoisonError};

use vestry_domain::Timestamp;
use vestry_domain::message::Channel;
use vestry_domain::timestamp::Seconds;

/// Consecutive failures that open a breaker.
const FAILURES: u32 = 10;
/// Interval between the jobs that an open breaker admits.
const TRIAL_EVERY: Seconds = Seconds(5);

/// The breakers of one process.
#[derive(Default)]
pub(crate) struct TransportBreakers {
    email: Mutex<Breaker>,
    sms: Mutex<Breaker>,
}

#[derive(Debug, Default)]
struct Breaker {
    /// Consecutive failures.
    failures: u32,
    /// When the last job was admitted, or the breaker opened; `None` while it is closed.
    last_trial: Option<Timestamp>,
}

impl Breaker {
    /// A clock that was set back must not delay the next trial.
    fn may_try(&self, now: Timestamp) -> bool {
        self.last_trial
            .is_none_or(|last| now < last || now >= last + TRIAL_EVERY)
    }
}

impl TransportBreakers {
    /// Whether the transport has failed ten times in a row, and has not succeeded since.
    pub(crate) fn is_open(&self, channel: Channel) -> bool {
        self.of(channel).last_trial.is_some()
    }

    /// Returns how many jobs may be claimed for the transport, of those for which there is room.
    pub(crate) fn room(&self, channel: Channel, room: i64, now: Timestamp) -> i64 {
        let breaker = self.of(channel);
        if breaker.last_trial.is_none() {
            return room;
        }
        i64::from(breaker.may_try(now)).min(room)
    }

    /// Returns whether a job may be sent now. If the breaker is open, no other may for the next five seconds.
    pub(crate) fn admit(&self, channel: Channel, now: Timestamp) -> bool {
        let mut breaker = self.of(channel);
        let is_admitted = breaker.may_try(now);
        if is_admitted && breaker.last_trial.is_some() {
            breaker.last_trial = Some(now);
        }
        is_admitted
    }

    /// Records that the transport accepted a message.
    pub(crate) fn succeeded(&self, channel: Channel) {
        let was_open = std::mem::take(&mut *self.of(channel)).last_trial.is_some();
        if was_open {
            let channel = channel.as_str();
            tracing::info!(channel, "message transport works again");
        }
    }

    /// Records that the transport failed. A rejected recipient is no failure.
    pub(crate) fn failed(&self, channel: Channel, now: Timestamp) {
        let mut breaker = self.of(channel);
        breaker.failures = breaker.failures.saturating_add(1);
        if breaker.failures >= FAILURES && breaker.last_trial.is_none() {
            breaker.last_trial = Some(now);
            drop(breaker);
            let channel = channel.as_str();
            tracing::warn!(
                channel,
                "message transport failed ten times in a row; trying one message every 5 s"
            );
        }
    }

    fn of(&self, channel: Channel) -> MutexGuard<'_, Breaker> {
        let breaker = match channel {
            Channel::Email => &self.email,
            Channel::Sms => &self.sms,
        };
        breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
