//! Stellar: ed25519 keys, strkey addresses (SEP-23), messages (SEP-53), transaction envelopes, Soroban authorizations.

mod auth_entry;
mod message;
mod network;
mod transaction;
mod xdr;

use stellar_strkey::ed25519::{PrivateKey as SecretSeed, PublicKey};
use vestry_domain::Environment;
use vestry_domain::signing::{Fields, SigningRefused, SigningRequest};
use vestry_domain::wallet::WalletType;
use zeroize::Zeroizing;

use crate::derivation::account;
use crate::import::Reading;
use crate::object::Object;
use crate::{Chain, ChainError, Prepared, PrivateKey, Signer, derivation, ed25519};
use auth_entry::SignsAuthEntry;
use transaction::SignsEnvelope;

/// The methods of `rpc`. SEP-43's names and WalletConnect's `stellar_signXDR` are aliases.
const METHODS: &[&str] = &[
    "xlm_signMessage",
    "signMessage",
    "xlm_signTransaction",
    "signTransaction",
    "stellar_signXDR",
    "xlm_signAuthEntry",
    "signAuthEntry",
];

/// The Stellar chain.
///
/// - Private key: the ed25519 seed, 32 bytes.
/// - Public key: 32 bytes.
/// - Address: strkey of the public key, `G` and 55 characters (SEP-23); the same on every network.
/// - Message signature: over SHA-256 of `Stellar Signed Message:\n` and the message (SEP-53).
/// - Transactions are signed for the network of the environment: the public one, or SDF's test network.
#[derive(Debug, Clone, Copy)]
pub struct Stellar;

impl Chain for Stellar {
    fn wallet_type(&self) -> WalletType {
        WalletType::Stellar
    }

    fn private_key(&self, bytes: &[u8]) -> Result<PrivateKey, ChainError> {
        ed25519::private_key(bytes)
    }

    fn public_key(&self, key: &PrivateKey) -> Result<Vec<u8>, ChainError> {
        ed25519::public_key(key).map(Vec::from)
    }

    fn address(&self, public_key: &[u8], _everywhere: Environment) -> Result<String, ChainError> {
        let key = ed25519::parse_public_key(public_key)?;
        Ok(PublicKey(key).to_string().as_str().to_owned())
    }

    fn canonical_address(
        &self,
        text: &str,
        environment: Environment,
    ) -> Result<String, ChainError> {
        let PublicKey(key) =
            PublicKey::from_string(text).map_err(|_invalid| ChainError::Address)?;
        self.address(&key, environment)
            .map_err(|_of_nobody| ChainError::Address)
    }

    fn own_form(&self, text: &str, _environment: Environment) -> Option<Reading> {
        secret_seed(text)
    }

    fn import_phrase(
        &self,
        phrase: &[u8],
        account_index: u32,
        address: &str,
        environment: Environment,
    ) -> Result<PrivateKey, ChainError> {
        derivation::from_phrase(self, phrase, address, environment, |phrase| {
            // SEP-5.
            let path = [44, 148, account(account_index)?];
            derivation::ed25519_leaf(&phrase.seed(), &path)
        })
    }

    fn prepare<'a>(
        &'a self,
        request: &SigningRequest,
        signer: Signer<'_>,
    ) -> Result<Box<dyn Prepared + 'a>, SigningRefused> {
        match request {
            SigningRequest::Message(request) => Ok(Box::new(message::of_request(request, signer)?)),
            SigningRequest::Transaction(value) => {
                let fields = Object::in_field(value, "xlm_transaction")?;
                Ok(Box::new(SignsEnvelope::read(&fields, signer)?))
            }
            SigningRequest::Method { name, params } => method(name, params, signer),
        }
    }
}

/// The seed in `S…`, a strkey (SEP-23). The library wipes what it reads.
fn secret_seed(text: &str) -> Option<Reading> {
    let seed = SecretSeed::from_string(text).ok()?;
    Some(Zeroizing::new(seed.0.to_vec()))
}

fn method(
    name: &str,
    params: &Fields,
    signer: Signer<'_>,
) -> Result<Box<dyn Prepared>, SigningRefused> {
    let params = Object::params(params);
    match name {
        "xlm_signMessage" | "signMessage" => Ok(Box::new(message::of_params(&params, signer)?)),
        "xlm_signTransaction" | "signTransaction" | "stellar_signXDR" => {
            let envelope = SignsEnvelope::read(&params, signer)?;
            Ok(Box::new(envelope.under_both_names()))
        }
        "xlm_signAuthEntry" | "signAuthEntry" => {
            Ok(Box::new(SignsAuthEntry::read(&params, signer)?))
        }
        _ => Err(SigningRefused::UnsupportedMethod { supported: METHODS }),
    }
}

#[cfg(test)]
mod tests;
