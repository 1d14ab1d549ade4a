//! Unsealed private halves, so that not every token asks the sealer and parses a key.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use vestry_domain::World;
use vestry_domain::ids::SigningKeyId;
use vestry_domain::signing_key::SigningKey;

use crate::private_half::PrivateHalf;

/// How many keys are kept: more worlds than one process serves at a time, at about 2 KiB each.
const MOST: usize = 4096;

/// A private half and the header of its tokens.
pub(crate) struct OpenKey {
    header: String,
    half: PrivateHalf,
}

impl OpenKey {
    pub(crate) const fn new(header: String, half: PrivateHalf) -> Self {
        Self { header, half }
    }

    /// The encoded first part of a token.
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
    /// A kept key, if it is of the row's algorithm; otherwise the row is looked at from the beginning.
    pub(crate) fn get(&self, key: &SigningKey) -> Option<Arc<OpenKey>> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&(key.world, key.id))
            .filter(|opened| opened.half.algorithm() == key.algorithm)
            .map(Arc::clone)
    }

    /// Keeps a key. When there is no more room some other one goes: which one does not matter, it is opened again when
    /// it is needed.
    pub(crate) fn keep(&self, key: &SigningKey, opened: OpenKey) -> Arc<OpenKey> {
        let opened = Arc::new(opened);
        let mut keys = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if keys.len() >= MOST
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
