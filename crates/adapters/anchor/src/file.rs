//! Notes as files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use vestry_ports::anchors::{CheckpointSink, SinkError};
use vestry_ports::port;

use crate::bounds;
use crate::directory::{beginning, file_name, newest_in};

/// How many crashes in the middle of one and the same note may leave something behind.
const MOST_LEFTOVERS: u32 = 1000;

/// Keeps each note in a file of its own, `checkpoint-<number>.txt`.
///
/// The directory is never made here: where a disk is not mounted, a new directory in its place would look like an anchor and be none.
/// Its file system must know hard links, because a name can be given to a whole file by one, and by nothing else that leaves alone
/// what has the name already.
#[derive(Debug)]
pub struct FileSink {
    name: String,
    directory: PathBuf,
}

impl FileSink {
    /// A sink in this directory. Nothing is read or written yet.
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
}

/// Disks make whoever asks them wait. What has begun runs to its end, also when nobody waits for it any more.
async fn off_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, SinkError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(outcome)) => Ok(outcome),
        Ok(Err(error)) => Err(SinkError::Unavailable(Box::new(error))),
        Err(error) => Err(SinkError::Unavailable(Box::new(error))),
    }
}

/// What is under the name of a number.
enum Kept {
    This,
    Another,
}

/// Writes the note beside its place and puts it there when it is whole and on disk.
fn keep(directory: &Path, number: i64, note: &[u8]) -> io::Result<Kept> {
    let path = directory.join(file_name(number));
    if let Some(kept) = compare(&path, note)? {
        return settle(directory, number, kept);
    }
    let beside = write_beside(directory, number, note)?;
    let linked = fs::hard_link(&beside, &path);
    // It may be gone: whoever has put the same number in its place takes away everything that is beside it.
    drop(fs::remove_file(&beside));
    // Whatever the link says, what is there counts: another process was faster, or the answer of a file server got lost.
    match (compare(&path, note)?, linked) {
        (Some(kept), _) => settle(directory, number, kept),
        (None, Err(error)) => Err(error),
        (None, Ok(())) => Err(ErrorKind::NotFound.into()),
    }
}

/// Whether this note is at the path; `None` where nothing is.
fn compare(path: &Path, note: &[u8]) -> io::Result<Option<Kept>> {
    match beginning(path, note.len()) {
        Ok(there) if there == note => Ok(Some(Kept::This)),
        Ok(_) => Ok(Some(Kept::Another)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes the name as lasting as the file, also after a crash between the link and this, and takes away what such a crash left.
fn settle(directory: &Path, number: i64, kept: Kept) -> io::Result<Kept> {
    if matches!(kept, Kept::This) {
        // Somebody else may have copied it here.
        File::open(directory.join(file_name(number)))?.sync_all()?;
        File::open(directory)?.sync_all()?;
    }
    // Nothing gets this number any more, so nothing of it that is beside is needed, not even by who still writes it.
    for attempt in 0..MOST_LEFTOVERS {
        if fs::remove_file(path_beside(directory, number, attempt)).is_err() {
            break;
        }
    }
    Ok(kept)
}

/// Writes the note to a file that was not there before. A half one of an earlier crash is left alone, because another process may be
/// writing it: if its name were used again, that process could put half of our note in its place.
fn write_beside(directory: &Path, number: i64, note: &[u8]) -> io::Result<PathBuf> {
    for attempt in 0..MOST_LEFTOVERS {
        let beside = path_beside(directory, number, attempt);
        let mut file = match open_new(&beside) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            opened => opened?,
        };
        let written = file.write_all(note).and_then(|()| file.sync_all());
        if let Err(error) = written {
            // A full disk must not be filled further by each new attempt.
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

/// For its group to read: a note has no secrets, and somebody has to carry it away.
fn open_new(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o640)
        .open(path)
}
