//! AES-256-GCM, the one cipher of this crate.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use vestry_ports::entropy::Entropy;
use zeroize::Zeroizing;

/// Length of a key in bytes.
pub(crate) const KEY_LENGTH: usize = 32;
/// Number of bytes that sealing adds to the plaintext: nonce and tag.
#[cfg(test)]
pub(crate) const OVERHEAD: usize = NONCE_LEN + 16;

/// The ciphertext did not open, or a key could not be set up. Deliberately without details.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused;

/// An expanded key. The library wipes it on drop.
pub(crate) struct Aead(LessSafeKey);

impl Aead {
    pub(crate) fn new(key: &[u8; KEY_LENGTH]) -> Result<Self, Refused> {
        UnboundKey::new(&AES_256_GCM, key)
            .map(|key| Self(LessSafeKey::new(key)))
            .map_err(|_unspecified| Refused)
    }

    /// Returns `nonce ‖ ciphertext ‖ tag`, with a random nonce.
    pub(crate) fn seal(
        &self,
        entropy: &dyn Entropy,
        associated_data: &[u8],
        plaintext: &[u8],
    ) -> Result<Vec<u8>, Refused> {
        let mut nonce = [0; NONCE_LEN];
        entropy.fill(&mut nonce);
        let mut buffer = Zeroizing::new(plaintext.to_vec());
        let tag = self
            .0
            .seal_in_place_separate_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(associated_data),
                &mut buffer,
            )
            .map_err(|_unspecified| Refused)?;
        Ok([nonce.as_slice(), &buffer, tag.as_ref()].concat())
    }

    /// Returns the plaintext, in a buffer that is wiped.
    pub(crate) fn open(
        &self,
        associated_data: &[u8],
        sealed: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Refused> {
        let (nonce, rest) = sealed.split_first_chunk::<NONCE_LEN>().ok_or(Refused)?;
        let mut buffer = Zeroizing::new(rest.to_vec());
        let length = self
            .0
            .open_in_place(
                Nonce::assume_unique_for_key(*nonce),
                Aad::from(associated_data),
                &mut buffer,
            )
            .map_err(|_unspecified| Refused)?
            .len();
        // Truncation moves nothing. It cuts off the checked tag, and the whole buffer is wiped later.
        buffer.truncate(length);
        Ok(buffer)
    }
}

#[cfg(test)]
mod tests;
