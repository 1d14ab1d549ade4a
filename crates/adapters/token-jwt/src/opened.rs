//! A cache of decrypted private keys, so that not every token needs the sealer and a parsed key.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use vestry_domain::World;
use vestry_domain::ids::SigningKeyId;
use vestry_domain::signing_key::SigningKey;

use crate::private_half::PrivateHalf;

/// Maximum number of cached keys: more worlds than one process serves at a time, at about 2 KiB each.
const MAX_SIZE: usize = 4096;

/// A private key with the header of its tokens.
pub(crate) struct OpenKey {
    header: String,
    half: PrivateHalf,
}

impl OpenKey {
    pub(crate) const fn new(header: String, half: PrivateHalf) -> Self {
        Self { header, half }
    }

    /// Returns the encoded first part of a token.
    pub(crate) fn header(&self) -> &str {
        &self.header
    }

    pub(crate) const fn half(&self) -> &PrivateHalf {
        &self.half
    }
}

/// Keys by world and `kid`.
#[derive(Default)]
pub(crate) struct OpenKeys(RwLock<HashMap<(World, SigningKeyId), Arc<OpenKey>>>);

impl OpenKeys {
    /// Returns a cached key if it has the row's algorithm; otherwise the row is read again.
    pub(crate) fn get(&self, key: &SigningKey) -> Option<Arc<OpenKey>> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&(key.world, key.id))
            .filter(|opened| opened.half.algorithm() == key.algorithm)
            .map(Arc::clone)
    }

    /// Caches a key. If the cache is full, an arbitrary entry is evicted, and decrypted again when it is needed.
    pub(crate) fn keep(&self, key: &SigningKey, opened: OpenKey) -> Arc<OpenKey> {
        let opened = Arc::new(opened);
        let mut keys = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if keys.len() >= MAX_SIZE
            && let Some(some) = keys.keys().next().copied()
        {
            keys.remove(&some);
        }
        keys.insert((key.world, key.id), Arc::clone(&opened));
        opened
    }
}

#[cfg(test)]
mod tests;
