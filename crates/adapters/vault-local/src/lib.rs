//! The `KeyVault` port under a local, versioned root key.
//!
//! The root keys are stored in a small file that only its owner can read, or in an environment variable. They wrap App keys with
//! AES-256-GCM under a random 96-bit nonce. RFC 5649 key wrap (KWP) would need no nonce, but supports no associated data. A wrapped key
//! could then be moved to another App, and only a further layer of keys per place would detect that. The number of wraps is small (four App
//! keys for each App, again at each rotation), far below the 2^32 uses after which random nonces become dangerous.
//!
//! Several processes share the file, and each notices the rotations of the others. Unwrapping rereads the file when it meets an unknown
//! version; wrapping rereads it every time.

mod document;
mod file;
mod roots;

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use vestry_domain::Secret;
use vestry_domain::envelope::WrappedKey;
use vestry_ports::entropy::Entropy;
use vestry_ports::port;
use vestry_ports::vault::{KeyVault, VaultError, VaultStatus};

pub use document::DocumentError;
use file::RootFile;
pub use file::RootFileError;
use roots::Roots;

/// The source of the root keys.
enum Source {
    /// A file that this process can also write.
    File(RootFile),
    /// A value given at start, which the operator rotates.
    Environment,
}

/// A vault with local root keys.
pub struct LocalVault {
    source: Source,
    /// The root keys, ready for use; replaced as a whole.
    roots: RwLock<Arc<Roots>>,
    entropy: Arc<dyn Entropy>,
}

impl LocalVault {
    /// Creates a root key file (mode 0600) with one new root key. The file is durable when this returns.
    ///
    /// # Errors
    /// [`RootFileError::Exists`] if the file already exists, which is left unchanged; otherwise why the file could not be written.
    pub fn create(path: &Path, entropy: &dyn Entropy) -> Result<(), RootFileError> {
        RootFile::new(path).create(entropy)
    }

    /// Opens a root key file.
    ///
    /// # Errors
    /// [`RootFileError`]: the file does not exist, other users can read it, or it is damaged.
    pub fn open(path: &Path, entropy: Arc<dyn Entropy>) -> Result<Self, RootFileError> {
        let file = RootFile::new(path);
        let roots = file.read()?;
        Ok(Self {
            source: Source::File(file),
            roots: RwLock::new(Arc::new(roots)),
            entropy,
        })
    }

    /// Creates a vault from a value: either one key as 32 bytes in base64 (then version 1), or the text of a root key file with all its
    /// versions. It cannot be rotated from here.
    ///
    /// # Errors
    /// [`DocumentError`] if the value is neither.
    pub fn from_value(
        value: &Secret<String>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, DocumentError> {
        let roots = if value.expose().trim_start().starts_with('{') {
            Roots::from_document(value.expose().as_bytes())?
        } else {
            Roots::from_single_key(value.expose().trim())?
        };
        Ok(Self {
            source: Source::Environment,
            roots: RwLock::new(Arc::new(roots)),
            entropy,
        })
    }

    fn current(&self) -> Arc<Roots> {
        Arc::clone(&self.roots.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn replace(&self, roots: Roots) -> Arc<Roots> {
        let roots = Arc::new(roots);
        *self.roots.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&roots);
        roots
    }

    /// Returns the root keys as the source has them now.
    async fn fresh(&self) -> Result<Arc<Roots>, VaultError> {
        match &self.source {
            Source::Environment => Ok(self.current()),
            Source::File(file) => {
                let file = file.clone();
                Ok(self.replace(off_the_runtime(move || file.read()).await?))
            }
        }
    }

    /// Changes the file under its lock and uses its new contents.
    async fn change<F>(&self, change: F) -> Result<Arc<Roots>, VaultError>
    where
        F: FnOnce(&RootFile) -> Result<Roots, RootFileError> + Send + 'static,
    {
        match &self.source {
            Source::Environment => Err(unavailable(RootFileError::ReadOnly)),
            Source::File(file) => {
                let file = file.clone();
                Ok(self.replace(off_the_runtime(move || change(&file)).await?))
            }
        }
    }
}

fn unavailable(cause: impl std::error::Error + Send + Sync + 'static) -> VaultError {
    VaultError::Unavailable(Box::new(cause))
}

/// File operations wait for disks and for locks of other processes, so they must not block a worker.
async fn off_the_runtime<F>(work: F) -> Result<Roots, VaultError>
where
    F: FnOnce() -> Result<Roots, RootFileError> + Send + 'static,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(unavailable),
        Err(lost) => Err(unavailable(lost)),
    }
}

#[port]
impl KeyVault for LocalVault {
    /// Rereads the file first: a process that still considers a retired version the primary one would create keys that can never be
    /// unwrapped.
    async fn wrap(&self, context: &[u8], key: &Secret<[u8; 32]>) -> Result<WrappedKey, VaultError> {
        let roots = self.fresh().await?;
        roots
            .wrap(context, key, self.entropy.as_ref())
            .map_err(unavailable)
    }

    async fn unwrap(
        &self,
        context: &[u8],
        wrapped: &WrappedKey,
    ) -> Result<Secret<[u8; 32]>, VaultError> {
        match self.current().unwrap(context, wrapped) {
            Err(VaultError::UnknownVersion(_)) => self.fresh().await?.unwrap(context, wrapped),
            known => known,
        }
    }

    async fn status(&self) -> Result<VaultStatus, VaultError> {
        let roots = self.fresh().await?;
        Ok(VaultStatus {
            kind: match self.source {
                Source::File(_) => "local",
                Source::Environment => "env",
            },
            primary_version: roots.primary(),
            versions: roots.versions(),
        })
    }

    async fn add_root_version(&self) -> Result<u32, VaultError> {
        let entropy = Arc::clone(&self.entropy);
        let roots = self
            .change(move |file| file.add_version(entropy.as_ref()))
            .await?;
        tracing::info!(version = roots.primary(), "root key version added");
        Ok(roots.primary())
    }

    async fn retire_below(&self, version: u32) -> Result<(), VaultError> {
        let roots = self.change(move |file| file.retire_below(version)).await?;
        tracing::info!(versions = ?roots.versions(), "older root key versions destroyed");
        Ok(())
    }
}
