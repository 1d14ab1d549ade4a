//! `bench --console`: the times of the console's pages with many users and events, and what operators who use it cost the API.

use std::process::Stdio;

use xtask_harness::failure::{Context, Failure};
use xtask_harness::installation::{StoreKind, text};
use xtask_harness::{database, process};

use crate::bench_env::{BenchEnv, Operation, Sample, Target, each};
use crate::events::rows::World;
use crate::paired_stats::{median, shown_ratio};
use crate::seeded::Seeded;
use crate::{Options, suite};

/// The events in the log.
const EVENTS: u64 = 1_000_000;
/// Operators who click at the same time.
const OPERATORS: &str = "10";
/// How long they look at a page while pages are timed. It is short, so that each page is seen often.
const SHORT: &str = "200";
/// The same while the API is measured: as fast as people click.
const USUAL: &str = "1000";
/// How long pages are timed, in seconds.
const TIMED: u32 = 60;
/// Where browsers would reach the console.
const ORIGIN: &str = "https://console.bench.example";

/// Measures and prints both tables.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let mut uses = Vec::new();
    println!("| store | page | requests | p50 ms | p95 ms | p99 ms |");
    println!("|---|---|---:|---:|---:|---:|");
    for kind in &options.stores {
        uses.push(measure(*kind, options)?);
    }
    println!();
    println!("| store | session verify per second | while the console is in use | ratio |");
    println!("|---|---:|---:|---:|");
    for row in uses {
        println!("{row}");
    }
    Ok(())
}

fn measure(kind: StoreKind, options: &Options) -> Result<String, Failure> {
    let programs = options.programs();
    let seeded = Seeded::find_or_make(kind, suite::USERS, &programs, options.install)?;
    let mut copy = seeded.copy(kind, &programs)?;
    copy.installation.set("VESTRY_CONSOLE__ENABLED", "true");
    copy.installation.set("VESTRY_CONSOLE__BASE_URL", ORIGIN);
    let apps = copy.installation.admin(&["app", "list"])?;
    let app = text(&apps, "/apps/0/id")?;
    fill(kind, &copy.installation.database_url, &app)?;
    let create = ["operator", "create", "bench@example.com", "--owner"];
    let link = text(&copy.installation.admin(&create)?, "/url")?;
    let mut env = BenchEnv::start_on(copy, options, 0)?;
    let service = env.service().0.to_owned();
    let mut join = options.load_program("console-join");
    join.args(["--service", &service, "--origin", ORIGIN, "--link", &link]);
    let cookie = process::output(&mut join)?;
    let clicks = |pause: &str, seconds: u32| {
        let mut clicks = options.load_program("console");
        clicks.args(["--service", &service, "--origin", ORIGIN, "--app", &app]);
        clicks.args(["--cookie", cookie.trim(), "--operators", OPERATORS]);
        clicks.args(["--pause-ms", pause, "--seconds", &seconds.to_string()]);
        clicks
    };
    // The first round fills caches, and does not count.
    process::output(&mut clicks(SHORT, TIMED / 4))?;
    for line in process::output(&mut clicks(SHORT, TIMED))?.lines() {
        println!("| {} | {} |", kind.name(), line.replace('\t', " | "));
    }
    let load = options.load(5);
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for round in 0..=options.rounds {
        let mut quiet = None;
        let mut busy = None;
        // Each goes first in half of the rounds.
        for part in 0..2 {
            if (round + part) % 2 == 0 {
                quiet = Some(env.sample(Target::Service, Operation::VERIFY, load)?);
            } else {
                let mut clicks = clicks(USUAL, load.seconds + 1);
                let clicks = clicks.stdout(Stdio::null()).spawn();
                let mut clicks = clicks.context("cannot start the operators")?;
                busy = Some(env.sample(Target::Service, Operation::VERIFY, load)?);
                let ended = clicks.wait().context("cannot wait for the operators")?;
                if !ended.success() {
                    return Err(Failure::new("the operators saw an error"));
                }
            }
        }
        if round > 0 {
            without.extend(quiet);
            with.extend(busy);
        }
    }
    env.stop(0.0)?;
    let rates = |samples: &[Sample]| each(samples, |sample| sample.per_second);
    Ok(format!(
        "| {} | {:.0} | {:.0} | {} |",
        kind.name(),
        median(&rates(&without)),
        median(&rates(&with)),
        shown_ratio(&rates(&with), &rates(&without)),
    ))
}

/// Names all users, and fills the log of events.
fn fill(kind: StoreKind, database_url: &str, app: &str) -> Result<(), Failure> {
    eprintln!("xtask: filling the log of {}", kind.name());
    let names = "UPDATE users SET first_name = 'Ada', last_name = substr(id, 26), \
        folded_name = 'ada ' || lower(substr(id, 26));\n";
    database::run_script(database_url, names)?;
    let position =
        format!("SELECT position FROM event_heads WHERE app_id = '{app}' AND environment = 'test'");
    let known = database::query(database_url, &position)?;
    let known = known.trim().parse().context("the log has no position")?;
    database::run_script(database_url, &World { kind, app }.log(known, EVENTS))
}
