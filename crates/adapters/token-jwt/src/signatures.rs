//! Signatures that were made lately.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aws_lc_rs::digest::{SHA256, digest};

/// Signatures of one generation. Two of them are remembered, some 150 bytes of each.
const GENERATION: usize = 8192;

/// Signatures by the hash of what they sign. The header is part of that, and names the key.
///
/// Without its message a signature opens nothing, so no token is left in memory.
#[derive(Default)]
pub(crate) struct Signatures(Mutex<Generations>);

type Made = HashMap<[u8; 32], Box<[u8]>>;

#[derive(Default)]
struct Generations {
    young: Made,
    /// Those before; dropped when the young ones take their place.
    old: Made,
}

impl Signatures {
    fn generations(&self) -> MutexGuard<'_, Generations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The signature of this message, from memory or made now; `None` when it cannot be made.
    pub(crate) fn of(
        &self,
        message: &[u8],
        sign: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Option<Box<[u8]>> {
        let hash: [u8; 32] = digest(&SHA256, message).as_ref().try_into().ok()?;
        {
            let generations = self.generations();
            let made = generations.young.get(&hash);
            if let Some(made) = made.or_else(|| generations.old.get(&hash)) {
                return Some(made.clone());
            }
        }
        let made = sign()?.into_boxed_slice();
        let mut generations = self.generations();
        if generations.young.len() >= GENERATION {
            generations.old = std::mem::take(&mut generations.young);
        }
        generations.young.insert(hash, made.clone());
        Some(made)
    }
}
