//! The time until the service is ready, with few wallets in Postgres and with many.
//!
//! The few are created through the API. The many are copies of one row with other ids, made in the database. A start must not read
//! them, so their invalid keyed hashes do not matter.

use xtask_harness::database;
use xtask_harness::failure::Failure;
use xtask_harness::installation::{Installation, StoreKind, cluster};

use std::time::Duration;

use super::Options;

/// The small number of wallets.
const FEW: u32 = 1_000;
/// The number of starts with each.
const STARTS: usize = 10;
/// The database with many wallets.
const SECOND: &str = "many";

pub(super) fn run(options: &Options, many: u32) -> Result<(), Failure> {
    let Some(cluster) = cluster(StoreKind::Postgres, options.install)? else {
        return Err(Failure::new("there is no Postgres"));
    };
    let programs = &options.programs.directory;
    let few = Installation::new(programs, Some(cluster.url()))?;
    database::run_script(&few.database_url, &format!("CREATE DATABASE {SECOND};\n"))?;
    let (server, _) = cluster.url().rsplit_once('/').unwrap_or_default();
    let large = Installation::new(programs, Some(&format!("{server}/{SECOND}")))?;
    for installation in [&few, &large] {
        let key = installation.set_up()?.key;
        let server = installation.serve(0)?;
        server.make_wallets(
            &options.programs.load(),
            &key,
            FEW,
            &installation.file("wallets.txt"),
        )?;
        server.stop()?;
    }
    eprintln!("xtask: filling up to {many} wallets");
    database::run_script(&large.database_url, &copies(many.saturating_sub(FEW)))?;
    for installation in [&few, &large] {
        // Otherwise Postgres would do it while the service starts.
        database::run_script(&installation.database_url, "VACUUM ANALYZE;\nCHECKPOINT;\n")?;
    }
    let (mut of_few, mut of_many) = (Vec::new(), Vec::new());
    // Alternately, so that other load on the machine affects both. The first start of each does not count.
    for start in 0..=STARTS {
        for (installation, times) in [(&few, &mut of_few), (&large, &mut of_many)] {
            let server = installation.serve(0)?;
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

/// Prints the row of one number of wallets, and returns the median in milliseconds.
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

/// The statements that copy an Ethereum wallet, each copy with its own key and user. Ids are valid: 27 letters and digits, below the
/// highest one.
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
