//! Solana: an address is an ed25519 public key in base58.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, VerifyingKey};

use crate::ChainError;

pub(super) fn address(text: &str) -> Result<String, ChainError> {
    // Of 32 bytes there is one text only, so what can be read is canonical.
    key(text)
        .map(|_key| text.to_owned())
        .ok_or(ChainError::Address)
}

pub(super) fn verify(address: &str, message: &[u8], signature: &str) -> Result<(), ChainError> {
    let key = key(address).ok_or(ChainError::Signature)?;
    let signature = signature_bytes(signature).ok_or(ChainError::Signature)?;
    key.verify_strict(message, &Signature::from_bytes(&signature))
        .map_err(|_differs| ChainError::Signature)
}

/// A key of small order signs everything, or nothing; nobody holds one.
fn key(address: &str) -> Option<VerifyingKey> {
    let mut bytes = [0; 32];
    let length = bs58::decode(address).onto(&mut bytes).ok()?;
    if length != bytes.len() {
        return None;
    }
    let key = VerifyingKey::from_bytes(&bytes).ok()?;
    (!key.is_weak()).then_some(key)
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
