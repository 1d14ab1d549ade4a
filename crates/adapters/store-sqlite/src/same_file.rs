//! Checks whether the path of the database still leads to the file that was opened.
//!
//! SQLite keeps using a file that was deleted or replaced, and acknowledges writes that no later process will find.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::Builder;
use std::time::{Duration, Instant};

use vestry_ports::store::{StoreError, StoreResult};
use vestry_store_rows::failure::Cause;

/// Interval between checks of the path.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Interval between alarms while the file is missing.
const ALARM_EVERY: Duration = Duration::from_secs(60);

/// A file's identity in the file system. As long as a connection holds the file open, no other file can have the same identity.
///
/// It is read from the path alone: opening and closing the file would release all locks of this process on it; see
/// [`create_private`](super::manager::create_private).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    fn at(path: &Path) -> io::Result<Self> {
        std::fs::metadata(path).map(|found| Self::of(&found))
    }

    #[cfg(unix)]
    fn of(file: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            device: file.dev(),
            inode: file.ino(),
        }
    }

    /// On platforms without inode numbers, only a missing file is detected.
    #[cfg(not(unix))]
    fn of(_file: &Metadata) -> Self {
        Self {
            device: 0,
            inode: 0,
        }
    }
}

/// The file that all connections of a store must lead to.
pub(crate) struct SameFile {
    path: PathBuf,
    opened: OnceLock<FileId>,
    is_lost: AtomicBool,
}

impl SameFile {
    /// Returns the file at this path, to be opened by the first connection.
    pub(crate) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            opened: OnceLock::new(),
            is_lost: AtomicBool::new(false),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a connection has been opened.
    pub(crate) fn was_opened(&self) -> bool {
        self.opened.get().is_some()
    }

    /// Returns the file that the path leads to now.
    ///
    /// # Errors
    /// The file does not exist, or it is not the one that was opened.
    pub(crate) fn found(&self) -> StoreResult<FileId> {
        let found = FileId::at(&self.path).map_err(|refused| {
            let cause = format!("cannot access the database file: {refused}");
            StoreError::Unavailable(Box::new(Cause(cause)))
        })?;
        match self.opened.get() {
            Some(opened) if *opened != found => Err(lost()),
            _same_or_first => Ok(found),
        }
    }

    /// Records the file of the first connection. `before` was read before the file was opened.
    ///
    /// # Errors
    /// The path now leads to another file, so it is unknown which one the connection has.
    pub(crate) fn was_opened_as(&self, before: FileId) -> StoreResult<()> {
        if self.found()? != before || *self.opened.get_or_init(|| before) != before {
            return Err(lost());
        }
        Ok(())
    }

    /// Refuses work while the file is missing.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub(crate) fn check(&self) -> StoreResult<()> {
        match self.is_lost.load(Ordering::Relaxed) {
            true => Err(lost()),
            false => Ok(()),
        }
    }

    /// Checks the path now; returns whether the file is missing.
    fn look(&self) -> bool {
        let is_lost = self.found().is_err();
        self.is_lost.store(is_lost, Ordering::Relaxed);
        is_lost
    }
}

fn lost() -> StoreError {
    let cause = "the database file was deleted or replaced while it was in use";
    StoreError::Unavailable(Box::new(Cause(cause.to_owned())))
}

/// Checks the path until it is dropped.
pub(crate) struct Watch {
    _end: Sender<()>,
}

impl Watch {
    /// Watches the file on its own thread, so that a hanging disk does not delay anything else.
    ///
    /// # Errors
    /// The thread could not be started.
    pub(crate) fn over(file: Arc<SameFile>) -> io::Result<Self> {
        let (end, ended) = channel();
        let thread = Builder::new().name("sqlite-watch".to_owned());
        thread.spawn(move || {
            let mut alarm = None;
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(LOOK_EVERY) {
                alarm = report(file.look(), alarm);
            }
        })?;
        Ok(Self { _end: end })
    }
}

/// Logs the loss of the file, and its return. `alarm` and the result are the time of the last alarm.
fn report(is_lost: bool, alarm: Option<Instant>) -> Option<Instant> {
    match alarm {
        None if !is_lost => None,
        Some(_) if !is_lost => {
            tracing::info!("database file is back");
            None
        }
        Some(logged) if logged.elapsed() < ALARM_EVERY => Some(logged),
        _ => {
            tracing::error!(
                alert = "VestryNotReady",
                "ALARM: database file was deleted or replaced while in use; all requests return 503. Put the original file back, or restart to use the new one"
            );
            Some(Instant::now())
        }
    }
}
