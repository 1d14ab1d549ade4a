//! A bare password hashing loop.

use std::time::{Duration, Instant};

use argon2::{Algorithm, Argon2, Block, Params, Version};

use crate::{Failure, on_all_cores};

/// Prints hashes per second over both threads: Argon2id with 19 MiB, two passes and one lane (P-4).
pub(crate) fn run(length: Duration) -> Result<(), Failure> {
    on_all_cores(hash_for, length)
}

fn hash_for(length: Duration) -> Result<f64, Failure> {
    let parameters = Params::new(19_456, 2, 1, None).map_err(|error| error.to_string())?;
    // Allocated once, like each hashing thread of the service.
    let mut memory = vec![Block::new(); parameters.block_count()];
    let hasher = Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters);
    let start = Instant::now();
    let mut hashed = 0_u32;
    while start.elapsed() < length {
        let mut tag = [0; 32];
        hasher
            .hash_password_into_with_memory(
                b"plum orbit candle wagon",
                &[7; 16],
                &mut tag,
                &mut memory,
            )
            .map_err(|error| error.to_string())?;
        std::hint::black_box(tag);
        hashed += 1;
    }
    Ok(f64::from(hashed) / start.elapsed().as_secs_f64())
}
