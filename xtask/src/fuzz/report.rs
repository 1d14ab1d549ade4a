//! What libFuzzer printed about a run.

use std::fmt;
use std::fs;
use std::path::Path;

use crate::failure::{Context, Failure};

/// A run of one target.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// Inputs that were tried, the seeds among them.
    pub(super) runs: u64,
    /// How long that took.
    pub(super) seconds: u64,
    /// Whole seconds that the slowest input took.
    pub(super) slowest: u64,
    /// Inputs that were kept because something was wrong with them.
    pub(super) findings: usize,
}

impl Report {
    /// Reads `Done 123 runs in 4 second(s)` and the final statistics. After a finding the first is missing; the second tells the
    /// runs, and nobody the time.
    pub(super) fn read(said: &str) -> Self {
        let statistic = |name: &str| {
            let line = said.lines().find_map(|line| {
                line.strip_prefix("stat::")?
                    .strip_prefix(name)?
                    .strip_prefix(':')
            });
            line.and_then(|number| number.trim().parse().ok())
        };
        let done = said
            .lines()
            .find_map(|line| line.strip_prefix("Done ")?.split_once(" runs in "));
        let seconds = done.and_then(|(_, time)| time.split(' ').next()?.parse().ok());
        Self {
            runs: statistic("number_of_executed_units").unwrap_or_default(),
            seconds: seconds.unwrap_or_default(),
            slowest: statistic("slowest_unit_time_sec").unwrap_or_default(),
            findings: 0,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "runs={} seconds={} slowest={}s findings={}",
            self.runs, self.seconds, self.slowest, self.findings
        )
    }
}

/// How many inputs libFuzzer left there. It names them after what happened, such as `crash-` and a hash.
pub(super) fn inputs(directory: &Path) -> Result<usize, Failure> {
    let doing = || format!("cannot read {}", directory.display());
    let mut count = 0;
    for entry in fs::read_dir(directory).context(doing())? {
        let name = entry.context(doing())?.file_name();
        let kinds = ["crash-", "timeout-", "oom-", "leak-"];
        if kinds
            .iter()
            .any(|kind| name.to_string_lossy().starts_with(kind))
        {
            count += 1;
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests;
