//! Messages that are signed without a prefix.

use serde_json::Value;
use vestry_domain::random::ByteSource;
use vestry_domain::signing::{Fields, MessageRequest, PayloadHash, Signed, SigningRefused};

use super::encoding::Encoding;
use super::wire;
use crate::object::Object;
use crate::{ChainError, Prepared, PrivateKey, Signer, ed25519, message, refuse};

/// Signs bytes, and returns the signature and its encoding after any fixed fields.
pub(super) struct SignsBytes {
    pub(super) bytes: Vec<u8>,
    pub(super) encoding: Encoding,
    pub(super) public_key: Vec<u8>,
    pub(super) known: Fields,
}

/// `sign_message`: the message in any of four encodings; the signature is in base64 if the message is, otherwise in base58.
pub(super) fn of_request(
    request: &MessageRequest,
    signer: Signer<'_>,
) -> Result<SignsBytes, SigningRefused> {
    refuse::formats(request)?;
    let encoding = request.encoding.as_deref().and_then(Encoding::named);
    let encoding = encoding.unwrap_or(Encoding::Base58);
    guarded(request, "message", encoding, signer)
}

/// `sol_signMessage`: text with a base58 signature by default or with `utf-8`; otherwise bytes in `base58` or `base64`, with the signature
/// in the same encoding.
pub(super) fn of_params(
    params: &Object<'_>,
    signer: Signer<'_>,
) -> Result<SignsBytes, SigningRefused> {
    let text = params.text("message")?;
    let named = params.optional_text("encoding")?;
    let encoding = match named {
        None | Some("utf-8") => Encoding::Base58,
        Some(name) => Encoding::named(name)
            .ok_or_else(|| params.refusal("encoding", "must be base58, base64 or utf-8"))?,
    };
    let request = MessageRequest {
        message: text.to_owned(),
        encoding: named.map(str::to_owned),
        format: None,
    };
    guarded(&request, "params.message", encoding, signer)
}

/// Rejects transactions. A signed message has no marker, so a signature over bytes that are a transaction would be a transaction signature.
fn guarded(
    request: &MessageRequest,
    param: &'static str,
    encoding: Encoding,
    signer: Signer<'_>,
) -> Result<SignsBytes, SigningRefused> {
    let bytes = message::bytes(request, param)?;
    if wire::concerns(&bytes, signer.public_key) {
        return Err(SigningRefused::MessageIsTransaction { param });
    }
    Ok(SignsBytes {
        bytes,
        encoding,
        public_key: signer.public_key.to_vec(),
        known: Fields::new(),
    })
}

impl Prepared for SignsBytes {
    fn sign(&self, key: &PrivateKey, _source: &mut dyn ByteSource) -> Result<Signed, ChainError> {
        let signature = ed25519::sign(key, &self.public_key, &self.bytes)?;
        let mut fields = self.known.clone();
        fields.insert(
            "signature".to_owned(),
            Value::String(self.encoding.write(&signature)),
        );
        fields.insert("encoding".to_owned(), Value::from(self.encoding.name()));
        Ok(Signed {
            fields,
            payload: PayloadHash::of(&self.bytes),
        })
    }
}
