//! Everything that runs while a store is measured, and a single measurement.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use xtask_harness::failure::{Context, Failure};
use xtask_harness::installation::{Installation, Server, StoreKind};
use xtask_harness::postgres::Cluster;
use xtask_harness::{database, wait};

use crate::Options;
use crate::baseline::{self, UrlServer};
use crate::http::Connection;
use crate::load::{self, Draw, Load};
use crate::record::{Cost, Memory, Times};
use crate::seeded::{Copy, Seeded};
use crate::usage::{self, Taken, Usage, float};

/// The minimum length of a log line about a request.
const LINE: u64 = 100;

/// The service on a copy of the seeded database, and the HTTP baseline on the same copy.
pub(crate) struct BenchEnv {
    server: Server,
    baseline: UrlServer,
    copy: Copy,
    /// The number of draws so far.
    draws: u32,
}

/// The process under load.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Service,
    Baseline,
}

/// An operation of `draw.lua`.
#[derive(Clone, Copy)]
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    /// The list from which ids are drawn.
    pub(crate) list: &'static str,
    /// Requests per operation.
    pub(crate) requests: f64,
}

impl Operation {
    /// An operation that is one request.
    pub(crate) const fn new(name: &'static str, list: &'static str) -> Self {
        Self {
            name,
            list,
            requests: 1.0,
        }
    }

    /// A session verification, drawn from all sessions.
    pub(crate) const VERIFY: Self = Self::new("session_verify", "sessions.cold");
    /// A user creation.
    pub(crate) const CREATE: Self = Self::new("user_create", "users.hot");
    /// A code that is sent and verified.
    pub(crate) const CODE: Self = Self {
        requests: 2.0,
        ..Self::new("code", "users.hot")
    };
}

/// The operations compared between two services.
pub(crate) const COMPARED: [(&str, Operation); 5] = [
    ("session verify, cold", Operation::VERIFY),
    ("user get, cold", Operation::new("user_get", "users.cold")),
    (
        "sign_message Ethereum, cold",
        Operation::new("sign_message", "wallets.cold"),
    ),
    ("user create (with wallet)", Operation::CREATE),
    ("code send + verify", Operation::CODE),
];

/// The result of one measurement.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) per_second: f64,
    pub(crate) times: Times,
    pub(crate) cost: Cost,
}

/// One figure of each sample.
pub(crate) fn each(samples: &[Sample], figure: fn(&Sample) -> f64) -> Vec<f64> {
    samples.iter().map(figure).collect()
}

impl BenchEnv {
    /// Starts both programs on a new copy of the seeded database.
    pub(crate) fn start(kind: StoreKind, users: u32, options: &Options) -> Result<Self, Failure> {
        let programs = options.programs();
        let seeded = Seeded::find_or_make(kind, users, &programs, options.install)?;
        Self::start_on(seeded.copy(kind, &programs)?, options, 0)
    }

    /// Starts both programs on this copy. The number separates the logs of services that run at the same time.
    pub(crate) fn start_on(
        mut copy: Copy,
        options: &Options,
        number: usize,
    ) -> Result<Self, Failure> {
        copy.installation.log_requests();
        let server = copy.installation.serve(number)?;
        let database_url = &copy.installation.database_url;
        let env = Self {
            server,
            baseline: baseline::start(&options.programs(), database_url)?,
            copy,
            draws: 0,
        };
        env.require_request_log()?;
        Ok(env)
    }

    /// Fails unless requests are logged, as in production: a service that does not log them is faster.
    fn require_request_log(&self) -> Result<(), Failure> {
        let mut connection = Connection::open(&self.server.base_url, &self.copy.key)?;
        connection.send("POST", "/v1/auth/users/search", &json!({ "limit": 10 }))?;
        let limit = Duration::from_secs(5);
        let logged = wait::until("a log line about a request", limit, || {
            let log = fs::read_to_string(&self.server.log).context("cannot read the log")?;
            Ok(log.lines().any(is_about_a_request).then_some(()))
        });
        logged.map_err(|_timeout| {
            Failure::new("the service does not log its requests: VESTRY_LOG__LEVEL must be info")
        })
    }

    /// Runs an operation under load.
    pub(crate) fn sample(
        &mut self,
        target: Target,
        operation: Operation,
        load: Load,
    ) -> Result<Sample, Failure> {
        self.measure(target, None, operation, load)
    }

    /// Runs an operation of the service under load, with another key if one is given.
    pub(crate) fn sample_with(
        &mut self,
        key: Option<&str>,
        operation: Operation,
        load: Load,
    ) -> Result<Sample, Failure> {
        self.measure(Target::Service, key, operation, load)
    }

    fn measure(
        &mut self,
        target: Target,
        key: Option<&str>,
        operation: Operation,
        load: Load,
    ) -> Result<Sample, Failure> {
        self.draws += 1;
        let (url, process) = match target {
            Target::Service => (&self.server.base_url, self.server.process_id()),
            Target::Baseline => (&self.baseline.url, self.baseline.guard.process_id()),
        };
        self.empty_log()?;
        let cluster = self.copy.cluster.as_ref().map(Cluster::process_id);
        let draw = Draw {
            operation: operation.name,
            key: key.unwrap_or(&self.copy.key),
            list: &self.file(operation.list),
            number: self.draws,
        };
        let snapshot = || {
            let of_database = cluster.map(Usage::below).transpose()?;
            let of_load = usage::of_ended_children()?;
            Ok::<_, Failure>((Usage::below(process)?, of_database, of_load))
        };
        let before = snapshot()?;
        let counted = load::draw(url, draw, load)?;
        let after = snapshot()?;
        if target == Target::Service {
            self.require_a_line_for_each(counted.requests)?;
        }
        let done = float(counted.requests) / operation.requests;
        let service = after.0.since(&before.0);
        let database = match (after.1, before.1) {
            (Some(after), Some(before)) => after.since(&before),
            _ => Taken::default(),
        };
        Ok(Sample {
            per_second: counted.measured.per_second / operation.requests,
            times: Times {
                p50: counted.measured.p50,
                p99: counted.measured.p99,
            },
            cost: Cost {
                service: service.microseconds / done,
                database: database.microseconds / done,
                load: (after.2 - before.2) / done,
                voluntary: service.voluntary / done,
                involuntary: service.involuntary / done,
                of_database: (database.voluntary + database.involuntary) / done,
            },
        })
    }

    /// Empties the log, which would grow to gigabytes.
    fn empty_log(&self) -> Result<(), Failure> {
        let log = fs::File::options().write(true).open(&self.server.log);
        let emptied = log.and_then(|log| log.set_len(0));
        emptied.context("cannot empty the log")
    }

    fn require_a_line_for_each(&self, requests: u64) -> Result<(), Failure> {
        let log = fs::metadata(&self.server.log).context("cannot read the length of the log")?;
        if log.len() < requests * LINE {
            return Err(Failure::new(format!(
                "{requests} requests wrote only {} bytes to the log",
                log.len()
            )));
        }
        Ok(())
    }

    /// The URL of the service and an API key.
    pub(crate) fn service(&self) -> (&str, &str) {
        (&self.server.base_url, &self.copy.key)
    }

    /// A file in the directory of the installation.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.copy.installation.file(name)
    }

    /// The installation, for admin commands.
    pub(crate) const fn installation(&self) -> &Installation {
        &self.copy.installation
    }

    pub(crate) fn database_url(&self) -> &str {
        &self.copy.installation.database_url
    }

    /// The resident memory of the service in MiB.
    pub(crate) fn resident(&self) -> Result<f64, Failure> {
        usage::resident(self.server.process_id())
    }

    /// The peak resident memory of the service in MiB.
    pub(crate) fn peak(&self) -> Result<f64, Failure> {
        usage::peak(self.server.process_id())
    }

    /// The store and its version.
    pub(crate) fn store_name(&self, kind: StoreKind) -> Result<String, Failure> {
        match kind {
            StoreKind::Sqlite => Ok(kind.name().to_owned()),
            StoreKind::Postgres => {
                let version = database::query(self.database_url(), "SHOW server_version")?;
                let version = version.split_whitespace().next().unwrap_or_default();
                Ok(format!("{} {version}", kind.name()))
            }
        }
    }

    /// Stops everything. Returns the memory of the service at its start, as passed, and at its end.
    pub(crate) fn stop(self, idle: f64) -> Result<Memory, Failure> {
        let end = self.resident()?;
        self.baseline.guard.stop()?;
        self.server.stop()?;
        self.copy.cluster.map_or(Ok(()), Cluster::stop)?;
        Ok(Memory { idle, end })
    }
}

fn is_about_a_request(line: &str) -> bool {
    line.contains("\"INFO\"") && line.contains("\"request\"")
}

#[cfg(test)]
mod tests {
    use super::is_about_a_request;

    #[test]
    fn only_info_lines_about_requests_count_as_request_log() {
        let line =
            r#"{"timestamp":"…","level":"INFO","message":"request","route":"/livez","status":200}"#;
        assert!(is_about_a_request(line));
        for other in [
            r#"{"level":"WARN","message":"request failed"}"#,
            r#"{"level":"INFO","message":"listening"}"#,
            "",
        ] {
            assert!(!is_about_a_request(other), "{other}");
        }
    }
}
