//! `cargo xtask test`: all tests, with the servers they need.

mod failed;

use std::num::NonZeroUsize;
use std::thread;

use crate::arguments::Arguments;
use crate::browser::{self, Chromium, Looks, Programs};
use crate::dev_server::{self, Built};
use crate::failure::Failure;
use crate::node::{self, Node};
use crate::python::Python;
use crate::test_servers::{TIMING, TestServers};
use crate::{alerts, api_fuzz, environment, interop, packaging, sdk};

pub(crate) const ABOUT: &str = "\
Run the whole test suite with throwaway servers.

Postgres and Redis are started on free ports and always removed at the end. A Python environment with a mail server and
the reference implementations is created once. Missing tools are installed with apt-get (as root on Debian). Elsewhere
the lane that needs them is reported and skipped or, with CI=true, fails.
Afterwards `alerts`, `interop`, `browser`, `api-fuzz`, `packaging` and `sdk --test` run, unless only some tests were selected.

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
    fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut arguments = Arguments::new("test", arguments);
        let mut packages = arguments.values("-p")?;
        packages.extend(arguments.values("--package")?);
        Ok(Self {
            install: arguments.install(),
            packages,
            filters: arguments.words()?,
        })
    }

    /// Whether all tests are requested, not only some.
    fn is_whole(&self) -> bool {
        self.packages.is_empty() && self.filters.is_empty()
    }
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let request = Request::parse(arguments)?;
    let servers = TestServers::start(request.install)?;
    let tests = cargo_test(&request, &servers).and_then(|()| match request.is_whole() {
        true => servers.run_timing_tests(None),
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

/// Runs the cargo tests.
fn cargo_test(request: &Request, servers: &TestServers) -> Result<(), Failure> {
    let mut command = servers.cargo_test(&["--no-fail-fast"]);
    if request.packages.is_empty() {
        command.arg("--workspace");
    }
    for package in &request.packages {
        command.args(["--package", package]);
    }
    command.arg("--").args(&request.filters);
    if request.is_whole() {
        command.args(["--skip", TIMING]);
    }
    if environment::variable(THREADS).is_none() {
        command.env(THREADS, threads().to_string());
    }
    failed::run(&mut command)
}

/// The variable for the number of parallel tests, read by cargo's harness.
const THREADS: &str = "RUST_TEST_THREADS";

/// Two threads per core: tests wait for databases, processes and each other half of the time. With four per core, those that kill processes
/// hit their time limits.
fn threads() -> usize {
    2 * thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Runs the checks of the whole service from outside.
fn outside_checks(python: &Python, install: bool) -> Result<(), Failure> {
    let binary = dev_server::build(Built::WithTests)?;
    let node = Node::prepare(&node::INTEROP, install)?;
    let chromium = Chromium::prepare(install)?;
    // Each has a server of its own, and waits for it half of the time.
    thread::scope(|scope| {
        let fuzz =
            scope.spawn(|| api_fuzz::check(python, &binary, api_fuzz::SEED, api_fuzz::Sent::All));
        // One after the other, because both may install packages.
        let packaging = scope.spawn(|| {
            alerts::check(install)?;
            packaging::check(python, &binary, install)
        });
        let browser = scope.spawn(|| {
            let (Some(chromium), Some(node)) = (&chromium, &node) else {
                // Reported where they are prepared, or below.
                return Ok(());
            };
            let programs = Programs {
                python,
                node,
                chromium,
            };
            browser::check(programs, &binary, Looks::Usual)
        });
        let libraries = scope.spawn(|| match sdk::Tools::prepare(install)? {
            Some(tools) => sdk::test(&tools, &binary, sdk::FEW_CREATES, &[]),
            // Reported there.
            None => Ok(()),
        });
        let interop = match &node {
            Some(node) => interop::check(python, node, &binary, interop::A_TENTH),
            None => node::MISSING.announce(),
        };
        let panicked = |_| Err(Failure::new("a check from outside panicked"));
        let beside = [fuzz, packaging, browser, libraries];
        let checked = beside.map(|check| check.join().unwrap_or_else(panicked));
        checked.into_iter().fold(interop, Result::and)
    })
}

#[cfg(test)]
mod tests;
