//! A key provider that can become unreachable.

use std::sync::atomic::{AtomicBool, Ordering};

use vestry_domain::Secret;
use vestry_domain::envelope::WrappedKey;
use vestry_ports::port;
use vestry_ports::vault::{KeyVault, VaultError, VaultStatus};
use vestry_vault_local::LocalVault;

/// The local vault, until it is removed.
pub(crate) struct Removable {
    vault: LocalVault,
    gone: AtomicBool,
}

impl Removable {
    pub(super) const fn new(vault: LocalVault) -> Self {
        Self {
            vault,
            gone: AtomicBool::new(false),
        }
    }

    /// Makes it unreachable (`true`) or reachable again.
    pub(crate) fn set_gone(&self, gone: bool) {
        self.gone.store(gone, Ordering::SeqCst);
    }

    fn here(&self) -> Result<&LocalVault, VaultError> {
        if self.gone.load(Ordering::SeqCst) {
            return Err(VaultError::Unavailable("removed by the test".into()));
        }
        Ok(&self.vault)
    }
}

#[port]
impl KeyVault for Removable {
    async fn wrap(&self, context: &[u8], key: &Secret<[u8; 32]>) -> Result<WrappedKey, VaultError> {
        self.here()?.wrap(context, key).await
    }

    async fn unwrap(
        &self,
        context: &[u8],
        wrapped: &WrappedKey,
    ) -> Result<Secret<[u8; 32]>, VaultError> {
        self.here()?.unwrap(context, wrapped).await
    }

    async fn status(&self) -> Result<VaultStatus, VaultError> {
        self.here()?.status().await
    }

    async fn add_root_version(&self) -> Result<u32, VaultError> {
        self.here()?.add_root_version().await
    }

    async fn retire_below(&self, version: u32) -> Result<(), VaultError> {
        self.here()?.retire_below(version).await
    }
}
