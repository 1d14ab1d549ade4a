//! Signing with nothing around it.

use std::time::{Duration, Instant};

use vestry_chains::Chains;
use vestry_domain::Secret;
use vestry_domain::wallet::WalletType;

use crate::{CORES, Failure};

/// Prints signatures a second over both threads: digest and signature, without the verification that custody adds.
pub(crate) fn run(length: Duration) -> Result<(), Failure> {
    let threads: Vec<_> = (0..CORES)
        .map(|_| std::thread::spawn(move || sign_for(length)))
        .collect();
    let mut total = 0.0;
    for thread in threads {
        total += thread.join().map_err(|_panic| "a thread panicked")??;
    }
    println!("{total:.1}");
    Ok(())
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
