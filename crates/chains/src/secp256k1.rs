//! Keys on secp256k1, which Ethereum and Bitcoin share.

use ::bitcoin::secp256k1::{All, PublicKey, Secp256k1};
use vestry_domain::Secret;

use crate::scalar::Scalar;
use crate::{ChainError, PrivateKey};

/// The curve. `blinding` masks the multiplications with secret numbers against side channels.
pub(crate) fn curve(blinding: &Secret<[u8; 32]>) -> Secp256k1<All> {
    let mut curve = Secp256k1::new();
    curve.seeded_randomize(blinding.expose());
    curve
}

/// A number from 1 to n − 1, 32 bytes big-endian.
pub(crate) fn private_key(bytes: &[u8]) -> Result<PrivateKey, ChainError> {
    let bytes: &[u8; PrivateKey::LENGTH] = bytes
        .first_chunk()
        .filter(|chunk| chunk.len() == bytes.len())
        .ok_or(ChainError::PrivateKey)?;
    Scalar::new(bytes)?;
    Ok(PrivateKey::copied_from(bytes))
}

/// The public key, compressed to 33 bytes (SEC 1 section 2.3.3).
pub(crate) fn public_key(curve: &Secp256k1<All>, key: &PrivateKey) -> Result<Vec<u8>, ChainError> {
    let scalar = Scalar::new(key.seed()?)?;
    let public_key = PublicKey::from_secret_key(curve, scalar.expose());
    Ok(public_key.serialize().to_vec())
}

/// A public key of 33 bytes. The library also takes uncompressed keys; we have one form, so that a key has one name.
pub(crate) fn parse_public_key(bytes: &[u8]) -> Result<PublicKey, ChainError> {
    bytes
        .first_chunk::<33>()
        .filter(|compressed| compressed.len() == bytes.len())
        .and_then(|compressed| PublicKey::from_slice(compressed).ok())
        .ok_or(ChainError::PublicKey)
}
