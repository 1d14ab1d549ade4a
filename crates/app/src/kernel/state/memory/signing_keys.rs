//! Keys that sign session JWTs.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vestry_domain::ids::SigningKeyId;
use vestry_domain::signing_key::{self, SigningKey};
use vestry_domain::{Timestamp, World};

/// The signing keys of a world as read from the store.
pub(crate) struct Keys {
    pub(crate) all: Vec<SigningKey>,
    /// The key that signed in that second.
    pub(crate) active: Option<Arc<SigningKey>>,
    read_at: Timestamp,
}

impl Keys {
    /// Keys that were read at this time of the machine.
    pub(crate) fn new(all: Vec<SigningKey>, read_at: Timestamp) -> Self {
        let active = signing_key::active(&all, read_at).cloned().map(Arc::new);
        Self {
            all,
            active,
            read_at,
        }
    }
}

/// A cache of each world's signing keys with the time they were read, and of all opened keys.
///
/// An entry is valid for the rest of its second. A busy world costs one query per second, and a withdrawn key signs nothing a second later
/// on any process. JWTs it signed before stop naming a session at once
/// ([`Sessions::find_signed`](vestry_ports::store::Sessions::find_signed)).
#[derive(Default)]
pub(crate) struct SigningKeys {
    read: Mutex<HashMap<World, Arc<Keys>>>,
    opened: Mutex<HashSet<SigningKeyId>>,
}

impl SigningKeys {
    fn read(&self) -> MutexGuard<'_, HashMap<World, Arc<Keys>>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened(&self) -> MutexGuard<'_, HashSet<SigningKeyId>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the keys of a world if they were read in this second.
    pub(crate) fn get(&self, world: &World, now: Timestamp) -> Option<Arc<Keys>> {
        let read = self.read();
        read.get(world)
            .filter(|keys| keys.read_at == now)
            .map(Arc::clone)
    }

    pub(crate) fn keep(&self, world: &World, keys: &Arc<Keys>) {
        self.read().insert(*world, Arc::clone(keys));
    }

    pub(crate) fn is_opened(&self, key: SigningKeyId) -> bool {
        self.opened().contains(&key)
    }

    pub(crate) fn note_opened(&self, key: SigningKeyId) {
        self.opened().insert(key);
    }
}
