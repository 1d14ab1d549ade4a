//! A private key in the clear.

use zeroize::Zeroize;

/// The 32 bytes of a private key or seed, wiped when dropped.
///
/// There is no `Debug`, `Display`, `Clone` or `Copy`. The bytes lie on the heap, so that moving the key moves a
/// pointer and leaves no copy behind on the stack.
pub struct PrivateKey(Box<[u8; Self::LENGTH]>);

impl PrivateKey {
    /// Bytes of a key; the same for every chain.
    pub const LENGTH: usize = 32;

    /// A key whose bytes are written in place.
    pub(crate) fn filled_by(fill: impl FnOnce(&mut [u8])) -> Self {
        let mut key = Self(Box::new([0; Self::LENGTH]));
        fill(key.0.as_mut_slice());
        key
    }

    /// A copy of bytes that somebody else wipes.
    pub(crate) fn copied_from(bytes: &[u8; Self::LENGTH]) -> Self {
        Self::filled_by(|place| place.copy_from_slice(bytes))
    }

    /// The bytes, for encrypting them. Copy them nowhere else.
    pub fn expose(&self) -> &[u8; Self::LENGTH] {
        &self.0
    }
}

impl Drop for PrivateKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}
