//! Messages: the supported standards and their responses.
//!
//! | `format` | signature |
//! |---|---|
//! | `bip322` (default) | BIP-322 "simple": `smp` and the base64 of the witness; the same without `smp` beside it |
//! | `bip322-unprefixed` | the base64 alone, for verifiers from before BIP-322 2.0.0 |
//! | `bip137` | base64 of 65 bytes, the first 39 to 42 |
//! | `electrum` | the same, the first 31 to 34 |
//!
//! The last two recover the public key and compare its hash with the address, so they are not for P2TR.

use ::bitcoin::consensus::encode;
use ::bitcoin::ecdsa;
use ::bitcoin::hashes::Hash;
use ::bitcoin::secp256k1::XOnlyPublicKey;
use ::bitcoin::sighash::{EcdsaSighashType, Prevouts, SighashCache, TapSighashType};
use ::bitcoin::{Amount, TxOut, Witness};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use vestry_domain::Invalid;
use vestry_domain::random::ByteSource;
use vestry_domain::signing::{Fields, MessageRequest, PayloadHash, Signed, SigningRefused};

use super::schnorr::Tweaked;
use super::signed_message::Header;
use super::{Bitcoin, Owner, bip322, signed_message};
use crate::message::bytes;
use crate::object::Object;
use crate::{ChainError, Prepared, PrivateKey};

/// The prefix of "simple" signatures since BIP-322 2.0.0.
const SIMPLE: &str = "smp";

enum Format {
    Bip322 { prefixed: bool },
    Bip137(Header),
}

/// A message with its digest, ready to sign.
struct SignsMessage<'a> {
    chain: &'a Bitcoin,
    owner: Owner,
    format: Format,
    digest: [u8; 32],
}

/// The message in the parameters of `btc_signMessage`.
pub(super) fn request(params: &Fields) -> Result<MessageRequest, Invalid> {
    let params = Object::params(params);
    let text = |name| Ok(params.optional_text(name)?.map(str::to_owned));
    Ok(MessageRequest {
        message: params.text("message")?.to_owned(),
        encoding: text("encoding")?,
        format: text("format")?,
    })
}

/// Reads a message. `parent` is the path of its fields, ending in a dot unless it is empty.
pub(super) fn prepare<'a>(
    chain: &'a Bitcoin,
    owner: Owner,
    request: &MessageRequest,
    parent: &'static str,
) -> Result<Box<dyn Prepared + 'a>, SigningRefused> {
    let format = format(request.format.as_deref(), &owner, parent)?;
    let field = if parent.is_empty() {
        "message"
    } else {
        "params.message"
    };
    let message = bytes(request, field)?;
    let digest = match format {
        Format::Bip322 { .. } => bip322_digest(&owner, &message).ok_or_else(|| {
            Invalid::value(field, format!("{field} cannot be signed by this wallet"))
        })?,
        Format::Bip137(_) => signed_message::digest(&message),
    };
    Ok(Box::new(SignsMessage {
        chain,
        owner,
        format,
        digest,
    }))
}

fn format(name: Option<&str>, owner: &Owner, parent: &str) -> Result<Format, Invalid> {
    match name {
        None | Some("bip322") => Ok(Format::Bip322 { prefixed: true }),
        Some("bip322-unprefixed") => Ok(Format::Bip322 { prefixed: false }),
        Some(name @ ("bip137" | "electrum")) if owner.output_key.is_some() => Err(Invalid::value(
            format!("{parent}format"),
            format!(
                "format {name} is not supported for taproot addresses; use bip322 or bip322-unprefixed"
            ),
        )),
        Some("bip137") => Ok(Format::Bip137(Header::P2wpkh)),
        Some("electrum") => Ok(Format::Bip137(Header::Electrum)),
        Some(_) => Err(Invalid::value(
            format!("{parent}format"),
            "format must be bip322, bip322-unprefixed, bip137 or electrum",
        )),
    }
}

/// The digest of the only input of `to_sign`, with the hash types that BIP-322 allows: BIP-143 with SIGHASH_ALL, or BIP-341 with
/// SIGHASH_DEFAULT for taproot.
fn bip322_digest(owner: &Owner, message: &[u8]) -> Option<[u8; 32]> {
    let script_pubkey = owner.script();
    let to_sign = bip322::to_sign(&bip322::to_spend(&script_pubkey, message));
    let mut cache = SighashCache::new(&to_sign);
    if owner.output_key.is_none() {
        return cache
            .p2wpkh_signature_hash(0, &script_pubkey, Amount::ZERO, EcdsaSighashType::All)
            .map(|hash| hash.to_byte_array())
            .ok();
    }
    let spent = TxOut {
        value: Amount::ZERO,
        script_pubkey,
    };
    cache
        .taproot_key_spend_signature_hash(0, &Prevouts::All(&[spent]), TapSighashType::Default)
        .map(|hash| hash.to_byte_array())
        .ok()
}

impl Prepared for SignsMessage<'_> {
    fn sign(&self, key: &PrivateKey, source: &mut dyn ByteSource) -> Result<Signed, ChainError> {
        let mut answer = Fields::new();
        let mut put = |name: &str, text: String| {
            answer.insert(name.to_owned(), Value::String(text));
        };
        match self.format {
            Format::Bip322 { prefixed } => {
                let text = STANDARD.encode(self.witness(key, source)?);
                if prefixed {
                    put("signature", format!("{SIMPLE}{text}"));
                    put("signature_unprefixed", text);
                } else {
                    put("signature", text);
                }
            }
            Format::Bip137(header) => {
                let bytes =
                    signed_message::sign(self.chain, &self.owner, key, self.digest, header)?;
                put("signature", STANDARD.encode(bytes));
            }
        }
        put("encoding", "base64".to_owned());
        Ok(Signed {
            fields: answer,
            payload: PayloadHash::of(&self.digest),
        })
    }
}

impl SignsMessage<'_> {
    /// The serialized witness of `to_sign`.
    fn witness(
        &self,
        key: &PrivateKey,
        source: &mut dyn ByteSource,
    ) -> Result<Vec<u8>, ChainError> {
        let witness = match &self.owner.output_key {
            Some(output_key) => self.taproot_witness(key, output_key, source)?,
            None => self.p2wpkh_witness(key)?,
        };
        Ok(encode::serialize(&witness))
    }

    /// Signature and public key.
    fn p2wpkh_witness(&self, key: &PrivateKey) -> Result<Witness, ChainError> {
        let public_key = &self.owner.public_key.0;
        let signature = self.chain.sign_ecdsa(key, self.digest, public_key)?;
        let signature = ecdsa::Signature::sighash_all(signature);
        Ok(Witness::p2wpkh(&signature, public_key))
    }

    /// The 64-byte signature alone. A further byte would select a hash type other than the default.
    fn taproot_witness(
        &self,
        key: &PrivateKey,
        output_key: &XOnlyPublicKey,
        source: &mut dyn ByteSource,
    ) -> Result<Witness, ChainError> {
        let tweaked = Tweaked::ToOutput(None);
        let signature = self
            .chain
            .sign_schnorr(key, tweaked, self.digest, output_key, source)?;
        Ok(Witness::from_slice(&[signature.serialize()]))
    }
}
