//! Load from a second process: wrk, and what it prints.

use std::path::Path;
use std::process::Command;

use crate::failure::{Context, Failure};
use crate::{debian, process};

/// How long and how hard.
#[derive(Clone, Copy)]
pub(super) struct Load {
    pub(super) seconds: u32,
    pub(super) connections: u32,
}

/// What wrk measured. Latencies in milliseconds.
#[derive(Clone, Copy)]
pub(super) struct Measured {
    pub(super) per_second: f64,
    pub(super) p50: f64,
    pub(super) p99: f64,
}

/// What one run of wrk did.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    pub(super) measured: Measured,
    /// Requests that were answered.
    pub(super) requests: u64,
}

/// The requests to send.
#[derive(Clone, Copy)]
pub(super) struct Draw<'a> {
    /// As `draw.lua` calls it.
    pub(super) operation: &'a str,
    pub(super) key: &'a str,
    /// A file with an id or a token in each line.
    pub(super) list: &'a Path,
    /// What no other draw of the run has: the lots begin with it, and new addresses hold it.
    pub(super) number: u32,
}

const SCRIPT: &str = include_str!("load.lua");
const DRAWING: &str = include_str!("draw.lua");

/// wrk, installed when that is allowed.
pub(super) fn require_wrk(install: bool) -> Result<(), Failure> {
    if process::find("wrk").is_none() && install && debian::can_install() {
        debian::install(&["wrk"])?;
    }
    match process::find("wrk") {
        Some(_) => Ok(()),
        None => Err(Failure::new(
            "the bench needs the load tool wrk: apt-get install wrk",
        )),
    }
}

/// Runs one operation of the script against a server. `data` is the file the script reads.
pub(super) fn run(
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
pub(super) fn draw(base_url: &str, draw: Draw<'_>, load: Load) -> Result<Counted, Failure> {
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
            "{operation}: wrk reported failures, or nothing:\n{printed}"
        ))
    })
}

/// Reads the report; `None` when a figure is missing or any request failed.
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
