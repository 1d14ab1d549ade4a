//! Ed25519 (RFC 8032) for every chain that uses it. The private key is the 32-byte seed.

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use crate::{ChainError, PrivateKey};

/// The length of a signature, `R‖S`, in bytes.
pub(crate) const SIGNATURE_LENGTH: usize = 64;

/// The expanded key pair of a seed for the duration of one operation.
///
/// The library wipes it on drop; the box prevents moves from leaving copies on the stack.
struct Pair(Box<SigningKey>);

impl Pair {
    /// Expands a seed.
    ///
    /// # Errors
    /// [`ChainError::PrivateKey`] if the key does not have 32 bytes.
    fn new(key: &PrivateKey) -> Result<Self, ChainError> {
        Ok(Self(Box::new(SigningKey::from_bytes(key.seed()?))))
    }
}

/// The 32 bytes of the public key (RFC 8032 section 5.1.5).
pub(crate) fn public_key(key: &PrivateKey) -> Result<[u8; 32], ChainError> {
    Ok(Pair::new(key)?.0.verifying_key().to_bytes())
}

/// Accepts any 32 bytes as a seed.
pub(crate) fn private_key(bytes: &[u8]) -> Result<PrivateKey, ChainError> {
    let seed: &[u8; PrivateKey::LENGTH] =
        bytes.try_into().map_err(|_length| ChainError::PrivateKey)?;
    Ok(PrivateKey::copied_from(seed))
}

/// A curve point that can be a real public key, in its only valid encoding (RFC 8032 section 5.1.2).
///
/// Points of small order are rejected: they verify any message or none, and no one holds their key.
pub(crate) fn parse_public_key(bytes: &[u8]) -> Result<[u8; 32], ChainError> {
    let bytes: &[u8; 32] = bytes.try_into().map_err(|_length| ChainError::PublicKey)?;
    let key = VerifyingKey::from_bytes(bytes).map_err(|_off_curve| ChainError::PublicKey)?;
    let canonical = key.to_edwards().compress().to_bytes();
    (!key.is_weak() && canonical == *bytes)
        .then_some(canonical)
        .ok_or(ChainError::PublicKey)
}

/// Signs with the seed's own public key, and verifies the signature against the expected one.
///
/// The expected key is not used for signing: signing with a public key other than the seed's leaks the seed.
pub(crate) fn sign(
    key: &PrivateKey,
    expected: &[u8],
    message: &[u8],
) -> Result<[u8; SIGNATURE_LENGTH], ChainError> {
    let signature = Pair::new(key)?.0.sign(message).to_bytes();
    verify(expected, message, &signature)?;
    Ok(signature)
}

/// Verifies as in RFC 8032 section 5.1.7, and also rejects keys and points `R` of small order, as Solana and Stellar do.
pub(crate) fn verify(
    public_key: &[u8],
    message: &[u8],
    signature: &[u8],
) -> Result<(), ChainError> {
    let signature = Signature::from_slice(signature).map_err(|_malformed| ChainError::Signature)?;
    public_key
        .try_into()
        .ok()
        .and_then(|key| VerifyingKey::from_bytes(key).ok())
        .and_then(|key| key.verify_strict(message, &signature).ok())
        .ok_or(ChainError::Signature)
}

#[cfg(test)]
mod tests;
