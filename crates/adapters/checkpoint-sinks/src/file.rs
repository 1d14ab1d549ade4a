//! Notes as files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use vestry_ports::anchors::{CheckpointSink, SinkError};
use vestry_ports::port;

use crate::bounds;
use crate::directory::{beginning, file_name, newest_in, notes_since};

/// Maximum number of leftovers from crashes while writing the same note.
const MAX_LEFTOVERS: u32 = 1000;

/// Stores each note in its own file, `checkpoint-<number>.txt`.
///
/// The directory is never created here: if a disk is not mounted, a new directory in its place would look like a sink without being one.
/// Its file system must support hard links. Only a link gives a complete file its name without ever replacing an existing file of that
/// name.
#[derive(Debug)]
pub struct FileSink {
    name: String,
    directory: PathBuf,
}

impl FileSink {
    /// Creates a sink in this directory. Nothing is read or written yet.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        Self {
            name: format!("file:{}", directory.display()),
            directory,
        }
    }
}

#[port]
impl CheckpointSink for FileSink {
    fn name(&self) -> &str {
        &self.name
    }

    async fn put(&self, number: i64, note: &str) -> Result<(), SinkError> {
        bounds::check(number, note)?;
        let (directory, note) = (self.directory.clone(), note.to_owned());
        let kept = off_the_runtime(move || keep(&directory, number, note.as_bytes())).await?;
        match kept {
            Kept::This => Ok(()),
            Kept::Another => Err(SinkError::Differs { number }),
        }
    }

    async fn newest(&self) -> Result<Option<String>, SinkError> {
        let directory = self.directory.clone();
        off_the_runtime(move || newest_in(&directory)).await
    }

    async fn since(&self, number: i64) -> Result<Vec<String>, SinkError> {
        let directory = self.directory.clone();
        off_the_runtime(move || notes_since(&directory, number)).await
    }
}

/// Runs blocking file operations. Once started they run to completion, even if the caller stops waiting.
pub(crate) async fn off_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, SinkError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(outcome)) => Ok(outcome),
        Ok(Err(error)) => Err(SinkError::Unavailable(Box::new(error))),
        Err(error) => Err(SinkError::Unavailable(Box::new(error))),
    }
}

/// What exists under the name of a number.
enum Kept {
    This,
    Another,
}

/// Writes the note to a temporary file, and links it to its name once it is complete and on disk.
fn keep(directory: &Path, number: i64, note: &[u8]) -> io::Result<Kept> {
    let path = directory.join(file_name(number));
    if let Some(kept) = compare(&path, note)? {
        return settle(directory, number, kept);
    }
    let beside = write_beside(directory, number, note)?;
    let linked = fs::hard_link(&beside, &path);
    // The file may be gone: a process that stores the same number removes all temporary files of it.
    drop(fs::remove_file(&beside));
    // Whatever the link call reports, the existing file counts: another process may have been faster, or a file server's response may have
    // been lost.
    match (compare(&path, note)?, linked) {
        (Some(kept), _) => settle(directory, number, kept),
        (None, Err(error)) => Err(error),
        (None, Ok(())) => Err(ErrorKind::NotFound.into()),
    }
}

/// Compares this note with the file at the path; returns `None` if there is no file.
fn compare(path: &Path, note: &[u8]) -> io::Result<Option<Kept>> {
    match beginning(path, note.len()) {
        Ok(there) if there == note => Ok(Some(Kept::This)),
        Ok(_) => Ok(Some(Kept::Another)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes the file and its name durable, even after a crash just after the link, and removes leftovers of such crashes.
fn settle(directory: &Path, number: i64, kept: Kept) -> io::Result<Kept> {
    if matches!(kept, Kept::This) {
        // The file may have been copied here by other means.
        File::open(directory.join(file_name(number)))?.sync_all()?;
        File::open(directory)?.sync_all()?;
    }
    // No note gets this number any longer, so none of its temporary files is needed, not even by a process that is still writing one.
    for attempt in 0..MAX_LEFTOVERS {
        if fs::remove_file(path_beside(directory, number, attempt)).is_err() {
            break;
        }
    }
    Ok(kept)
}

/// Writes the note to a new file. A partial file of an earlier crash is left alone, because another process may be writing it. If its name
/// were reused, that process could put half of our note in place.
fn write_beside(directory: &Path, number: i64, note: &[u8]) -> io::Result<PathBuf> {
    for attempt in 0..MAX_LEFTOVERS {
        let beside = path_beside(directory, number, attempt);
        let mut file = match open_new(&beside) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            opened => opened?,
        };
        let written = file.write_all(note).and_then(|()| file.sync_all());
        if let Err(error) = written {
            // New attempts must not fill a full disk further.
            drop(fs::remove_file(&beside));
            return Err(error);
        }
        return Ok(beside);
    }
    Err(ErrorKind::AlreadyExists.into())
}

fn path_beside(directory: &Path, number: i64, attempt: u32) -> PathBuf {
    directory.join(format!(".{}.{attempt}.new", file_name(number)))
}

/// Readable by the group: a note contains no secrets, and another program has to copy it elsewhere.
fn open_new(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o640)
        .open(path)
}
