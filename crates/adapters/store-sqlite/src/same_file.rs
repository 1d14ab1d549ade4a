//! Whether the path of the database still leads to the file that was opened.
//!
//! SQLite goes on with a file that was deleted or replaced: it acknowledges writes that no later process will find.

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

/// How often the path is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How often the alarm is repeated while the file is away.
const ALARM_EVERY: Duration = Duration::from_secs(60);

/// A file as the file system identifies it. As long as a connection holds the file open, no other file can have the same identity.
///
/// It is read from the path alone: opening and closing the file would give up every lock of this process on it; see
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

    /// Where files have no number, only a missing one is noticed.
    #[cfg(not(unix))]
    fn of(_file: &Metadata) -> Self {
        Self {
            device: 0,
            inode: 0,
        }
    }
}

/// The file that all connections of a store have to lead to.
pub(crate) struct SameFile {
    path: PathBuf,
    opened: OnceLock<FileId>,
    is_lost: AtomicBool,
}

impl SameFile {
    /// The file at this path, which the first connection opens.
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

    /// Whether a connection was opened before.
    pub(crate) fn was_opened(&self) -> bool {
        self.opened.get().is_some()
    }

    /// The file that the path leads to now.
    ///
    /// # Errors
    /// There is none, or it is not the one that was opened.
    pub(crate) fn found(&self) -> StoreResult<FileId> {
        let found = FileId::at(&self.path).map_err(|refused| {
            let cause = format!("the database file: {refused}");
            StoreError::Unavailable(Box::new(Cause(cause)))
        })?;
        match self.opened.get() {
            Some(opened) if *opened != found => Err(lost()),
            _same_or_first => Ok(found),
        }
    }

    /// Remembers the file behind the first connection. `before` was found before it was opened.
    ///
    /// # Errors
    /// The path leads to another file by now, so that it is unknown which one the connection has.
    pub(crate) fn was_opened_as(&self, before: FileId) -> StoreResult<()> {
        if self.found()? != before || *self.opened.get_or_init(|| before) != before {
            return Err(lost());
        }
        Ok(())
    }

    /// Refuses work while the file is away.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub(crate) fn check(&self) -> StoreResult<()> {
        match self.is_lost.load(Ordering::Relaxed) {
            true => Err(lost()),
            false => Ok(()),
        }
    }

    /// Looks at the path now; whether the file is away.
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

/// Looks at the path until it is dropped.
pub(crate) struct Watch {
    _end: Sender<()>,
}

impl Watch {
    /// Watches the file on a thread of its own, since a disk that hangs must not hold up anything else.
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

/// Logs the loss of the file, and its return; `alarm` and the answer are when the loss was logged last.
fn report(is_lost: bool, alarm: Option<Instant>) -> Option<Instant> {
    match alarm {
        None if !is_lost => None,
        Some(_) if !is_lost => {
            tracing::info!("the database file is back");
            None
        }
        Some(logged) if logged.elapsed() < ALARM_EVERY => Some(logged),
        _ => {
            tracing::error!(
                "ALARM: database file was deleted or replaced while in use; all requests return 503. Put the original file back, or restart to use the new one"
            );
            Some(Instant::now())
        }
    }
}
