//! The data directory of `vestry dev`, locked by one process.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::failure::{Context, Failure};
use crate::private_file;
use crate::tls::CertificateFiles;

/// The data directory, locked by this process.
pub(super) struct DataDir {
    path: PathBuf,
    /// The kernel releases it when the process ends, for whatever reason.
    _lock: File,
}

/// The file that describes the running service to other programs, next to the database.
pub(super) const RECORD: &str = "dev.json";

/// All files that a start can create, and all that `--fresh` deletes. The directory may contain other files.
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
    /// Creates the directory (0700) if needed, and locks it for this process.
    pub(super) fn take(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        private_file::make_directory(path)?;
        let lock = File::create(path.join("lock"))
            .context(format!("cannot write to the data directory {shown}"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                path: path.to_owned(),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(Failure::new(format!(
                "another `vestry dev` is running in {shown}; stop it, or choose another directory with --data-dir"
            ))),
            Err(TryLockError::Error(cause)) => {
                Err(Failure::new(format!("cannot lock the data directory {shown}")).because(cause))
            }
        }
    }

    /// Deletes the files of earlier starts.
    pub(super) fn empty(&self) -> Result<(), Failure> {
        for name in OURS {
            match std::fs::remove_file(self.path.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Failure::new(format!("cannot delete {name}")).because(error));
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
