//! A secret number for the length of one curve operation.

use bitcoin::secp256k1::{Scalar as Summand, SecretKey};

use crate::{ChainError, PrivateKey};

/// The curve library's own key type is `Copy` and does not wipe itself. It stays in this box: it is never moved out
/// of it, is only lent, and is overwritten when the box goes.
pub(crate) struct Scalar(Box<SecretKey>);

impl Scalar {
    /// # Errors
    /// [`ChainError::PrivateKey`] for 0 and for numbers from the group order on (SEC 1 section 3.2.1).
    pub(crate) fn new(bytes: &[u8; PrivateKey::LENGTH]) -> Result<Self, ChainError> {
        SecretKey::from_slice(bytes)
            .map(|key| Self(Box::new(key)))
            .map_err(|_invalid| ChainError::PrivateKey)
    }

    /// The sum with another number, modulo the order of the group.
    ///
    /// # Errors
    /// [`ChainError::PrivateKey`] when the other number is not below the order, and when the sum is 0.
    pub(crate) fn plus(&self, bytes: &[u8; PrivateKey::LENGTH]) -> Result<Self, ChainError> {
        let mut summand =
            Summand::from_be_bytes(*bytes).map_err(|_too_large| ChainError::PrivateKey)?;
        let sum = self.0.add_tweak(&summand);
        summand.non_secure_erase();
        let mut sum = sum.map_err(|_zero| ChainError::PrivateKey)?;
        let scalar = Self(Box::new(sum));
        sum.non_secure_erase();
        Ok(scalar)
    }

    /// 32 bytes, big-endian.
    pub(crate) fn bytes(&self) -> &[u8; PrivateKey::LENGTH] {
        (*self.0).as_ref()
    }

    pub(crate) const fn expose(&self) -> &SecretKey {
        &self.0
    }
}

impl Drop for Scalar {
    fn drop(&mut self) {
        self.0.non_secure_erase();
    }
}
