//! Signing with nothing around it.

use std::time::{Duration, Instant};

use alloy_primitives::eip191_hash_message;
use bitcoin::secp256k1::{Message, Secp256k1, SecretKey};

use crate::{Failure, on_all_cores};

/// Prints signatures a second over both threads: digest and signature, with the libraries that the service uses and without the
/// verification that precedes its answers.
pub(crate) fn run(length: Duration) -> Result<(), Failure> {
    on_all_cores(sign_for, length)
}

fn sign_for(length: Duration) -> Result<f64, Failure> {
    let curve = Secp256k1::new();
    let key = SecretKey::from_slice(&[42; 32])?;
    let start = Instant::now();
    let mut signed = 0_u32;
    while start.elapsed() < length {
        let digest = eip191_hash_message(signed.to_be_bytes());
        let signature = curve.sign_ecdsa_recoverable(&Message::from_digest(digest.0), &key);
        std::hint::black_box(signature.serialize_compact());
        signed += 1;
    }
    Ok(f64::from(signed) / start.elapsed().as_secs_f64())
}
