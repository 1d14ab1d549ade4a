//! The older standard for messages (BIP-137): a recoverable signature over a prefixed double hash.

use ::bitcoin::VarInt;
use ::bitcoin::consensus::encode;
use ::bitcoin::hashes::{Hash, HashEngine, sha256d};
use ::bitcoin::secp256k1::Message;
use ::bitcoin::secp256k1::ecdsa::RecoverableSignature;
use ::bitcoin::secp256k1::ecdsa::RecoveryId;

use super::{Bitcoin, Owner};
use crate::scalar::Scalar;
use crate::{ChainError, PrivateKey};

/// Its length, 24, in front.
const PREFIX: &[u8] = b"\x18Bitcoin Signed Message:\n";

/// The first byte of a signature is this plus the number of the nonce point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Header {
    /// 39 to 42: BIP-137 says so of P2WPKH.
    P2wpkh,
    /// 31 to 34: Electrum writes for every kind of address what BIP-137 has for compressed P2PKH.
    Electrum,
}

impl Header {
    const fn base(self) -> u8 {
        match self {
            Self::P2wpkh => 39,
            Self::Electrum => 31,
        }
    }
}

/// The double SHA-256 of prefix, length and message.
pub(super) fn digest(message: &[u8]) -> [u8; 32] {
    let mut engine = sha256d::Hash::engine();
    engine.input(PREFIX);
    engine.input(&encode::serialize(&VarInt::from(message.len())));
    engine.input(message);
    sha256d::Hash::from_engine(engine).to_byte_array()
}

/// Header, `r`, `s`: 65 bytes, verified by recovering the key, which checks the header along with the rest.
pub(super) fn sign(
    chain: &Bitcoin,
    owner: &Owner,
    key: &PrivateKey,
    digest: [u8; 32],
    header: Header,
) -> Result<Vec<u8>, ChainError> {
    let scalar = Scalar::new(key.seed()?)?;
    let digest = Message::from_digest(digest);
    let signature = chain.curve.sign_ecdsa_recoverable(&digest, scalar.expose());
    let (recovery, compact) = signature.serialize_compact();
    verify(chain, owner, &digest, recovery, &compact)?;
    let number = u8::try_from(recovery.to_i32()).map_err(|_beyond_3| ChainError::Signature)?;
    let first = header
        .base()
        .checked_add(number)
        .ok_or(ChainError::Signature)?;
    Ok([&[first], compact.as_slice()].concat())
}

fn verify(
    chain: &Bitcoin,
    owner: &Owner,
    digest: &Message,
    recovery: RecoveryId,
    compact: &[u8],
) -> Result<(), ChainError> {
    let recovered = RecoverableSignature::from_compact(compact, recovery)
        .and_then(|signature| chain.curve.recover_ecdsa(digest, &signature))
        .map_err(|_unrecoverable| ChainError::Signature)?;
    (recovered == owner.public_key.0)
        .then_some(())
        .ok_or(ChainError::Signature)
}
