//! The main benchmark: the most frequent operations on a large database, in alternation with their baselines.

use std::fs;
use std::process::Command;

use xtask_harness::failure::{Context, Failure};
use xtask_harness::installation::StoreKind;
use xtask_harness::{database, process, project};

use crate::bench_env::{BenchEnv, Operation, Sample, Target};
use crate::load::Load;
use crate::paired_stats::{in_sequence, median};
use crate::record::{Baseline, Cost, Flood, Measurement, Memory, Record, Times};
use crate::report::USUAL;
use crate::seeded::HOT;
use crate::{Options, baseline, flows, report, usage};

/// The number of users of a record that is saved.
pub(crate) const USERS: u32 = 100_000;

/// The extent of a run.
pub(crate) struct Suite {
    /// Users, wallets and sessions in the database.
    pub(crate) users: u32,
    /// The default length of each measurement.
    seconds: u32,
    /// Numbers of connections, each with the rounds of reads.
    rounds: Vec<(u32, u32)>,
    /// Numbers of connections, each with the rounds of writes.
    writes: Vec<(u32, u32)>,
    /// Rounds of the flood.
    floods: u32,
    /// Session verifications before and during each flood.
    calls: u32,
    /// Context that is needed to read the figures.
    pub(crate) note: String,
    /// Whether the record is saved.
    is_whole: bool,
}

impl Suite {
    /// The suite whose record is saved.
    pub(crate) fn whole() -> Self {
        Self {
            users: USERS,
            seconds: 2,
            rounds: vec![(1, 3), (8, 3), (USUAL, 7), (256, 3)],
            writes: vec![(1, 3), (USUAL, 5)],
            floods: 5,
            calls: 1_000,
            note: String::new(),
            is_whole: true,
        }
    }

    /// A short suite for daily work.
    pub(crate) fn quick() -> Self {
        Self {
            seconds: 1,
            rounds: vec![(USUAL, 3)],
            writes: vec![(USUAL, 3)],
            floods: 1,
            calls: 400,
            is_whole: false,
            ..Self::whole()
        }
    }

    fn rounds_of_writes(&self, connections: u32) -> u32 {
        let found = self.writes.iter().find(|(of, _)| *of == connections);
        found.map_or(1, |(_, rounds)| *rounds)
    }
}

/// The baseline of an operation.
#[derive(Clone, Copy)]
enum Reference {
    /// A SELECT by primary key in a handler, with users drawn from this list.
    Select(&'static str),
    /// Decrypting a key, signing and verifying, plus serving an empty handler.
    Signing,
}

const READS: [(&str, Operation, Reference); 6] = [
    (
        "session verify, hot",
        Operation::new("session_verify", "sessions.hot"),
        Reference::Select("users.hot"),
    ),
    (
        "session verify, cold",
        Operation::VERIFY,
        Reference::Select("users.cold"),
    ),
    (
        "user get, hot",
        Operation::new("user_get", "users.hot"),
        Reference::Select("users.hot"),
    ),
    (
        "user get, cold",
        Operation::new("user_get", "users.cold"),
        Reference::Select("users.cold"),
    ),
    (
        "sign_message Ethereum, hot",
        Operation::new("sign_message", "wallets.hot"),
        Reference::Signing,
    ),
    (
        "sign_message Ethereum, cold",
        Operation::new("sign_message", "wallets.cold"),
        Reference::Signing,
    ),
];

const WRITES: [(&str, Operation); 2] = [
    ("user create (with wallet)", Operation::CREATE),
    ("code send + verify (new user, session)", Operation::CODE),
];

/// Measures the stores, saves the records and prints their tables.
pub(crate) fn run(options: &Options, suite: &Suite) -> Result<(), Failure> {
    let mut records = Vec::new();
    for kind in &options.stores {
        let record = measure(*kind, options, suite)?;
        save(*kind, suite, &record)?;
        records.push(record);
    }
    print!("{}", report::tables(&records)?);
    Ok(())
}

fn measure(kind: StoreKind, options: &Options, suite: &Suite) -> Result<Record, Failure> {
    let mut env = BenchEnv::start(kind, suite.users, options)?;
    let idle = env.resident()?;
    let load = |connections| Load {
        connections,
        ..options.load(suite.seconds)
    };
    let mut record = Record {
        date: now()?,
        commit: commit()?,
        profile: options.profile.to_owned(),
        store: env.store_name(kind)?,
        machine: machine()?,
        note: suite.note.clone(),
        users: suite.users,
        hot: HOT,
        seconds: load(USUAL).seconds,
        memory: Memory::default(),
        measurements: Vec::new(),
        flood: Flood::default(),
    };
    for (name, operation, reference) in READS {
        for (connections, rounds) in &suite.rounds {
            let load = load(*connections);
            let mut samples = PairedSamples::default();
            // The first round opens pools and fills caches, and does not count.
            samples.take(&mut env, operation, reference, options, load)?;
            samples = PairedSamples::default();
            for _ in 0..*rounds {
                samples.take(&mut env, operation, reference, options, load)?;
            }
            record.push(samples.measurement(name, *connections, Some(reference)));
        }
    }
    for (name, operation) in WRITES {
        for (connections, rounds) in &suite.writes {
            let samples = alone(&mut env, operation, load(*connections), *rounds)?;
            record.push(samples.measurement(name, *connections, None));
        }
    }
    record.flood = flood(&env, options, suite)?;
    // Every session was last active more than a minute ago, so its next verification writes an activity update.
    let script = "UPDATE sessions SET last_active_at = started_at - 120;\n";
    database::run_script(env.database_url(), script)?;
    let rounds = suite.rounds_of_writes(USUAL);
    let touching = alone(&mut env, Operation::VERIFY, load(USUAL), rounds)?;
    record.push(touching.measurement("session verify, cold, each due a touch", USUAL, None));
    record.memory = env.stop(idle)?;
    Ok(record)
}

impl Record {
    /// Adds a measurement and prints it at once, because a run takes minutes.
    fn push(&mut self, one: Measurement) {
        let times = one.times;
        let ratio = one.ratio().map_or(String::new(), |ratio| {
            format!(", ratio {:.2}", ratio.median)
        });
        eprintln!(
            "{}: {}, {} connections: {:.0} a second, p50 {:.2} ms, p99 {:.2} ms{ratio}",
            self.store,
            one.operation,
            one.connections,
            one.rate(),
            times.p50,
            times.p99,
        );
        self.measurements.push(one);
    }
}

/// Rounds of an operation, each followed by its baseline.
#[derive(Default)]
struct PairedSamples {
    ones: Vec<Sample>,
    others: Vec<ReferenceSample>,
}

/// A round of a baseline.
struct ReferenceSample {
    per_second: f64,
    /// Absent for a loop without HTTP.
    times: Option<Times>,
    cost: Cost,
}

impl PairedSamples {
    fn take(
        &mut self,
        env: &mut BenchEnv,
        operation: Operation,
        reference: Reference,
        options: &Options,
        load: Load,
    ) -> Result<(), Failure> {
        self.ones
            .push(env.sample(Target::Service, operation, load)?);
        self.others.push(match reference {
            Reference::Select(list) => {
                let select = Operation::new("select", list);
                let sample = env.sample(Target::Baseline, select, load)?;
                ReferenceSample {
                    per_second: sample.per_second,
                    times: Some(sample.times),
                    cost: sample.cost,
                }
            }
            Reference::Signing => signing(env, operation.list, options, load)?,
        });
        Ok(())
    }

    fn measurement(
        &self,
        name: &str,
        connections: u32,
        reference: Option<Reference>,
    ) -> Measurement {
        Measurement {
            operation: name.to_owned(),
            connections,
            rates: self.ones.iter().map(|one| one.per_second).collect(),
            times: median_times(&self.ones.iter().map(|one| one.times).collect::<Vec<_>>()),
            cost: median_cost(self.ones.iter().map(|one| one.cost)),
            baseline: reference.map(|reference| self.baseline(reference)),
        }
    }

    fn baseline(&self, reference: Reference) -> Baseline {
        let times: Option<Vec<Times>> = self.others.iter().map(|other| other.times).collect();
        Baseline {
            name: match reference {
                Reference::Select(_) => "raw SELECT in a handler".to_owned(),
                Reference::Signing => "raw signing + empty handler".to_owned(),
            },
            rates: self.others.iter().map(|one| one.per_second).collect(),
            times: times.map(|times| median_times(&times)),
            cost: median_cost(self.others.iter().map(|other| other.cost)),
        }
    }
}

/// The signing baseline: the raw loop for half of the time, and the empty handler for the other half.
fn signing(
    env: &mut BenchEnv,
    list: &'static str,
    options: &Options,
    load: Load,
) -> Result<ReferenceSample, Failure> {
    let half = load.half();
    let before = usage::of_ended_children()?;
    let arguments = ["sign", "--scheme", "secp256k1"];
    let rate = baseline::raw(&options.programs(), &arguments, half)?;
    let took = usage::of_ended_children()? - before;
    let empty = env.sample(Target::Baseline, Operation::new("empty", list), half)?;
    Ok(ReferenceSample {
        per_second: in_sequence(rate, empty.per_second),
        times: None,
        cost: Cost {
            service: empty.cost.service + took / (rate * f64::from(half.seconds)),
            ..empty.cost
        },
    })
}

/// Rounds of an operation without a baseline.
fn alone(
    env: &mut BenchEnv,
    operation: Operation,
    load: Load,
    rounds: u32,
) -> Result<PairedSamples, Failure> {
    let samples = (0..rounds).map(|_| env.sample(Target::Service, operation, load));
    Ok(PairedSamples {
        ones: samples.collect::<Result<_, _>>()?,
        others: Vec::new(),
    })
}

fn median_times(all: &[Times]) -> Times {
    let of = |read: fn(&Times) -> f64| median(&all.iter().map(read).collect::<Vec<_>>());
    Times {
        p50: of(|one| one.p50),
        p99: of(|one| one.p99),
    }
}

fn median_cost(all: impl Iterator<Item = Cost>) -> Cost {
    let all: Vec<Cost> = all.collect();
    let of = |read: fn(&Cost) -> f64| median(&all.iter().map(read).collect::<Vec<_>>());
    Cost {
        service: of(|one| one.service),
        database: of(|one| one.database),
        load: of(|one| one.load),
        voluntary: of(|one| one.voluntary),
        involuntary: of(|one| one.involuntary),
        of_database: of(|one| one.of_database),
    }
}

/// Measures paced session verifications at rest and during a flood of password verifications.
fn flood(env: &BenchEnv, options: &Options, suite: &Suite) -> Result<Flood, Failure> {
    let (service, key) = env.service();
    let calls = suite.calls.to_string();
    let mut flood = Flood::default();
    for _ in 0..suite.floods {
        let mut client = options.load_program("flood");
        client.args(["--service", service, "--key", key, "--calls", &calls]);
        let printed = process::output(&mut client)?;
        let lines = printed.lines().map(flows::parse);
        let lines: Vec<_> = lines.collect::<Result<_, _>>()?;
        let [(_, at_rest), (_, in_flood)] = lines[..] else {
            return Err(Failure::new(format!(
                "the load program printed {printed:?}"
            )));
        };
        flood.at_rest.push(at_rest.p99);
        flood.in_flood.push(in_flood.p99);
    }
    Ok(flood)
}

/// Saves the record of a whole suite for docs/performance.md, and any other one below `target`.
fn save(kind: StoreKind, suite: &Suite, record: &Record) -> Result<(), Failure> {
    let store = kind.name().to_lowercase();
    let file = if suite.is_whole && suite.users == USERS {
        let directory = report::directory();
        fs::create_dir_all(&directory).context("cannot create bench/")?;
        let date = record.date.replace(':', "");
        directory.join(format!("{date}-{store}.json"))
    } else {
        project::target().join(format!("bench-{store}.json"))
    };
    fs::write(&file, record.to_json()?).context(format!("cannot write {}", file.display()))?;
    eprintln!("xtask: the record is {}", file.display());
    Ok(())
}

/// The time in UTC, to the minute.
fn now() -> Result<String, Failure> {
    let printed = process::output(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%MZ"]))?;
    Ok(printed.trim().to_owned())
}

/// The measured commit, with a plus if files differ from it.
fn commit() -> Result<String, Failure> {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "safe.directory=*"]).args(arguments);
        process::output(git.current_dir(project::root()))
    };
    let commit = git(&["rev-parse", "--short", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no"])?;
    let plus = if changes.is_empty() { "" } else { "+" };
    Ok(format!("{}{plus}", commit.trim()))
}

/// Cores and memory.
fn machine() -> Result<String, Failure> {
    let cores = std::thread::available_parallelism().context("cannot count the cores")?;
    let text = fs::read_to_string("/proc/meminfo").context("cannot read /proc/meminfo")?;
    let memory = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"))
        .and_then(|kib| kib.parse::<u64>().ok())
        .ok_or_else(|| Failure::new("/proc/meminfo has no total"))?;
    Ok(format!("{cores} cores, {} GiB of memory", memory >> 20))
}
