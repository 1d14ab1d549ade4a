//! Ed25519 (RFC 8032), the same for every chain that uses it. The private key is the seed of 32 bytes.

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use crate::{ChainError, PrivateKey};

/// Bytes of a signature, `R‖S`.
pub(crate) const SIGNATURE_LENGTH: usize = 64;

/// The expanded pair of a seed for the length of one operation. The library wipes it when it is dropped; the box keeps
/// moves from leaving copies on the stack.
struct Pair(Box<SigningKey>);

impl Pair {
    /// # Errors
    /// [`ChainError::PrivateKey`] for a key that is not of 32 bytes, which is none of ours.
    fn new(key: &PrivateKey) -> Result<Self, ChainError> {
        Ok(Self(Box::new(SigningKey::from_bytes(key.seed()?))))
    }
}

/// The 32 bytes of the public key (RFC 8032 section 5.1.5).
pub(crate) fn public_key(key: &PrivateKey) -> Result<[u8; 32], ChainError> {
    Ok(Pair::new(key)?.0.verifying_key().to_bytes())
}

/// Takes any 32 bytes as a seed: each is one.
pub(crate) fn private_key(bytes: &[u8]) -> Result<PrivateKey, ChainError> {
    let seed: &[u8; PrivateKey::LENGTH] =
        bytes.try_into().map_err(|_length| ChainError::PrivateKey)?;
    Ok(PrivateKey::copied_from(seed))
}

/// A point of the curve that can be somebody's key, in the one encoding that RFC 8032 section 5.1.2 gives it. A point of
/// small order signs everything, or nothing, and nobody holds one.
pub(crate) fn parse_public_key(bytes: &[u8]) -> Result<[u8; 32], ChainError> {
    let bytes: &[u8; 32] = bytes.try_into().map_err(|_length| ChainError::PublicKey)?;
    let key = VerifyingKey::from_bytes(bytes).map_err(|_off_curve| ChainError::PublicKey)?;
    let canonical = key.to_edwards().compress().to_bytes();
    (!key.is_weak() && canonical == *bytes)
        .then_some(canonical)
        .ok_or(ChainError::PublicKey)
}

/// Signs, with the public key that belongs to the seed, and checks the signature against the one that is expected.
///
/// The expected key takes no part in signing: a signature made with another public key than the seed's gives the seed away.
pub(crate) fn sign(
    key: &PrivateKey,
    expected: &[u8],
    message: &[u8],
) -> Result<[u8; SIGNATURE_LENGTH], ChainError> {
    let signature = Pair::new(key)?.0.sign(message).to_bytes();
    verify(expected, message, &signature)?;
    Ok(signature)
}

/// Verifies as RFC 8032 section 5.1.7 says, and refuses keys and points `R` of small order besides, as Solana and Stellar
/// do.
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
