//! Sign-in failures without an event of their own, because ten like them occurred within a minute (E-8): their counts.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use vestry_domain::World;
use vestry_domain::event::{FailReason, Method};
use vestry_domain::ids::UserId;

const MINUTE: Duration = Duration::from_secs(60);
/// Maximum number of counters. Failures beyond it are not counted.
const MAX_SIZE: usize = 10_000;

/// The counters of one process.
#[derive(Default)]
pub(crate) struct FailureLog {
    counts: Mutex<BTreeMap<(World, UserId, Method), Count>>,
}

struct Count {
    begun: Instant,
    reason: FailReason,
    count: u64,
}

/// The number of failures of one user and method without events of their own.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CountedFailures {
    pub(crate) world: World,
    pub(crate) user: UserId,
    pub(crate) method: Method,
    /// The reason of the last failure.
    pub(crate) reason: FailReason,
    pub(crate) count: u64,
}

impl FailureLog {
    /// Counts a failure.
    pub(crate) fn count(
        &self,
        world: World,
        user: UserId,
        method: Method,
        reason: FailReason,
        now: Instant,
    ) {
        let mut counts = self.lock();
        let key = (world, user, method);
        if !counts.contains_key(&key) && counts.len() >= MAX_SIZE {
            return;
        }
        let count = counts.entry(key).or_insert(Count {
            begun: now,
            reason,
            count: 0,
        });
        count.reason = reason;
        count.count = count.count.saturating_add(1);
    }

    /// Removes and returns the counters that are a minute old, or all of them.
    pub(crate) fn end(&self, over: Option<Instant>) -> Vec<CountedFailures> {
        let mut counts = self.lock();
        let is_over = |count: &Count| {
            over.is_none_or(|now| now.saturating_duration_since(count.begun) >= MINUTE)
        };
        let ended = counts.extract_if(.., |_, count| is_over(count));
        let counted = ended.map(|((world, user, method), count)| CountedFailures {
            world,
            user,
            method,
            reason: count.reason,
            count: count.count,
        });
        counted.collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(World, UserId, Method), Count>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use vestry_domain::ids::{AppId, Id};
    use vestry_domain::{Environment, Timestamp};

    use super::*;

    #[test]
    fn e_8_a_number_is_taken_when_its_minute_is_over() {
        let log = FailureLog::default();
        let at = Timestamp::from_unix(1);
        let world = World::new(AppId::new(at, [0; 16]), Environment::Live);
        let [user, other] = [1, 2].map(|number| UserId::new(at, [number; 16]));
        let (wrong, user_disabled) = (FailReason::Wrong, FailReason::UserDisabled);
        let counted = |user, method, reason, count| CountedFailures {
            world,
            user,
            method,
            reason,
            count,
        };
        let first = Instant::now();
        let later = first + Duration::from_secs(1);
        log.count(world, user, Method::Password, wrong, first);
        log.count(world, user, Method::Password, user_disabled, later);
        log.count(world, user, Method::Totp, wrong, later);
        log.count(world, other, Method::Password, wrong, later);
        assert_eq!(log.end(Some(later)), []);
        let expected = counted(user, Method::Password, user_disabled, 2);
        assert_eq!(log.end(Some(first + MINUTE)), [expected]);
        let mut rest = log.end(None);
        rest.sort_by_key(|counted| (counted.user != user, counted.count));
        let expected = [
            counted(user, Method::Totp, wrong, 1),
            counted(other, Method::Password, wrong, 1),
        ];
        assert_eq!(rest, expected);
        assert_eq!(log.end(None), []);
    }
}
