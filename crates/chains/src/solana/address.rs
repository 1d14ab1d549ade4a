//! Parsing of addresses from requests.

use crate::ed25519;

/// The public key in an address: base58 of 32 bytes that can be a real key.
pub(crate) fn public_key(address: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let length = bs58::decode(address).onto(&mut bytes).ok()?;
    if length != bytes.len() {
        return None;
    }
    ed25519::parse_public_key(&bytes).ok()
}
