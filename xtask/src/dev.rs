//! `cargo xtask dev`: runs the service on this machine.

use crate::failure::Failure;
use crate::project;

pub(crate) const ABOUT: &str = "\
Build the service and start it with development defaults.

Nothing needs to be installed: it uses a SQLite file, a local key and captured mail. Arguments are passed to `vestry dev`:
--data-dir DIR, --listen ADDRESS, --fresh; `cargo xtask dev --help` lists them.";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let package = ["--package", "vestry-server", "--bin", "vestry"];
    let run = [&["run"][..], &package, &[project::LIGHT, "--", "dev"]].concat();
    project::become_cargo(&run, arguments)
}
