//! Load from a second process, wrk.

use std::path::Path;
use std::process::Command;

use xtask_harness::failure::{Context, Failure};
use xtask_harness::{debian, process};

use crate::paired_stats::median;

/// The length of a measurement, and its connections.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) seconds: u32,
    pub(crate) connections: u32,
}

impl Load {
    /// Half of the length, rounded up.
    pub(crate) const fn half(self) -> Self {
        Self {
            seconds: self.seconds.div_ceil(2),
            connections: self.connections,
        }
    }
}

/// A rate, and latencies in milliseconds.
#[derive(Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) per_second: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

impl Measured {
    /// The median of each figure.
    pub(crate) fn median(all: &[Self]) -> Self {
        let of = |read: fn(&Self) -> f64| median(&all.iter().map(read).collect::<Vec<_>>());
        Self {
            per_second: of(|one| one.per_second),
            p50: of(|one| one.p50),
            p99: of(|one| one.p99),
        }
    }
}

/// A run of wrk.
#[derive(Clone, Copy)]
pub(crate) struct Counted {
    pub(crate) measured: Measured,
    /// Requests with a response.
    pub(crate) requests: u64,
}

/// The requests to send.
#[derive(Clone, Copy)]
pub(crate) struct Draw<'a> {
    /// The name in `draw.lua`.
    pub(crate) operation: &'a str,
    pub(crate) key: &'a str,
    /// A file with an id or a token in each line.
    pub(crate) list: &'a Path,
    /// Unique in the run: the seed of the random draws, and part of new addresses.
    pub(crate) number: u32,
}

const SCRIPT: &str = include_str!("load.lua");
const DRAWING: &str = include_str!("draw.lua");

/// Finds wrk, or installs it if allowed.
pub(crate) fn require_wrk(install: bool) -> Result<(), Failure> {
    match debian::find_or_install(|| process::find("wrk"), install, &["wrk"])? {
        Some(_) => Ok(()),
        None => Err(Failure::new(
            "bench needs the load generator wrk: apt-get install wrk",
        )),
    }
}

/// Runs one operation of the script against a server. `data` is the file the script reads.
pub(crate) fn run(
    base_url: &str,
    operation: &str,
    data: &Path,
    load: Load,
) -> Result<Measured, Failure> {
    let script = data.with_file_name("load.lua");
    std::fs::write(&script, SCRIPT).context("cannot write the script of wrk")?;
    let mut command = wrk(base_url, &script, load);
    command.arg(operation).arg(data);
    Ok(counted(operation, &mut command)?.measured)
}

/// Runs one operation of `draw.lua` against a server.
pub(crate) fn draw(base_url: &str, draw: Draw<'_>, load: Load) -> Result<Counted, Failure> {
    let script = draw.list.with_file_name("draw.lua");
    std::fs::write(&script, DRAWING).context("cannot write the script of wrk")?;
    let mut command = wrk(base_url, &script, load);
    command.args([draw.operation, draw.key]).arg(draw.list);
    command.arg(draw.number.to_string());
    counted(draw.operation, &mut command)
}

/// wrk with everything but the arguments of the script.
fn wrk(base_url: &str, script: &Path, load: Load) -> Command {
    let mut command = Command::new("wrk");
    command
        .args(["--threads", "1", "--latency", "--timeout", "10s"])
        .args(["--connections", &load.connections.to_string()])
        .args(["--duration", &format!("{}s", load.seconds)])
        .arg("--script")
        .arg(script)
        .arg(base_url)
        .arg("--");
    command
}

fn counted(operation: &str, command: &mut Command) -> Result<Counted, Failure> {
    let printed = process::output(command)?;
    parse(&printed).ok_or_else(|| {
        Failure::new(format!(
            "{operation}: wrk reported failed requests or no figures:\n{printed}"
        ))
    })
}

/// Parses the report; `None` if a figure is missing or any request failed.
fn parse(report: &str) -> Option<Counted> {
    if report.contains("Non-2xx") || report.contains("Socket errors") {
        return None;
    }
    let after = |label: &str| {
        report
            .lines()
            .find_map(|line| line.trim().strip_prefix(label).map(str::trim))
    };
    let requests = report
        .lines()
        .find_map(|line| line.trim().split_once(" requests in "))?;
    Some(Counted {
        measured: Measured {
            per_second: after("Requests/sec:")?.parse().ok()?,
            p50: milliseconds(after("50%")?)?,
            p99: milliseconds(after("99%")?)?,
        },
        requests: requests.0.parse().ok()?,
    })
}

/// `612.00us`, `1.23ms` or `1.10s`.
fn milliseconds(text: &str) -> Option<f64> {
    let (number, factor) = match (text.strip_suffix("us"), text.strip_suffix("ms")) {
        (Some(number), _) => (number, 0.001),
        (_, Some(number)) => (number, 1.0),
        _ => (text.strip_suffix('s')?, 1000.0),
    };
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests;
