//! Everything that runs while one store is measured, and one measurement of it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use super::baseline::{self, Baseline};
use super::load::{self, Draw, Load};
use super::record::{Cost, Memory, Times};
use super::seeded::{Copy, Seeded};
use super::usage::{self, Taken, Usage, float};
use super::{Options, http};
use crate::failure::{Context, Failure};
use crate::postgres::Cluster;
use crate::site::{Kind, Server};
use crate::{process, wait};

/// A line about a request is longer than this.
const LINE: u64 = 100;

/// The service on a copy of the seeded database, and the program of the baselines on the same.
pub(super) struct Scene {
    server: Server,
    baseline: Baseline,
    copy: Copy,
    /// Draws so far.
    draws: u32,
}

/// Whom a load is put on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Whom {
    Service,
    Baseline,
}

/// An operation as `draw.lua` calls it.
#[derive(Clone, Copy)]
pub(super) struct Operation {
    pub(super) name: &'static str,
    /// Which list its ids are drawn from.
    pub(super) list: &'static str,
    /// Requests that make one of it.
    pub(super) requests: f64,
}

/// The operations compared between two services.
pub(super) const COMPARED: [(&str, Operation); 5] = [
    (
        "session verify, cold",
        operation("session_verify", "sessions.cold", 1.0),
    ),
    ("user get, cold", operation("user_get", "users.cold", 1.0)),
    (
        "sign_message Ethereum, cold",
        operation("sign_message", "wallets.cold", 1.0),
    ),
    (
        "user create (with wallet)",
        operation("user_create", "users.hot", 1.0),
    ),
    ("code send + verify", operation("code", "users.hot", 2.0)),
];

const fn operation(name: &'static str, list: &'static str, requests: f64) -> Operation {
    Operation {
        name,
        list,
        requests,
    }
}

/// One measurement.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    pub(super) per_second: f64,
    pub(super) times: Times,
    pub(super) cost: Cost,
}

/// One figure of each.
pub(super) fn each(samples: &[Sample], figure: fn(&Sample) -> f64) -> Vec<f64> {
    samples.iter().map(figure).collect()
}

impl Scene {
    pub(super) fn set(kind: Kind, users: u32, options: &Options) -> Result<Self, Failure> {
        let programs = options.programs();
        let seeded = Seeded::find_or_make(kind, users, &programs, options.install)?;
        Self::on(seeded.copy(kind, &programs)?, options, 0)
    }

    /// The same on a copy; its log has a number where there are several.
    pub(super) fn on(mut copy: Copy, options: &Options, number: usize) -> Result<Self, Failure> {
        let programs = options.programs();
        copy.site.log_requests();
        let server = copy.site.serve(number)?;
        let scene = Self {
            server,
            baseline: baseline::start(&programs, &copy.site.database_url)?,
            copy,
            draws: 0,
        };
        scene.require_lines()?;
        Ok(scene)
    }

    /// A service that keeps silent about requests is faster than one in production: its figures would be of no use.
    fn require_lines(&self) -> Result<(), Failure> {
        let search = json!({ "limit": 10 });
        let path = "/v1/auth/users/search";
        http::post(&self.server.base_url, path, &self.copy.key, &search)?;
        let said = wait::until(
            "the line of a request in the log",
            Duration::from_secs(5),
            || {
                let log = fs::read_to_string(&self.server.log).context("cannot read the log")?;
                Ok(log.lines().any(is_about_a_request).then_some(()))
            },
        );
        said.map_err(|_silent| {
            Failure::new("the service does not log its requests: VESTRY_LOG__LEVEL must be info")
        })
    }

    /// Puts load on one of the two.
    pub(super) fn sample(
        &mut self,
        whom: Whom,
        operation: Operation,
        load: Load,
    ) -> Result<Sample, Failure> {
        self.draws += 1;
        let (url, keeper) = match whom {
            Whom::Service => (&self.server.base_url, self.server.keeper()),
            Whom::Baseline => (&self.baseline.url, self.baseline.keeper.id()),
        };
        self.empty_log()?;
        let cluster = self.copy.cluster.as_ref().map(Cluster::keeper);
        let of_database = || cluster.map(Usage::below).transpose();
        let draw = Draw {
            operation: operation.name,
            key: &self.copy.key,
            list: &self.copy.site.file(operation.list),
            number: self.draws,
        };
        let before = (
            Usage::below(keeper)?,
            of_database()?,
            usage::of_ended_children()?,
        );
        let counted = load::draw(url, draw, load)?;
        let after = (
            Usage::below(keeper)?,
            of_database()?,
            usage::of_ended_children()?,
        );
        if whom == Whom::Service {
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

    /// Lines of a run fill gigabytes.
    fn empty_log(&self) -> Result<(), Failure> {
        let log = fs::File::options().write(true).open(&self.server.log);
        let emptied = log.and_then(|log| log.set_len(0));
        emptied.context("cannot empty the log")
    }

    fn require_a_line_for_each(&self, requests: u64) -> Result<(), Failure> {
        let log = fs::metadata(&self.server.log).context("cannot look at the log")?;
        if log.len() < requests * LINE {
            return Err(Failure::new(format!(
                "{requests} requests left only {} bytes in the log",
                log.len()
            )));
        }
        Ok(())
    }

    /// Where the service is and what opens it.
    pub(super) fn place(&self) -> (&str, &str) {
        (&self.server.base_url, &self.copy.key)
    }

    /// Where a script for the store can be written, and the store itself.
    pub(super) fn store(&self, script: &str) -> (PathBuf, &str) {
        (self.copy.site.file(script), &self.copy.site.database_url)
    }

    /// MiB that the service has in core.
    pub(super) fn resident(&self) -> Result<f64, Failure> {
        usage::resident(self.server.keeper())
    }

    /// The most memory that the service has had in core, in MiB.
    pub(super) fn peak(&self) -> Result<f64, Failure> {
        usage::peak(self.server.keeper())
    }

    /// The store and its version.
    pub(super) fn store_name(&self, kind: Kind) -> Result<String, Failure> {
        match kind {
            Kind::Sqlite => Ok(kind.name().to_owned()),
            Kind::Postgres => {
                let mut ask = Command::new("psql");
                ask.args(["-tAc", "SHOW server_version"]);
                let said = process::output(ask.arg(&self.copy.site.database_url))?;
                let version = said.split_whitespace().next().unwrap_or_default();
                Ok(format!("{} {version}", kind.name()))
            }
        }
    }

    /// Ends everything; the memory of the service at its start and now.
    pub(super) fn strike(self, idle: f64) -> Result<Memory, Failure> {
        let end = self.resident()?;
        self.baseline.keeper.stop()?;
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
    fn a_request_shows_in_the_log_at_info_and_nowhere_else() {
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
