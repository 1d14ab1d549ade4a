//! `bench`: what an operation costs, beside what it cannot cost less than.

mod baseline;
mod builds;
mod cluster;
mod course;
mod events;
mod http;
mod journeys;
mod ksuid;
mod load;
mod pairs;
mod peers;
mod plans;
mod record;
mod report;
mod scene;
mod search;
mod seeded;
mod service;
mod signing;
mod soak;
mod sweep;
mod table;
mod usage;

use std::path::PathBuf;

use crate::failure::{Context, Failure};
use crate::site::Kind;
use crate::{process, project};
use course::Course;
use load::Load;
use signing::Comparison;
use table::{Row, Table};

pub(crate) const ABOUT: &str = "\
Measure the service and its baselines in one run.

Starts the service on SQLite and on a throwaway Postgres (fsync on), with one log line per request as in production, and
puts load on it from a second process (wrk) over loopback. The database has 100,000 users, each with an address, a wallet and a
session. It is created once per schema version (two or three minutes for each store), kept in target/bench, and copied for
each run. \"Cold\" requests draw from all users, \"hot\" ones from 64.

Each measurement is followed by its baseline: a raw SELECT by primary key in an actix handler with the same kind of pool and the
same tables, or a raw signing loop with the same libraries plus an empty handler. Machines differ, are shared, and change
speed, so read the ratios, which are medians of such pairs, rather than the rates. The tables also show the CPU time of a
request and the number of context switches.

  (none)             session verify and user get, signatures, user creation, codes, and a flood of passwords, with 1, 8, 64 and
                     256 connections: about ten minutes for each store. Saves the record in bench/ for --report
  --quick            the same, shorter and with 64 connections only: about two minutes for each store. Saves nothing
  --report           measure nothing; write the tables of docs/performance.md from the newest record of each store in bench/
  --operations       signatures of every chain, and calls that need preparation (a link, a passkey, a signature), made by our
                     own client: about five minutes for each store
  --search           how long user searches take with 10,000 users and with many, and the ratio: about ten minutes for each store
  --peers            better-auth from npm and django-allauth from PyPI, on the same Postgres and in turn with this service:
                     sessions, codes, passwords and users, about five minutes
  --cluster          the same database distributed over a Citus of three servers, in turn with one Postgres, all on this
                     machine: about four minutes, plus two to build Citus once from ../shared/servers
  --builds           another build (--against DIR) in turn with this one, each on its copy of the same database: about
                     three minutes for each store
  --plans            the query plan of each statement with many rows in every table, with statistics and without them. Fails
                     if a table is scanned in full, or far more rows are read than returned: about two minutes
  --sweep            session verify while a million dead sessions are swept, and at rest: about two minutes for each store
  --soak             hours of mixed load on each store. Fails if the service uses a tenth more memory in the last quarter than
                     in the second
  --events           events and webhooks: their cost for the changes that emit them, the speed of sequencing, reads and
                     deliveries, and isolation from slow endpoints: about eight minutes for each store
  --signing          signature rates of wallets drawn from 64 and from many: the time to create the wallets, and a minute

  --store NAME       sqlite or postgres (default: both)
  --profile NAME     the build profile: dist, as shipped (default); release, which builds in half the time and is a little
                     slower; with --search and --plans also dev, whose times are not meaningful
  --no-install       do not install wrk or Postgres; psql and sqlite3 must be present
  --seconds N        length of each measurement (default 2; 1 with --quick; 5 with --peers, --cluster, --builds and --soak; 10 with
                     --operations and --signing)
  --note TEXT        context needed to read the figures, such as other load on the machine; saved in the record
  --users N          the number of users (default 100000; with --search, the number for \"many\", default 1000000). A run with
                     other than 100000 users saves nothing
  --connections N    with --operations, --signing, --peers, --cluster, --builds, --sweep and --soak: open connections (default 64)
  --calls N          with --operations: calls of each operation that needs preparation (default 500), over 16 connections
  --wallets N        with --signing: the number for \"many\" (default 100000)
  --minutes N        with --soak: duration on each store (default 240)
  --against DIR      with --builds and --signing: the directory of another build's `vestry`, measured in turn with this one;
                     with --events: of a build that emits no events, where `Unit::commit` passes `tell_and_commit` no rows
  --rounds N         with --signing, --peers, --events, --cluster and --builds: rounds of each measurement (default 3). The table
                     of --signing has the means, the others the medians
  --log N            with --events: events in the log that is read (default 200000)";

/// What the command line asks for.
struct Options {
    stores: Vec<Kind>,
    install: bool,
    /// One of [`PROFILES`].
    profile: &'static str,
}

/// The measurement to run.
enum Mode {
    Course(Course),
    /// Load, and calls of each operation that needs preparation.
    Operations(Load, u32),
    /// Searches among this many users.
    Search(usize),
    Signing(Load, Comparison),
    Events(Load, events::Extent),
    /// Ours beside those of others.
    Peers(Load, peers::Comparison),
    Soak(Load, soak::Soak),
    /// Sweeps under load.
    Sweep(Load),
    /// A cluster in turn with one Postgres, for this many rounds.
    Cluster(Load, u32),
    /// Another build in turn with this one, for this many rounds.
    Builds(Load, PathBuf, u32),
    /// Query plans with this many users.
    Plans(u32),
    /// Nothing.
    Report,
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let (options, mode) = parse(arguments)?;
    if matches!(mode, Mode::Report) {
        return report::write();
    }
    build(&options)?;
    if !matches!(mode, Mode::Search(_) | Mode::Plans(_)) {
        load::require_wrk(options.install)?;
    }
    match mode {
        Mode::Course(course) => course::run(&options, &course),
        Mode::Operations(load, calls) => operations(&options, load, calls),
        Mode::Search(users) => search::run(&options, users),
        Mode::Events(load, extent) => events::run(&options, load, &extent),
        Mode::Signing(load, comparison) => signing::run(&options, load, &comparison),
        Mode::Peers(load, comparison) => peers::run(&options, load, &comparison),
        Mode::Soak(load, soak) => soak::run(&options, load, &soak),
        Mode::Sweep(load) => sweep::run(&options, load),
        Mode::Cluster(load, rounds) => cluster::run(&options, load, rounds),
        Mode::Builds(load, against, rounds) => builds::run(&options, load, &against, rounds),
        Mode::Plans(users) => plans::run(&options, users),
        Mode::Report => Ok(()),
    }
}

fn operations(options: &Options, load: Load, calls: u32) -> Result<(), Failure> {
    let mut table = Table::new();
    let hashing = baseline::raw(&options.programs(), &["hash"], load)?;
    table.push(Row::raw("raw Argon2id loop, 2 threads", hashing));
    for kind in &options.stores {
        service::measure(*kind, options, load, calls, hashing, &mut table)?;
    }
    println!("{table}");
    Ok(())
}

/// Builds the service and the programs beside it, always together: Cargo would build the tree anew for one of them alone,
/// with the features that it alone asks for.
fn build(options: &Options) -> Result<(), Failure> {
    eprintln!("xtask: building the programs");
    let mut build = project::cargo();
    build.args(["build", "--quiet"]);
    for package in [
        "vestry-server",
        "vestry-bench-baseline",
        "vestry-bench-load",
    ] {
        build.args(["--package", package]);
    }
    build.args(["--profile", options.profile]);
    process::run(&mut build)
}

/// The profiles that can be measured. The first is what is shipped; the last is for the ratio of searches alone.
const PROFILES: [&str; 3] = ["dist", "release", "dev"];

impl Options {
    /// Where the programs of the profile are.
    fn programs(&self) -> PathBuf {
        // Cargo names the directory of `dev` otherwise.
        let directory = match self.profile {
            "dev" => "debug",
            profile => profile,
        };
        project::target().join(directory)
    }
}

/// The parsed command line; defaults depend on the mode.
#[derive(Default)]
struct Line {
    /// The flag of the mode, if one is given.
    mode: Option<&'static str>,
    seconds: Option<u32>,
    connections: Option<u32>,
    calls: Option<u32>,
    users: Option<u32>,
    wallets: Option<u32>,
    rounds: Option<u32>,
    minutes: Option<u32>,
    log: Option<u32>,
    against: Option<PathBuf>,
    note: String,
}

/// The flags that select a mode.
const MODES: [&str; 12] = [
    "--builds",
    "--cluster",
    "--events",
    "--plans",
    "--quick",
    "--report",
    "--operations",
    "--search",
    "--signing",
    "--peers",
    "--soak",
    "--sweep",
];

fn parse(arguments: &[String]) -> Result<(Options, Mode), Failure> {
    let mut options = Options {
        stores: vec![Kind::Sqlite, Kind::Postgres],
        install: true,
        profile: "dist",
    };
    let mut line = Line::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if let Some(mode) = MODES.into_iter().find(|mode| mode == argument) {
            if let Some(other) = line.mode.replace(mode) {
                let message = format!("{mode} and {other} measure different things");
                return Err(Failure::Usage(message));
            }
            continue;
        }
        let mut value = || {
            rest.next()
                .ok_or_else(|| Failure::Usage(format!("{argument} needs a value")))
        };
        match argument.as_str() {
            "--seconds" => line.seconds = Some(number(argument, value()?)?),
            "--connections" => line.connections = Some(number(argument, value()?)?),
            "--calls" => line.calls = Some(number(argument, value()?)?),
            "--users" => line.users = Some(number(argument, value()?)?),
            "--wallets" => line.wallets = Some(number(argument, value()?)?),
            "--minutes" => line.minutes = Some(number(argument, value()?)?),
            "--log" => line.log = Some(number(argument, value()?)?),
            "--rounds" => line.rounds = Some(number(argument, value()?)?),
            "--note" => line.note.clone_from(value()?),
            "--against" => {
                let directory = PathBuf::from(value()?).canonicalize();
                line.against = Some(directory.context("--against")?);
            }
            "--store" => options.stores = vec![Kind::parse(value()?)?],
            "--no-install" => options.install = false,
            "--profile" => {
                let name = value()?;
                let known = PROFILES.into_iter().find(|profile| profile == name);
                let unknown =
                    || Failure::Usage(format!("--profile is one of {}", PROFILES.join(", ")));
                options.profile = known.ok_or_else(unknown)?;
            }
            other => return Err(Failure::Usage(format!("bench does not know {other}"))),
        }
    }
    let mode = line.mode()?;
    if matches!(mode, Mode::Peers(..)) && !options.stores.contains(&Kind::Postgres) {
        let message = "--peers measures on Postgres, where the peer can run as well";
        return Err(Failure::Usage(message.to_owned()));
    }
    if options.profile == "dev" && !matches!(mode, Mode::Search(_) | Mode::Plans(_)) {
        let message = "--profile dev goes with --search and --plans";
        return Err(Failure::Usage(message.to_owned()));
    }
    Ok((options, mode))
}

impl Line {
    fn mode(self) -> Result<Mode, Failure> {
        let load = Load {
            seconds: self.seconds.unwrap_or(10),
            connections: self.connections.unwrap_or(64),
        };
        Ok(match self.mode {
            Some("--report") => Mode::Report,
            Some("--operations") => Mode::Operations(load, self.calls.unwrap_or(500)),
            Some("--search") => {
                let users = usize::try_from(self.users.unwrap_or(1_000_000));
                Mode::Search(users.context("that many users cannot be counted")?)
            }
            Some("--cluster") => Mode::Cluster(
                Load {
                    seconds: self.seconds.unwrap_or(5),
                    ..load
                },
                self.rounds.unwrap_or(3),
            ),
            Some("--builds") => {
                let absent = || {
                    let message = "--builds needs --against DIR, where the other build is";
                    Failure::Usage(message.to_owned())
                };
                Mode::Builds(
                    Load {
                        seconds: self.seconds.unwrap_or(5),
                        ..load
                    },
                    self.against.ok_or_else(absent)?,
                    self.rounds.unwrap_or(3),
                )
            }
            Some("--plans") => Mode::Plans(self.users.unwrap_or(course::USERS)),
            Some("--events") => Mode::Events(
                Load {
                    seconds: self.seconds.unwrap_or(5),
                    ..load
                },
                events::Extent {
                    log: self.log.unwrap_or(200_000),
                    against: self.against,
                    rounds: self.rounds.unwrap_or(3),
                },
            ),
            Some("--signing") => Mode::Signing(
                load,
                Comparison {
                    wallets: self.wallets.unwrap_or(100_000),
                    against: self.against,
                    rounds: self.rounds.unwrap_or(3),
                },
            ),
            Some("--peers") => Mode::Peers(
                Load {
                    seconds: self.seconds.unwrap_or(5),
                    ..load
                },
                peers::Comparison {
                    users: self.users.unwrap_or(course::USERS),
                    of_peer: 10_000,
                    rounds: self.rounds.unwrap_or(3),
                },
            ),
            Some("--sweep") => Mode::Sweep(Load {
                seconds: self.seconds.unwrap_or(2),
                ..load
            }),
            Some("--soak") => Mode::Soak(
                Load {
                    seconds: self.seconds.unwrap_or(5),
                    ..load
                },
                soak::Soak {
                    minutes: self.minutes.unwrap_or(240),
                    users: self.users.unwrap_or(course::USERS),
                },
            ),
            quick => {
                let mut course = match quick {
                    Some(_) => Course::quick(),
                    None => Course::whole(),
                };
                course.seconds = self.seconds.unwrap_or(course.seconds);
                course.users = self.users.unwrap_or(course.users);
                course.note = self.note;
                Mode::Course(course)
            }
        })
    }
}

pub(crate) fn number(name: &str, value: &str) -> Result<u32, Failure> {
    match value.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(Failure::Usage(format!("{name} takes a number from 1"))),
    }
}
