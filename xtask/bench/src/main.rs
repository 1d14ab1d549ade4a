//! `cargo xtask bench`: the cost of operations of the service, compared with baselines that are their lower bounds.

mod baseline;
mod bench_env;
mod builds;
mod cluster;
mod console;
mod events;
mod flows;
mod http;
mod keys;
mod ksuid;
mod load;
mod operations;
mod paired_stats;
mod peers;
mod plans;
mod record;
mod report;
mod search;
mod seeded;
mod signing;
mod soak;
mod suite;
mod sweep;
mod table;
mod usage;

use std::path::PathBuf;
use std::process::ExitCode;

use xtask_harness::arguments::Arguments;
use xtask_harness::command::{self, Command};
use xtask_harness::failure::{Context, Failure};
use xtask_harness::installation::StoreKind;
use xtask_harness::{process, project};

use load::Load;
use suite::Suite;

const ABOUT: &str = "\
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
  --keys             session verification and signatures with restricted keys, in turn with an unrestricted one: about two
                     minutes for each store
  --console          the times of the console's pages with a million events, ten operators clicking, and session verification
                     while they do: about four minutes for each store
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
  --rounds N         with --signing, --peers, --events, --cluster and --builds: rounds of each measurement (default 3). The tables
                     have the medians
  --log N            with --events: events in the log that is read (default 200000)";

/// The options that most measurements share.
struct Options {
    stores: Vec<StoreKind>,
    install: bool,
    /// One of [`PROFILES`].
    profile: &'static str,
    seconds: Option<u32>,
    connections: u32,
    rounds: u32,
    /// The directory of another build's programs.
    against: Option<PathBuf>,
}

/// The profiles that can be measured. The first one is shipped; the last one is only for searches and plans.
const PROFILES: [&str; 3] = ["dist", "release", "dev"];

/// The flags that select a measurement.
const MODES: [&str; 14] = [
    "--builds",
    "--keys",
    "--cluster",
    "--console",
    "--events",
    "--operations",
    "--peers",
    "--plans",
    "--quick",
    "--report",
    "--search",
    "--signing",
    "--soak",
    "--sweep",
];

fn main() -> ExitCode {
    let arguments = "[--quick | --report | --operations | --search | --signing | …] [--store NAME] [--profile NAME] [--note TEXT]";
    let bench = Command::new("bench", arguments, ABOUT, run);
    command::main("The benchmark:", &[bench])
}

fn run(arguments: &[String]) -> Result<(), Failure> {
    let mut arguments = Arguments::new("bench", arguments);
    let modes: Vec<_> = MODES
        .into_iter()
        .filter(|mode| arguments.flag(mode))
        .collect();
    let mode = match modes[..] {
        [] => "",
        [mode] => mode,
        [one, other, ..] => {
            return Err(arguments.wrong(&format!("{one} and {other} exclude each other")));
        }
    };
    let options = Options::parse(&mut arguments)?;
    let needs_wrk = !matches!(mode, "--search" | "--plans" | "--report");
    if mode == "--peers" && !options.stores.contains(&StoreKind::Postgres) {
        return Err(arguments.wrong("--peers needs Postgres, because the peers do"));
    }
    if options.profile == "dev" && needs_wrk {
        return Err(arguments.wrong("--profile dev is only for --search and --plans"));
    }
    if mode == "--builds" && options.against.is_none() {
        return Err(arguments.wrong("--builds needs --against DIR with the other build"));
    }
    let users = arguments.number("--users")?;
    let calls = arguments.number("--calls")?.unwrap_or(500);
    let wallets = arguments.number("--wallets")?.unwrap_or(100_000);
    let minutes = arguments.number("--minutes")?.unwrap_or(240);
    let log = arguments.number("--log")?.unwrap_or(200_000);
    let note = arguments.value("--note")?.unwrap_or_default();
    arguments.end()?;
    if mode == "--report" {
        return report::write();
    }
    options.build()?;
    if needs_wrk {
        load::require_wrk(options.install)?;
    }
    let usual = users.unwrap_or(suite::USERS);
    match mode {
        "--operations" => operations::run(&options, calls),
        "--search" => search::run(&options, users.unwrap_or(1_000_000)),
        "--events" => events::run(&options, log),
        "--signing" => signing::run(&options, wallets),
        "--peers" => peers::run(&options, usual),
        "--soak" => soak::run(&options, usual, minutes),
        "--sweep" => sweep::run(&options),
        "--cluster" => cluster::run(&options),
        "--builds" => builds::run(&options),
        "--console" => console::run(&options),
        "--keys" => keys::run(&options),
        "--plans" => plans::run(&options, usual),
        quick => {
            let mut suite = match quick {
                "--quick" => Suite::quick(),
                _ => Suite::whole(),
            };
            suite.users = usual;
            suite.note = note;
            suite::run(&options, &suite)
        }
    }
}

impl Options {
    fn parse(arguments: &mut Arguments) -> Result<Self, Failure> {
        let store = arguments.value("--store")?;
        let store = store.as_deref().map(StoreKind::parse).transpose()?;
        let profile = arguments.value("--profile")?;
        let profile = profile.as_deref().unwrap_or("dist");
        let Some(profile) = PROFILES.into_iter().find(|known| *known == profile) else {
            return Err(arguments.wrong(&format!("--profile is one of {}", PROFILES.join(", "))));
        };
        let against = arguments.value("--against")?.map(PathBuf::from);
        let against = against
            .map(|directory| directory.canonicalize())
            .transpose();
        Ok(Self {
            stores: store.map_or_else(|| StoreKind::BOTH.to_vec(), |store| vec![store]),
            install: arguments.install(),
            profile,
            seconds: arguments.number("--seconds")?,
            connections: arguments.number("--connections")?.unwrap_or(64),
            rounds: arguments.number("--rounds")?.unwrap_or(3),
            against: against.context("--against")?,
        })
    }

    /// The load of each measurement.
    fn load(&self, default_seconds: u32) -> Load {
        Load {
            seconds: self.seconds.unwrap_or(default_seconds),
            connections: self.connections,
        }
    }

    /// Builds the service and the programs of the bench, always together: alone, cargo would build one of them with other features,
    /// and most of the tree again.
    fn build(&self) -> Result<(), Failure> {
        eprintln!("xtask: building the programs");
        let mut build = project::cargo();
        build.args(["build", "--quiet", "--profile", self.profile]);
        for package in [
            "vestry-server",
            "vestry-bench-baseline",
            "vestry-bench-load",
        ] {
            build.args(["--package", package]);
        }
        process::run(&mut build)
    }

    /// The directory of the programs.
    fn programs(&self) -> PathBuf {
        // Cargo has another name for the directory of `dev`.
        let directory = match self.profile {
            "dev" => "debug",
            profile => profile,
        };
        project::target().join(directory)
    }

    /// The load generator with one of its commands.
    fn load_program(&self, command: &str) -> std::process::Command {
        let mut program = std::process::Command::new(self.programs().join("vestry-bench-load"));
        program.arg(command);
        program
    }
}
