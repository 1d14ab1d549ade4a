//! Directories that live as long as a command.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::failure::{Context, Failure};

/// Creates an empty directory that only this user may enter (0700), below the system's temporary directory.
///
/// Not below `target`: a server that must not run as root could not reach it where a home directory is closed,
/// and the path of a Unix socket may not be long.
pub(crate) fn directory(purpose: &str) -> Result<PathBuf, Failure> {
    // No name twice in a process: whoever waits for the end of a directory must not see another one in its place.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let process = std::process::id();
    for _attempt in 0..1_000 {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("vestry-{purpose}-{process}-{number}"));
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
