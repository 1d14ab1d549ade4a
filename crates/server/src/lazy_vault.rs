//! A vault whose key file may not exist yet.
//!
//! A service that starts without a root key is sealed. Calls that need a key under it return 503, and work as soon as the file is restored.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use vestry_domain::Secret;
use vestry_domain::envelope::WrappedKey;
use vestry_ports::entropy::Entropy;
use vestry_ports::port;
use vestry_ports::vault::{KeyVault, VaultError, VaultStatus};
use vestry_vault_local::LocalVault;

/// A vault that opens its key file on first use.
pub(crate) struct LazyVault {
    path: PathBuf,
    entropy: Arc<dyn Entropy>,
    opened: RwLock<Option<Arc<LocalVault>>>,
}

impl LazyVault {
    pub(crate) fn new(path: PathBuf, entropy: Arc<dyn Entropy>) -> Self {
        Self {
            path,
            entropy,
            opened: RwLock::new(None),
        }
    }

    /// The vault, or the reason why it is sealed. The file is read on a blocking thread, because a disk that hangs must not block a worker.
    async fn vault(&self) -> Result<Arc<LocalVault>, VaultError> {
        if let Some(vault) = self.opened() {
            return Ok(vault);
        }
        let (path, entropy) = (self.path.clone(), Arc::clone(&self.entropy));
        let opened = tokio::task::spawn_blocking(move || LocalVault::open(&path, entropy)).await;
        let vault = opened
            .map_err(|lost| VaultError::Unavailable(Box::new(lost)))?
            .map_err(|cause| VaultError::Unavailable(Box::new(cause)))?;
        let vault = Arc::new(vault);
        *self.opened.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&vault));
        Ok(vault)
    }

    fn opened(&self) -> Option<Arc<LocalVault>> {
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        opened.as_ref().map(Arc::clone)
    }
}

#[port]
impl KeyVault for LazyVault {
    async fn wrap(&self, context: &[u8], key: &Secret<[u8; 32]>) -> Result<WrappedKey, VaultError> {
        self.vault().await?.wrap(context, key).await
    }

    async fn unwrap(
        &self,
        context: &[u8],
        wrapped: &WrappedKey,
    ) -> Result<Secret<[u8; 32]>, VaultError> {
        self.vault().await?.unwrap(context, wrapped).await
    }

    async fn status(&self) -> Result<VaultStatus, VaultError> {
        self.vault().await?.status().await
    }

    async fn add_root_version(&self) -> Result<u32, VaultError> {
        self.vault().await?.add_root_version().await
    }

    async fn retire_below(&self, version: u32) -> Result<(), VaultError> {
        self.vault().await?.retire_below(version).await
    }
}
