//! Keys that sign session JWTs.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vestry_domain::ids::SigningKeyId;
use vestry_domain::signing_key::SigningKey;
use vestry_domain::{Timestamp, World};

/// The keys of each world, and when they were read.
type Read = HashMap<World, (Arc<Vec<SigningKey>>, Timestamp)>;

/// The keys of each world as they were read, and when; and which of all keys were opened.
///
/// A look-up is good for the rest of its second: a busy world costs one query a second, and a key that was withdrawn signs nothing a
/// second later on any process. What it signed before names no session from the first moment on
/// ([`Sessions::find_signed`](vestry_ports::store::Sessions::find_signed)).
#[derive(Default)]
pub(crate) struct SigningKeys {
    read: Mutex<Read>,
    opened: Mutex<HashSet<SigningKeyId>>,
}

impl SigningKeys {
    fn read(&self) -> MutexGuard<'_, Read> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened(&self) -> MutexGuard<'_, HashSet<SigningKeyId>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The keys of a world, if they were read in this second.
    pub(crate) fn get(&self, world: &World, now: Timestamp) -> Option<Arc<Vec<SigningKey>>> {
        let read = self.read();
        let (keys, _) = read.get(world).filter(|(_, read_at)| *read_at == now)?;
        Some(Arc::clone(keys))
    }

    pub(crate) fn keep(&self, world: &World, keys: &Arc<Vec<SigningKey>>, now: Timestamp) {
        self.read().insert(*world, (Arc::clone(keys), now));
    }

    pub(crate) fn is_opened(&self, key: SigningKeyId) -> bool {
        self.opened().contains(&key)
    }

    pub(crate) fn note_opened(&self, key: SigningKeyId) {
        self.opened().insert(key);
    }
}
