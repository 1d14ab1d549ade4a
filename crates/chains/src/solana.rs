//! Solana: ed25519 keys, base58 addresses, raw messages, off-chain messages, transactions.

mod address;
mod encoding;
mod id_json;
mod message;
mod offchain;
mod transaction;
mod wire;

use vestry_domain::Environment;
use vestry_domain::signing::{Fields, SigningRefused, SigningRequest};
use vestry_domain::wallet::WalletType;
use zeroize::Zeroizing;

pub(crate) use address::public_key as public_key_of;

use crate::derivation::account;
use crate::import::Reading;
use crate::object::Object;
use crate::{Chain, ChainError, Prepared, PrivateKey, Signer, derivation, ed25519};

/// The methods of `rpc`. The Wallet Standard's names without their prefix are aliases.
const METHODS: &[&str] = &[
    "sol_signMessage",
    "signMessage",
    "sol_signOffchainMessage",
    "sol_signTransaction",
    "signTransaction",
];

/// The Solana chain.
///
/// - Private key: the ed25519 seed, 32 bytes; or the pair as Solana's tools keep it, seed and public key, 64 bytes.
/// - Public key: 32 bytes.
/// - Address: the public key in base58; the same on every network.
/// - Message signature: over the bytes of the message, nothing before them; so bytes that are a transaction of the wallet are
///   refused.
#[derive(Debug, Clone, Copy)]
pub struct Solana;

impl Chain for Solana {
    fn wallet_type(&self) -> WalletType {
        WalletType::Solana
    }

    fn private_key(&self, bytes: &[u8]) -> Result<PrivateKey, ChainError> {
        let Some((seed, public_key)) = bytes.split_first_chunk::<{ PrivateKey::LENGTH }>() else {
            return Err(ChainError::PrivateKey);
        };
        let key = ed25519::private_key(seed)?;
        if public_key.is_empty() || public_key == ed25519::public_key(&key)? {
            Ok(key)
        } else {
            Err(ChainError::PrivateKey)
        }
    }

    fn public_key(&self, key: &PrivateKey) -> Result<Vec<u8>, ChainError> {
        ed25519::public_key(key).map(Vec::from)
    }

    fn address(&self, public_key: &[u8], _everywhere: Environment) -> Result<String, ChainError> {
        let key = ed25519::parse_public_key(public_key)?;
        Ok(bs58::encode(key).into_string())
    }

    fn canonical_address(
        &self,
        text: &str,
        _everywhere: Environment,
    ) -> Result<String, ChainError> {
        // 32 bytes have only one base58 text, so whatever parses is canonical.
        address::public_key(text)
            .map(|_key| text.to_owned())
            .ok_or(ChainError::Address)
    }

    fn own_form(&self, text: &str, _everywhere: Environment) -> Option<Reading> {
        id_json::read(text)
    }

    fn import_phrase(
        &self,
        phrase: &[u8],
        account_index: u32,
        address: &str,
        environment: Environment,
    ) -> Result<PrivateKey, ChainError> {
        derivation::from_phrase(self, phrase, address, environment, |phrase| {
            // The account path of Phantom and most others (BIP-44 without its last levels, SLIP-44).
            let path = [44, 501, account(account_index)?, 0];
            derivation::ed25519_leaf(&phrase.seed(), &path)
        })
    }

    fn export_key(&self, key: &PrivateKey) -> Result<Zeroizing<Vec<u8>>, ChainError> {
        let public_key = ed25519::public_key(key)?;
        Ok(Zeroizing::new([key.expose(), &public_key].concat()))
    }

    fn prepare<'a>(
        &'a self,
        request: &SigningRequest,
        signer: Signer<'_>,
    ) -> Result<Box<dyn Prepared + 'a>, SigningRefused> {
        match request {
            SigningRequest::Message(request) => Ok(Box::new(message::of_request(request, signer)?)),
            SigningRequest::Transaction(value) => {
                let fields = Object::in_field(value, "sol_transaction")?;
                Ok(Box::new(transaction::SignsTransaction::read(
                    &fields, signer,
                )?))
            }
            SigningRequest::Method { name, params } => method(name, params, signer),
        }
    }
}

fn method(
    name: &str,
    params: &Fields,
    signer: Signer<'_>,
) -> Result<Box<dyn Prepared>, SigningRefused> {
    let params = Object::params(params);
    match name {
        "sol_signMessage" | "signMessage" => Ok(Box::new(message::of_params(&params, signer)?)),
        "sol_signOffchainMessage" => Ok(Box::new(offchain::of_params(&params, signer)?)),
        "sol_signTransaction" | "signTransaction" => Ok(Box::new(
            transaction::SignsTransaction::read(&params, signer)?,
        )),
        _ => Err(SigningRefused::UnsupportedMethod { supported: METHODS }),
    }
}

#[cfg(test)]
mod tests;
