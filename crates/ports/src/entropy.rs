//! The source of randomness.

use vestry_domain::random::ByteSource;

/// A cryptographically secure source of random bytes.
pub trait Entropy: Send + Sync {
    /// Fills the buffer with uniformly random bytes. A source that fails must not return.
    fn fill(&self, buffer: &mut [u8]);
}

/// Adapts an entropy source to the domain's [`ByteSource`].
pub struct Bytes<'a>(pub &'a dyn Entropy);

impl ByteSource for Bytes<'_> {
    fn fill(&mut self, buffer: &mut [u8]) {
        self.0.fill(buffer);
    }
}
