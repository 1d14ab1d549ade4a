//! CN-K2: `kill -9` during traffic, then the counters of the charts against the store.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::{JoinHandle, JoinSet, block_in_place};
use vestry_contract::rng::{self, Rng};

use crate::support::client::Api;
use crate::support::flow::new_owner;
use crate::support::installation::{Installation, text};
use crate::support::process::PATIENCE;

/// Kills on each database.
const KILLS: usize = 3;
/// Processes on one database. Each serves an App of its own.
const AT_ONCE: usize = 3;
/// What a kill may lose.
const LOST: Duration = Duration::from_secs(10);
/// The pause of a client.
const PAUSE: u64 = 200;

/// Facts of each kind: its counter, and its rows in the database.
const FACTS: [(&str, &str); 3] = [
    ("user_created", "users"),
    ("wallet_created", "wallets"),
    ("signature", "audit_entries"),
];

async fn pause(milliseconds: u64) {
    let length = Duration::from_millis(milliseconds);
    let over = tokio::time::timeout(length, std::future::pending::<()>());
    over.await.expect_err("nothing comes of it");
}

/// When each user was acknowledged, with a wallet and a signature.
type Acknowledged = Arc<Mutex<Vec<Instant>>>;

/// A client that creates users, whose wallets sign, until the service is gone.
fn traffic(api: Api) -> (JoinHandle<()>, Acknowledged) {
    let acknowledged = Acknowledged::default();
    let noted = Arc::clone(&acknowledged);
    let client = tokio::spawn(async move {
        for number in 0.. {
            let body =
                json!({ "email": format!("user-{number}@example.com"), "include_user": true });
            let created = api.try_post("/v1/auth/users/create", &body).await;
            let Ok(created) = created else {
                return;
            };
            let wallet = created.ok()["user"]["wallets"][0]["id"].clone();
            let path = format!("/v1/wallets/{}/sign_message", wallet.as_str().unwrap());
            let signed = api.try_post(&path, &json!({ "message": "hi" })).await;
            let Ok(signed) = signed else {
                return;
            };
            signed.ok();
            noted.lock().unwrap().push(Instant::now());
            pause(PAUSE).await;
        }
    });
    (client, acknowledged)
}

async fn number(installation: &Installation, query: &str) -> usize {
    let query = format!("SELECT CAST({query} AS TEXT) AS one, '' AS two");
    let found = installation.database.pairs(&query).await;
    found[0].0.parse().unwrap()
}

/// How often a fact was counted in an App.
async fn counted(installation: &Installation, app: &str, name: &str) -> usize {
    let of_name = format!("WHERE app_id = '{app}' AND period = 'day' AND name = '{name}'");
    let sum = format!("(SELECT COALESCE(SUM(count), 0) FROM activity {of_name})");
    number(installation, &sum).await
}

async fn stored(installation: &Installation, app: &str, table: &str) -> usize {
    let rows = format!("(SELECT COUNT(*) FROM {table} WHERE app_id = '{app}')");
    number(installation, &rows).await
}

/// Kills a process under traffic, soon after its first counts were written. Returns how many facts were stored and not counted.
async fn kill(installation: Arc<Installation>, app: String, key: String, longer: u64) -> usize {
    let mut server = installation.serve().await;
    let (client, acknowledged) = traffic(server.api(&key));
    let written = tokio::time::timeout(PATIENCE, async {
        while counted(&installation, &app, "signature").await == 0 {
            pause(500).await;
        }
    });
    written.await.expect("the first counts are written");
    pause(longer).await;
    let killed = Instant::now();
    server.process.kill().await;
    client.await.unwrap();
    let acknowledged = acknowledged.lock().unwrap().clone();
    let is_due = |at: &&Instant| **at + LOST < killed;
    let due = acknowledged.iter().filter(is_due).count();
    let mut lost = 0;
    for (name, table) in FACTS {
        let counted = counted(&installation, &app, name).await;
        let stored = stored(&installation, &app, table).await;
        assert!(
            (due..=stored).contains(&counted) && stored >= acknowledged.len(),
            "{name}: {counted} counted of {stored} stored, {due} older than ten seconds"
        );
        lost += stored - counted;
    }
    lost
}

async fn kills_lose_ten_seconds(installation: Installation) {
    let keys = block_in_place(|| installation.set_up());
    let installation = Arc::new(installation);
    let mut rng = Rng::from_seed(rng::seed());
    let (mut left, mut lost) = (rng::rounds(KILLS), 0);
    while left > 0 {
        let now = left.min(AT_ONCE);
        let mut kills = JoinSet::new();
        for _ in 0..now {
            let longer = u64::try_from(rng.below(500)).unwrap();
            let app = block_in_place(|| installation.admin(&["app", "create", "Shop"]));
            let app = text(&app, "id");
            let create = ["key", "create", &app, "test"];
            let key = block_in_place(|| installation.admin(&create));
            let key = text(&key, "key");
            kills.spawn(kill(Arc::clone(&installation), app, key, longer));
        }
        lost += kills.join_all().await.into_iter().sum::<usize>();
        left -= now;
    }
    println!("CN-K2: {lost} facts were not counted");
    // A process that is stopped loses nothing.
    let server = installation.serve().await;
    for number in 0..3 {
        let email = format!("last-{number}@example.com");
        new_owner(&server.api(&keys.test), &email).await;
    }
    server.process.stop().await;
    for name in ["user_created", "wallet_created"] {
        assert_eq!(counted(&installation, &keys.app, name).await, 3, "{name}");
    }
}

/// On both databases at once, because most of the time is ten seconds of waiting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cn_k2_con_20_a_kill_loses_ten_seconds_of_counts() {
    let on_postgres = async {
        if let Some(installation) = Installation::postgres().await {
            kills_lose_ten_seconds(installation).await;
        }
    };
    tokio::join!(on_postgres, kills_lose_ten_seconds(Installation::sqlite()));
}
