//! The program of the baselines: loops without HTTP, and a server with an empty handler and a raw SELECT.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::load::Load;
use crate::failure::{Context, Failure};
use crate::keeper::Keeper;
use crate::{process, project, wait};

const PROGRAM: &str = "vestry-bench-baseline";

/// The server, which ends with this value.
pub(super) struct Baseline {
    pub(super) keeper: Keeper,
    pub(super) url: String,
}

/// Starts the server on a database that has a user; its first line says where it listens.
pub(super) fn start(programs: &Path, database_url: &str) -> Result<Baseline, Failure> {
    let mut command = Command::new(programs.join(PROGRAM));
    command.args(["http", "--database", database_url]);
    let log = log_file("bench-baseline");
    let file = File::create(&log).context("cannot create a log")?;
    let mut keeper = Keeper::start(&command, "TERM", file, None)?;
    let url = wait::until("the start of the baseline", Duration::from_secs(30), || {
        require(&mut keeper, &log)?;
        let text = fs::read_to_string(&log).unwrap_or_default();
        Ok(text
            .lines()
            .find(|line| line.starts_with("http://"))
            .map(str::to_owned))
    })?;
    Ok(Baseline { keeper, url })
}

/// A loop without HTTP; it prints operations a second.
pub(super) fn raw(programs: &Path, arguments: &[&str], load: Load) -> Result<f64, Failure> {
    let mut command = Command::new(programs.join(PROGRAM));
    command
        .args(arguments)
        .args(["--seconds", &load.seconds.to_string()]);
    let printed = process::output(&mut command)?;
    printed
        .trim()
        .parse()
        .context(format!("the baseline printed {printed:?} and not a rate"))
}

/// Where a server of the bench writes what it prints.
pub(super) fn log_file(name: &str) -> PathBuf {
    project::target().join(format!("{name}.log"))
}

/// A failure when the server has ended.
pub(super) fn require(keeper: &mut Keeper, log: &Path) -> Result<(), Failure> {
    match keeper.ended()? {
        None => Ok(()),
        Some(status) => Err(Failure::new(format!(
            "it ended with {status}; see {}",
            log.display()
        ))),
    }
}
