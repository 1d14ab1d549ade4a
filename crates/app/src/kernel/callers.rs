//! A cache of callers, each valid for the second in which it was read.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vestry_domain::Timestamp;
use vestry_domain::token::TokenHash;

use crate::Caller;

/// Maximum number of cached keys. Beyond it the cache is emptied, which costs one query per key.
const REMEMBERED: usize = 10_000;

/// Keys that were valid when they were last looked up. Nothing else is known about them.
#[derive(Default)]
pub(crate) struct SeenKeys(Mutex<HashSet<TokenHash>>);

impl SeenKeys {
    pub(crate) fn contain(&self, key: &TokenHash) -> bool {
        self.all().contains(key)
    }

    pub(crate) fn add(&self, key: TokenHash) {
        let mut keys = self.all();
        if keys.len() >= REMEMBERED {
            keys.clear();
        }
        keys.insert(key);
    }

    pub(crate) fn forget(&self, key: &TokenHash) {
        self.all().remove(key);
    }

    fn all(&self) -> MutexGuard<'_, HashSet<TokenHash>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Callers by key, with the second in which each was read.
///
/// An entry is valid for the rest of its second. A busy key thus costs one query per second, and a revoked one stops working within a
/// second on every process. Unknown keys are not cached, because their number is unbounded.
#[derive(Default)]
pub(crate) struct Callers(Mutex<HashMap<TokenHash, (Arc<Caller>, Timestamp)>>);

impl Callers {
    fn all(&self) -> MutexGuard<'_, HashMap<TokenHash, (Arc<Caller>, Timestamp)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The caller behind a key, if it was read in this second.
    pub(crate) fn get(&self, key: &TokenHash, now: Timestamp) -> Option<Arc<Caller>> {
        let callers = self.all();
        let (caller, _) = callers.get(key).filter(|(_, read_at)| *read_at == now)?;
        Some(Arc::clone(caller))
    }

    /// Whether the key was valid when it was last looked up.
    pub(crate) fn have_seen(&self, key: &TokenHash) -> bool {
        self.all().contains_key(key)
    }

    pub(crate) fn keep(&self, key: TokenHash, caller: &Arc<Caller>, now: Timestamp) {
        let mut callers = self.all();
        if callers.len() >= REMEMBERED {
            callers.clear();
        }
        callers.insert(key, (Arc::clone(caller), now));
    }

    pub(crate) fn forget(&self, key: &TokenHash) {
        self.all().remove(key);
    }
}
