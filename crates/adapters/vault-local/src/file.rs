//! The root key file: who may read it, how it is replaced, how writers take turns.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use vestry_domain::Secret;
use vestry_ports::entropy::Entropy;
use zeroize::Zeroizing;

use crate::document::{Document, DocumentError};
use crate::roots::Roots;

/// Mode of the file: its owner reads and writes, nobody else does anything.
const MODE: u32 = 0o600;
/// The permission bits of group and others.
const OTHERS: u32 = 0o077;
/// Far more than any number of rotations needs; whatever is bigger is not a root key file.
const LONGEST: u64 = 1024 * 1024;

/// Why a root key file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RootFileError {
    /// There is no such file.
    #[error("there is no root key file {}", .0.display())]
    Missing(PathBuf),
    /// There is one already; a new one in its place would make everything under the old one unreadable.
    #[error("the root key file {} exists already", .0.display())]
    Exists(PathBuf),
    /// Others than its owner may use it.
    #[error("the root key file {} is open to others (mode {mode:04o}); run: chmod 600 {}", .path.display(), .path.display())]
    Permissions {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Not a regular file, or too big to be a root key file.
    #[error("{} is not a root key file", .0.display())]
    NotAFile(PathBuf),
    /// Its contents are not root keys.
    #[error("the root key file {} cannot be used", .0.display())]
    Contents(PathBuf, #[source] DocumentError),
    /// The version asked for is not there, so that retiring would leave nothing behind.
    #[error("root key version {0} is above the primary version")]
    NoSuchVersion(u32),
    /// The root keys came as a value and are changed where that value is kept.
    #[error("root keys from the environment are changed where they are set, not here")]
    ReadOnly,
    /// The operating system refused.
    #[error("the root key file {} cannot be {what}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried, such as `read`.
        what: &'static str,
        /// The refusal.
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
            // The primary version stays whatever is asked for: without it nothing new can be wrapped.
            if version > document.primary {
                return Err(RootFileError::NoSuchVersion(version));
            }
            document.roots.retain(|root| root.version >= version);
            Ok(())
        })
    }

    /// Reads, changes and replaces the file while no other process does the same, so that two rotations at once
    /// make two versions and lose none.
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
        // Asked of the open file and not of its path, which might be another file a moment later.
        let facts = file.metadata().map_err(self.failed("read"))?;
        if !facts.is_file() || facts.len() > LONGEST {
            return Err(RootFileError::NotAFile(self.path.clone()));
        }
        let mode = facts.mode() & 0o7777;
        if mode & OTHERS != 0 {
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

    /// Puts the new text in place so that at every moment, and after a power cut, the path holds either the old or
    /// the new file: write beside it, flush, rename, flush the directory.
    fn write(&self, document: &Document) -> Result<(), RootFileError> {
        let text = document.text().map_err(|cause| self.contents(cause))?;
        let beside = self.beside(".new");
        let write = || {
            // What a crash left here is of no use. Made anew, so that its mode is ours from the first byte on.
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

    /// Waits until no other process changes the file. The lock is on a file of its own, because the root key file is
    /// replaced and a lock on it would stay with the old one; the kernel gives it back when the process ends.
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
