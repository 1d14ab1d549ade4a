//! The root key file: its permissions, its atomic replacement, and the lock between writers.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use vestry_domain::Secret;
use vestry_ports::entropy::Entropy;
use zeroize::Zeroizing;

use crate::document::{Document, DocumentError};
use crate::roots::Roots;

/// Mode of the file: readable and writable only by its owner.
const MODE: u32 = 0o600;
/// Permission bits of group and others.
const OTHERS: u32 = 0o077;
/// Mode of a file that root hands to a service: systemd grants its user access by an ACL, whose mask shows as the group's bits. Kubernetes
/// grants it to the group of the pod.
const PASSED_ON: u32 = 0o440;
/// Maximum size: far more than any number of rotations needs.
const MAX_LENGTH: u64 = 1024 * 1024;

/// Why a root key file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RootFileError {
    /// The file does not exist.
    #[error("root key file {} does not exist", .0.display())]
    Missing(PathBuf),
    /// The file already exists; replacing it would make everything encrypted under it unreadable.
    #[error("root key file {} already exists", .0.display())]
    Exists(PathBuf),
    /// Users other than its owner can access it.
    #[error("root key file {} is accessible to other users (mode {mode:04o}); run: chmod 600 {}", .path.display(), .path.display())]
    Permissions {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Not a regular file, or too large to be a root key file.
    #[error("{} is not a root key file", .0.display())]
    NotAFile(PathBuf),
    /// Its contents are not valid root keys.
    #[error("root key file {} cannot be used", .0.display())]
    Contents(PathBuf, #[source] DocumentError),
    /// The requested version does not exist, so retiring up to it would leave nothing.
    #[error("root key version {0} is above the primary version")]
    NoSuchVersion(u32),
    /// The root keys were given as a value, which must be changed where it is stored.
    #[error("root keys set in the environment must be changed there")]
    ReadOnly,
    /// The operating system refused.
    #[error("root key file {} cannot be {what}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The failed operation, such as `read`.
        what: &'static str,
        /// The operating system's error.
        #[source]
        cause: io::Error,
    },
}

/// A root key file by its path.
#[derive(Clone)]
pub(crate) struct RootFile {
    path: PathBuf,
}

impl RootFile {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    pub(crate) fn create(&self, entropy: &dyn Entropy) -> Result<(), RootFileError> {
        let _turn = self.take_turn()?;
        let exists = self.path.try_exists().map_err(self.failed("read"))?;
        if exists {
            return Err(RootFileError::Exists(self.path.clone()));
        }
        let mut document = Document {
            primary: 0,
            roots: Vec::new(),
        };
        document
            .add(fresh_key(entropy))
            .map_err(|cause| self.contents(cause))?;
        self.write(&document)
    }

    pub(crate) fn read(&self) -> Result<Roots, RootFileError> {
        Roots::new(&self.document()?).map_err(|cause| self.contents(cause))
    }

    pub(crate) fn add_version(&self, entropy: &dyn Entropy) -> Result<Roots, RootFileError> {
        self.rewrite(|document| {
            document
                .add(fresh_key(entropy))
                .map_err(|cause| self.contents(cause))
        })
    }

    pub(crate) fn retire_below(&self, version: u32) -> Result<Roots, RootFileError> {
        self.rewrite(|document| {
            // The primary version is never removed: without it nothing new can be wrapped.
            if version > document.primary {
                return Err(RootFileError::NoSuchVersion(version));
            }
            document.roots.retain(|root| root.version >= version);
            Ok(())
        })
    }

    /// Reads, changes and replaces the file under a lock between processes, so that two concurrent rotations create two versions and lose
    /// none.
    fn rewrite(
        &self,
        change: impl FnOnce(&mut Document) -> Result<(), RootFileError>,
    ) -> Result<Roots, RootFileError> {
        let _turn = self.take_turn()?;
        let mut document = self.document()?;
        change(&mut document)?;
        self.write(&document)?;
        Roots::new(&document).map_err(|cause| self.contents(cause))
    }

    fn document(&self) -> Result<Document, RootFileError> {
        Document::parse(&self.text()?).map_err(|cause| self.contents(cause))
    }

    fn text(&self) -> Result<Zeroizing<Vec<u8>>, RootFileError> {
        let mut file = File::open(&self.path).map_err(|cause| match cause.kind() {
            io::ErrorKind::NotFound => RootFileError::Missing(self.path.clone()),
            _ => self.failed("read")(cause),
        })?;
        // Checked on the open file and not by its path, which might lead to another file a moment later.
        let facts = file.metadata().map_err(self.failed("read"))?;
        if !facts.is_file() || facts.len() > MAX_LENGTH {
            return Err(RootFileError::NotAFile(self.path.clone()));
        }
        let mode = facts.mode() & 0o7777;
        let is_passed_on = facts.uid() == 0 && mode == PASSED_ON;
        if mode & OTHERS != 0 && !is_passed_on {
            return Err(RootFileError::Permissions {
                path: self.path.clone(),
                mode,
            });
        }
        let length = usize::try_from(facts.len())
            .map_err(|_huge| RootFileError::NotAFile(self.path.clone()))?;
        let mut text = Zeroizing::new(vec![0; length]);
        file.read_exact(&mut text).map_err(self.failed("read"))?;
        Ok(text)
    }

    /// Replaces the file atomically: at every moment, and after a power loss, the path leads to either the old or the new file. It writes a
    /// temporary file, flushes it, renames it, and flushes the directory.
    fn write(&self, document: &Document) -> Result<(), RootFileError> {
        let text = document.text().map_err(|cause| self.contents(cause))?;
        let beside = self.beside(".new");
        let write = || {
            // A leftover of a crash is useless. A new file has the right mode from the first byte.
            match std::fs::remove_file(&beside) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(MODE)
                .open(&beside)?;
            file.write_all(&text)?;
            file.sync_all()?;
            std::fs::rename(&beside, &self.path)?;
            File::open(self.directory())?.sync_all()
        };
        write().map_err(self.failed("written"))
    }

    /// Waits for the lock between processes that change the file. The lock is on a separate file, because the root key file is replaced and
    /// a lock on it would stay with the old one. The kernel releases it when the process ends.
    fn take_turn(&self) -> Result<File, RootFileError> {
        let lock = || {
            let file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .mode(MODE)
                .open(self.beside(".lock"))?;
            file.lock()?;
            Ok(file)
        };
        lock().map_err(self.failed("locked"))
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(suffix);
        path.into()
    }

    fn directory(&self) -> &Path {
        match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        }
    }

    fn failed(&self, what: &'static str) -> impl Fn(io::Error) -> RootFileError {
        move |cause| RootFileError::Io {
            path: self.path.clone(),
            what,
            cause,
        }
    }

    fn contents(&self, cause: DocumentError) -> RootFileError {
        RootFileError::Contents(self.path.clone(), cause)
    }
}

fn fresh_key(entropy: &dyn Entropy) -> Secret<[u8; 32]> {
    let mut key = Zeroizing::new([0; 32]);
    entropy.fill(key.as_mut_slice());
    Secret::new(*key)
}
