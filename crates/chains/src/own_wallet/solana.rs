//! Solana: an address is an ed25519 public key in base58.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::solana::public_key_of;
use crate::{ChainError, ed25519};

pub(super) fn verify(address: &str, message: &[u8], signature: &str) -> Result<(), ChainError> {
    let key = public_key_of(address).ok_or(ChainError::Signature)?;
    let signature = signature_bytes(signature).ok_or(ChainError::Signature)?;
    ed25519::verify(&key, message, &signature)
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
