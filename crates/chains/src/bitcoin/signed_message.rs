//! The older message standard (BIP-137): a recoverable signature over a prefixed double hash.

use ::bitcoin::VarInt;
use ::bitcoin::consensus::encode;
use ::bitcoin::hashes::{Hash, HashEngine, sha256d};
use ::bitcoin::secp256k1::Message;
use ::bitcoin::secp256k1::ecdsa::RecoverableSignature;
use ::bitcoin::secp256k1::ecdsa::RecoveryId;

use super::{Bitcoin, Owner};
use crate::scalar::Scalar;
use crate::{ChainError, PrivateKey};

/// Starts with its length, 24.
const PREFIX: &[u8] = b"\x18Bitcoin Signed Message:\n";

/// The base of the first signature byte, to which the recovery id is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Header {
    /// 39 to 42, which BIP-137 defines for P2WPKH.
    P2wpkh,
    /// 31 to 34. Electrum uses the BIP-137 values for compressed P2PKH with every kind of address.
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

/// Header, `r`, `s`: 65 bytes, verified by recovering the key, which also checks the header.
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
