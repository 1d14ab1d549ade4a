//! Paths in the repository.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::environment;

/// The directory of the workspace manifest.
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

/// The cache of downloads and installations for tests, shared between checkouts: one directory for each state of the lists.
///
/// It can be deleted at any time.
fn cache() -> PathBuf {
    let of_user = || Some(Path::new(&environment::variable("HOME")?).join(".cache"));
    let base = environment::variable("XDG_CACHE_HOME").map(PathBuf::from);
    match base.or_else(of_user) {
        Some(base) => base.join("vestry"),
        None => target().join("cache"),
    }
}

/// The cache directory for a list; a different list has a different directory.
pub(crate) fn cached(name: &str, list: &str) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    list.hash(&mut hasher);
    cache().join(format!("{name}-{:016x}", hasher.finish()))
}

/// What every build for development and tests leaves out: jemalloc, which takes two minutes to compile. All calls of cargo say
/// it, or each would build half the tree anew with its own features.
pub(crate) const LIGHT: &str = "--no-default-features";

/// The cargo that runs this program, to be started in the root.
pub(crate) fn cargo() -> Command {
    in_root(Command::new(cargo_program()))
}

/// The same, which takes what others leave of the machine.
pub(crate) fn cargo_at_leisure() -> Command {
    let mut command = Command::new("nice");
    command.args(["-n", "19"]).arg(cargo_program());
    in_root(command)
}

fn cargo_program() -> String {
    environment::variable("CARGO").unwrap_or_else(|| "cargo".to_owned())
}

fn in_root(mut command: Command) -> Command {
    command.current_dir(root());
    command
}
