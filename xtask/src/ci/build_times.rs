//! The compile time of each crate, compared with earlier figures (PR-120).
//!
//! `build-times.toml` is part of the repository. A CI run prints the ten slowest crates of each build next to the figures there, and warns
//! of any that grew by more than a fifth. It only warns, because machines are shared and noisy. A crate that was not built has no figure.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use toml::Table;

use crate::failure::{Context, Failure};
use crate::project;

/// Compile seconds by crate, including its build scripts and tests.
pub(super) type Seconds = BTreeMap<String, f64>;

/// The number of crates shown.
const SHOWN: usize = 10;
/// The growth that causes a warning, as a factor and in seconds: small figures fluctuate.
const FACTOR: f64 = 1.2;
const LEAST: f64 = 2.0;

/// The figures of the last `cargo --timings`.
pub(super) fn of_last_build() -> Result<Seconds, Failure> {
    let report = project::target().join("cargo-timings/cargo-timing.html");
    let page = fs::read_to_string(&report).context(format!("cannot read {}", report.display()))?;
    // The page contains its figures as JSON; cargo has no stable way to print them.
    let figures = page
        .split_once("const UNIT_DATA = ")
        .and_then(|(_, rest)| rest.split_once(";\n"))
        .map(|(figures, _)| figures);
    let units =
        figures.ok_or_else(|| Failure::new("the format of cargo's timing report has changed"))?;
    let units: Vec<Value> =
        serde_json::from_str(units).context("cannot parse cargo's timing report")?;
    let mut seconds = Seconds::new();
    for unit in &units {
        let name = unit.get("name").and_then(Value::as_str);
        let duration = unit.get("duration").and_then(Value::as_f64);
        if let (Some(name), Some(duration)) = (name, duration) {
            *seconds.entry(name.to_owned()).or_default() += duration;
        }
    }
    Ok(seconds)
}

/// Prints the slowest crates of a build next to their previous figures.
pub(super) fn compare(build: &str, now: &Seconds) -> Result<(), Failure> {
    let before = recorded()?;
    let before = before.get(build).and_then(toml::Value::as_table);
    println!("\nslowest crates of `{build}`, in seconds (previous figures from build-times.toml)");
    for (name, seconds) in slowest(now) {
        let old = before.and_then(|table| table.get(name)?.as_float());
        println!("{}", line(name, seconds, old));
    }
    Ok(())
}

fn line(name: &str, now: f64, before: Option<f64>) -> String {
    let Some(before) = before else {
        return format!("  {name:<28} {now:>7.1}        –");
    };
    let warning = if has_grown(now, before) {
        "  WARNING: has grown by more than a fifth"
    } else {
        ""
    };
    format!("  {name:<28} {now:>7.1}  {before:>7.1}{warning}")
}

fn has_grown(now: f64, before: f64) -> bool {
    now > before * FACTOR && now - before > LEAST
}

/// The slowest crates, slowest first.
fn slowest(seconds: &Seconds) -> Vec<(&str, f64)> {
    let mut all: Vec<_> = seconds
        .iter()
        .map(|(name, seconds)| (name.as_str(), *seconds))
        .collect();
    all.sort_by(|one, other| other.1.total_cmp(&one.1));
    all.truncate(SHOWN);
    all
}

/// Writes the figures of the slowest crates of these builds into the repository.
pub(super) fn record(builds: &BTreeMap<&str, Seconds>) -> Result<(), Failure> {
    let mut text = String::from(
        "# Seconds that crates took to compile, on two cores, from an empty target: written by `cargo xtask ci --record`, on a\n\
         # machine with nothing else to do. `cargo xtask ci` prints its own figures beside these.\n",
    );
    for (build, seconds) in builds {
        text.push_str(&format!("\n[{build}]\n"));
        for (name, seconds) in slowest(seconds) {
            text.push_str(&format!("{name} = {seconds:.1}\n"));
        }
    }
    fs::write(file(), text).context("cannot write build-times.toml")
}

fn recorded() -> Result<Table, Failure> {
    let text = fs::read_to_string(file()).context("cannot read build-times.toml")?;
    text.parse().context("cannot parse build-times.toml")
}

fn file() -> PathBuf {
    project::root().join("build-times.toml")
}

#[cfg(test)]
mod tests {
    use super::{has_grown, line, slowest};

    #[test]
    fn growth_is_more_than_a_fifth_and_two_seconds() {
        for (now, before, expected) in [
            (12.1, 10.0, true),
            (11.9, 10.0, false),
            (2.0, 0.5, false),
            (9.0, 10.0, false),
        ] {
            assert_eq!(has_grown(now, before), expected, "{before} to {now}");
        }
        assert!(line("diesel", 30.0, Some(10.0)).contains("WARNING"));
        assert!(!line("diesel", 30.0, None).contains("WARNING"));
    }

    #[test]
    fn the_slowest_come_first() {
        let seconds = (0..12_u8).map(|number| (format!("crate-{number:02}"), f64::from(number)));
        let seconds = seconds.collect();
        let shown = slowest(&seconds);
        assert_eq!(shown.len(), 10);
        assert_eq!(shown.first(), Some(&("crate-11", 11.0)));
    }
}
