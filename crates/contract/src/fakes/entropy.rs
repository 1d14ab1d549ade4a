//! Repeatable randomness for tests.

use std::sync::Mutex;

use vestry_ports::entropy::Entropy;

use super::lock;
use crate::rng::{self, Rng};

/// A seeded source of bytes: the same seed and order of calls give the same bytes.
#[derive(Debug)]
pub struct SeededEntropy(Mutex<Rng>);

impl SeededEntropy {
    /// A source with the given seed.
    pub const fn from_seed(seed: u64) -> Self {
        Self(Mutex::new(Rng::from_seed(seed)))
    }

    /// A source with a fresh seed, which is printed ([`rng::seed`]).
    pub fn fresh() -> Self {
        Self::from_seed(rng::seed())
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, buffer: &mut [u8]) {
        lock(&self.0).fill(buffer);
    }
}
