//! Temporary directories.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::failure::{Context, Failure};
use crate::process;

/// Linux's in-memory file system.
const MEMORY: &str = "/dev/shm";
/// The memory that the tests and their servers may need at once, in KiB: 4 GiB.
const NEEDED: u64 = 4 << 20;

/// Creates an empty directory that only this user may enter (0700), below the system's temporary directory.
///
/// It is not below `target`. A server that does not run as root may have no access to the home directory, and the path of a Unix socket
/// must be short.
pub fn directory(purpose: &str) -> Result<PathBuf, Failure> {
    directory_below(&std::env::temp_dir(), purpose)
}

/// Creates a directory for expendable data, in memory if there is room.
///
/// Each test on Postgres creates a database of some three hundred files and deletes it again, which takes longer on a disk than the test.
pub fn directory_in_memory(purpose: &str) -> Result<PathBuf, Failure> {
    match memory() {
        Some(memory) => directory_below(memory, purpose),
        None => directory(purpose),
    }
}

/// The directory for in-memory temporary files; `None` if there is none, or too little room.
pub fn memory() -> Option<&'static Path> {
    let mut ask = Command::new("df");
    ask.args(["-k", "--output=fstype,avail", MEMORY])
        .stderr(Stdio::null());
    let said = process::output(&mut ask).ok()?;
    let (kind, free) = said.lines().nth(1)?.trim().split_once(' ')?;
    let free: u64 = free.trim().parse().ok()?;
    (kind == "tmpfs" && free >= NEEDED).then_some(Path::new(MEMORY))
}

fn directory_below(parent: &Path, purpose: &str) -> Result<PathBuf, Failure> {
    // Names are never reused in a process, so that a deleted directory is not confused with a new one.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let process = std::process::id();
    for _attempt in 0..1_000 {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("vestry-{purpose}-{process}-{number}"));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(cause) if cause.kind() == ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(cause).context(format!("cannot create {}", path.display())),
        }
    }
    Err(Failure::new(format!(
        "no free name for a temporary {purpose} directory"
    )))
}
