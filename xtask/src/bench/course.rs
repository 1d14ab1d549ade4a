//! The true bench: what the service does most, on a database as large as those it is for, in turn with what it is compared with.

use std::fs;
use std::process::Command;

use super::load::Load;
use super::pairs::{median, one_after_the_other};
use super::record::{Baseline, Cost, Flood, Measurement, Memory, Record, Times};
use super::report::USUAL;
use super::scene::{Operation, Sample, Scene, Whom};
use super::seeded::{HOT, run_script};
use super::{Options, baseline, journeys, report, usage};
use crate::failure::{Context, Failure};
use crate::site::Kind;
use crate::{process, project};

/// How many users a record that is kept has.
pub(super) const USERS: u32 = 100_000;

/// How long and how often.
pub(super) struct Course {
    /// Users, wallets and sessions in the database.
    pub(super) users: u32,
    /// Of each measurement.
    pub(super) seconds: u32,
    /// Under load of how many connections, and how often.
    rounds: Vec<(u32, u32)>,
    /// How often writes are measured, and with how many connections.
    writes: Vec<(u32, u32)>,
    /// How often the flood comes, and session verifies before and during it.
    floods: u32,
    calls: u32,
    /// What has to be known to read the figures.
    pub(super) note: String,
    /// Whether the record is kept.
    is_whole: bool,
}

impl Course {
    /// Whose record is kept.
    pub(super) fn whole() -> Self {
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

    /// For every day.
    pub(super) fn quick() -> Self {
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
}

/// What an operation is compared with.
#[derive(Clone, Copy)]
enum Beside {
    /// A SELECT by primary key in a handler, of users drawn from this list.
    Select(&'static str),
    /// Opening a key, signing and verifying, and serving an empty handler.
    Signing,
}

const READS: [(&str, Operation, Beside); 6] = [
    (
        "session verify, hot",
        one_request("session_verify", "sessions.hot"),
        Beside::Select("users.hot"),
    ),
    (
        "session verify, cold",
        one_request("session_verify", "sessions.cold"),
        Beside::Select("users.cold"),
    ),
    (
        "user get, hot",
        one_request("user_get", "users.hot"),
        Beside::Select("users.hot"),
    ),
    (
        "user get, cold",
        one_request("user_get", "users.cold"),
        Beside::Select("users.cold"),
    ),
    (
        "sign_message Ethereum, hot",
        one_request("sign_message", "wallets.hot"),
        Beside::Signing,
    ),
    (
        "sign_message Ethereum, cold",
        one_request("sign_message", "wallets.cold"),
        Beside::Signing,
    ),
];

const WRITES: [(&str, Operation); 2] = [
    (
        "user create (with wallet)",
        one_request("user_create", "users.hot"),
    ),
    (
        "code send + verify (new user, session)",
        Operation {
            requests: 2.0,
            ..one_request("code", "users.hot")
        },
    ),
];

/// An operation that one request makes.
const fn one_request(name: &'static str, list: &'static str) -> Operation {
    Operation {
        name,
        list,
        requests: 1.0,
    }
}

/// Measures the stores, keeps the records and prints their tables.
pub(super) fn run(options: &Options, course: &Course) -> Result<(), Failure> {
    let mut records = Vec::new();
    for kind in &options.stores {
        let record = measure(*kind, options, course)?;
        keep(*kind, course, &record)?;
        records.push(record);
    }
    print!("{}", report::tables(&records)?);
    Ok(())
}

fn measure(kind: Kind, options: &Options, course: &Course) -> Result<Record, Failure> {
    let mut scene = Scene::set(kind, course.users, options)?;
    let idle = scene.resident()?;
    let mut record = Record {
        date: now()?,
        commit: commit()?,
        profile: options.profile.to_owned(),
        store: scene.store_name(kind)?,
        machine: machine()?,
        note: course.note.clone(),
        users: course.users,
        hot: HOT,
        seconds: course.seconds,
        memory: Memory::default(),
        measurements: Vec::new(),
        flood: Flood::default(),
    };
    for (name, operation, beside) in READS {
        for (connections, rounds) in &course.rounds {
            let load = course.load(*connections);
            let mut pairs = Pairs::default();
            // Once without a look: pools open and caches fill.
            pairs.take(&mut scene, operation, beside, options, load)?;
            pairs = Pairs::default();
            for _ in 0..*rounds {
                pairs.take(&mut scene, operation, beside, options, load)?;
            }
            record.push(pairs.measurement(name, *connections, Some(beside)));
        }
    }
    for (name, operation) in WRITES {
        for (connections, rounds) in &course.writes {
            let samples = alone(&mut scene, operation, course.load(*connections), *rounds)?;
            record.push(samples.measurement(name, *connections, None));
        }
    }
    record.flood = flood(&scene, options, course)?;
    make_due(kind, &scene)?;
    let rounds = course.rounds_of_writes(USUAL);
    let verify = one_request("session_verify", "sessions.cold");
    let touching = alone(&mut scene, verify, course.load(USUAL), rounds)?;
    record.push(touching.measurement("session verify, cold, each due a touch", USUAL, None));
    record.memory = scene.strike(idle)?;
    Ok(record)
}

impl Course {
    const fn load(&self, connections: u32) -> Load {
        Load {
            seconds: self.seconds,
            connections,
        }
    }

    fn rounds_of_writes(&self, connections: u32) -> u32 {
        let found = self.writes.iter().find(|(of, _)| *of == connections);
        found.map_or(1, |(_, rounds)| *rounds)
    }
}

impl Record {
    /// Adds a measurement, and shows it at once: a run takes minutes.
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

/// Rounds of an operation, each with the baseline right after it.
#[derive(Default)]
struct Pairs {
    ones: Vec<Sample>,
    others: Vec<Other>,
}

/// What a round of a baseline says.
struct Other {
    per_second: f64,
    /// A loop without HTTP has none.
    times: Option<Times>,
    cost: Cost,
}

impl Pairs {
    fn take(
        &mut self,
        scene: &mut Scene,
        operation: Operation,
        beside: Beside,
        options: &Options,
        load: Load,
    ) -> Result<(), Failure> {
        self.ones
            .push(scene.sample(Whom::Service, operation, load)?);
        self.others.push(match beside {
            Beside::Select(list) => {
                let sample = scene.sample(Whom::Baseline, one_request("select", list), load)?;
                Other {
                    per_second: sample.per_second,
                    times: Some(sample.times),
                    cost: sample.cost,
                }
            }
            Beside::Signing => signing(scene, operation.list, options, load)?,
        });
        Ok(())
    }

    fn measurement(&self, name: &str, connections: u32, beside: Option<Beside>) -> Measurement {
        Measurement {
            operation: name.to_owned(),
            connections,
            rates: self.ones.iter().map(|one| one.per_second).collect(),
            times: middle_times(&self.ones.iter().map(|one| one.times).collect::<Vec<_>>()),
            cost: middle_cost(self.ones.iter().map(|one| one.cost)),
            baseline: beside.map(|beside| self.baseline(beside)),
        }
    }

    fn baseline(&self, beside: Beside) -> Baseline {
        let times: Option<Vec<Times>> = self.others.iter().map(|other| other.times).collect();
        Baseline {
            name: match beside {
                Beside::Select(_) => "raw SELECT in a handler".to_owned(),
                Beside::Signing => "raw signing + empty handler".to_owned(),
            },
            rates: self.others.iter().map(|one| one.per_second).collect(),
            times: times.map(|times| middle_times(&times)),
            cost: middle_cost(self.others.iter().map(|other| other.cost)),
        }
    }
}

/// Opening a key, signing and verifying for half the time, and an empty handler for the other half.
fn signing(
    scene: &mut Scene,
    list: &'static str,
    options: &Options,
    load: Load,
) -> Result<Other, Failure> {
    let half = Load {
        seconds: load.seconds.div_ceil(2),
        ..load
    };
    let before = usage::of_ended_children()?;
    let arguments = ["sign", "--scheme", "secp256k1"];
    let rate = baseline::raw(&options.programs(), &arguments, half)?;
    let took = usage::of_ended_children()? - before;
    let empty = scene.sample(Whom::Baseline, one_request("empty", list), half)?;
    Ok(Other {
        per_second: one_after_the_other(rate, empty.per_second),
        times: None,
        cost: Cost {
            service: empty.cost.service + took / (rate * f64::from(half.seconds)),
            ..empty.cost
        },
    })
}

/// Rounds of an operation that nothing is compared with.
fn alone(
    scene: &mut Scene,
    operation: Operation,
    load: Load,
    rounds: u32,
) -> Result<Pairs, Failure> {
    let mut pairs = Pairs::default();
    for _ in 0..rounds {
        let sample = scene.sample(Whom::Service, operation, load)?;
        pairs.ones.push(sample);
    }
    Ok(pairs)
}

/// The median of each.
fn middle_times(all: &[Times]) -> Times {
    let of = |read: fn(&Times) -> f64| median(&all.iter().map(read).collect::<Vec<_>>());
    Times {
        p50: of(|one| one.p50),
        p99: of(|one| one.p99),
    }
}

/// The median of each.
fn middle_cost(all: impl Iterator<Item = Cost>) -> Cost {
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

/// Session verifies one after the other, at rest and while passwords are verified as fast as the service takes them.
fn flood(scene: &Scene, options: &Options, course: &Course) -> Result<Flood, Failure> {
    let (service, key) = scene.place();
    let calls = course.calls.to_string();
    let mut flood = Flood::default();
    for _ in 0..course.floods {
        let mut client = Command::new(options.programs().join("vestry-bench-load"));
        client.args(["flood", "--service", service, "--key", key]);
        let printed = process::output(client.args(["--calls", &calls]))?;
        let lines = printed.lines().map(journeys::parse);
        let lines: Vec<_> = lines
            .collect::<Result<_, _>>()
            .context(format!("the load program printed {printed:?}"))?;
        let [(_, at_rest), (_, in_flood)] = lines[..] else {
            return Err(Failure::new("the load program printed no two lines"));
        };
        flood.at_rest.push(at_rest.p99);
        flood.in_flood.push(in_flood.p99);
    }
    Ok(flood)
}

/// Every session was last seen more than a minute ago: its next verify writes that down.
fn make_due(kind: Kind, scene: &Scene) -> Result<(), Failure> {
    let (script, url) = scene.store("due.sql");
    let begin = match kind {
        Kind::Sqlite => ".timeout 10000\n",
        Kind::Postgres => "",
    };
    let due = format!("{begin}UPDATE sessions SET last_active_at = started_at - 120;\n");
    fs::write(&script, due).context("cannot write a script")?;
    run_script(kind, url, &script)
}

/// Writes the record where the page is made from, or, of a run that is not for keeping, below `target`.
fn keep(kind: Kind, course: &Course, record: &Record) -> Result<(), Failure> {
    let store = kind.name().to_lowercase();
    let file = if course.is_whole && course.users == USERS {
        let directory = report::directory();
        fs::create_dir_all(&directory).context("cannot create bench/")?;
        let date = record.date.replace(':', "");
        directory.join(format!("{date}-{store}.json"))
    } else {
        project::target().join(format!("bench-{store}.json"))
    };
    fs::write(&file, record.to_json()).context(format!("cannot write {}", file.display()))?;
    eprintln!("xtask: the record is {}", file.display());
    Ok(())
}

/// UTC, to the minute.
fn now() -> Result<String, Failure> {
    let said = process::output(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%MZ"]))?;
    Ok(said.trim().to_owned())
}

/// The commit that is measured, with a plus when files differ from it.
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
        .ok_or_else(|| Failure::new("/proc/meminfo does not say how much memory there is"))?;
    Ok(format!("{cores} cores, {} GiB of memory", memory >> 20))
}
