//! SHA-256 of files.

use std::path::Path;
use std::process::Command;

use crate::failure::Failure;
use crate::process;

/// The SHA-256 of a file, in hex, by `sha256sum`.
pub(crate) fn sha256(path: &Path) -> Result<String, Failure> {
    let said = process::output(Command::new("sha256sum").arg(path))?;
    said.split_whitespace()
        .next()
        .map(str::to_owned)
        .ok_or_else(|| Failure::new("sha256sum printed nothing"))
}
