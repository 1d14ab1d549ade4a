//! The root keys.

use std::sync::Arc;

use vestry_domain::Secret;
use vestry_domain::envelope::{KeyPurpose, WrappedKey};
use vestry_port_macro::port;

/// Why the key provider did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The provider cannot be reached or has no root key (503 `sealed`).
    #[error("the key provider is not available")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The root version that wrapped the key is not known here.
    #[error("root key version {0} is not known")]
    UnknownVersion(u32),
    /// The wrapped key does not open: altered, or moved to another place.
    #[error("a wrapped key failed its authentication")]
    Corrupt,
}

/// What `vestry vault status` shows of the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultStatus {
    /// Such as `local`.
    pub kind: &'static str,
    /// The version that wraps new keys.
    pub primary_version: u32,
    /// All versions that can still open keys, ascending.
    pub versions: Vec<u32>,
}

/// Wraps and opens App keys under a root key that never leaves the provider. Touched at start, on the first
/// use of an App key and at rotation, never once per signature.
#[port]
pub trait KeyVault: Send + Sync {
    /// Encrypts a 256-bit key under the primary root version, bound to `context`.
    ///
    /// # Errors
    /// [`VaultError::Unavailable`].
    async fn wrap(&self, context: &[u8], key: &Secret<[u8; 32]>) -> Result<WrappedKey, VaultError>;

    /// Opens a wrapped key. A version that this process has not seen makes it look again at its source, so that
    /// a rotation by another process needs no restart.
    ///
    /// # Errors
    /// [`VaultError`], each variant.
    async fn unwrap(
        &self,
        context: &[u8],
        wrapped: &WrappedKey,
    ) -> Result<Secret<[u8; 32]>, VaultError>;

    /// Versions and kind.
    ///
    /// # Errors
    /// [`VaultError::Unavailable`].
    async fn status(&self) -> Result<VaultStatus, VaultError>;

    /// Makes a new root version and makes it the primary one; durable before it answers. Old versions still open.
    ///
    /// # Errors
    /// [`VaultError::Unavailable`].
    async fn add_root_version(&self) -> Result<u32, VaultError>;

    /// Destroys all root versions below the given one. Only after every key was re-wrapped.
    ///
    /// # Errors
    /// [`VaultError::Unavailable`].
    async fn retire_below(&self, version: u32) -> Result<(), VaultError>;
}

/// The key providers: one for each purpose of App keys, so that a service that starts without the root key of wallets signs people
/// in all the same.
///
/// Two providers, or two sets of root keys in one, whose versions are counted apart: taking one away must not take the other along.
#[derive(Clone)]
pub struct Vaults {
    /// Of the App keys of wallets: the root key.
    pub wallets: Arc<dyn KeyVault>,
    /// Of the App keys of everything else that is secret: the sign-in key.
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
