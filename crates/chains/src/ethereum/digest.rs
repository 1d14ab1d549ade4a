//! Payloads that are signed by their hash.

use alloy_primitives::{hex, keccak256};
use serde_json::Value;
use vestry_domain::random::ByteSource;
use vestry_domain::signing::{Fields, PayloadHash, Signed};

use super::Ethereum;
use crate::{ChainError, Prepared, PrivateKey, Signer};

/// Signs the Keccak-256 hash of a payload and returns `r‖s‖v` as `0x` hex.
pub(super) struct SignsDigest<'a> {
    chain: &'a Ethereum,
    digest: [u8; 32],
    pub(super) payload: PayloadHash,
    public_key: Vec<u8>,
    beside: Fields,
}

impl<'a> SignsDigest<'a> {
    pub(super) fn new(chain: &'a Ethereum, payload: &[u8], signer: Signer<'_>) -> Self {
        Self {
            chain,
            digest: keccak256(payload).0,
            payload: PayloadHash::of(payload),
            public_key: signer.public_key.to_vec(),
            beside: Fields::new(),
        }
    }

    /// Adds a field to the response.
    pub(super) fn beside(mut self, name: &str, text: impl Into<String>) -> Self {
        let value = Value::String(text.into());
        self.beside.insert(name.to_owned(), value);
        self
    }

    /// `r‖s‖v`, of which `r` and `s` are verified.
    pub(super) fn signature(&self, key: &PrivateKey) -> Result<Vec<u8>, ChainError> {
        let signature = self.chain.sign_digest(key, self.digest)?;
        self.chain
            .verify_digest(&self.public_key, self.digest, &signature)?;
        Ok(signature)
    }
}

impl Prepared for SignsDigest<'_> {
    fn sign(&self, key: &PrivateKey, _source: &mut dyn ByteSource) -> Result<Signed, ChainError> {
        let text = hex::encode_prefixed(self.signature(key)?);
        let mut fields = Fields::new();
        fields.insert("signature".to_owned(), Value::String(text));
        fields.extend(self.beside.clone());
        Ok(Signed {
            fields,
            payload: self.payload,
        })
    }
}
