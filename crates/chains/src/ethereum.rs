//! Ethereum: secp256k1 keys, EIP-55 addresses, EIP-191 messages, EIP-712 typed data, transactions of types 0 to 4, EIP-7702 authorizations
//! and ERC-4337 user operations.

mod address;
mod authorization;
mod digest;
mod fields;
mod rpc;
mod transaction;
mod typed_data;
mod user_operation;

use alloy_primitives::utils::eip191_message;
use alloy_primitives::{Address, B256, U256, eip191_hash_message};
use bitcoin::secp256k1::ecdsa::{RecoverableSignature, RecoveryId, Signature};
use bitcoin::secp256k1::{All, Message, PublicKey, Secp256k1};
use vestry_domain::signing::{SigningRefused, SigningRequest};
use vestry_domain::wallet::WalletType;
use vestry_domain::{Environment, Secret};

use crate::derivation::{account, hardened};
use crate::scalar::Scalar;
use crate::secp256k1::Points;
use crate::{
    Chain, ChainError, Prepared, PrivateKey, Signer, derivation, message, refuse, secp256k1,
};
use digest::SignsDigest;
use fields::Field;
use transaction::{Answer, SignsTransaction};

/// Added to the parity of the nonce point to give the `v` of a message signature. EIP-191 leaves it open; `ecrecover` and every library
/// expect 27 and 28.
const V_BASE: u8 = 27;
/// `r‖s‖v`.
const SIGNATURE_LENGTH: usize = 65;

/// The Ethereum chain.
///
/// - Private key: a number from 1 to n − 1, 32 bytes big-endian.
/// - Public key: 33 bytes, compressed (SEC 1 section 2.3.3).
/// - Address: `0x` and 40 hex digits in the mixed case of EIP-55.
/// - Message signature: over the digest of EIP-191 version 0x45 ("personal message"), 65 bytes `r‖s‖v`, nonce by
///   RFC 6979, `s` in the lower half of the range (EIP-2), `v` 27 or 28.
/// - Transaction signature: the same 65 bytes, without the `v` of EIP-155; `signed_transaction` is the EIP-2718 encoding.
pub struct Ethereum {
    curve: Secp256k1<All>,
    points: Points,
}

impl Ethereum {
    /// Sets up the curve. `blinding` masks secret-dependent multiplications against side channels.
    pub fn new(blinding: &Secret<[u8; 32]>) -> Self {
        Self {
            curve: secp256k1::curve(blinding),
            points: Points::new(),
        }
    }

    fn sign_digest(&self, key: &PrivateKey, digest: [u8; 32]) -> Result<Vec<u8>, ChainError> {
        let scalar = Scalar::new(key.seed()?)?;
        let signature = self
            .curve
            .sign_ecdsa_recoverable(&Message::from_digest(digest), scalar.expose());
        let (recovery, compact) = signature.serialize_compact();
        // 2 and 3 mean an r that wrapped around n, which never occurs in practice; `v` cannot express them.
        let parity = u8::try_from(recovery.to_i32())
            .ok()
            .filter(|id| *id < 2)
            .ok_or(ChainError::Signature)?;
        let mut bytes = Vec::with_capacity(SIGNATURE_LENGTH);
        bytes.extend_from_slice(&compact);
        bytes.push(V_BASE + parity);
        Ok(bytes)
    }

    /// The address that signed a message (EIP-191 version 0x45).
    pub(crate) fn signer_of(&self, message: &[u8], signature: &[u8]) -> Result<String, ChainError> {
        let recovered = self.recover(eip191_hash_message(message).0, signature)?;
        Self::address_of(&recovered.serialize())
    }

    /// The address that signed a digest with `r`, `s`. Signatures with a high `s` are rejected.
    fn recovered(
        &self,
        digest: B256,
        y_parity: u8,
        r: U256,
        s: U256,
    ) -> Result<String, ChainError> {
        let mut signature = Vec::with_capacity(SIGNATURE_LENGTH);
        signature.extend_from_slice(&r.to_be_bytes::<32>());
        signature.extend_from_slice(&s.to_be_bytes::<32>());
        signature.push(V_BASE.saturating_add(y_parity));
        let recovered = self.recover(digest.0, &signature)?;
        Self::address_of(&recovered.serialize())
    }

    fn recover(&self, digest: [u8; 32], signature: &[u8]) -> Result<PublicKey, ChainError> {
        let signature = parse_signature(signature).ok_or(ChainError::Signature)?;
        self.curve
            .recover_ecdsa(&Message::from_digest(digest), &signature)
            .map_err(|_unrecoverable| ChainError::Signature)
    }

    fn address_of(public_key: &[u8]) -> Result<String, ChainError> {
        let uncompressed = secp256k1::parse_public_key(public_key)?.serialize_uncompressed();
        let [_, coordinates @ ..] = &uncompressed;
        Ok(Address::from_raw_public_key(coordinates).to_checksum(None))
    }

    /// Whether `r` and `s` were made by the key.
    ///
    /// `v` must be 27 or 28, but which of them is not checked: with the wrong one a signature is worthless and reveals nothing. Tests show
    /// that the `v` from signing recovers the address. Recovering the key would cost a tenth more than verifying.
    fn verify_digest(
        &self,
        public_key: &[u8],
        digest: [u8; 32],
        signature: &[u8],
    ) -> Result<(), ChainError> {
        let signature = parse_signature(signature).ok_or(ChainError::Signature)?;
        let point = self.points.parse(public_key)?;
        self.curve
            .verify_ecdsa(
                &Message::from_digest(digest),
                &signature.to_standard(),
                &point,
            )
            .map_err(|_unverified| ChainError::Signature)
    }
}

/// Returns `None` for any form other than the one that signing returns: 65 bytes, low `s`, `v` 27 or 28.
fn parse_signature(bytes: &[u8]) -> Option<RecoverableSignature> {
    let (compact, v) = match bytes.split_last_chunk::<1>()? {
        (compact, [v]) if bytes.len() == SIGNATURE_LENGTH => (compact, *v),
        _ => return None,
    };
    let parity = v.checked_sub(V_BASE).filter(|parity| *parity < 2)?;
    let recovery = RecoveryId::from_i32(i32::from(parity)).ok()?;
    let plain = Signature::from_compact(compact).ok()?;
    let mut low = plain;
    low.normalize_s();
    if low != plain {
        return None;
    }
    RecoverableSignature::from_compact(compact, recovery).ok()
}

/// `m/44'/60'/0'/0/i`, the account path of MetaMask and most others (BIP-44, SLIP-44).
fn path(account_index: u32) -> Result<[u32; 5], ChainError> {
    let account = account(account_index)?;
    Ok([hardened(44), hardened(60), hardened(0), 0, account])
}

impl Chain for Ethereum {
    fn wallet_type(&self) -> WalletType {
        WalletType::Ethereum
    }

    fn private_key(&self, bytes: &[u8]) -> Result<PrivateKey, ChainError> {
        secp256k1::private_key(bytes)
    }

    fn public_key(&self, key: &PrivateKey) -> Result<Vec<u8>, ChainError> {
        secp256k1::public_key(&self.curve, key)
    }

    fn address(&self, public_key: &[u8], _everywhere: Environment) -> Result<String, ChainError> {
        Self::address_of(public_key)
    }

    fn canonical_address(
        &self,
        text: &str,
        _everywhere: Environment,
    ) -> Result<String, ChainError> {
        let address = address::parse(text).ok_or(ChainError::Address)?;
        Ok(address.to_checksum(None))
    }

    fn import_phrase(
        &self,
        phrase: &[u8],
        account_index: u32,
        address: &str,
        environment: Environment,
    ) -> Result<PrivateKey, ChainError> {
        derivation::from_phrase(self, phrase, address, environment, |phrase| {
            let path = path(account_index)?;
            derivation::secp256k1_leaf(&self.curve, &phrase.seed(), &path)
        })
    }

    fn prepare<'a>(
        &'a self,
        request: &SigningRequest,
        signer: Signer<'_>,
    ) -> Result<Box<dyn Prepared + 'a>, SigningRefused> {
        match request {
            SigningRequest::Message(request) => {
                refuse::formats(request)?;
                let bytes = message::bytes(request, "message")?;
                let payload = eip191_message(bytes);
                Ok(Box::new(SignsDigest::new(self, &payload, signer)))
            }
            SigningRequest::Transaction(value) => {
                let field = Field::new(value, WalletType::Ethereum.transaction_field());
                let prepared = SignsTransaction::read(self, &field, signer, Answer::Transaction)?;
                Ok(Box::new(prepared))
            }
            SigningRequest::Method { name, params } => rpc::prepare(self, name, params, signer),
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wycheproof;
