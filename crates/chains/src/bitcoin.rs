//! Bitcoin: secp256k1 keys, P2WPKH (BIP-84) and P2TR (BIP-86) addresses, BIP-322 and BIP-137 messages, and PSBTs of version 0 and 2.

mod address;
mod bip322;
mod message;
mod owner;
mod psbt;
mod schnorr;
mod signed_message;
mod wif;

use ::bitcoin::secp256k1::ecdsa::Signature;
use ::bitcoin::secp256k1::{All, Message, PublicKey, Secp256k1, XOnlyPublicKey};
use vestry_domain::signing::{SigningRefused, SigningRequest};
use vestry_domain::wallet::{AddressForm, WalletType};
use vestry_domain::{Environment, Secret};

use crate::derivation::{account, hardened};
use crate::import::Reading;
use crate::object::Object;
use crate::scalar::Scalar;
use crate::{Chain, ChainError, Prepared, PrivateKey, Signer, derivation, secp256k1};
use owner::Owner;

/// The methods of `rpc`. The last two are aliases from wallet standards for the first two.
const METHODS: &[&str] = &["btc_signMessage", "btc_signPsbt", "signMessage", "signPsbt"];

/// The Bitcoin chain.
///
/// - Private key: a number from 1 to n − 1, 32 bytes big-endian.
/// - Public key: 33 bytes, compressed (SEC 1 section 2.3.3); segregated witness takes no other form (BIP-143).
/// - Address: P2WPKH in lower-case bech32 (BIP-141, BIP-173): `bc1q…` for live, `tb1q…` for test. On request P2TR of the key
///   alone in bech32m (BIP-86, BIP-350): `bc1p…` and `tb1p…`.
/// - Message signature: BIP-322 "simple" by default, BIP-137 on request where the address is P2WPKH.
/// - Transactions: PSBTs of version 0 (BIP-174) and 2 (BIP-370), of at most 1 MiB.
///
/// ECDSA nonces are those of RFC 6979 and `s` is in the lower half of the range; BIP-340 signatures take 32 fresh
/// bytes of the source as auxiliary randomness.
pub struct Bitcoin {
    curve: Secp256k1<All>,
}

impl Bitcoin {
    /// Sets up the curve. `blinding` masks secret-dependent multiplications against side channels.
    pub fn new(blinding: &Secret<[u8; 32]>) -> Self {
        Self {
            curve: secp256k1::curve(blinding),
        }
    }

    /// An ECDSA signature over a digest, verified against the public key.
    fn sign_ecdsa(
        &self,
        key: &PrivateKey,
        digest: [u8; 32],
        public_key: &PublicKey,
    ) -> Result<Signature, ChainError> {
        let scalar = Scalar::new(key.seed()?)?;
        let digest = Message::from_digest(digest);
        let signature = self.curve.sign_ecdsa(&digest, scalar.expose());
        self.verify_ecdsa(&digest, &signature, public_key)?;
        Ok(signature)
    }

    /// The library accepts only low `s`, so this checks the form along with the signature.
    fn verify_ecdsa(
        &self,
        digest: &Message,
        signature: &Signature,
        public_key: &PublicKey,
    ) -> Result<(), ChainError> {
        self.curve
            .verify_ecdsa(digest, signature, public_key)
            .map_err(|_wrong| ChainError::Signature)
    }
}

/// `m/84'/coin'/0'/0/i` for P2WPKH (BIP-84) or `m/86'/coin'/0'/0/i` for P2TR (BIP-86), depending on the address.
fn path(
    account_index: u32,
    address: &str,
    environment: Environment,
) -> Result<[u32; 5], ChainError> {
    let purpose = if address::is_taproot(address) { 86 } else { 84 };
    let coin = match environment {
        Environment::Test => 1,
        Environment::Live => 0,
    };
    let account = account(account_index)?;
    Ok([hardened(purpose), hardened(coin), hardened(0), 0, account])
}

impl Chain for Bitcoin {
    fn wallet_type(&self) -> WalletType {
        WalletType::Bitcoin
    }

    fn private_key(&self, bytes: &[u8]) -> Result<PrivateKey, ChainError> {
        secp256k1::private_key(bytes)
    }

    fn public_key(&self, key: &PrivateKey) -> Result<Vec<u8>, ChainError> {
        secp256k1::public_key(&self.curve, key)
    }

    fn address(&self, public_key: &[u8], environment: Environment) -> Result<String, ChainError> {
        self.address_in_form(public_key, environment, AddressForm::Usual)
    }

    fn address_in_form(
        &self,
        public_key: &[u8],
        environment: Environment,
        form: AddressForm,
    ) -> Result<String, ChainError> {
        let public_key = secp256k1::parse_public_key(public_key)?;
        let address = match form {
            AddressForm::Usual => address::p2wpkh(public_key, environment),
            AddressForm::Taproot => {
                let output_key = self
                    .output_key(XOnlyPublicKey::from(public_key), None)
                    .ok_or(ChainError::PublicKey)?;
                address::p2tr(output_key, environment)
            }
        };
        Ok(address.to_string())
    }

    fn canonical_address(
        &self,
        text: &str,
        environment: Environment,
    ) -> Result<String, ChainError> {
        address::parse(text, environment)
            .map(|address| address.to_string())
            .ok_or(ChainError::Address)
    }

    fn owns(&self, public_key: &[u8], address: &str, environment: Environment) -> bool {
        [AddressForm::Usual, AddressForm::Taproot]
            .into_iter()
            .filter_map(|form| self.address_in_form(public_key, environment, form).ok())
            .any(|own| own == address)
    }

    fn own_form(&self, text: &str, environment: Environment) -> Option<Reading> {
        wif::read(text, environment)
    }

    fn import_phrase(
        &self,
        phrase: &[u8],
        account_index: u32,
        address: &str,
        environment: Environment,
    ) -> Result<PrivateKey, ChainError> {
        derivation::from_phrase(self, phrase, address, environment, |phrase| {
            let path = path(account_index, address, environment)?;
            derivation::secp256k1_leaf(&self.curve, &phrase.seed(), &path)
        })
    }

    fn prepare<'a>(
        &'a self,
        request: &SigningRequest,
        signer: Signer<'_>,
    ) -> Result<Box<dyn Prepared + 'a>, SigningRefused> {
        let owner = Owner::new(self, signer)?;
        match request {
            SigningRequest::Message(request) => message::prepare(self, owner, request, ""),
            SigningRequest::Transaction(value) => {
                let field = WalletType::Bitcoin.transaction_field();
                psbt::prepare(self, owner, &Object::in_field(value, field)?)
            }
            SigningRequest::Method { name, params } => match name.as_str() {
                "btc_signMessage" | "signMessage" => {
                    let request = message::request(params)?;
                    message::prepare(self, owner, &request, "params.")
                }
                "btc_signPsbt" | "signPsbt" => psbt::prepare(self, owner, &Object::params(params)),
                _ => Err(SigningRefused::UnsupportedMethod { supported: METHODS }),
            },
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wycheproof;
