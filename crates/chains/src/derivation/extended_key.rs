//! A private key with its chain code.

use zeroize::Zeroize;

use crate::PrivateKey;

/// The halves of a hash: 32 bytes of private key, 32 of chain code. Stored on the heap and wiped on drop.
pub(super) struct ExtendedKey(Box<[[u8; PrivateKey::LENGTH]; 2]>);

impl ExtendedKey {
    /// An extended key of zeros, to be filled in place.
    pub(super) fn zeros() -> Self {
        Self(Box::new([[0; PrivateKey::LENGTH]; 2]))
    }

    /// The 64 bytes `k‖c`, to be written in place.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.as_flattened_mut()
    }

    pub(super) fn key(&self) -> &[u8; PrivateKey::LENGTH] {
        let [key, _chain_code] = self.0.as_ref();
        key
    }

    pub(super) fn chain_code(&self) -> &[u8; PrivateKey::LENGTH] {
        let [_key, chain_code] = self.0.as_ref();
        chain_code
    }

    /// Replaces the key and keeps the chain code.
    pub(super) fn set_key(&mut self, bytes: &[u8; PrivateKey::LENGTH]) {
        let [key, _chain_code] = self.0.as_mut();
        key.copy_from_slice(bytes);
    }
}

impl Drop for ExtendedKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}
