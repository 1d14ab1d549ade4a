//! A private key in plaintext.

use zeroize::Zeroize;

use crate::ChainError;

/// The bytes of a private key or seed, wiped on drop: 32, or the 64 of Polkadot's expanded secret.
///
/// There is no `Debug`, `Display`, `Clone` or `Copy`. The bytes are on the heap, so that moving the key moves a pointer and leaves no copy
/// on the stack.
pub struct PrivateKey(Box<[u8]>);

impl PrivateKey {
    /// The length in bytes of a generated key, and of every key of most chains.
    pub const LENGTH: usize = 32;

    /// A key of [`LENGTH`](Self::LENGTH) bytes, written in place.
    pub(crate) fn filled_by(fill: impl FnOnce(&mut [u8])) -> Self {
        let mut key = Self(Box::new([0; Self::LENGTH]));
        fill(&mut key.0);
        key
    }

    /// A copy of bytes that the caller wipes and knows to be a key.
    pub(crate) fn copied_from(bytes: &[u8]) -> Self {
        Self(Box::from(bytes))
    }

    /// The bytes, for encrypting them. Copy them nowhere else.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The bytes of a key of the common length.
    ///
    /// # Errors
    /// [`ChainError::PrivateKey`] for a key of another length.
    pub(crate) fn seed(&self) -> Result<&[u8; Self::LENGTH], ChainError> {
        self.0
            .as_ref()
            .try_into()
            .map_err(|_other_length| ChainError::PrivateKey)
    }
}

impl Drop for PrivateKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}
