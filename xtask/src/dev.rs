//! `cargo xtask dev`: runs the service on this machine.

use std::os::unix::process::CommandExt;

use crate::failure::{Context, Failure};
use crate::project;

pub(crate) const ABOUT: &str = "\
Build the service and start it with development defaults.

Nothing needs to be installed: it uses a SQLite file, a local key and captured mail. Arguments are passed to `vestry dev`:
--data-dir DIR, --listen ADDRESS, --fresh; `cargo xtask dev --help` lists them.";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut command = project::cargo();
    command
        .args([
            "run",
            "--package",
            "vestry-server",
            "--bin",
            "vestry",
            project::LIGHT,
            "--",
            "dev",
        ])
        .args(arguments);
    // The service runs in the user's current directory, so that a relative --data-dir works as expected.
    let here = std::env::current_dir().context("cannot read the current directory")?;
    // Replaces this process, so that Ctrl-C and SIGTERM reach the service and its exit code is ours.
    let cause = command.current_dir(here).exec();
    Err(Failure::new(format!("cannot start cargo: {cause}")))
}
