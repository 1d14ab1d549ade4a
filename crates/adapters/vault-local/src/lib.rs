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
    File {
        file: RootFile,
        /// The root keys of the file when it was last read or written; replaced as a whole.
        roots: RwLock<Option<Arc<Roots>>>,
    },
    /// A value given at start, which the operator rotates.
    Environment(Arc<Roots>),
}

/// A vault with local root keys.
pub struct LocalVault {
    source: Source,
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
        Ok(Self::of_file(file, Some(roots), entropy))
    }

    /// Returns a vault that reads its root key file on first use.
    ///
    /// The vault is sealed until the file exists: its methods return [`VaultError::Missing`].
    #[must_use]
    pub fn lazy(path: &Path, entropy: Arc<dyn Entropy>) -> Self {
        Self::of_file(RootFile::new(path), None, entropy)
    }

    fn of_file(file: RootFile, roots: Option<Roots>, entropy: Arc<dyn Entropy>) -> Self {
        let roots = RwLock::new(roots.map(Arc::new));
        Self {
            source: Source::File { file, roots },
            entropy,
        }
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
            source: Source::Environment(Arc::new(roots)),
            entropy,
        })
    }

    /// Returns the root keys that were last read; `None` if they have not been read yet.
    fn known(&self) -> Option<Arc<Roots>> {
        match &self.source {
            Source::Environment(roots) => Some(Arc::clone(roots)),
            Source::File { roots, .. } => {
                let roots = roots.read().unwrap_or_else(PoisonError::into_inner);
                roots.as_ref().map(Arc::clone)
            }
        }
    }

    /// Returns the root keys as the source has them now.
    async fn fresh(&self) -> Result<Arc<Roots>, VaultError> {
        match &self.source {
            Source::Environment(roots) => Ok(Arc::clone(roots)),
            Source::File { .. } => self.with_file(RootFile::read).await,
        }
    }

    /// Reads the file, or changes it under its lock, and uses its new contents.
    async fn with_file<F>(&self, work: F) -> Result<Arc<Roots>, VaultError>
    where
        F: FnOnce(&RootFile) -> Result<Roots, RootFileError> + Send + 'static,
    {
        match &self.source {
            Source::Environment(_) => Err(unavailable(RootFileError::ReadOnly)),
            Source::File { file, roots } => {
                let file = file.clone();
                let read = Arc::new(off_the_runtime(move || work(&file)).await?);
                *roots.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&read));
                Ok(read)
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
        Ok(done) => done.map_err(|error| match error {
            RootFileError::Missing(_) => VaultError::Missing(Box::new(error)),
            error => unavailable(error),
        }),
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
        match self.known().map(|roots| roots.unwrap(context, wrapped)) {
            None | Some(Err(VaultError::UnknownVersion(_))) => {
                self.fresh().await?.unwrap(context, wrapped)
            }
            Some(known) => known,
        }
    }

    async fn status(&self) -> Result<VaultStatus, VaultError> {
        let roots = self.fresh().await?;
        Ok(VaultStatus {
            kind: match self.source {
                Source::File { .. } => "local",
                Source::Environment(_) => "env",
            },
            primary_version: roots.primary(),
            versions: roots.versions(),
        })
    }

    async fn add_root_version(&self) -> Result<u32, VaultError> {
        let entropy = Arc::clone(&self.entropy);
        let roots = self
            .with_file(move |file| file.add_version(entropy.as_ref()))
            .await?;
        tracing::info!(version = roots.primary(), "root key version added");
        Ok(roots.primary())
    }

    async fn retire_below(&self, version: u32) -> Result<(), VaultError> {
        let roots = self
            .with_file(move |file| file.retire_below(version))
            .await?;
        tracing::info!(versions = ?roots.versions(), "older root key versions destroyed");
        Ok(())
    }
}
