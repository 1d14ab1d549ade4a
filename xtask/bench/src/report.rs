//! The tables of docs/performance.md, generated from the newest record of each store in `bench/`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use xtask_harness::failure::{Context, Failure};
use xtask_harness::project;

use crate::paired_stats::{Ratio, median, ratio};
use crate::record::{Measurement, Record};

/// The generated tables are between these lines of the page.
const BEGIN: &str = "<!-- made by cargo xtask bench --report -->\n";
const END: &str = "<!-- end of what is made -->\n";

/// The number of connections in the first table; the others are in the second.
pub(crate) const USUAL: u32 = 64;

/// Writes the tables into the page.
pub(crate) fn write() -> Result<(), Failure> {
    let file = page();
    let text = fs::read_to_string(&file).context("cannot read docs/performance.md")?;
    let made = with_tables(&text, &tables(&newest()?)?)?;
    fs::write(&file, made).context("cannot write docs/performance.md")
}

/// Where records are kept, one file for each run.
pub(crate) fn directory() -> PathBuf {
    project::root().join("bench")
}

fn page() -> PathBuf {
    project::root().join("docs/performance.md")
}

/// The newest record of each store.
fn newest() -> Result<Vec<Record>, Failure> {
    let mut records = Vec::new();
    let files = fs::read_dir(directory()).context("cannot read bench/")?;
    for file in files {
        let path = file.context("cannot read bench/")?.path();
        if path.extension().is_some_and(|ending| ending == "json") {
            let text = fs::read_to_string(&path).context("cannot read a result")?;
            records.push(Record::parse(&text)?);
        }
    }
    Ok(newest_of(records))
}

fn newest_of(mut records: Vec<Record>) -> Vec<Record> {
    // The first word is the name of the store, without its version.
    let name = |record: &Record| record.store.split(' ').next().map(str::to_owned);
    records.sort_by(|one, other| (name(one), &other.date).cmp(&(name(other), &one.date)));
    records.dedup_by_key(|record| name(record));
    records
}

/// Replaces the tables of the page.
fn with_tables(page: &str, tables: &str) -> Result<String, Failure> {
    let parts = page.split_once(BEGIN).and_then(|(before, rest)| {
        let (_old, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let (before, after) = parts
        .ok_or_else(|| Failure::new("docs/performance.md lacks the two lines around its tables"))?;
    Ok(format!("{before}{BEGIN}{tables}{END}{after}"))
}

/// The generated part of the page.
pub(crate) fn tables(records: &[Record]) -> Result<String, Failure> {
    let mut text = String::new();
    write_tables(&mut text, records).context("cannot write to a string")?;
    Ok(text)
}

fn write_tables(text: &mut String, records: &[Record]) -> std::fmt::Result {
    writeln!(
        text,
        "\n| store | operation | per second | p50 ms | p99 ms | µs service | µs database | µs load | switches service | switches \
         database | compared with | per second | ratio | ratio of µs |"
    )?;
    writeln!(
        text,
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|---:|"
    )?;
    for (record, one) in of(records).filter(|(_, one)| one.connections == USUAL) {
        writeln!(text, "{}", usual(record, one))?;
    }
    let others = other_connections(records);
    if !others.is_empty() {
        write!(text, "\n| store | operation |")?;
        for connections in &others {
            write!(text, " {connections}: per second; p50, p99 ms; ratio |")?;
        }
        writeln!(text, "\n|---|---|{}", "---:|".repeat(others.len()))?;
        for record in records {
            write_further(text, record, &others)?;
        }
    }
    writeln!(
        text,
        "\n| store | session verify, paced: p99 ms at rest | in a flood of passwords | ratio |"
    )?;
    writeln!(text, "|---|---:|---:|---:|")?;
    for record in records {
        writeln!(text, "{}", flood(record))?;
    }
    writeln!(text)?;
    for record in records {
        writeln!(text, "{}", circumstances(record))?;
    }
    writeln!(text)
}

fn of(records: &[Record]) -> impl Iterator<Item = (&Record, &Measurement)> {
    records
        .iter()
        .flat_map(|record| record.measurements.iter().map(move |one| (record, one)))
}

/// A line of the first table.
fn usual(record: &Record, one: &Measurement) -> String {
    let (cost, times) = (one.cost, one.times);
    let (name, rate) = match &one.baseline {
        Some(baseline) => (
            baseline.name.as_str(),
            format!("{:.0}", median(&baseline.rates)),
        ),
        None => ("–", "–".to_owned()),
    };
    format!(
        "| {} | {} | {:.0} | {:.2} | {:.2} | {:.0} | {:.0} | {:.0} | {:.1} | {:.1} | {name} | {rate} | {} | {} |",
        record.store,
        one.operation,
        one.rate(),
        times.p50,
        times.p99,
        cost.service,
        cost.database,
        cost.load,
        cost.voluntary + cost.involuntary,
        cost.of_database,
        with_range(one.ratio()),
        shown(one.ratio_of_cost()),
    )
}

/// The columns of the second table.
fn other_connections(records: &[Record]) -> Vec<u32> {
    let all = of(records).map(|(_, one)| one.connections);
    let others: BTreeSet<u32> = all.filter(|connections| *connections != USUAL).collect();
    others.into_iter().collect()
}

/// The lines of a store in the second table, one for each operation.
fn write_further(text: &mut String, record: &Record, others: &[u32]) -> std::fmt::Result {
    let all = &record.measurements;
    let mut operations: Vec<&str> = Vec::new();
    for one in all.iter().filter(|one| one.connections != USUAL) {
        if !operations.contains(&one.operation.as_str()) {
            operations.push(&one.operation);
        }
    }
    for operation in operations {
        write!(text, "| {} | {operation} |", record.store)?;
        for connections in others {
            let found = all
                .iter()
                .find(|one| one.operation == operation && one.connections == *connections);
            let cell = found.map_or_else(|| "–".to_owned(), further);
            write!(text, " {cell} |")?;
        }
        writeln!(text)?;
    }
    Ok(())
}

fn further(one: &Measurement) -> String {
    let ratio = one.ratio().map(|ratio| ratio.median);
    format!(
        "{:.0}; {:.2}, {:.2}; {}",
        one.rate(),
        one.times.p50,
        one.times.p99,
        shown(ratio),
    )
}

fn flood(record: &Record) -> String {
    let flood = &record.flood;
    format!(
        "| {} | {:.2} | {:.2} | {} |",
        record.store,
        median(&flood.at_rest),
        median(&flood.in_flood),
        with_range(ratio(&flood.in_flood, &flood.at_rest)),
    )
}

/// The circumstances of a run.
fn circumstances(record: &Record) -> String {
    let note = match record.note.as_str() {
        "" => String::new(),
        note => format!("; {note}"),
    };
    format!(
        "- {}: {}, commit {}, profile `{}`, {}, {} users, {} s each; the service had {:.0} MiB in core before and {:.0} MiB \
         after{note}.",
        record.store,
        record.date,
        record.commit,
        record.profile,
        record.machine,
        record.users,
        record.seconds,
        record.memory.idle,
        record.memory.end,
    )
}

fn with_range(ratio: Option<Ratio>) -> String {
    ratio.map_or_else(|| "–".to_owned(), |of| of.to_string())
}

fn shown(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"))
}

#[cfg(test)]
mod tests;
