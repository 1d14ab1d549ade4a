//! A small seeded generator for test data: good statistics, not cryptographic.

use std::hash::{BuildHasher, RandomState};

/// xorshift64* (Marsaglia 2003, Vigna 2016): 64 bits of state, never zero.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// A generator that produces the same values for the same seed.
    pub const fn from_seed(seed: u64) -> Self {
        // Neighbouring seeds must not produce similar sequences, hence one round of splitmix64 first.
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

    /// A number below the given one, which must not be 0.
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

/// The value of `VESTRY_TEST_SEED`, or else a new seed. It is printed, and the test harness shows the output of failed tests.
///
/// # Panics
/// If the variable is not a number: a run meant to repeat another must not silently use a new seed.
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

/// The number of rounds of a test: `VESTRY_TEST_ROUNDS`, for a long run of one test, or else the test's own number.
///
/// # Panics
/// If the variable is not a number.
pub fn rounds(own: usize) -> usize {
    #[expect(
        clippy::disallowed_methods,
        reason = "controls the length of the test run; not a service setting"
    )]
    let wanted = std::env::var("VESTRY_TEST_ROUNDS").ok();
    wanted.map_or(own, |text| match text.parse() {
        Ok(number) => number,
        Err(error) => panic!("VESTRY_TEST_ROUNDS is not a number: {error}"),
    })
}
