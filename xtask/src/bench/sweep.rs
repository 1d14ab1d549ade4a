//! `bench --sweep`: what session verify feels of a million dead sessions that are swept beside it (PR-60).

use std::fs;
use std::process::Command;

use super::load::Load;
use super::pairs::median;
use super::scene::{Operation, Sample, Scene, Whom, each};
use super::seeded::{Seeded, run_script};
use super::{Options, course};
use crate::failure::{Context, Failure};
use crate::process;
use crate::site::Kind;

/// How many there are.
const DEAD: u32 = 1_000_000;

/// How often it is measured once they are gone.
const AT_REST: usize = 8;

const VERIFY: Operation = Operation {
    name: "session_verify",
    list: "sessions.cold",
    requests: 1.0,
};

/// Measures and prints the table.
pub(super) fn run(options: &Options, load: Load) -> Result<(), Failure> {
    println!(
        "| store | session verify | times | per second | p50 ms | p99 ms, median | least, most |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|");
    for kind in &options.stores {
        measure(*kind, options, load)?;
    }
    Ok(())
}

fn measure(kind: Kind, options: &Options, load: Load) -> Result<(), Failure> {
    let programs = options.programs();
    let seeded = Seeded::find_or_make(kind, course::USERS, &programs, options.install)?;
    let copy = seeded.copy(kind, &programs)?;
    let script = copy.site.file("dead.sql");
    fs::write(&script, dead(kind)).context("cannot write a script")?;
    eprintln!("xtask: {DEAD} sessions die");
    run_script(kind, &copy.site.database_url, &script)?;
    // It sweeps as soon as it is there.
    let mut scene = Scene::on(copy, options, 0)?;
    let (mut beside, mut at_rest) = (Vec::new(), Vec::new());
    // The first fills pools and caches, and does not count.
    scene.sample(Whom::Service, VERIFY, load)?;
    let mut left = DEAD;
    while left > 0 {
        let sample = scene.sample(Whom::Service, VERIFY, load)?;
        let now = count(kind, &scene)?;
        eprintln!("xtask: {now} are left");
        if now == left {
            return Err(Failure::new("the sweep has stopped"));
        }
        left = now;
        // The last ones may have gone at its beginning.
        if left > 0 {
            beside.push(sample);
        }
    }
    if kind == Kind::Postgres {
        // Else it would be measured beside autovacuum, which cleans up after a million rows.
        let (script, url) = scene.store("clean.sql");
        fs::write(&script, "VACUUM;\n").context("cannot write a script")?;
        run_script(kind, url, &script)?;
    }
    for _ in 0..AT_REST {
        at_rest.push(scene.sample(Whom::Service, VERIFY, load)?);
    }
    print(kind, "while they go", &beside);
    print(kind, "at rest", &at_rest);
    scene.strike(0.0).map(drop)
}

/// Copies of one session, which ended more than a week ago.
fn dead(kind: Kind) -> String {
    let (id, hash) = match kind {
        Kind::Postgres => (
            "'sess_' || lpad(value::TEXT, 27, '0')",
            "decode(lpad(to_hex(value), 64, '0'), 'hex')",
        ),
        Kind::Sqlite => (
            "printf('sess_%027d', value)",
            "CAST(printf('%032d', value) AS BLOB)",
        ),
    };
    let end = match kind {
        Kind::Postgres => "VACUUM (ANALYZE) sessions;\nCHECKPOINT;\n",
        Kind::Sqlite => "PRAGMA wal_checkpoint(TRUNCATE);\n",
    };
    format!(
        "INSERT INTO sessions (app_id, environment, id, user_id, token_hash, started_at, expires_at, last_active_at, created_at, \
             updated_at, factors, device_fingerprint, permissions, deleted_at)
         SELECT one.app_id, one.environment, {id}, one.user_id, {hash}, one.started_at, one.started_at - 30 * 86400, \
             one.started_at - 30 * 86400, one.created_at, one.updated_at, one.factors, one.device_fingerprint, one.permissions, NULL
         FROM generate_series(1, {DEAD}) AS value, (SELECT * FROM sessions LIMIT 1) AS one;
         {end}"
    )
}

/// How many dead ones there are.
fn count(kind: Kind, scene: &Scene) -> Result<u32, Failure> {
    let (_, url) = scene.store("dead.sql");
    let ask = "SELECT count(*) FROM sessions WHERE expires_at < started_at";
    let mut client = match kind {
        Kind::Postgres => {
            let mut psql = Command::new("psql");
            psql.args(["-tAc", ask, url]);
            psql
        }
        Kind::Sqlite => {
            let mut sqlite = Command::new("sqlite3");
            sqlite.args([url.trim_start_matches("sqlite:"), ask]);
            sqlite
        }
    };
    let said = process::output(&mut client)?;
    said.trim()
        .parse()
        .context("the store did not answer a number")
}

fn print(kind: Kind, when: &str, samples: &[Sample]) {
    let mut p99 = each(samples, |sample| sample.times.p99);
    p99.sort_unstable_by(f64::total_cmp);
    let end = |found: Option<&f64>| found.copied().unwrap_or_default();
    println!(
        "| {} | {when} | {} | {:.0} | {:.2} | {:.2} | {:.2}, {:.2} |",
        kind.name(),
        samples.len(),
        median(&each(samples, |sample| sample.per_second)),
        median(&each(samples, |sample| sample.times.p50)),
        median(&p99),
        end(p99.first()),
        end(p99.last()),
    );
}
