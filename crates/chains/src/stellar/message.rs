//! SEP-53 messages.

use alloy_primitives::hex;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};
use vestry_domain::Invalid;
use vestry_domain::random::ByteSource;
use vestry_domain::signing::{Fields, MessageRequest, PayloadHash, Signed};

use crate::object::Object;
use crate::{ChainError, Prepared, PrivateKey, Signer, ed25519, message, refuse};

/// The prefix of a message when hashing (SEP-53, "Message Format").
const PREFIX: &[u8] = b"Stellar Signed Message:\n";

/// Signs the hash of a message. The signature is in base64, as in SEP-43 wallets, or in hex if the message was in hex.
pub(super) struct SignsMessage {
    hash: [u8; 32],
    in_hex: bool,
    public_key: Vec<u8>,
}

/// `sign_message`.
pub(super) fn of_request(
    request: &MessageRequest,
    signer: Signer<'_>,
) -> Result<SignsMessage, Invalid> {
    refuse::formats(request)?;
    read(request, "message", signer)
}

/// `xlm_signMessage`: `message`, and `encoding` as in `sign_message`.
pub(super) fn of_params(params: &Object<'_>, signer: Signer<'_>) -> Result<SignsMessage, Invalid> {
    let request = MessageRequest {
        message: params.text("message")?.to_owned(),
        encoding: params.optional_text("encoding")?.map(str::to_owned),
        format: None,
    };
    read(&request, "params.message", signer)
}

fn read(
    request: &MessageRequest,
    field: &'static str,
    signer: Signer<'_>,
) -> Result<SignsMessage, Invalid> {
    let bytes = message::bytes(request, field)?;
    let hash = Sha256::new().chain_update(PREFIX).chain_update(&bytes);
    Ok(SignsMessage {
        hash: hash.finalize().into(),
        in_hex: request.encoding.as_deref() == Some("hex"),
        public_key: signer.public_key.to_vec(),
    })
}

impl Prepared for SignsMessage {
    fn sign(&self, key: &PrivateKey, _source: &mut dyn ByteSource) -> Result<Signed, ChainError> {
        let signature = ed25519::sign(key, &self.public_key, &self.hash)?;
        let (text, encoding) = if self.in_hex {
            (hex::encode(signature), "hex")
        } else {
            (STANDARD.encode(signature), "base64")
        };
        let fields = [
            ("signature", Value::String(text)),
            ("encoding", encoding.into()),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), value));
        Ok(Signed {
            fields: Fields::from_iter(fields),
            payload: PayloadHash(self.hash),
        })
    }
}
