//! HMAC-SHA512, and PBKDF2 on top of it.

use hmac::digest::FixedOutput;
use hmac::{Hmac, KeyInit, Mac};
use pbkdf2::pbkdf2_hmac;
use sha2::Sha512;
use zeroize::Zeroizing;

use super::extended_key::ExtendedKey;
use crate::ChainError;

/// The iteration count of BIP-39, "From mnemonic to seed". It is low by today's standards; the entropy is what makes a phrase safe.
const ROUNDS: u32 = 2048;
/// The salt prefix of BIP-39. Our phrases have no passphrase, so it is the whole salt.
pub(super) const SALT: &[u8] = b"mnemonic";
/// The length of the seed in bytes, one block of the hash.
const SEED_LENGTH: usize = 64;

/// PBKDF2-HMAC-SHA512 with the parameters of BIP-39, 64 bytes.
pub(super) fn stretched(password: &[u8], salt: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut seed = Zeroizing::new(vec![0; SEED_LENGTH]);
    pbkdf2(password, salt, ROUNDS, &mut seed);
    seed
}

/// PBKDF2-HMAC-SHA512 (RFC 8018, section 5.2), filling `derived`.
pub(super) fn pbkdf2(password: &[u8], salt: &[u8], rounds: u32, derived: &mut [u8]) {
    pbkdf2_hmac::<Sha512>(password, salt, rounds, derived);
}

/// HMAC-SHA512 of the concatenated parts, as a key and its chain code.
///
/// # Errors
/// None in practice: HMAC accepts keys of any length, and its output has the length of a key and its chain code.
pub(super) fn hmac_sha512(key: &[u8], parts: &[&[u8]]) -> Result<ExtendedKey, ChainError> {
    let mut mac = Hmac::<Sha512>::new_from_slice(key).map_err(|_never| ChainError::PrivateKey)?;
    for part in parts {
        mac.update(part);
    }
    let mut key = ExtendedKey::zeros();
    let place = key
        .bytes_mut()
        .try_into()
        .map_err(|_never| ChainError::PrivateKey)?;
    mac.finalize_into(place);
    Ok(key)
}
