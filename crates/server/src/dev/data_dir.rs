//! The directory in which `vestry dev` keeps everything, and who may use it.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::failure::{Context, Failure};
use crate::private_file;
use crate::tls::CertificateFiles;

/// The data directory, held by this process.
pub(super) struct DataDir {
    path: PathBuf,
    /// Given back by the kernel when the process ends, however it ends.
    _lock: File,
}

/// The file that tells other programs of a start; beside the database.
pub(super) const RECORD: &str = "dev.json";

/// Everything a start may leave in the directory, and all that `--fresh` deletes: the directory may be somebody's own.
const OURS: [&str; 12] = [
    RECORD,
    "vestry.db",
    "vestry.db-wal",
    "vestry.db-shm",
    "root.key",
    "root.key.lock",
    "root.key.new",
    "sign-in.key",
    "sign-in.key.lock",
    "sign-in.key.new",
    "localhost.pem",
    "localhost.key",
];

impl DataDir {
    /// Makes the directory (0700) if it is not there, and takes it for this process.
    pub(super) fn take(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        private_file::make_directory(path)?;
        let lock = File::create(path.join("lock"))
            .context(format!("the data directory {shown} cannot be written to"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                path: path.to_owned(),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(Failure::new(format!(
                "another `vestry dev` is running in {shown}; stop it, or choose another directory with --data-dir"
            ))),
            Err(TryLockError::Error(cause)) => Err(Failure::new(format!(
                "the data directory {shown} cannot be locked"
            ))
            .because(cause)),
        }
    }

    /// Deletes what earlier starts have made.
    pub(super) fn empty(&self) -> Result<(), Failure> {
        for name in OURS {
            match std::fs::remove_file(self.path.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Failure::new(format!("{name} cannot be deleted")).because(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn database(&self) -> PathBuf {
        self.path.join("vestry.db")
    }

    pub(super) fn root_key(&self) -> PathBuf {
        self.path.join("root.key")
    }

    pub(super) fn record(&self) -> PathBuf {
        self.path.join(RECORD)
    }

    pub(super) fn certificate(&self) -> CertificateFiles {
        CertificateFiles {
            certificate: self.path.join("localhost.pem"),
            key: self.path.join("localhost.key"),
        }
    }
}
