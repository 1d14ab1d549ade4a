//! Solana: an address is an ed25519 public key in base58.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::{ChainError, ed25519};

pub(super) fn address(text: &str) -> Result<String, ChainError> {
    // Of 32 bytes there is one text only, so what can be read is canonical.
    key(text)
        .map(|_key| text.to_owned())
        .ok_or(ChainError::Address)
}

pub(super) fn verify(address: &str, message: &[u8], signature: &str) -> Result<(), ChainError> {
    let key = key(address).ok_or(ChainError::Signature)?;
    let signature = signature_bytes(signature).ok_or(ChainError::Signature)?;
    ed25519::verify(&key, message, &signature)
}

fn key(address: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let length = bs58::decode(address).onto(&mut bytes).ok()?;
    if length != bytes.len() {
        return None;
    }
    ed25519::parse_public_key(&bytes).ok()
}

/// 64 bytes are 86 to 88 characters of base58, and 88 of base64, which end in `==`.
fn signature_bytes(text: &str) -> Option<[u8; 64]> {
    if text.ends_with("==") {
        return STANDARD.decode(text).ok()?.try_into().ok();
    }
    let mut bytes = [0; 64];
    let length = bs58::decode(text).onto(&mut bytes).ok()?;
    (length == bytes.len()).then_some(bytes)
}
