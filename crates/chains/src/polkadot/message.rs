//! Messages, wrapped so that none can be mistaken for a transaction.

use alloy_primitives::hex;
use serde_json::Value;
use vestry_domain::random::ByteSource;
use vestry_domain::signing::{Fields, PayloadHash, Signed};

use super::sr25519;
use crate::{ChainError, Prepared, PrivateKey, Signer};

/// The tag before a message (`u8aWrapBytes` of polkadot.js).
const OPENING: &[u8] = b"<Bytes>";
const CLOSING: &[u8] = b"</Bytes>";
/// The prefix of Ethereum messages (EIP-191 version 0x45), which polkadot.js does not wrap.
const ETHEREUM: &[u8] = b"\x19Ethereum Signed Message:\n";

/// The bytes to sign for a message.
pub(super) fn wrap(message: &[u8]) -> Vec<u8> {
    // An overlapping opening and closing tag does not count as wrapped: both must fit one after the other.
    let wrapped = message
        .strip_prefix(OPENING)
        .is_some_and(|rest| rest.ends_with(CLOSING));
    if wrapped || message.starts_with(ETHEREUM) {
        return message.to_vec();
    }
    [OPENING, message, CLOSING].concat()
}

/// Signs a message and returns the 64 bytes as `0x` hex.
pub(super) struct SignsMessage {
    bytes: Vec<u8>,
    public_key: Vec<u8>,
}

impl SignsMessage {
    pub(super) fn new(message: &[u8], signer: Signer<'_>) -> Self {
        Self {
            bytes: wrap(message),
            public_key: signer.public_key.to_vec(),
        }
    }
}

impl Prepared for SignsMessage {
    fn sign(&self, key: &PrivateKey, source: &mut dyn ByteSource) -> Result<Signed, ChainError> {
        let signature = sr25519::sign(key, &self.public_key, &self.bytes, source)?;
        let mut fields = Fields::new();
        let signature = Value::String(hex::encode_prefixed(signature));
        fields.insert("signature".to_owned(), signature);
        fields.insert("encoding".to_owned(), Value::String("hex".to_owned()));
        Ok(Signed {
            fields,
            payload: PayloadHash::of(&self.bytes),
        })
    }
}
