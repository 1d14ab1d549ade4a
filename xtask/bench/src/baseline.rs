//! The program of the baselines: loops without HTTP, and a server with an empty handler and a raw SELECT.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use xtask_harness::child_guard::ChildGuard;
use xtask_harness::failure::{Context, Failure};
use xtask_harness::{process, project};

use crate::load::Load;

const PROGRAM: &str = "vestry-bench-baseline";

/// A third-party server that prints its URL once it is ready. It is stopped on drop.
pub(crate) struct UrlServer {
    pub(crate) guard: ChildGuard,
    pub(crate) url: String,
    /// What it had printed by then.
    pub(crate) output: String,
}

impl UrlServer {
    /// Starts a server, whose log is `target/bench-<name>.log`.
    pub(crate) fn start(name: &str, command: &Command, limit: Duration) -> Result<Self, Failure> {
        let log = project::target().join(format!("bench-{name}.log"));
        let file = File::create(&log).context("cannot create a log")?;
        let server = format!("{name} (log: {})", log.display());
        let mut guard = ChildGuard::start(command, "TERM", file, None)?;
        let (url, output) = guard.wait_until_ready(&server, limit, || {
            let output = fs::read_to_string(&log).ok()?;
            let url = output.lines().find(|line| line.starts_with("http://"))?;
            Some((url.to_owned(), output))
        })?;
        Ok(Self { guard, url, output })
    }
}

/// Starts the HTTP baseline on a database that has a user.
pub(crate) fn start(programs: &Path, database_url: &str) -> Result<UrlServer, Failure> {
    let mut command = Command::new(programs.join(PROGRAM));
    command.args(["http", "--database", database_url]);
    UrlServer::start("baseline", &command, Duration::from_secs(30))
}

/// Runs a loop without HTTP and returns its operations per second.
pub(crate) fn raw(programs: &Path, arguments: &[&str], load: Load) -> Result<f64, Failure> {
    let mut command = Command::new(programs.join(PROGRAM));
    command
        .args(arguments)
        .args(["--seconds", &load.seconds.to_string()]);
    let printed = process::output(&mut command)?;
    printed.trim().parse().context(format!(
        "the baseline printed {printed:?} instead of a rate"
    ))
}
