//! Servers that are built from source, because Debian has no package of the version that is needed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::{process, project};

/// The default directory of the sources and their `build` script.
pub fn sources() -> PathBuf {
    project::root().join("../shared/servers")
}

/// Builds a server into `target/servers` unless that was done before, and returns its path.
pub fn build(sources: &Path, server: &str) -> Result<PathBuf, Failure> {
    let script = sources.join("build");
    if !script.is_file() {
        return Err(Failure::new(format!(
            "{} does not exist; pass the directory with the sources of {server} as --servers",
            script.display()
        )));
    }
    eprintln!("xtask: building {server} if needed");
    let target = project::target().join("servers");
    let printed = process::output(Command::new(script).arg(server).arg(target))?;
    let last = printed.lines().last().unwrap_or_default();
    Ok(PathBuf::from(last))
}
