//! Signing a transaction, and putting it together with its signature.

use alloy_primitives::hex;
use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest};
use parity_scale_codec::{Compact, Encode};
use serde_json::Value;
use vestry_domain::random::ByteSource;
use vestry_domain::signing::{Fields, PayloadHash, Signed};

use super::sr25519;
use crate::{ChainError, Prepared, PrivateKey, Signer};

/// Longer payloads are hashed before they are signed (`sp_runtime::generic::SignedPayload`).
const MAX_SIGNED_AS_IS: usize = 256;
/// Version 4, with the bit that says "signed".
const SIGNED_VERSION_4: u8 = 0x84;
/// `MultiAddress::Id`: a public key follows.
const ADDRESS_ID: u8 = 0;
/// `MultiSignature::Sr25519`.
const SIGNATURE_SR25519: u8 = 1;

/// A transaction in the pieces that its payload and its encoding are made of.
pub(super) struct Parts {
    /// The encoded call.
    pub(super) method: Vec<u8>,
    /// What the extensions send along.
    pub(super) sent: Vec<u8>,
    /// What the extensions only sign.
    pub(super) signed_only: Vec<u8>,
}

/// Signs a payload and answers the `MultiSignature` as `0x` hex, with the transaction where it is known.
pub(super) struct SignsTransaction {
    payload: Vec<u8>,
    parts: Option<Parts>,
    /// Whether the transaction is also answered under the name that it has in polkadot.js' `SignerResult`.
    named: bool,
    public_key: Vec<u8>,
}

impl SignsTransaction {
    pub(super) fn assembled(parts: Parts, signer: Signer<'_>) -> Self {
        Self {
            payload: [&*parts.method, &*parts.sent, &*parts.signed_only].concat(),
            parts: Some(parts),
            named: false,
            public_key: signer.public_key.to_vec(),
        }
    }

    pub(super) fn raw(payload: Vec<u8>, signer: Signer<'_>) -> Self {
        Self {
            payload,
            parts: None,
            named: false,
            public_key: signer.public_key.to_vec(),
        }
    }

    /// The same, for callers who asked for the transaction in a `SignerResult`.
    pub(super) fn named(self, named: bool) -> Self {
        Self { named, ..self }
    }
}

impl Prepared for SignsTransaction {
    fn sign(&self, key: &PrivateKey, source: &mut dyn ByteSource) -> Result<Signed, ChainError> {
        let signature = match self.payload.len() {
            ..=MAX_SIGNED_AS_IS => sr25519::sign(key, &self.public_key, &self.payload, source)?,
            _ => {
                let hash = Blake2b::<U32>::digest(&self.payload);
                sr25519::sign(key, &self.public_key, &hash, source)?
            }
        };
        let mut multi = vec![SIGNATURE_SR25519];
        multi.extend_from_slice(&signature);
        let transaction = match &self.parts {
            Some(parts) => {
                Value::String(hex::encode_prefixed(parts.with(&self.public_key, &multi)?))
            }
            None => Value::Null,
        };
        let mut fields = Fields::new();
        let signature = Value::String(hex::encode_prefixed(&multi));
        fields.insert("signature".to_owned(), signature);
        if self.named {
            fields.insert("signedTransaction".to_owned(), transaction.clone());
        }
        fields.insert("signed_transaction".to_owned(), transaction);
        Ok(Signed {
            fields,
            payload: PayloadHash::of(&self.payload),
        })
    }
}

impl Parts {
    /// The transaction as it is submitted: its length, the version, who signed, the signature, what is sent along, the call.
    ///
    /// # Errors
    /// [`ChainError::Signature`] for one that is too long for its length to be written, which no limit lets through.
    fn with(&self, public_key: &[u8], multi_signature: &[u8]) -> Result<Vec<u8>, ChainError> {
        let body = [
            &[SIGNED_VERSION_4, ADDRESS_ID],
            public_key,
            multi_signature,
            &self.sent,
            &self.method,
        ]
        .concat();
        let length = u32::try_from(body.len()).map_err(|_too_long| ChainError::Signature)?;
        let mut transaction = Compact(length).encode();
        transaction.extend_from_slice(&body);
        Ok(transaction)
    }
}
