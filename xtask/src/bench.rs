//! `bench`: what an operation costs, beside what it cannot cost less than.

mod http;
mod journeys;
mod ksuid;
mod load;
mod search;
mod service;
mod signing;
mod table;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Context, Failure};
use crate::site::Kind;
use crate::{process, project};
use load::Load;
use signing::Comparison;
use table::{Row, Table};

pub(crate) const ABOUT: &str = "\
measure the service and its baselines, in one run

Builds in the profile dist, starts the service on SQLite and on a throwaway Postgres (fsync on), and puts load on it
from a second process (wrk) over loopback. Beside each operation stands its baseline from the same run: an empty actix
handler, a raw SELECT by primary key over the same kind of pool, raw loops of signing and hashing with the same libraries.
Calls that need something prepared for each (a link, a passkey, a signature) are made by a client of ours, in numbers.
Machines differ and are shared: read the ratios, not the rates.

  --seconds N        length of each measurement (10)
  --connections N    open connections (64)
  --calls N          calls of each operation that needs preparation (500), over 16 connections
  --store NAME       sqlite or postgres; both when absent
  --no-install       do not install wrk or Postgres
  --search           instead: how long searching users takes with 10,000 of them and with many, and the ratio; needs psql and
                     sqlite3
  --users N          how many \"many\" is (1000000)
  --signing          instead: how many messages wallets sign that are drawn from 64 and from many, with a log line for each
  --wallets N        how many \"many\" is (100000)
  --against DIR      the directory of another build's `vestry`, measured in turn with this one on the same database
  --rounds N         how often each is measured; the table has the means (3)
  --profile NAME     instead of dist: release, which builds in half the time and is a little slower; with --search also dev,
                     which is good for the ratio and not for the times";

/// What the command line asks for.
struct Options {
    load: Load,
    stores: Vec<Kind>,
    /// Calls of each operation that needs preparation.
    calls: u32,
    install: bool,
    /// One of [`PROFILES`].
    profile: &'static str,
    /// What is measured instead of everything else.
    instead: Option<Instead>,
}

enum Instead {
    /// Searches among so many users.
    Search(usize),
    Signing(Comparison),
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let options = options(arguments)?;
    build(&options)?;
    if let Some(Instead::Search(users)) = options.instead {
        return search::run(&options, users);
    }
    load::require_wrk(options.install)?;
    if let Some(Instead::Signing(comparison)) = &options.instead {
        return signing::run(&options, comparison);
    }
    let mut table = Table::new();
    let hashing = raw(&options.programs(), &["hash"], options.load)?;
    table.push(Row::raw("raw Argon2id loop, 2 threads", hashing));
    for kind in &options.stores {
        service::measure(*kind, &options, hashing, &mut table)?;
    }
    println!("{table}");
    Ok(())
}

/// Builds the service and the programs beside it, always together: Cargo would build the tree anew for one of them alone,
/// with the features that it alone asks for.
fn build(options: &Options) -> Result<(), Failure> {
    eprintln!("xtask: building what is measured");
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

/// A loop of the baseline program without HTTP; it prints operations a second.
fn raw(programs: &Path, arguments: &[&str], load: Load) -> Result<f64, Failure> {
    let mut command = Command::new(programs.join("vestry-bench-baseline"));
    command
        .args(arguments)
        .args(["--seconds", &load.seconds.to_string()]);
    let printed = process::output(&mut command)?;
    printed
        .trim()
        .parse()
        .context(format!("the baseline printed {printed:?} and not a rate"))
}

fn options(arguments: &[String]) -> Result<Options, Failure> {
    let mut options = Options {
        load: Load {
            seconds: 10,
            connections: 64,
        },
        stores: vec![Kind::Sqlite, Kind::Postgres],
        calls: 500,
        install: true,
        profile: "dist",
        instead: None,
    };
    let (mut search, mut users) = (false, 1_000_000);
    let mut signing = false;
    let mut comparison = Comparison {
        wallets: 100_000,
        against: None,
        rounds: 3,
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || {
            rest.next()
                .ok_or_else(|| Failure::Usage(format!("{argument} needs a value")))
        };
        match argument.as_str() {
            "--seconds" => options.load.seconds = number(argument, value()?)?,
            "--connections" => options.load.connections = number(argument, value()?)?,
            "--calls" => options.calls = number(argument, value()?)?,
            "--store" => options.stores = vec![Kind::parse(value()?)?],
            "--no-install" => options.install = false,
            "--search" => search = true,
            "--users" => users = number(argument, value()?)?,
            "--signing" => signing = true,
            "--wallets" => comparison.wallets = number(argument, value()?)?,
            "--rounds" => comparison.rounds = number(argument, value()?)?,
            "--against" => {
                let directory = PathBuf::from(value()?).canonicalize();
                comparison.against = Some(directory.context("--against")?);
            }
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
    if search {
        let users = usize::try_from(users).context("that many users cannot be counted")?;
        options.instead = Some(Instead::Search(users));
    } else if signing {
        options.instead = Some(Instead::Signing(comparison));
    }
    if !search && options.profile == "dev" {
        let message = "--profile dev goes with --search";
        return Err(Failure::Usage(message.to_owned()));
    }
    Ok(options)
}

pub(crate) fn number(name: &str, value: &str) -> Result<u32, Failure> {
    match value.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(Failure::Usage(format!("{name} takes a number from 1"))),
    }
}
