//! Polkadot: sr25519 keys, SS58 addresses, wrapped messages, extrinsics of version 4.

mod address;
mod extensions;
mod hex_fields;
mod message;
mod payload;
mod raw;
mod rpc;
mod sr25519;
mod transaction;

use serde_json::Value;
use vestry_domain::signing::{SigningRefused, SigningRequest};
use vestry_domain::wallet::WalletType;
use vestry_domain::{Environment, Invalid};
use zeroize::Zeroizing;

use crate::chain::first_with_address;
use crate::object::Object;
use crate::{Chain, ChainError, Prepared, PrivateKey, Signer, derivation, import, refuse};
use message::SignsMessage;
use transaction::SignsTransaction;

/// The Polkadot chain, and with it every chain of its family: one key has the same bytes on all of them.
///
/// - Private key: 32 bytes, any (sr25519's mini secret key, expanded as Ed25519 does it); or the 64 that these are expanded to,
///   as schnorrkel has them: a number below the order of the group, little-endian, and the seed of nonces. What polkadot.js
///   takes and gives instead, the number times 8, is read at import and written at export.
/// - Public key: 32 bytes, a compressed Ristretto point.
/// - Address: SS58 with prefix 0, the same in test and live.
/// - Signature: 64 bytes `R‖s` with sr25519's mark in the last one, context `substrate`. Drawn anew each time: two of one
///   message differ.
/// - Message: `<Bytes>‖message‖</Bytes>`; the signature is answered bare, as 64 bytes.
/// - Transaction: the payload of polkadot.js as JSON or as bytes; the signature is answered as a `MultiSignature`, 65 bytes.
pub struct Polkadot;

impl Chain for Polkadot {
    fn wallet_type(&self) -> WalletType {
        WalletType::Polkadot
    }

    fn private_key(&self, bytes: &[u8]) -> Result<PrivateKey, ChainError> {
        sr25519::private_key(bytes)
    }

    fn public_key(&self, key: &PrivateKey) -> Result<Vec<u8>, ChainError> {
        Ok(sr25519::Pair::new(key)?.public_key().to_vec())
    }

    fn address(&self, public_key: &[u8], _everywhere: Environment) -> Result<String, ChainError> {
        sr25519::public_key(public_key).map(|key| address::encode(&key))
    }

    fn canonical_address(
        &self,
        text: &str,
        environment: Environment,
    ) -> Result<String, ChainError> {
        address::decode(text)
            .filter(|key| *key != sr25519::OF_NOBODY)
            .and_then(|key| self.address(&key, environment).ok())
            .ok_or(ChainError::Address)
    }

    fn import_key(
        &self,
        plaintext: &[u8],
        address: &str,
        environment: Environment,
    ) -> Result<PrivateKey, ChainError> {
        let readings = import::readings(plaintext, |_no_form_of_its_own| None);
        // 64 bytes look the same in both formats.
        let keys = readings.iter().flat_map(|bytes| {
            let of_polkadot_js = sr25519::from_polkadot_js(bytes).ok();
            self.private_key(bytes)
                .ok()
                .into_iter()
                .chain(of_polkadot_js)
        });
        first_with_address(self, keys, address, environment)
    }

    fn import_phrase(
        &self,
        phrase: &[u8],
        account_index: u32,
        address: &str,
        environment: Environment,
    ) -> Result<PrivateKey, ChainError> {
        derivation::from_phrase(self, phrase, address, environment, |phrase| {
            sr25519::of_account(&phrase.substrate_seed(), account_index)
        })
    }

    fn export_key(&self, key: &PrivateKey) -> Result<Zeroizing<Vec<u8>>, ChainError> {
        sr25519::exported(key)
    }

    fn prepare<'a>(
        &'a self,
        request: &SigningRequest,
        signer: Signer<'_>,
    ) -> Result<Box<dyn Prepared + 'a>, SigningRefused> {
        match request {
            SigningRequest::Message(request) => {
                refuse::formats(request)?;
                let bytes = crate::message::bytes(request, "message")?;
                Ok(Box::new(SignsMessage::new(&bytes, signer)))
            }
            SigningRequest::Transaction(value) => {
                let field = WalletType::Polkadot.transaction_field();
                Ok(Box::new(transaction(value, field, signer)?))
            }
            SigningRequest::Method { name, params } => rpc::prepare(name, params, signer),
        }
    }
}

/// Reads either form of polkadot.js. The raw form has `data` and `type`, which the other form does not have.
fn transaction(
    value: &Value,
    path: &str,
    signer: Signer<'_>,
) -> Result<SignsTransaction, SigningRefused> {
    let object = Object::in_field(value, path)?;
    let is_there = |name: &&str| object.present(name).is_some();
    let Some(of_raw) = ["data", "type"].into_iter().find(is_there) else {
        return Ok(payload::read(&object, signer)?);
    };
    // There may be two different calls, one of which would be signed and the other displayed.
    if is_there(&"method") {
        let fault =
            "cannot be combined with method: send either the fields of a payload or its bytes";
        return Err(object.refusal(of_raw, fault).into());
    }
    Ok(raw::read(&object, signer)?)
}

/// Checks that the `address` of a request is the wallet's, on any chain of the family.
fn names_the_wallet(object: &Object<'_>, signer: Signer<'_>) -> Result<(), Invalid> {
    match address::decode(object.text("address")?) {
        Some(key) if key == signer.public_key => Ok(()),
        Some(_) => Err(object.refusal("address", "is not the address of this wallet")),
        None => Err(object.refusal("address", "is not an SS58 address of a 32-byte key")),
    }
}

#[cfg(test)]
mod tests;
