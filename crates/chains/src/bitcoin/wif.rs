//! WIF, the form in which Bitcoin's wallets hand out private keys: base58 of a version, the key, how its public key is written,
//! and a checksum.

use ::bitcoin::secp256k1::constants::SECRET_KEY_SIZE;
use sha2::{Digest, Sha256};
use vestry_domain::Environment;
use zeroize::Zeroizing;

use crate::import::{Reading, base58};

/// Ends keys whose public key is compressed. Others have no address in segregated witness (BIP-143).
const COMPRESSED: u8 = 1;

/// The key in a WIF of the environment's network; none for anything else.
pub(super) fn read(text: &str, environment: Environment) -> Option<Reading> {
    let bytes = base58(text)?;
    let (named, sum) = bytes.split_last_chunk::<4>()?;
    // The inner hash says as much of the key as the key; the library wipes what it hashed.
    let inner = Zeroizing::new(<[u8; 32]>::from(Sha256::digest(named)));
    let outer = <[u8; 32]>::from(Sha256::digest(inner.as_slice()));
    if !outer.starts_with(sum) {
        return None;
    }
    match named {
        [version, key @ .., COMPRESSED]
            if *version == network(environment) && key.len() == SECRET_KEY_SIZE =>
        {
            Some(Zeroizing::new(key.to_vec()))
        }
        _ => None,
    }
}

/// The version that Bitcoin Core gives the keys of its main network, and of all others.
const fn network(environment: Environment) -> u8 {
    match environment {
        Environment::Test => 0xef,
        Environment::Live => 0x80,
    }
}
