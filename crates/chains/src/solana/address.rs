//! Addresses from outside.

use crate::ed25519;

/// The public key that an address is: base58 of 32 bytes that can be somebody's key.
pub(crate) fn public_key(address: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let length = bs58::decode(address).onto(&mut bytes).ok()?;
    if length != bytes.len() {
        return None;
    }
    ed25519::parse_public_key(&bytes).ok()
}
