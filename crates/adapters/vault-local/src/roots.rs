//! Expanded root keys.

use std::collections::BTreeMap;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use vestry_domain::Secret;
use vestry_domain::envelope::{WrappedKey, join_with_lengths};
use vestry_ports::entropy::Entropy;
use vestry_ports::vault::VaultError;
use zeroize::Zeroizing;

use crate::document::{Document, DocumentError, RootKey};

const LABEL: &[u8] = b"vestry-root-wrap-v1";

/// A cryptographic primitive failed, which never gives a reason.
#[derive(Debug, thiserror::Error)]
#[error("AES-256-GCM failed")]
pub(crate) struct CipherFailed;

/// The expanded root keys by version. The raw bytes are gone once this is built; the crypto library wipes the expanded ones on drop.
pub(crate) struct Roots {
    primary: u32,
    keys: BTreeMap<u32, LessSafeKey>,
}

impl Roots {
    pub(crate) fn from_document(text: &[u8]) -> Result<Self, DocumentError> {
        Self::new(&Document::parse(text)?)
    }

    pub(crate) fn from_single_key(base64: &str) -> Result<Self, DocumentError> {
        Self::new(&Document::single(base64)?)
    }

    pub(crate) fn new(document: &Document) -> Result<Self, DocumentError> {
        let expand = |root: &RootKey| {
            let key = UnboundKey::new(&AES_256_GCM, root.key.expose())
                .map_err(|_unspecified| DocumentError::Key(root.version))?;
            Ok((root.version, LessSafeKey::new(key)))
        };
        Ok(Self {
            primary: document.primary,
            keys: document
                .roots
                .iter()
                .map(expand)
                .collect::<Result<_, _>>()?,
        })
    }

    pub(crate) const fn primary(&self) -> u32 {
        self.primary
    }

    pub(crate) fn versions(&self) -> Vec<u32> {
        self.keys.keys().copied().collect()
    }

    /// Returns `nonce ‖ ciphertext ‖ tag`, 60 bytes.
    pub(crate) fn wrap(
        &self,
        context: &[u8],
        key: &Secret<[u8; 32]>,
        entropy: &dyn Entropy,
    ) -> Result<WrappedKey, CipherFailed> {
        let root = self.keys.get(&self.primary).ok_or(CipherFailed)?;
        let mut nonce = [0; NONCE_LEN];
        entropy.fill(&mut nonce);
        let mut sealed = Zeroizing::new(*key.expose());
        let tag = root
            .seal_in_place_separate_tag(
                Nonce::assume_unique_for_key(nonce),
                associated_data(context, self.primary),
                sealed.as_mut_slice(),
            )
            .map_err(|_unspecified| CipherFailed)?;
        Ok(WrappedKey {
            root_version: self.primary,
            bytes: [nonce.as_slice(), sealed.as_slice(), tag.as_ref()].concat(),
        })
    }

    pub(crate) fn unwrap(
        &self,
        context: &[u8],
        wrapped: &WrappedKey,
    ) -> Result<Secret<[u8; 32]>, VaultError> {
        let version = wrapped.root_version;
        let root = self
            .keys
            .get(&version)
            .ok_or(VaultError::UnknownVersion(version))?;
        let (nonce, sealed) = wrapped
            .bytes
            .split_first_chunk::<NONCE_LEN>()
            .ok_or(VaultError::Corrupt)?;
        let mut buffer = Zeroizing::new(sealed.to_vec());
        let opened = root
            .open_in_place(
                Nonce::assume_unique_for_key(*nonce),
                associated_data(context, version),
                &mut buffer,
            )
            .map_err(|_unspecified| VaultError::Corrupt)?;
        let key = <[u8; 32]>::try_from(&*opened).map_err(|_length| VaultError::Corrupt)?;
        Ok(Secret::new(key))
    }
}

/// The version is bound as well: a wrapped key cannot be passed off as one of another version.
fn associated_data(context: &[u8], version: u32) -> Aad<Vec<u8>> {
    Aad::from(join_with_lengths([LABEL, context, &version.to_be_bytes()]))
}

#[cfg(test)]
mod tests;
