//! `cargo xtask test`: all tests, with the servers they need.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::{fs, thread};

use crate::browser::{self, Chromium};
use crate::failure::{Context, Failure};
use crate::lane::Missing;
use crate::node::{self, Node};
use crate::postgres::{self, Cluster, Durability, Postgres};
use crate::python::{self, Python};
use crate::redis::{self, Redis};
use crate::server::{self, Built};
use crate::{api_fuzz, environment, interop, process, project, temporary};

pub(crate) const ABOUT: &str = "\
Run the whole test suite with throwaway servers.

Postgres and Redis are started on free ports and always removed at the end. A Python environment with a mail server and
the reference implementations is created once. Missing tools are installed with apt-get (as root on Debian). Elsewhere
the lane that needs them is reported and skipped or, with CI=true, fails.
Afterwards `interop`, `browser` and `api-fuzz` run, unless only some tests were selected.

--no-install   do not install anything with apt-get
-p PACKAGE     run only the tests of this package
FILTER         run only tests whose name contains it

Tests read VESTRY_TEST_POSTGRES_URL, VESTRY_TEST_REDIS_URL and VESTRY_TEST_PYTHON. Skipped lanes are listed in
VESTRY_TEST_LANES_MISSING (\"postgres,redis\"); without that variable, a test fails if its server is missing.";

/// The parsed command line.
struct Request {
    install: bool,
    packages: Vec<String>,
    filters: Vec<String>,
}

impl Request {
    /// Whether all tests are requested, not only some.
    fn is_whole(&self) -> bool {
        self.packages.is_empty() && self.filters.is_empty()
    }
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    run_noticing(arguments, || ())
}

/// Like `run`, but calls `built` once cargo has finished building and the first tests run.
pub(crate) fn run_noticing(
    arguments: &[String],
    built: impl FnOnce() + Send + 'static,
) -> Result<(), Failure> {
    let request = parse(arguments)?;
    let servers = Servers::start(request.install)?;
    let tests = cargo_test(&request, &servers, built).and_then(|()| match request.is_whole() {
        true => measurements(&servers, None),
        false => Ok(()),
    });
    let python = servers.stop()?;
    tests?;
    match python {
        Some(python) if request.is_whole() => outside_checks(&python, request.install),
        // Skipped with a report, or not requested.
        _ => Ok(()),
    }
}

fn parse(arguments: &[String]) -> Result<Request, Failure> {
    let mut request = Request {
        install: true,
        packages: Vec::new(),
        filters: Vec::new(),
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--no-install" => request.install = false,
            "-p" | "--package" => match rest.next() {
                Some(package) => request.packages.push(package.clone()),
                None => {
                    return Err(Failure::Usage(format!(
                        "`{argument}` needs the name of a package."
                    )));
                }
            },
            flag if flag.starts_with('-') => {
                return Err(Failure::Usage(format!("`test` does not know `{flag}`.")));
            }
            filter => request.filters.push(filter.to_owned()),
        }
    }
    Ok(request)
}

/// Runs the cargo tests.
fn cargo_test(
    request: &Request,
    servers: &Servers,
    built: impl FnOnce() + Send + 'static,
) -> Result<(), Failure> {
    let mut command = project::cargo();
    command.args(["test", "--no-fail-fast", project::LIGHT]);
    if request.packages.is_empty() {
        command.arg("--workspace");
    }
    for package in &request.packages {
        command.args(["--package", package]);
    }
    servers.tell(&mut command);
    command.arg("--").args(&request.filters);
    if request.is_whole() {
        command.args(["--skip", MEASUREMENTS]);
    }
    if environment::variable(THREADS).is_none() {
        command.env(THREADS, threads().to_string());
    }
    process::run_noticing(&mut command, "Running", built)
}

/// The variable for the number of parallel tests, read by cargo's harness.
const THREADS: &str = "RUST_TEST_THREADS";

/// Two threads per core: tests wait for databases, processes and each other half of the time. With four per core, those that kill processes
/// hit their time limits.
fn threads() -> usize {
    2 * thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// The filter for timing tests (attack 10). In a full run they come last, one at a time on an idle machine, and print what they measured.
const MEASUREMENTS: &str = "attacks::timing::";

/// Measures time with so many samples of each kind in an optimized build, or with as many as the tests choose in the one that is there.
fn measurements(servers: &Servers, samples: Option<u32>) -> Result<(), Failure> {
    let mut command = project::cargo();
    command.args(["test", "--test", "it", project::LIGHT]);
    servers.tell(&mut command);
    match samples {
        // What an unoptimized build takes to decode a row is more than an attacker could measure of all the rest.
        Some(samples) => command
            .args(["--release", "--package", "vestry-web"])
            .env(SAMPLES, samples.to_string()),
        // The whole workspace, of which the filter leaves one binary: to name its package alone would build everything once more,
        // with other features.
        None => command.arg("--workspace").env_remove(SAMPLES),
    };
    let alone = ["--", MEASUREMENTS, "--test-threads", "1", "--nocapture"];
    process::run(command.args(alone))
}

/// How many samples the tests that measure time take.
const SAMPLES: &str = "VESTRY_TEST_TIMING_SAMPLES";

/// The tests that measure time, and nothing else, with so many samples of each kind.
pub(crate) fn timing(install: bool, samples: u32) -> Result<(), Failure> {
    let servers = Servers::start(install)?;
    let measured = measurements(&servers, Some(samples));
    servers.stop()?;
    measured
}

/// How many random histories of accounts run on the fakes; a fiftieth of them over HTTP on each store.
const HISTORIES: &str = "VESTRY_TEST_HISTORIES";

/// The random histories of whose account it is, and nothing else.
pub(crate) fn histories(install: bool, number: u32) -> Result<(), Failure> {
    named(install, "random_histories", HISTORIES, number)
}

/// How often each race between parallel calls is run.
const ROUNDS: &str = "VESTRY_TEST_ROUNDS";

/// The races against the whole service, and nothing else.
pub(crate) fn races(install: bool, rounds: u32) -> Result<(), Failure> {
    named(install, "races::", ROUNDS, rounds)
}

/// Tests of events, webhooks and the audit log, and how many rounds of each are a night's. Each runs by itself: in some, the machine
/// is to have nothing else to do.
const EVENTS: &[(&str, u32)] = &[
    ("ev_k1_followers", 200),
    ("ev_k1_no_receiver", 200),
    ("ev_k2", 50),
    ("ev_r1", 1_000),
    ("ev_r2_the_same", 1_000),
    ("ev_r3", 1_000),
    ("ev_r4", 20),
    ("ev_r5", 500),
    ("ev_a1", 5_000),
    ("ev_a2", 20),
];

/// Those tests, and nothing else.
pub(crate) fn events(install: bool) -> Result<(), Failure> {
    let servers = Servers::start(install)?;
    let mut runs = EVENTS.iter();
    let run = runs.try_for_each(|(name, rounds)| run_named(&servers, name, ROUNDS, *rounds));
    servers.stop()?;
    run
}

/// The integration tests with this in their names, with another number than that for each change.
fn named(install: bool, name: &str, variable: &str, number: u32) -> Result<(), Failure> {
    let servers = Servers::start(install)?;
    let run = run_named(&servers, name, variable, number);
    servers.stop()?;
    run
}

fn run_named(servers: &Servers, name: &str, variable: &str, number: u32) -> Result<(), Failure> {
    let mut command = project::cargo();
    command.args(["test", "--workspace", "--test", "it", project::LIGHT]);
    servers.tell(&mut command);
    command.env(variable, number.to_string());
    process::run(command.args(["--", name, "--nocapture"]))
}

/// What checks the whole service from outside.
fn outside_checks(python: &Python, install: bool) -> Result<(), Failure> {
    let binary = server::build(Built::WithTests)?;
    match Node::prepare(&node::INTEROP, install)? {
        Some(node) => interop::check(python, &node, &binary, interop::A_THIRD)?,
        None => node::MISSING.announce()?,
    }
    if let Some(chromium) = Chromium::prepare(install)? {
        browser::check(python, &chromium, &binary)?;
    }
    api_fuzz::check(python, &binary, api_fuzz::SEED)
}

/// Nobody else may look into a process that is not dumpable.
fn is_root() -> Result<bool, Failure> {
    let own = fs::metadata("/proc/self").context("cannot read /proc/self")?;
    Ok(own.uid() == 0)
}

/// What tests use that is not ours.
pub(crate) struct Servers {
    postgres: Option<Cluster>,
    redis: Option<Redis>,
    python: Option<Python>,
    missing: Vec<&'static str>,
}

impl Servers {
    pub(crate) fn start(install: bool) -> Result<Self, Failure> {
        Self::start_with(install, &[])
    }

    /// The same, with settings of Postgres more than usual.
    pub(crate) fn start_with(
        install: bool,
        more: &'static [&'static str],
    ) -> Result<Self, Failure> {
        let mut missing = Vec::new();
        let mut leave_out = |program: &Missing| {
            missing.extend(program.lanes);
            program.announce()
        };
        let python = match Python::prepare(install)? {
            Some(python) => Some(python),
            None => leave_out(&python::MISSING).map(|()| None)?,
        };
        let postgres = match Postgres::find_or_install(install)? {
            Some(postgres) => Some(postgres.with(more).start(Durability::Memory)?),
            None => leave_out(&postgres::MISSING).map(|()| None)?,
        };
        let redis = match redis::find_or_install(install)? {
            Some(program) => Some(Redis::start(program)?),
            None => leave_out(&redis::MISSING).map(|()| None)?,
        };
        // Nothing of Debian's: `scale --cluster` builds it.
        missing.push("citus");
        if !is_root()? {
            missing.push("memory");
            println!(
                "not root: the tests that read the memory of a service are left out (lane memory)"
            );
        }
        Ok(Self {
            postgres,
            redis,
            python,
            missing,
        })
    }

    /// The superuser's URL of Postgres.
    pub(crate) fn postgres(&self) -> Result<&str, Failure> {
        let cluster = self.postgres.as_ref();
        cluster
            .map(Cluster::url)
            .ok_or_else(|| Failure::new("there is no Postgres here"))
    }

    /// Tells a program where they are, and which there are not.
    pub(crate) fn tell(&self, command: &mut Command) {
        let missing = (!self.missing.is_empty()).then(|| OsString::from(self.missing.join(",")));
        let found = [
            (
                "VESTRY_TEST_POSTGRES_URL",
                self.postgres.as_ref().map(|postgres| postgres.url().into()),
            ),
            (
                "VESTRY_TEST_REDIS_URL",
                self.redis.as_ref().map(|redis| redis.url().into()),
            ),
            (
                "VESTRY_TEST_PYTHON",
                self.python
                    .as_ref()
                    .map(|python| python.interpreter().into()),
            ),
            ("VESTRY_TEST_LANES_MISSING", missing),
        ];
        if let Some(memory) = temporary::memory() {
            command.env("TMPDIR", memory);
        }
        for (name, value) in found {
            match value {
                Some(value) => command.env(name, value),
                // A value from outside would point at something that we did not start.
                None => command.env_remove(name),
            };
        }
    }

    /// Stops the servers; the Python environment stays.
    pub(crate) fn stop(self) -> Result<Option<Python>, Failure> {
        self.postgres.map_or(Ok(()), Cluster::stop)?;
        self.redis.map_or(Ok(()), Redis::stop)?;
        Ok(self.python)
    }
}

#[cfg(test)]
mod tests;
