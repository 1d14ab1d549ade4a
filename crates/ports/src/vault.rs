//! The root keys.

use std::sync::Arc;

use vestry_domain::Secret;
use vestry_domain::envelope::{KeyPurpose, WrappedKey};
use vestry_port_macro::port;

/// The reason that a key provider call failed.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The provider has no root key (503 `sealed`).
    #[error("the key provider has no root key")]
    Missing(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The provider cannot be reached, or its root key cannot be read (503 `sealed`).
    #[error("the key provider is unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The root key version that wrapped the key is unknown here.
    #[error("unknown root key version {0}")]
    UnknownVersion(u32),
    /// The wrapped key cannot be decrypted: it was altered, or moved to another place.
    #[error("a wrapped key failed its authentication")]
    Corrupt,
}

/// The provider's status, as shown by `vestry vault status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultStatus {
    /// The kind of provider, such as `local`.
    pub kind: &'static str,
    /// The version that wraps new keys.
    pub primary_version: u32,
    /// All versions that can still decrypt keys, ascending.
    pub versions: Vec<u32>,
}

/// Wraps and unwraps App keys under a root key that never leaves the provider. Used at startup, on the first use of an App key and during
/// rotation, never once per signature.
#[port]
pub trait KeyVault: Send + Sync {
    /// Encrypts a 256-bit key under the primary root version, bound to `context`.
    ///
    /// # Errors
    /// [`VaultError::Missing`] and [`VaultError::Unavailable`].
    async fn wrap(&self, context: &[u8], key: &Secret<[u8; 32]>) -> Result<WrappedKey, VaultError>;

    /// Unwraps a key. An unknown version makes this process reload its source, so that a rotation by another process needs no restart.
    ///
    /// # Errors
    /// Any [`VaultError`].
    async fn unwrap(
        &self,
        context: &[u8],
        wrapped: &WrappedKey,
    ) -> Result<Secret<[u8; 32]>, VaultError>;

    /// The kind and versions of the provider.
    ///
    /// # Errors
    /// [`VaultError::Missing`] and [`VaultError::Unavailable`].
    async fn status(&self) -> Result<VaultStatus, VaultError>;

    /// Creates a new root version and makes it the primary one; it is durable before this returns. Old versions can still unwrap.
    ///
    /// # Errors
    /// [`VaultError::Missing`] and [`VaultError::Unavailable`].
    async fn add_root_version(&self) -> Result<u32, VaultError>;

    /// Destroys all root versions below the given one. Call it only after every key was re-wrapped.
    ///
    /// # Errors
    /// [`VaultError::Missing`] and [`VaultError::Unavailable`].
    async fn retire_below(&self, version: u32) -> Result<(), VaultError>;
}

/// The key providers, one for each root key.
///
/// Separate providers let a service that starts without the root key of wallets still sign people in.
///
/// They are two providers, or two separately versioned sets of root keys in one: removing one must not remove the other.
#[derive(Clone)]
pub struct Vaults {
    /// For the App keys of wallets: the root key.
    pub wallets: Arc<dyn KeyVault>,
    /// For the App keys of all other secrets: the sign-in key.
    pub secrets: Arc<dyn KeyVault>,
}

impl Vaults {
    /// The provider that wraps App keys of this purpose.
    pub fn of(&self, purpose: KeyPurpose) -> &dyn KeyVault {
        match purpose {
            KeyPurpose::Wallets | KeyPurpose::Audit => &*self.wallets,
            KeyPurpose::Secrets | KeyPurpose::PastAudit | KeyPurpose::Decoys => &*self.secrets,
        }
    }
}
