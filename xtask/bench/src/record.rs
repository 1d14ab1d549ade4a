//! The result of a run, as JSON in `bench/`.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use xtask_harness::failure::{Context, Failure};

use crate::paired_stats::{Ratio, median, ratio};

/// One run on one store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// UTC, as in `2026-11-24T18:30Z`; runs are ordered by it.
    pub(crate) date: String,
    pub(crate) commit: String,
    /// The profile of the build.
    pub(crate) profile: String,
    /// The store and its version.
    pub(crate) store: String,
    /// Cores and memory.
    pub(crate) machine: String,
    /// Context that is needed to read the figures.
    pub(crate) note: String,
    /// The number of users, which is also that of wallets and sessions.
    pub(crate) users: u32,
    /// The number of users from which "hot" requests draw.
    pub(crate) hot: u32,
    /// The length of each measurement.
    pub(crate) seconds: u32,
    #[serde(rename = "memory_mib")]
    pub(crate) memory: Memory,
    #[serde(rename = "flood_p99_ms")]
    pub(crate) flood: Flood,
    pub(crate) measurements: Vec<Measurement>,
}

/// The resident memory of the service in MiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Memory {
    #[serde(serialize_with = "rounded")]
    pub(crate) idle: f64,
    #[serde(serialize_with = "rounded")]
    pub(crate) end: f64,
}

/// An operation under load with a number of connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measurement {
    pub(crate) operation: String,
    pub(crate) connections: u32,
    /// The rate of each round, per second.
    #[serde(rename = "per_second", serialize_with = "all_rounded")]
    pub(crate) rates: Vec<f64>,
    /// Medians of the rounds.
    #[serde(rename = "times_ms")]
    pub(crate) times: Times,
    pub(crate) cost: Cost,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) baseline: Option<Baseline>,
}

/// Percentiles in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Times {
    #[serde(serialize_with = "rounded")]
    pub(crate) p50: f64,
    #[serde(serialize_with = "rounded")]
    pub(crate) p99: f64,
}

/// The cost of one operation: microseconds of CPU time, and context switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cost {
    /// The process under load: the service or the baseline.
    #[serde(rename = "service_us", serialize_with = "rounded")]
    pub(crate) service: f64,
    /// All processes of Postgres; SQLite has none.
    #[serde(rename = "database_us", serialize_with = "rounded")]
    pub(crate) database: f64,
    /// The load generator.
    #[serde(rename = "load_us", serialize_with = "rounded")]
    pub(crate) load: f64,
    /// Switches of the process under load because it waited.
    #[serde(rename = "voluntary_switches", serialize_with = "rounded")]
    pub(crate) voluntary: f64,
    /// Switches of the process under load because another one was scheduled.
    #[serde(rename = "involuntary_switches", serialize_with = "rounded")]
    pub(crate) involuntary: f64,
    /// Both kinds of switches of Postgres.
    #[serde(rename = "database_switches", serialize_with = "rounded")]
    pub(crate) of_database: f64,
}

/// The reference of an operation, measured right after each of its rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Baseline {
    pub(crate) name: String,
    #[serde(rename = "per_second", serialize_with = "all_rounded")]
    pub(crate) rates: Vec<f64>,
    /// Absent for a loop without HTTP.
    #[serde(rename = "times_ms", skip_serializing_if = "Option::is_none")]
    pub(crate) times: Option<Times>,
    pub(crate) cost: Cost,
}

/// 99th percentiles of session verifications in milliseconds, one of each round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Flood {
    #[serde(serialize_with = "all_rounded")]
    pub(crate) at_rest: Vec<f64>,
    #[serde(serialize_with = "all_rounded")]
    pub(crate) in_flood: Vec<f64>,
}

impl Measurement {
    pub(crate) fn rate(&self) -> f64 {
        median(&self.rates)
    }

    /// The ratio of the rate to that of the baseline.
    pub(crate) fn ratio(&self) -> Option<Ratio> {
        ratio(&self.rates, &self.baseline.as_ref()?.rates)
    }

    /// The ratio of the CPU time of the baseline, all processes together, to that of the operation.
    pub(crate) fn ratio_of_cost(&self) -> Option<f64> {
        let baseline = self.baseline.as_ref()?.cost;
        let ratio = ratio(&[baseline.whole()], &[self.cost.whole()]);
        ratio.map(|ratio| ratio.median)
    }
}

impl Cost {
    pub(crate) fn whole(self) -> f64 {
        self.service + self.database + self.load
    }
}

impl Record {
    /// The text of the file, with a line for each measurement.
    pub(crate) fn to_json(&self) -> Result<String, Failure> {
        let fields = serde_json::to_value(self).context("cannot serialize a result")?;
        let fields = fields.as_object().into_iter().flatten();
        let lines = fields.map(|(name, value)| match value {
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(Value::to_string).collect();
                format!("  \"{name}\": [\n    {}\n  ]", items.join(",\n    "))
            }
            value => format!("  \"{name}\": {value}"),
        });
        let lines: Vec<String> = lines.collect();
        Ok(format!("{{\n{}\n}}\n", lines.join(",\n")))
    }

    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        serde_json::from_str(text).context("cannot parse a result")
    }
}

/// Three decimal places: no measurement is more exact.
fn rounded<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((number * 1_000.0).round() / 1_000.0)
}

fn all_rounded<S: Serializer>(numbers: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    let rounded = numbers
        .iter()
        .map(|number| (number * 1_000.0).round() / 1_000.0);
    serializer.collect_seq(rounded)
}

#[cfg(test)]
pub(crate) mod tests;
