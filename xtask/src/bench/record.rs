//! What a run measured, as it is kept in `bench/`: JSON, by hand, since it is one format and xtask has few dependencies.

use serde_json::{Map, Value, json};

use super::pairs::{Ratio, median, ratio};
use crate::failure::{Context, Failure};

/// One run on one store.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    /// UTC, as in `2026-11-24T18:30Z`; runs are ordered by it.
    pub(super) date: String,
    pub(super) commit: String,
    /// The profile of the build.
    pub(super) profile: String,
    /// The store and its version.
    pub(super) store: String,
    /// In words: cores and memory.
    pub(super) machine: String,
    /// What else has to be known to read the figures.
    pub(super) note: String,
    /// Users, and so wallets and sessions; and how many of them are hot.
    pub(super) users: u32,
    pub(super) hot: u32,
    /// Length of each measurement.
    pub(super) seconds: u32,
    pub(super) memory: Memory,
    pub(super) measurements: Vec<Measurement>,
    pub(super) flood: Flood,
}

/// MiB that the service had in core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Memory {
    pub(super) idle: f64,
    pub(super) end: f64,
}

/// An operation under load with a number of connections.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measurement {
    pub(super) operation: String,
    pub(super) connections: u32,
    /// A second, one of each round.
    pub(super) rates: Vec<f64>,
    /// Medians of the rounds.
    pub(super) times: Times,
    pub(super) cost: Cost,
    pub(super) baseline: Option<Baseline>,
}

/// Milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Times {
    pub(super) p50: f64,
    pub(super) p99: f64,
}

/// What one operation took of the machine: microseconds of processor time, and switches between threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cost {
    /// What answers: the service, or the program of the baselines.
    pub(super) service: f64,
    /// All processes of Postgres; SQLite has none.
    pub(super) database: f64,
    /// What makes the load.
    pub(super) load: f64,
    /// Of the threads of what answers: because it waited, and because others got the core.
    pub(super) voluntary: f64,
    pub(super) involuntary: f64,
    /// Of the processes of Postgres, both kinds.
    pub(super) of_database: f64,
}

/// What an operation is compared with; its rates are those right after the operation's own.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Baseline {
    pub(super) name: String,
    pub(super) rates: Vec<f64>,
    /// A loop without HTTP has none.
    pub(super) times: Option<Times>,
    pub(super) cost: Cost,
}

/// 99th percentiles of session verifies in milliseconds, one of each round.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Flood {
    pub(super) at_rest: Vec<f64>,
    pub(super) in_flood: Vec<f64>,
}

impl Measurement {
    pub(super) fn rate(&self) -> f64 {
        median(&self.rates)
    }

    /// Of the rate, to that of the baseline.
    pub(super) fn ratio(&self) -> Option<Ratio> {
        ratio(&self.rates, &self.baseline.as_ref()?.rates)
    }

    /// Of the processor time that the baseline takes, all processes together, to what the operation takes.
    pub(super) fn ratio_of_cost(&self) -> Option<f64> {
        let baseline = self.baseline.as_ref()?.cost;
        let ratio = ratio(&[baseline.whole()], &[self.cost.whole()]);
        ratio.map(|ratio| ratio.median)
    }
}

impl Cost {
    pub(super) fn whole(self) -> f64 {
        self.service + self.database + self.load
    }
}

impl Record {
    /// As it is written into a file: a line for each measurement.
    pub(super) fn to_json(&self) -> String {
        let measurements = self.measurements.iter().map(measurement);
        let measurements: Vec<String> = measurements.map(|one| one.to_string()).collect();
        let top = json!({
            "date": self.date,
            "commit": self.commit,
            "profile": self.profile,
            "store": self.store,
            "machine": self.machine,
            "note": self.note,
            "users": self.users,
            "hot": self.hot,
            "seconds": self.seconds,
            "memory_mib": { "idle": rounded(self.memory.idle), "end": rounded(self.memory.end) },
            "flood_p99_ms": {
                "at_rest": all_rounded(&self.flood.at_rest),
                "in_flood": all_rounded(&self.flood.in_flood),
            },
        });
        let top = top.as_object().into_iter().flatten();
        let mut fields: Vec<String> = top
            .map(|(name, value)| format!("  \"{name}\": {value}"))
            .collect();
        let lines = measurements.join(",\n    ");
        fields.push(format!("  \"measurements\": [\n    {lines}\n  ]"));
        format!("{{\n{}\n}}\n", fields.join(",\n"))
    }

    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let document: Value = serde_json::from_str(text).context("a result is not JSON")?;
        let top = Object::of(&document)?;
        let (memory, flood) = (top.object("memory_mib")?, top.object("flood_p99_ms")?);
        let measurements = top.list("measurements")?.iter();
        Ok(Self {
            date: top.text("date")?,
            commit: top.text("commit")?,
            profile: top.text("profile")?,
            store: top.text("store")?,
            machine: top.text("machine")?,
            note: top.text("note")?,
            users: top.count("users")?,
            hot: top.count("hot")?,
            seconds: top.count("seconds")?,
            memory: Memory {
                idle: memory.number("idle")?,
                end: memory.number("end")?,
            },
            measurements: measurements.map(read).collect::<Result<_, _>>()?,
            flood: Flood {
                at_rest: flood.numbers("at_rest")?,
                in_flood: flood.numbers("in_flood")?,
            },
        })
    }
}

fn measurement(one: &Measurement) -> Value {
    let mut fields = Map::new();
    fields.insert("operation".to_owned(), json!(one.operation));
    fields.insert("connections".to_owned(), json!(one.connections));
    fields.insert("per_second".to_owned(), json!(all_rounded(&one.rates)));
    fields.insert("times_ms".to_owned(), times(one.times));
    fields.insert("cost".to_owned(), cost(one.cost));
    if let Some(baseline) = &one.baseline {
        let mut beside = Map::new();
        beside.insert("name".to_owned(), json!(baseline.name));
        let rates = json!(all_rounded(&baseline.rates));
        beside.insert("per_second".to_owned(), rates);
        if let Some(of_baseline) = baseline.times {
            beside.insert("times_ms".to_owned(), times(of_baseline));
        }
        beside.insert("cost".to_owned(), cost(baseline.cost));
        fields.insert("baseline".to_owned(), Value::Object(beside));
    }
    Value::Object(fields)
}

fn times(times: Times) -> Value {
    json!({ "p50": rounded(times.p50), "p99": rounded(times.p99) })
}

fn cost(cost: Cost) -> Value {
    json!({
        "service_us": rounded(cost.service),
        "database_us": rounded(cost.database),
        "load_us": rounded(cost.load),
        "voluntary_switches": rounded(cost.voluntary),
        "involuntary_switches": rounded(cost.involuntary),
        "database_switches": rounded(cost.of_database),
    })
}

fn read(value: &Value) -> Result<Measurement, Failure> {
    let fields = Object::of(value)?;
    let baseline = match fields.0.get("baseline") {
        None => None,
        Some(beside) => Some(read_baseline(&Object::of(beside)?)?),
    };
    Ok(Measurement {
        operation: fields.text("operation")?,
        connections: fields.count("connections")?,
        rates: fields.numbers("per_second")?,
        times: read_times(&fields.object("times_ms")?)?,
        cost: read_cost(&fields.object("cost")?)?,
        baseline,
    })
}

fn read_baseline(fields: &Object<'_>) -> Result<Baseline, Failure> {
    let times = fields.0.get("times_ms").map(Object::of).transpose()?;
    Ok(Baseline {
        name: fields.text("name")?,
        rates: fields.numbers("per_second")?,
        times: times.as_ref().map(read_times).transpose()?,
        cost: read_cost(&fields.object("cost")?)?,
    })
}

fn read_times(fields: &Object<'_>) -> Result<Times, Failure> {
    Ok(Times {
        p50: fields.number("p50")?,
        p99: fields.number("p99")?,
    })
}

fn read_cost(fields: &Object<'_>) -> Result<Cost, Failure> {
    Ok(Cost {
        service: fields.number("service_us")?,
        database: fields.number("database_us")?,
        load: fields.number("load_us")?,
        voluntary: fields.number("voluntary_switches")?,
        involuntary: fields.number("involuntary_switches")?,
        of_database: fields.number("database_switches")?,
    })
}

/// The fields of an object, each of which must be there.
struct Object<'a>(&'a Map<String, Value>);

impl<'a> Object<'a> {
    fn of(value: &'a Value) -> Result<Self, Failure> {
        let fields = value.as_object().map(Self);
        fields.ok_or_else(|| Failure::new("a result has something else where an object should be"))
    }

    fn field<T>(&self, name: &str, read: impl Fn(&'a Value) -> Option<T>) -> Result<T, Failure> {
        let found = self.0.get(name).and_then(read);
        found.ok_or_else(|| Failure::new(format!("a result has no {name}, or an odd one")))
    }

    fn object(&self, name: &str) -> Result<Self, Failure> {
        Self::of(self.field(name, Some)?)
    }

    fn list(&self, name: &str) -> Result<&'a Vec<Value>, Failure> {
        self.field(name, Value::as_array)
    }

    fn text(&self, name: &str) -> Result<String, Failure> {
        self.field(name, |value| value.as_str().map(str::to_owned))
    }

    fn count(&self, name: &str) -> Result<u32, Failure> {
        self.field(name, |value| value.as_u64()?.try_into().ok())
    }

    fn number(&self, name: &str) -> Result<f64, Failure> {
        self.field(name, Value::as_f64)
    }

    fn numbers(&self, name: &str) -> Result<Vec<f64>, Failure> {
        self.field(name, |value| {
            value.as_array()?.iter().map(Value::as_f64).collect()
        })
    }
}

/// No measurement is more exact than this.
fn rounded(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}

fn all_rounded(numbers: &[f64]) -> Vec<f64> {
    numbers.iter().copied().map(rounded).collect()
}

#[cfg(test)]
pub(super) mod tests;
