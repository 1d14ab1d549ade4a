//! A small seeded generator for test data; good statistics, no secrecy.

use std::hash::{BuildHasher, RandomState};

/// xorshift64* (Marsaglia 2003, Vigna 2016): 64 bits of state, never zero.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// A generator that gives the same values for the same seed.
    pub const fn from_seed(seed: u64) -> Self {
        // Neighbouring seeds must not give similar beginnings: one round of splitmix64 first.
        let mut state = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^= state >> 31;
        Self(if state == 0 { 1 } else { state })
    }

    /// The next 64 bits.
    pub const fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below the given one, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next() % end).unwrap_or_default()
    }

    /// Fills the buffer.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            for (to, from) in chunk.iter_mut().zip(self.next().to_le_bytes()) {
                *to = from;
            }
        }
    }
}

/// A seed: that of `VESTRY_TEST_SEED` when it is set, else a new one. It is printed, and the test harness shows what a
/// failed test printed.
///
/// # Panics
/// When the variable is not a number: a run that was meant to repeat another one must not silently be a new one.
pub fn seed() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "repeats a failed test; not a setting of the service"
    )]
    let wanted = std::env::var("VESTRY_TEST_SEED").ok();
    let seed = match wanted {
        Some(text) => match text.parse() {
            Ok(seed) => seed,
            Err(error) => panic!("VESTRY_TEST_SEED is not a number: {error}"),
        },
        None => RandomState::new().hash_one(()),
    };
    println!("seed: VESTRY_TEST_SEED={seed}");
    seed
}

/// How many rounds a test makes: what `VESTRY_TEST_ROUNDS` says when it is set, for a long run of that test by itself, else its own
/// number.
///
/// # Panics
/// When the variable is not a number.
pub fn rounds(own: usize) -> usize {
    #[expect(
        clippy::disallowed_methods,
        reason = "says how long to test; not a setting of the service"
    )]
    let wanted = std::env::var("VESTRY_TEST_ROUNDS").ok();
    wanted.map_or(own, |text| match text.parse() {
        Ok(number) => number,
        Err(error) => panic!("VESTRY_TEST_ROUNDS is not a number: {error}"),
    })
}
