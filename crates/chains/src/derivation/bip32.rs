//! BIP-32: derivation of secp256k1 private keys along a path.

use ::bitcoin::secp256k1::{All, PublicKey, Secp256k1};

use super::HARDENED;
use super::extended_key::ExtendedKey;
use super::hash::hmac_sha512;
use crate::scalar::Scalar;
use crate::{ChainError, PrivateKey};

/// "Master key generation".
const MASTER: &[u8] = b"Bitcoin seed";

/// The private key at the end of a path.
///
/// # Errors
/// [`ChainError::PrivateKey`] if a hash on the path is not a valid key, once in 2^127 paths. BIP-32 lets wallets use the next child then,
/// but the caller asked for this one.
pub(crate) fn leaf(
    curve: &Secp256k1<All>,
    seed: &[u8],
    path: &[u32],
) -> Result<PrivateKey, ChainError> {
    let key = extended(curve, seed, path)?;
    Ok(PrivateKey::copied_from(key.key()))
}

pub(super) fn extended(
    curve: &Secp256k1<All>,
    seed: &[u8],
    path: &[u32],
) -> Result<ExtendedKey, ChainError> {
    let mut key = hmac_sha512(MASTER, &[seed])?;
    Scalar::new(key.key())?;
    for number in path {
        key = child(curve, &key, *number)?;
    }
    Ok(key)
}

/// "Private parent key → private child key".
fn child(
    curve: &Secp256k1<All>,
    parent: &ExtendedKey,
    number: u32,
) -> Result<ExtendedKey, ChainError> {
    let scalar = Scalar::new(parent.key())?;
    let chain_code = parent.chain_code();
    let number_bytes = number.to_be_bytes();
    let mut child = if number >= HARDENED {
        hmac_sha512(chain_code, &[&[0], parent.key(), &number_bytes])?
    } else {
        let public_key = PublicKey::from_secret_key(curve, scalar.expose());
        hmac_sha512(chain_code, &[&public_key.serialize(), &number_bytes])?
    };
    let sum = scalar.plus(child.key())?;
    child.set_key(sum.bytes());
    Ok(child)
}
