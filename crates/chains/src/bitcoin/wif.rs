//! WIF, Bitcoin's export format for private keys: base58 of a version, the key, a marker for compressed public keys, and a checksum.

use ::bitcoin::secp256k1::constants::SECRET_KEY_SIZE;
use sha2::{Digest, Sha256};
use vestry_domain::Environment;
use zeroize::Zeroizing;

use crate::import::{Reading, base58};

/// The suffix of keys whose public key is compressed. Others have no segwit address (BIP-143).
const COMPRESSED: u8 = 1;

/// The key in a WIF of the environment's network; `None` for anything else.
pub(super) fn read(text: &str, environment: Environment) -> Option<Reading> {
    let bytes = base58(text)?;
    let (named, sum) = bytes.split_last_chunk::<4>()?;
    // The inner hash reveals as much as the key. The library wipes its input.
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

/// The WIF version byte in Bitcoin Core: one for mainnet, another for all other networks.
const fn network(environment: Environment) -> u8 {
    match environment {
        Environment::Test => 0xef,
        Environment::Live => 0x80,
    }
}
