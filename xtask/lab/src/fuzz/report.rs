//! Parsing of libFuzzer's output.

use std::fmt;
use std::fs;
use std::path::Path;

use xtask_harness::failure::{Context, Failure};

/// The result of one target.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// The number of inputs tried, seeds included.
    pub(super) runs: u64,
    /// The duration of the run.
    pub(super) seconds: u64,
    /// The time of the slowest input, in whole seconds.
    pub(super) slowest: u64,
    /// The number of inputs kept as findings.
    pub(super) findings: usize,
}

impl Report {
    /// Parses `Done 123 runs in 4 second(s)` and the final statistics.
    ///
    /// After a finding the former is missing; the latter has the number of runs, but not the duration.
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

/// The number of inputs that libFuzzer wrote to a directory. It names them by what happened, such as `crash-` and a hash.
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
