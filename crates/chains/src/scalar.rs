//! A secret number for the length of one curve operation.

use bitcoin::secp256k1::SecretKey;

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

    pub(crate) const fn expose(&self) -> &SecretKey {
        &self.0
    }
}

impl Drop for Scalar {
    fn drop(&mut self) {
        self.0.non_secure_erase();
    }
}
