//! Rate-limited audit entries about denied calls: the first few per minute get their own entry, the rest are counted (AUD-6).
//!
//! This keeps a caller without rights from filling the disk.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use vestry_domain::World;
use vestry_domain::event::Actor;

/// Denied calls per environment, actor, minute and process that get their own entry.
const EACH: u64 = 10;
const MINUTE: Duration = Duration::from_secs(60);
/// Maximum number of actors tracked. Denied calls of further actors are not recorded until a place is free.
const MAX_ACTORS: usize = 10_000;

/// Counters of one process.
#[derive(Default)]
pub(crate) struct RefusalLog {
    minutes: Mutex<HashMap<(World, Actor), Minute>>,
}

struct Minute {
    begun: Instant,
    count: u64,
}

/// Number of denied calls in a minute without their own entry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) world: World,
    pub(crate) actor: Actor,
    pub(crate) count: u64,
}

impl RefusalLog {
    /// Counts a denied call. Returns whether it gets its own entry.
    pub(crate) fn count(&self, world: World, actor: Actor, now: Instant) -> bool {
        let mut minutes = self.lock();
        let key = (world, actor);
        if !minutes.contains_key(&key) && minutes.len() >= MAX_ACTORS {
            return false;
        }
        let minute = minutes.entry(key).or_insert(Minute {
            begun: now,
            count: 0,
        });
        // A minute with uncollected counts continues until they are collected.
        if minute.is_over(now) && minute.count <= EACH {
            minute.begun = now;
            minute.count = 0;
        }
        minute.count = minute.count.saturating_add(1);
        minute.count <= EACH
    }

    /// Ends the minutes that are over, or all, and returns their counts.
    pub(crate) fn end(&self, over: Option<Instant>) -> Vec<Counted> {
        let mut minutes = self.lock();
        let ended = minutes.extract_if(|_, minute| over.is_none_or(|now| minute.is_over(now)));
        let counted = ended.map(|((world, actor), minute)| Counted {
            world,
            actor,
            count: minute.count.saturating_sub(EACH),
        });
        counted.filter(|counted| counted.count > 0).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(World, Actor), Minute>> {
        self.minutes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Minute {
    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.begun) >= MINUTE
    }
}

#[cfg(test)]
mod tests {
    use vestry_domain::ids::{ApiKeyId, AppId, Id};
    use vestry_domain::{Environment, Timestamp};

    use super::*;

    #[test]
    fn aud_6_the_first_ten_denials_get_an_entry_and_the_rest_are_counted() {
        let log = RefusalLog::default();
        let at = Timestamp::from_unix(1);
        let world = World::new(AppId::new(at, [0; 16]), Environment::Live);
        let [actor, other] = [1, 2].map(|number| Actor::ApiKey(ApiKeyId::new(at, [number; 16])));
        let refused = |actor, times: usize, now| {
            let entries = (0..times).filter(|_| log.count(world, actor, now));
            entries.count()
        };
        let counted = |count| Counted {
            world,
            actor,
            count,
        };
        let first = Instant::now();
        assert_eq!(refused(actor, 20, first), 10);
        assert_eq!(refused(other, 1, first), 1);
        assert_eq!(log.end(Some(first)), []);
        let second = first + MINUTE;
        assert_eq!(
            refused(actor, 1, second),
            0,
            "the earlier count is not collected yet"
        );
        assert_eq!(log.end(Some(second)), [counted(11)]);
        assert_eq!(refused(actor, 10, second), 10);
        let third = second + MINUTE;
        assert_eq!(refused(actor, 13, third), 10);
        assert_eq!(log.end(None), [counted(3)]);
        assert_eq!(log.end(None), []);
    }
}
