//! K1 and K2: `kill -9` at a random moment under mixed load. After each restart, everything acknowledged must still exist.

use std::time::{Duration, Instant};

use vestry_contract::rng::Rng;

use crate::on_both_databases;
use crate::support::installation::{Installation, Server};
use crate::support::mixed_load::{History, Load, check_all, check_mails, check_rows};

on_both_databases! {
    /// K1 on Postgres, K2 on SQLite.
    nothing_acknowledged_is_lost_by_kill_9 => super::nothing_acknowledged_is_lost_by_kill_9;
}

const KILLS: usize = 20;
/// The time limits for most starts and for any start. The machine runs other tests too.
const READY_WITHIN: Duration = Duration::from_secs(3);
const EVER_READY_WITHIN: Duration = Duration::from_secs(15);

/// Starts the service and records the duration.
async fn timed_start(installation: &Installation, ready: &mut Vec<Duration>) -> Server {
    let started = Instant::now();
    let server = installation.serve().await;
    ready.push(started.elapsed());
    server
}

async fn nothing_acknowledged_is_lost_by_kill_9(installation: Installation) {
    let keys = installation.set_up();
    let mut rng = Rng::from_seed(vestry_contract::rng::seed());
    let (mut histories, mut ready) = (Vec::new(), Vec::new());
    let mut server = timed_start(&installation, &mut ready).await;
    for kill in 0..KILLS {
        let api = server.api(&keys.test);
        let load = Load::start(&api, kill, &mut rng);
        load.go_on(&mut rng).await;
        server.process.kill().await;
        let clients = load.end().await;
        check_rows(&installation).await;
        if kill + 1 == KILLS {
            all_leases_end(&installation).await;
        }
        server = timed_start(&installation, &mut ready).await;
        let checked = check_all(&server.api(&keys.test), &installation, clients).await;
        histories.extend(checked.into_iter().map(|client| client.history));
    }
    finish(&installation, server, &keys.test, &histories, &ready).await;
}

/// Moves the leases of the killed workers into the past. In `failover` they end on their own, after a minute.
async fn all_leases_end(installation: &Installation) {
    let statement = "UPDATE outbox SET due_at = 0 WHERE lease_owner IS NOT NULL";
    installation.database.touch(statement).await;
}

async fn finish(
    installation: &Installation,
    server: Server,
    key: &str,
    histories: &[History],
    ready: &[Duration],
) {
    let writes: usize = histories
        .iter()
        .map(|history| history.acknowledged_writes)
        .sum();
    let wallets: usize = histories.iter().map(|history| history.owners.len()).sum();
    let mut sorted = ready.to_vec();
    sorted.sort_unstable();
    let (median, slowest) = (sorted[sorted.len() / 2], sorted[sorted.len() - 1]);
    println!(
        "{KILLS} kills, {writes} acknowledged writes, {wallets} wallets, starts {median:?} and at most {slowest:?}"
    );
    assert!(
        median <= READY_WITHIN && slowest <= EVER_READY_WITHIN,
        "{ready:?}"
    );
    assert!(writes > 0 && wallets > 0);
    check_mails(&server.api(key), histories).await;
    server.process.stop().await;
    let verified = installation.admin(&["vault", "verify"]);
    assert_eq!(verified["ok"], true);
    assert!(verified["wallets"].as_u64().unwrap() >= u64::try_from(wallets).unwrap());
}
