//! Signing with nothing around it.

use std::time::{Duration, Instant};

use vestry_chains::Chains;
use vestry_domain::Secret;
use vestry_domain::wallet::WalletType;

use crate::{Failure, on_all_cores};

/// Prints signatures a second over both threads: digest and signature, without the verification that custody adds.
pub(crate) fn run(length: Duration) -> Result<(), Failure> {
    on_all_cores(sign_for, length)
}

fn sign_for(length: Duration) -> Result<f64, Failure> {
    let chains = Chains::new(&Secret::new([7; 32]));
    let chain = chains
        .get(WalletType::Ethereum)
        .ok_or("there is no Ethereum")?;
    let key = chain.private_key(&[42; 32])?;
    let start = Instant::now();
    let mut signed = 0_u32;
    while start.elapsed() < length {
        std::hint::black_box(chain.sign_message(&key, &signed.to_be_bytes())?);
        signed += 1;
    }
    Ok(f64::from(signed) / start.elapsed().as_secs_f64())
}
