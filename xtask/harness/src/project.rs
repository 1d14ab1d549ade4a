//! Paths in the repository.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::{environment, process};

/// The directory of the workspace manifest.
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_path_buf()
}

/// Cargo's target directory.
pub fn target() -> PathBuf {
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
pub fn cached(name: &str, list: &str) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    list.hash(&mut hasher);
    cache().join(format!("{name}-{:016x}", hasher.finish()))
}

/// The flag of every build for development and tests. It leaves out jemalloc, which takes two minutes to compile. A call of cargo
/// without it would rebuild half of the tree with other features.
pub const LIGHT: &str = "--no-default-features";

/// The cargo that runs this program, to be started in the root.
pub fn cargo() -> Command {
    in_root(Command::new(cargo_program()))
}

/// The host platform in the compiler's notation.
pub fn host() -> Result<String, Failure> {
    let version = process::output(cargo().args(["version", "--verbose"]))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| Failure::new("cargo did not report its host platform"))
}

/// Replaces this process by cargo, so that Ctrl-C and SIGTERM reach the program it runs and the exit code is that program's.
///
/// The program runs in the user's current directory, so that relative paths among the arguments work as expected.
pub fn become_cargo(run: &[&str], arguments: &[String]) -> Result<(), Failure> {
    let mut command = Command::new(cargo_program());
    let cause = command.args(run).args(arguments).exec();
    Err(Failure::new(format!("cannot start cargo: {cause}")))
}

fn cargo_program() -> String {
    environment::variable("CARGO").unwrap_or_else(|| "cargo".to_owned())
}

fn in_root(mut command: Command) -> Command {
    command.current_dir(root());
    command
}
