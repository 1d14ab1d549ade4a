//! SLIP-10: derivation of ed25519 seeds along a path. All children are hardened, because the curve has no others.

use super::extended_key::ExtendedKey;
use super::hardened;
use super::hash::hmac_sha512;
use crate::{ChainError, PrivateKey};

/// "Master key generation".
const MASTER: &[u8] = b"ed25519 seed";

/// The seed at the end of a path, each of whose numbers is hardened.
///
/// # Errors
/// None in practice: every hash is a valid seed.
pub(crate) fn leaf(seed: &[u8], path: &[u32]) -> Result<PrivateKey, ChainError> {
    let key = extended(seed, path)?;
    Ok(PrivateKey::copied_from(key.key()))
}

pub(super) fn extended(seed: &[u8], path: &[u32]) -> Result<ExtendedKey, ChainError> {
    let mut key = hmac_sha512(MASTER, &[seed])?;
    for number in path {
        let number = hardened(*number).to_be_bytes();
        key = hmac_sha512(key.chain_code(), &[&[0], key.key(), &number])?;
    }
    Ok(key)
}
