//! A secret number for the duration of one curve operation.

use bitcoin::secp256k1::{Scalar as Summand, SecretKey};

use crate::{ChainError, PrivateKey};

/// A secret key in a box.
///
/// The curve library's own key type is `Copy` and does not wipe itself. It is never moved out of this box, only borrowed, and is
/// overwritten on drop.
pub(crate) struct Scalar(Box<SecretKey>);

impl Scalar {
    /// Parses a scalar.
    ///
    /// # Errors
    /// [`ChainError::PrivateKey`] for 0 and for numbers not below the group order (SEC 1 section 3.2.1).
    pub(crate) fn new(bytes: &[u8; PrivateKey::LENGTH]) -> Result<Self, ChainError> {
        SecretKey::from_slice(bytes)
            .map(|key| Self(Box::new(key)))
            .map_err(|_invalid| ChainError::PrivateKey)
    }

    /// The sum with another number, modulo the group order.
    ///
    /// # Errors
    /// [`ChainError::PrivateKey`] if the other number is not below the order, or the sum is 0.
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
