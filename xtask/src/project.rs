//! Where things are in the repository.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::environment;

/// The directory that holds the workspace manifest.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_path_buf()
}

/// Cargo's target directory.
pub(crate) fn target() -> PathBuf {
    match environment::variable("CARGO_TARGET_DIR") {
        Some(directory) => root().join(directory),
        None => root().join("target"),
    }
}

/// The cargo that runs this program, to be started in the root.
pub(crate) fn cargo() -> Command {
    let mut command =
        Command::new(environment::variable("CARGO").unwrap_or_else(|| "cargo".to_owned()));
    command.current_dir(root());
    command
}
