//! A vault whose key file may not be there yet.
//!
//! A service that starts without a root key is sealed, not dead: what needs a key under it is answered with 503, and works as
//! soon as the file is back in its place.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use vestry_domain::Secret;
use vestry_domain::envelope::WrappedKey;
use vestry_ports::entropy::Entropy;
use vestry_ports::vault::{KeyVault, VaultError, VaultStatus};
use vestry_vault_local::LocalVault;

/// Opens the file at the first use that finds it in order.
pub(crate) struct LateVault {
    path: PathBuf,
    entropy: Arc<dyn Entropy>,
    opened: RwLock<Option<Arc<LocalVault>>>,
}

impl LateVault {
    pub(crate) fn new(path: PathBuf, entropy: Arc<dyn Entropy>) -> Self {
        Self {
            path,
            entropy,
            opened: RwLock::new(None),
        }
    }

    /// The vault, or why it is sealed.
    fn vault(&self) -> Result<Arc<LocalVault>, VaultError> {
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(vault) = opened.as_ref() {
            return Ok(Arc::clone(vault));
        }
        drop(opened);
        let vault = LocalVault::open(&self.path, Arc::clone(&self.entropy))
            .map_err(|cause| VaultError::Unavailable(Box::new(cause)))?;
        let vault = Arc::new(vault);
        *self.opened.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&vault));
        Ok(vault)
    }
}

#[async_trait]
impl KeyVault for LateVault {
    async fn wrap(&self, context: &[u8], key: &Secret<[u8; 32]>) -> Result<WrappedKey, VaultError> {
        self.vault()?.wrap(context, key).await
    }

    async fn unwrap(
        &self,
        context: &[u8],
        wrapped: &WrappedKey,
    ) -> Result<Secret<[u8; 32]>, VaultError> {
        self.vault()?.unwrap(context, wrapped).await
    }

    async fn status(&self) -> Result<VaultStatus, VaultError> {
        self.vault()?.status().await
    }

    async fn add_root_version(&self) -> Result<u32, VaultError> {
        self.vault()?.add_root_version().await
    }

    async fn retire_below(&self, version: u32) -> Result<(), VaultError> {
        self.vault()?.retire_below(version).await
    }
}
