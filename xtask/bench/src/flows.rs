//! Operations that need preparation for each call, measured by the program `vestry-bench-load`.

use xtask_harness::failure::Failure;
use xtask_harness::installation::{Installation, text};
use xtask_harness::process;

use crate::Options;
use crate::load::Measured;
use crate::table::{Row, Table};

/// The number of concurrent calls.
pub(crate) const CONNECTIONS: &str = "16";
/// The first operation, which is the baseline of the others.
const EMPTY: &str = "empty handler";
/// Operations that cost one Argon2id hash, which is their baseline.
const HASHING: &[&str] = &[
    "passwords session update",
    "passwords verify",
    "passwords reset complete",
];
/// All scopes of a key.
const SCOPES: [&str; 10] = [
    "users:read",
    "users:write",
    "auth:write",
    "sessions:write",
    "wallets:read",
    "wallets:write",
    "wallets:sign",
    "wallets:export",
    "events:read",
    "audit:read",
];

/// Sets up what all operations need in the test environment of an App, and returns a key with all scopes.
pub(crate) fn prepare_app(installation: &Installation, app: &str) -> Result<String, Failure> {
    let mut create = vec!["key", "create", app, "test"];
    for scope in SCOPES {
        create.extend(["--scope", scope]);
    }
    let key = text(&installation.admin(&create)?, "/key")?;
    let page = "https://app.example.com/in";
    let url = ["redirect-url", "add", app, "test", page];
    let kinds = ["--kind", "login,registration,invite", "--default"];
    installation.admin(&[&url[..], &kinds].concat())?;
    Ok(key)
}

/// The calls to make, and where.
pub(crate) struct Flows<'a> {
    pub(crate) service: &'a str,
    pub(crate) key: &'a str,
    /// The URL of the HTTP baseline.
    pub(crate) baseline: &'a str,
    /// Calls of each operation.
    pub(crate) calls: &'a str,
    pub(crate) connections: &'a str,
}

impl Flows<'_> {
    /// Makes the calls of every operation, and returns a line for each.
    pub(crate) fn run(&self, options: &Options) -> Result<String, Failure> {
        let mut command = options.load_program("operations");
        command
            .args(["--service", self.service, "--key", self.key])
            .args(["--baseline", self.baseline, "--calls", self.calls])
            .args(["--connections", self.connections]);
        process::output(&mut command)
    }

    /// Adds a row for each operation. `hashing` is the rate of Argon2id hashes on all cores.
    pub(crate) fn measure(
        &self,
        store: &'static str,
        options: &Options,
        hashing: f64,
        table: &mut Table,
    ) -> Result<(), Failure> {
        let mut empty = None;
        for line in self.run(options)?.lines() {
            let (name, measured) = parse(line)?;
            if name == EMPTY {
                empty = Some(measured.per_second);
                let row = Row::measured(store, "empty handler, our client", measured);
                table.push(row);
                continue;
            }
            let row = Row::measured(store, name, measured);
            table.push(match empty {
                _ if HASHING.contains(&name) => row.against("raw Argon2id loop", hashing),
                Some(empty) => row.against("empty handler, our client", empty),
                None => row,
            });
        }
        Ok(())
    }
}

/// A line of the load program: a name, a rate and two percentiles, separated by tabs.
pub(crate) fn parse(line: &str) -> Result<(&str, Measured), Failure> {
    let parsed = || {
        let mut fields = line.split('\t');
        let name = fields.next()?;
        let mut figure = || fields.next()?.parse().ok();
        let measured = Measured {
            per_second: figure()?,
            p50: figure()?,
            p99: figure()?,
        };
        Some((name, measured))
    };
    parsed().ok_or_else(|| Failure::new(format!("the load program printed {line:?}")))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn only_lines_with_all_figures_are_parsed() {
        let (name, measured) = parse("users delete\t12.5\t1.250\t30.000").unwrap();
        let read = (name, measured.per_second, measured.p50, measured.p99);
        assert_eq!(read, ("users delete", 12.5, 1.25, 30.0));
        for odd in ["", "name", "name\t1\t2", "name\t1\t2\tthree"] {
            assert!(parse(odd).is_err(), "{odd:?}");
        }
    }
}
