//! A digest that is signed.

use alloy_primitives::{B256, hex};
use serde_json::Value;
use vestry_domain::random::ByteSource;
use vestry_domain::signing::{Fields, Signed};

use super::Ethereum;
use crate::{ChainError, Prepared, PrivateKey, Signer};

/// Signs a digest and answers `r‖s‖v` as `0x` hex.
pub(super) struct SignsDigest<'a> {
    chain: &'a Ethereum,
    digest: [u8; 32],
    public_key: Vec<u8>,
    beside: Fields,
}

impl<'a> SignsDigest<'a> {
    pub(super) fn new(chain: &'a Ethereum, digest: B256, signer: Signer<'_>) -> Self {
        Self {
            chain,
            digest: digest.0,
            public_key: signer.public_key.to_vec(),
            beside: Fields::new(),
        }
    }

    /// Another field of the answer.
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
        Ok(Signed(fields))
    }
}
