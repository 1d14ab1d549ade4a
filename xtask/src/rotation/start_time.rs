//! How long the service takes to be ready, with few wallets in Postgres and with many.
//!
//! The few are made through the API. The many are copies of one of their rows under other ids, made in the database: a start
//! is to read none of them, so it does not matter that their keyed hashes are those of another row.

use std::fs;
use std::process::Command;
use std::time::Duration;

use super::Options;
use crate::failure::{Context, Failure};
use crate::process;
use crate::site::{Kind, Site, cluster};

/// With how many wallets the large number is compared.
const FEW: u32 = 1_000;
/// Starts of each.
const STARTS: usize = 10;
/// The database of the many.
const SECOND: &str = "many";

pub(super) fn run(options: &Options, many: u32) -> Result<(), Failure> {
    let Some(cluster) = cluster(Kind::Postgres, options.install)? else {
        return Err(Failure::new("there is no Postgres"));
    };
    let programs = &options.programs.directory;
    let few = Site::new(programs, Some(cluster.url()))?;
    sql(&few, &format!("CREATE DATABASE {SECOND}"))?;
    let (server, _) = cluster.url().rsplit_once('/').unwrap_or_default();
    let large = Site::new(programs, Some(&format!("{server}/{SECOND}")))?;
    for site in [&few, &large] {
        let key = site.set_up()?;
        let server = site.serve(0)?;
        server.make_wallets(
            &options.programs.load(),
            &key,
            FEW,
            &site.file("wallets.txt"),
        )?;
        server.stop()?;
    }
    eprintln!("xtask: filling up to {many} wallets");
    sql(&large, &copies(many.saturating_sub(FEW)))?;
    for site in [&few, &large] {
        // Or Postgres would still be at it while the service starts.
        sql(site, "VACUUM ANALYZE")?;
        sql(site, "CHECKPOINT")?;
    }
    let (mut of_few, mut of_many) = (Vec::new(), Vec::new());
    // In turn, so that what else the machine does meets both. The first of each is not counted.
    for start in 0..=STARTS {
        for (site, times) in [(&few, &mut of_few), (&large, &mut of_many)] {
            let server = site.serve(0)?;
            if start > 0 {
                times.push(server.ready_after);
            }
            server.stop()?;
        }
    }
    println!(
        "| wallets | starts | median ms | shortest ms | longest ms |\n|---:|---:|---:|---:|---:|"
    );
    let (few, large) = (row(FEW, of_few), row(many, of_many));
    println!("ratio of the medians: {:.2}", large / few);
    Ok(())
}

/// Prints the line of one number of wallets; the median of its starts in milliseconds.
fn row(wallets: u32, mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    let at = |place: usize| {
        let time = times.get(place).copied().unwrap_or_default();
        time.as_secs_f64() * 1_000.0
    };
    let last = times.len().saturating_sub(1);
    let median = (at(last / 2) + at(times.len() / 2)) / 2.0;
    println!(
        "| {wallets} | {} | {median:.1} | {:.1} | {:.1} |",
        times.len(),
        at(0),
        at(last)
    );
    median
}

/// Runs statements as the superuser, each by itself.
fn sql(site: &Site, statements: &str) -> Result<(), Failure> {
    let script = site.file("script.sql");
    fs::write(&script, statements).context("cannot write a script")?;
    let mut psql = Command::new("psql");
    psql.args(["-q", "-v", "ON_ERROR_STOP=1", "-f"])
        .arg(&script)
        .arg(&site.database_url);
    process::run_quietly(&mut psql)
}

/// Copies of an Ethereum wallet, each with a key and a user of its own. Ids are valid: 27 letters and digits, below the highest.
fn copies(count: u32) -> String {
    let id = |prefix: &str| format!("'{prefix}_2' || substr(md5('{prefix}' || n), 1, 26)");
    let (user, wallet, key) = (id("user"), id("wallet"), id("walletpk"));
    let copy = |table: &str, fields: &str| {
        format!(
            "INSERT INTO {table} SELECT made.* FROM one_of_{table} one, generate_series(1, {count}) n,
                LATERAL jsonb_populate_record(NULL::{table}, to_jsonb(one) || jsonb_build_object({fields})) made;\n"
        )
    };
    let pick = "\
CREATE TEMP TABLE one_of_wallets AS SELECT * FROM wallets WHERE wallet_type = 'ethereum' LIMIT 1;
CREATE TEMP TABLE one_of_users AS SELECT users.* FROM users JOIN one_of_wallets w ON w.user_id = users.id;
CREATE TEMP TABLE one_of_wallet_keys AS SELECT wallet_keys.* FROM wallet_keys JOIN one_of_wallets w ON w.id = wallet_keys.wallet_id;
";
    let users = copy("users", &format!("'id', {user}"));
    let address = "'0x' || md5('a' || n) || substr(md5('b' || n), 1, 8)";
    let wallets = copy(
        "wallets",
        &format!("'id', {wallet}, 'user_id', {user}, 'key_id', {key}, 'public_address', {address}"),
    );
    let keys = copy(
        "wallet_keys",
        &format!("'id', {key}, 'wallet_id', {wallet}"),
    );
    format!("{pick}{users}{wallets}{keys}")
}
