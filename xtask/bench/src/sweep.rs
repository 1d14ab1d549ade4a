//! `bench --sweep`: the latency of session verification while a million expired sessions are swept (PR-60).

use xtask_harness::database;
use xtask_harness::failure::{Context, Failure};
use xtask_harness::installation::StoreKind;

use crate::bench_env::{BenchEnv, Operation, Sample, Target, each};
use crate::load::Load;
use crate::paired_stats::median;
use crate::seeded::Seeded;
use crate::{Options, suite};

/// The number of expired sessions.
const EXPIRED: u32 = 1_000_000;

/// The number of measurements after the sweep.
const AT_REST: usize = 8;

/// Measures and prints the table.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    println!(
        "| store | session verify | times | per second | p50 ms | p99 ms, median | least, most |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|");
    for kind in &options.stores {
        measure(*kind, options, options.load(2))?;
    }
    Ok(())
}

fn measure(kind: StoreKind, options: &Options, load: Load) -> Result<(), Failure> {
    let programs = options.programs();
    let seeded = Seeded::find_or_make(kind, suite::USERS, &programs, options.install)?;
    let copy = seeded.copy(kind, &programs)?;
    eprintln!("xtask: creating {EXPIRED} expired sessions");
    database::run_script(&copy.installation.database_url, &expired(kind))?;
    // The service begins to sweep as soon as it starts.
    let mut env = BenchEnv::start_on(copy, options, 0)?;
    let (mut during, mut at_rest) = (Vec::new(), Vec::new());
    // The first measurement fills pools and caches, and does not count.
    env.sample(Target::Service, Operation::VERIFY, load)?;
    let mut left = EXPIRED;
    while left > 0 {
        let sample = env.sample(Target::Service, Operation::VERIFY, load)?;
        let now = count(&env)?;
        eprintln!("xtask: {now} are left");
        if now == left {
            return Err(Failure::new("the sweep has stopped"));
        }
        left = now;
        // The last ones may have been deleted at its beginning.
        if left > 0 {
            during.push(sample);
        }
    }
    if kind == StoreKind::Postgres {
        // Otherwise autovacuum would clean up after a million rows during the next measurements.
        database::run_script(env.database_url(), "VACUUM;\n")?;
    }
    for _ in 0..AT_REST {
        at_rest.push(env.sample(Target::Service, Operation::VERIFY, load)?);
    }
    print(kind, "during the sweep", &during);
    print(kind, "at rest", &at_rest);
    env.stop(0.0).map(drop)
}

/// Copies one session into many that expired more than a week ago.
fn expired(kind: StoreKind) -> String {
    let (id, hash, end) = match kind {
        StoreKind::Postgres => (
            "'sess_' || lpad(value::TEXT, 27, '0')",
            "decode(lpad(to_hex(value), 64, '0'), 'hex')",
            "VACUUM (ANALYZE) sessions;\nCHECKPOINT;\n",
        ),
        StoreKind::Sqlite => (
            "printf('sess_%027d', value)",
            "CAST(printf('%032d', value) AS BLOB)",
            "PRAGMA wal_checkpoint(TRUNCATE);\n",
        ),
    };
    format!(
        "INSERT INTO sessions (app_id, environment, id, user_id, token_hash, started_at, expires_at, last_active_at, created_at, \
             updated_at, factors, device_fingerprint, permissions, deleted_at)
         SELECT one.app_id, one.environment, {id}, one.user_id, {hash}, one.started_at, one.started_at - 30 * 86400, \
             one.started_at - 30 * 86400, one.created_at, one.updated_at, one.factors, one.device_fingerprint, one.permissions, NULL
         FROM generate_series(1, {EXPIRED}) AS value, (SELECT * FROM sessions LIMIT 1) AS one;
         {end}"
    )
}

/// The number of expired sessions.
fn count(env: &BenchEnv) -> Result<u32, Failure> {
    let query = "SELECT count(*) FROM sessions WHERE expires_at < started_at";
    let count = database::query(env.database_url(), query)?;
    count.trim().parse().context("the store returned no number")
}

fn print(kind: StoreKind, when: &str, samples: &[Sample]) {
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
