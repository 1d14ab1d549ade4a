//! A cache of recent signatures.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use aws_lc_rs::digest::{SHA256, digest};

/// Number of signatures per generation. Two generations are cached, at some 150 bytes per signature.
const GENERATION: usize = 8192;

/// Signatures by the hash of the signed message. It includes the header, which names the key.
///
/// A signature is useless without its message, so no token stays in memory.
#[derive(Default)]
pub(crate) struct Signatures(Mutex<Generations>);

type Made = HashMap<[u8; 32], Box<[u8]>>;

#[derive(Default)]
struct Generations {
    young: Made,
    /// The previous generation, dropped when `young` takes its place.
    old: Made,
}

impl Signatures {
    fn generations(&self) -> MutexGuard<'_, Generations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the signature of this message, cached or new; `None` if it cannot be created.
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
