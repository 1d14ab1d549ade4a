//! Operations that need something prepared for each call, measured by the program `vestry-bench-load`.

use std::path::Path;
use std::process::Command;

use super::load::Measured;
use super::table::{Row, Table};
use crate::failure::{Context, Failure};
use crate::process;

/// How many calls are under way at a time.
const CONNECTIONS: &str = "16";
/// The operation that the others are compared with; it is the first.
const EMPTY: &str = "empty handler";
/// Operations whose price is one Argon2id.
const HASHING: &[&str] = &[
    "passwords session update",
    "passwords verify",
    "passwords reset complete",
];

/// The services to call.
pub(super) struct Services<'a> {
    /// The directory of the programs that were built.
    pub(super) programs: &'a Path,
    pub(super) service: &'a str,
    pub(super) key: &'a str,
    pub(super) baseline: &'a str,
}

/// Adds a line for each operation. `hashing`: Argon2id a second, on all cores.
pub(super) fn measure(
    store: &'static str,
    services: &Services<'_>,
    calls: u32,
    hashing: f64,
    table: &mut Table,
) -> Result<(), Failure> {
    let mut command = Command::new(services.programs.join("vestry-bench-load"));
    command
        .arg("operations")
        .args(["--service", services.service, "--key", services.key])
        .args(["--baseline", services.baseline])
        .args(["--calls", &calls.to_string()])
        .args(["--connections", CONNECTIONS]);
    let printed = process::output(&mut command)?;
    let mut empty = None;
    for line in printed.lines() {
        let (name, measured) =
            parse(line).context(format!("the load program printed {line:?} and no figures"))?;
        if name == EMPTY {
            empty = Some(measured.per_second);
            let row = Row::measured(store, "empty handler, our client", measured);
            table.push(row);
            continue;
        }
        let row = Row::measured(store, name, measured);
        let row = match empty {
            _ if HASHING.contains(&name) => row.against("raw Argon2id loop", hashing),
            Some(empty) => row.against("empty handler, our client", empty),
            None => row,
        };
        table.push(row);
    }
    Ok(())
}

/// Wallets of every chain with transactions, as lines for the script of wrk.
pub(super) fn signers(programs: &Path, service: &str, key: &str) -> Result<String, Failure> {
    let mut command = Command::new(programs.join("vestry-bench-load"));
    command
        .arg("signers")
        .args(["--service", service, "--key", key])
        .args(["--connections", CONNECTIONS]);
    process::output(&mut command)
}

/// A name, a rate and two percentiles, between tabs.
pub(super) fn parse(line: &str) -> Result<(&str, Measured), &'static str> {
    let mut fields = line.split('\t');
    let name = fields.next().ok_or("no name")?;
    let mut figure = || {
        let field = fields.next().ok_or("too few fields")?;
        field.parse().map_err(|_not| "not a number")
    };
    let measured = Measured {
        per_second: figure()?,
        p50: figure()?,
        p99: figure()?,
    };
    Ok((name, measured))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn figures_are_read_and_nothing_else() {
        let (name, measured) = parse("users delete\t12.5\t1.250\t30.000").unwrap();
        let read = (name, measured.per_second, measured.p50, measured.p99);
        assert_eq!(read, ("users delete", 12.5, 1.25, 30.0));
        for odd in ["", "name", "name\t1\t2", "name\t1\t2\tthree"] {
            assert!(parse(odd).is_err(), "{odd:?}");
        }
    }
}
