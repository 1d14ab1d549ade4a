//! `cargo xtask alerts`: the alert rules, judged by Prometheus' own tool.

use std::process::Command;

use crate::arguments::Arguments;
use crate::debian;
use crate::failure::Failure;
use crate::lane::Missing;
use crate::{process, project};

pub(crate) const ABOUT: &str = "\
Check and test the alert rules in deploy/prometheus with promtool (PR-36).

Each rule has a case in which it fires and one in which it stays silent. The Debian package `prometheus`, which contains
promtool, is installed if it is missing (as root).

--no-install   do not install anything with apt-get";

const MISSING: Missing = Missing {
    lanes: &["promtool"],
    remedy: "apt-get install prometheus",
};

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new("alerts", arguments);
    let install = arguments.install();
    arguments.end()?;
    check(install)
}

/// Checks the rules, and runs their tests.
pub(crate) fn check(install: bool) -> Result<(), Failure> {
    let find = || process::find("promtool");
    let Some(promtool) = debian::find_or_install(find, install, &["prometheus"])? else {
        return MISSING.announce();
    };
    for arguments in [
        ["check", "rules", "vestry.rules.yml"],
        ["test", "rules", "vestry.rules.test.yml"],
    ] {
        let mut command = Command::new(&promtool);
        let directory = project::root().join("deploy/prometheus");
        process::run(command.args(arguments).current_dir(directory))?;
    }
    Ok(())
}
