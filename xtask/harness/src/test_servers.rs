//! The third-party programs that the tests use.

use std::ffi::OsString;
use std::process::Command;

use crate::failure::Failure;
use crate::lane::Missing;
use crate::postgres::{self, Cluster, Durability, Postgres};
use crate::python::{self, Python};
use crate::redis::{self, Redis};
use crate::{debian, process, project, temporary};

/// The variable for the number of samples that timing tests take.
const SAMPLES: &str = "VESTRY_TEST_TIMING_SAMPLES";

/// The filter for timing tests (attack 10). They run alone, one at a time, on an otherwise idle machine, and print what they measured.
pub const TIMING: &str = "attacks::timing::";

/// The proxy of the test of rolling restarts, which starts it.
const HAPROXY: Missing = Missing {
    lanes: &["haproxy"],
    remedy: "apt-get install haproxy",
};

/// Throwaway servers and a Python environment for the tests.
pub struct TestServers {
    postgres: Option<Cluster>,
    redis: Option<Redis>,
    python: Option<Python>,
    missing: Vec<&'static str>,
}

impl TestServers {
    /// Starts the servers that are installed or may be installed, and reports the lanes that are left out.
    pub fn start(install: bool) -> Result<Self, Failure> {
        Self::start_with(install, &[])
    }

    /// Like [`Self::start`], with additional settings of Postgres.
    pub fn start_with(install: bool, more: &'static [&'static str]) -> Result<Self, Failure> {
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
        let haproxy = || process::find("haproxy");
        if debian::find_or_install(haproxy, install, &["haproxy"])?.is_none() {
            leave_out(&HAPROXY)?;
        }
        // Debian has no package of it; `scale --cluster` builds it.
        missing.push("citus");
        if !debian::is_root() {
            missing.push("memory");
            println!(
                "not root: tests that read the memory of a service are left out (lane memory)"
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
    pub fn postgres(&self) -> Result<&str, Failure> {
        let cluster = self.postgres.as_ref();
        cluster
            .map(Cluster::url)
            .ok_or_else(|| Failure::new("Postgres is not installed"))
    }

    /// `cargo test` with these arguments, in the environment of the tests.
    pub fn cargo_test(&self, arguments: &[&str]) -> Command {
        let mut command = project::cargo();
        command.args(["test", project::LIGHT]).args(arguments);
        self.set_environment(&mut command);
        command
    }

    /// Runs the timing tests: with this many samples of each kind in an optimized build, or with the default in the build of the tests.
    pub fn run_timing_tests(&self, samples: Option<u32>) -> Result<(), Failure> {
        let mut command = self.cargo_test(&["--test", "it"]);
        match samples {
            // An unoptimized build takes longer to decode a row than everything that an attacker could measure.
            Some(samples) => command
                .args(["--release", "--package", "vestry-web"])
                .env(SAMPLES, samples.to_string()),
            // With `--package`, everything would be built once more with other features. The filter selects one binary anyway.
            None => command.arg("--workspace").env_remove(SAMPLES),
        };
        process::run(command.args(["--", TIMING, "--test-threads", "1", "--nocapture"]))
    }

    /// Sets the variables that name these servers and the missing lanes.
    fn set_environment(&self, command: &mut Command) {
        let missing = (!self.missing.is_empty()).then(|| OsString::from(self.missing.join(",")));
        let python = self.python.as_ref();
        let variables = [
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
                python.map(|python| python.interpreter().into()),
            ),
            ("VESTRY_TEST_LANES_MISSING", missing),
        ];
        if let Some(memory) = temporary::memory() {
            command.env("TMPDIR", memory);
        }
        for (name, value) in variables {
            match value {
                Some(value) => command.env(name, value),
                // An inherited value would name a server that we did not start.
                None => command.env_remove(name),
            };
        }
    }

    /// Stops the servers; the Python environment stays.
    pub fn stop(self) -> Result<Option<Python>, Failure> {
        self.postgres.map_or(Ok(()), Cluster::stop)?;
        self.redis.map_or(Ok(()), Redis::stop)?;
        Ok(self.python)
    }
}
