//! Files that only their owner may read, in directories that only their owner may enter.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use vestry_domain::Secret;

use crate::failure::{Context, Failure};

/// Makes a directory and those above it (mode 0700). One that is there is left as it is.
pub(crate) fn make_directory(path: &Path) -> Result<(), Failure> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .context(format!("the directory {} cannot be made", path.display()))
}

/// Makes the directory in which a file is to be.
pub(crate) fn make_directory_of(file: &Path) -> Result<(), Failure> {
    match file.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => make_directory(directory),
        _ => Ok(()),
    }
}

/// The secret in a file, without the line break at its end. It is not on the command line, where other users of the machine see it.
pub(crate) fn read_secret(path: &Path) -> Result<Secret<String>, Failure> {
    let text = std::fs::read_to_string(path);
    let text = Secret::new(text.context(format!("{} cannot be read", path.display()))?);
    let secret = Secret::new(text.expose().trim().to_owned());
    if secret.expose().is_empty() {
        return Err(Failure::usage(format!("{} is empty", path.display())));
    }
    Ok(secret)
}

/// Writes the whole file (mode 0600) so that a reader sees the old or the new one and never half of it.
pub(crate) fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = Path::new(&beside);
    // What a crash left behind; made anew so that the mode is ours from the first byte on.
    match std::fs::remove_file(beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = open_new(beside)?;
    file.write_all(contents)?;
    file.sync_all()?;
    std::fs::rename(beside, path)
}

/// Makes a file (mode 0600) that is not there yet.
pub(crate) fn open_new(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}
