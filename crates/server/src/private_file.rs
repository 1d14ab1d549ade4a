//! Files readable only by their owner, in directories accessible only to their owner.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use vestry_domain::Secret;

use crate::failure::{Context, Failure};

/// Creates a directory and its parents (mode 0700). An existing one is left as it is.
pub(crate) fn make_directory(path: &Path) -> Result<(), Failure> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .context(format!("cannot create the directory {}", path.display()))
}

/// Creates the parent directory of a file.
pub(crate) fn make_directory_of(file: &Path) -> Result<(), Failure> {
    match file.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => make_directory(directory),
        _ => Ok(()),
    }
}

/// Reads a secret from a file, without the trailing line break. On the command line, other users of the machine could see it.
pub(crate) fn read_secret(path: &Path) -> Result<Secret<String>, Failure> {
    let text = std::fs::read_to_string(path);
    let text = Secret::new(text.context(format!("cannot read {}", path.display()))?);
    let secret = Secret::new(text.expose().trim().to_owned());
    if secret.expose().is_empty() {
        return Err(Failure::usage(format!("{} is empty", path.display())));
    }
    Ok(secret)
}

/// Replaces a file atomically (mode 0600): a reader sees the old or the new content.
pub(crate) fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = Path::new(&beside);
    // A leftover of a crash. It is recreated so that the mode is ours from the first byte.
    match std::fs::remove_file(beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = open_new(beside)?;
    file.write_all(contents)?;
    file.sync_all()?;
    std::fs::rename(beside, path)
}

/// Creates a new file (mode 0600).
pub(crate) fn open_new(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}
