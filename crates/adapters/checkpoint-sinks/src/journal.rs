//! The journal as files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Mutex;
use vestry_domain::Timestamp;
use vestry_domain::timestamp::Seconds;
use vestry_ports::anchors::SinkError;
use vestry_ports::journal::Journal;
use vestry_ports::port;

use crate::file::off_the_runtime;

/// Size in bytes after which a part is complete.
const MAX_PART: u64 = 16 * 1024 * 1024;
/// Age after which a part is complete.
const MAX_AGE: Seconds = Seconds(86_400);
/// How far the clocks of two machines may differ.
const SKEW: Seconds = Seconds(3_600);
/// Parts that can begin in one second.
const MAX_IN_SECOND: u32 = 10_000;

/// Appends lines to files named `journal-<Unix seconds>-<number>.jsonl`, beside the checkpoints of a [`FileSink`](crate::FileSink).
///
/// Each process writes its own files. It begins a new one after 16 MiB, after a day and after an error, since the last line may be
/// incomplete. The directory is never created here.
#[derive(Debug)]
pub struct FileJournal {
    directory: PathBuf,
    /// Held while lines are written, by one caller at a time.
    open: Arc<Mutex<Option<Part>>>,
}

/// A part that lines are appended to.
#[derive(Debug)]
struct Part {
    file: File,
    begun: Timestamp,
    bytes: u64,
}

impl FileJournal {
    /// Creates a journal in this directory. Nothing is read or written yet.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            open: Arc::default(),
        }
    }
}

#[port]
impl Journal for FileJournal {
    async fn append(&self, at: Timestamp, lines: &[String]) -> Result<(), SinkError> {
        if lines.iter().any(|line| line.contains('\n')) {
            let message = "a line of the journal contains a line feed";
            return Err(SinkError::Refused(message.to_owned()));
        }
        let mut text = lines.join("\n");
        text.push('\n');
        let directory = self.directory.clone();
        // Callers that wait for a disk that hangs hold no thread.
        let mut open = Arc::clone(&self.open).lock_owned().await;
        off_the_runtime(move || {
            // Without it until the text is on disk, so that nothing follows an incomplete line.
            let part = open.take();
            *open = Some(append(&directory, part, at, text.as_bytes())?);
            Ok(())
        })
        .await
    }

    async fn parts(&self, from: Timestamp) -> Result<Vec<String>, SinkError> {
        let directory = self.directory.clone();
        off_the_runtime(move || parts(&directory, from - MAX_AGE - SKEW)).await
    }

    async fn lines(&self, part: &str) -> Result<Vec<String>, SinkError> {
        if begun(part).is_none() {
            return Err(SinkError::Refused(
                "this is no part of a journal".to_owned(),
            ));
        }
        let path = self.directory.join(part);
        off_the_runtime(move || lines(&path)).await
    }
}

fn append(directory: &Path, part: Option<Part>, now: Timestamp, text: &[u8]) -> io::Result<Part> {
    let goes_on = |part: &Part| part.bytes < MAX_PART && now - part.begun < MAX_AGE;
    let mut part = match part.filter(goes_on) {
        Some(part) => part,
        None => begin(directory, now)?,
    };
    part.file.write_all(text)?;
    part.file.sync_data()?;
    let written = u64::try_from(text.len()).unwrap_or(u64::MAX);
    part.bytes = part.bytes.saturating_add(written);
    Ok(part)
}

fn begin(directory: &Path, now: Timestamp) -> io::Result<Part> {
    for number in 0..MAX_IN_SECOND {
        let path = directory.join(name(now, number));
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o640)
            .open(path);
        let file = match file {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            opened => opened?,
        };
        File::open(directory)?.sync_all()?;
        return Ok(Part {
            file,
            begun: now,
            bytes: 0,
        });
    }
    Err(ErrorKind::AlreadyExists.into())
}

fn name(at: Timestamp, number: u32) -> String {
    format!("journal-{:012}-{number:04}.jsonl", at.unix())
}

/// When a part of this name was begun; `None` for any other name.
fn begun(part: &str) -> Option<Timestamp> {
    let (at, number) = part
        .strip_prefix("journal-")?
        .strip_suffix(".jsonl")?
        .split_once('-')?;
    let at = Timestamp::from_unix(at.parse().ok()?);
    (part == name(at, number.parse().ok()?)).then_some(at)
}

fn parts(directory: &Path, from: Timestamp) -> io::Result<Vec<String>> {
    let mut parts = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        let name = name.to_str();
        let is_due = |name: &&str| begun(name).is_some_and(|at| at >= from);
        parts.extend(name.filter(is_due).map(str::to_owned));
    }
    parts.sort_unstable();
    Ok(parts)
}

fn lines(path: &Path) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    let mut file = BufReader::new(File::open(path)?);
    loop {
        let mut line = String::new();
        file.read_line(&mut line)?;
        match line.strip_suffix('\n') {
            Some(complete) => lines.push(complete.to_owned()),
            None => return Ok(lines),
        }
    }
}
