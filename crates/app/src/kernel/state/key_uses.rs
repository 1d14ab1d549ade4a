//! When each key last used each operation, collected in memory and written at most once a minute.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use vestry_domain::api_key::KeyUse;
use vestry_domain::ids::ApiKeyId;
use vestry_domain::operation::Operation;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Timestamp, World};

const MINUTE: Seconds = Seconds(60);
/// Maximum number of pairs of key and operation. Uses of further ones are not recorded until a restart.
const MAX_PAIRS: usize = 100_000;

/// The uses that this process has seen.
#[derive(Default)]
pub(crate) struct KeyUses(Mutex<HashMap<(ApiKeyId, Operation), Seen>>);

struct Seen {
    world: World,
    last: Timestamp,
    written: Option<Timestamp>,
}

impl KeyUses {
    /// Notes a use.
    pub(crate) fn note(&self, world: World, key: ApiKeyId, operation: Operation, now: Timestamp) {
        let mut uses = self.lock();
        if let Some(seen) = uses.get_mut(&(key, operation)) {
            seen.last = now;
        } else if uses.len() < MAX_PAIRS {
            let seen = Seen {
                world,
                last: now,
                written: None,
            };
            uses.insert((key, operation), seen);
        }
    }

    /// Takes the uses to be written: those of pairs whose last writing was a minute ago, or all. They are in a fixed order, in which
    /// processes that write at once wait for each other.
    pub(crate) fn take(&self, now: Option<Timestamp>) -> Vec<KeyUse> {
        let mut due = Vec::new();
        for ((key, operation), seen) in &mut *self.lock() {
            let is_new = seen.written.is_none_or(|written| written < seen.last);
            let is_due = match (seen.written, now) {
                (Some(written), Some(now)) => now >= written + MINUTE,
                (None, _) | (_, None) => true,
            };
            if is_new && is_due {
                seen.written = Some(seen.last);
                due.push(KeyUse {
                    world: seen.world,
                    key: *key,
                    operation: *operation,
                    at: seen.last,
                });
            }
        }
        due.sort_by_key(|due| (due.key, due.operation));
        due
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(ApiKeyId, Operation), Seen>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use vestry_domain::Environment;
    use vestry_domain::ids::{AppId, Id};

    use super::*;

    #[test]
    fn each_pair_is_written_once_a_minute() {
        let uses = KeyUses::default();
        let start = Timestamp::from_unix(1_000);
        let world = World::new(AppId::new(start, [0; 16]), Environment::Live);
        let key = ApiKeyId::new(start, [1; 16]);
        let taken = |now: Option<Timestamp>| -> Vec<(Operation, Timestamp)> {
            let due = uses.take(now).into_iter();
            due.map(|due| (due.operation, due.at)).collect()
        };
        uses.note(world, key, Operation::SignMessage, start);
        uses.note(world, key, Operation::GetUser, start);
        assert_eq!(
            taken(Some(start)),
            [(Operation::GetUser, start), (Operation::SignMessage, start)]
        );
        let soon = start + Seconds(30);
        uses.note(world, key, Operation::GetUser, soon);
        assert_eq!(taken(Some(soon)), []);
        let later = start + MINUTE;
        assert_eq!(taken(Some(later)), [(Operation::GetUser, soon)]);
        assert_eq!(taken(Some(later + MINUTE)), [], "it was not used again");
        uses.note(world, key, Operation::GetUser, later);
        assert_eq!(
            taken(None),
            [(Operation::GetUser, later)],
            "at the end all are written"
        );
    }
}
