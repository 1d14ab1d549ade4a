//! The event log, read while processes are killed (E-1 to E-4, EV-K1).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use vestry_contract::rng::{self, Rng};

use crate::on_both_databases;
use crate::support::client::Api;
use crate::support::installation::{Installation, text};
use crate::support::mixed_load::{History, Load, check_all, check_rows};

on_both_databases! {
    ev_k1_followers_get_every_event_once_across_kills => super::followers_get_every_event_once_across_kills;
}

const ROUNDS: usize = 6;
const FOLLOWERS: usize = 3;

/// A reader that continues from `next_after` at any process.
struct Follower {
    rng: Rng,
    after: Option<String>,
    seen: Vec<Value>,
}

impl Follower {
    /// Reads from a process until it is stopped, or the process is gone.
    fn follow(mut self, api: Api, stop: Arc<AtomicBool>) -> JoinHandle<Self> {
        tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) && self.read(&api, 1).await.is_some() {}
            self
        })
    }

    /// Reads one page of a random size, half of them with a filter that matches everything; `None` if no process responds.
    async fn read(&mut self, api: &Api, wait: u32) -> Option<bool> {
        let limit = 10 + self.rng.below(200);
        let mut path = format!("/v1/events?limit={limit}&wait={wait}");
        if let Some(after) = &self.after {
            path.push_str(&format!("&after={after}"));
        }
        let page = api.try_get(&path).await.ok()?;
        if page.status == 503 {
            return None;
        }
        let page = page.ok();
        self.seen.extend(page["events"].as_array()?.iter().cloned());
        self.after = page["next_after"].as_str().map(str::to_owned);
        page["has_more"].as_bool()
    }

    /// Reads until the event of this user.
    async fn catch_up(&mut self, api: &Api, last: &str) {
        let is_there =
            |event: &Value| event["type"] == "user.created" && event["data"]["user_id"] == last;
        while !self.seen.iter().rev().any(is_there) {
            let seen = self.seen.len();
            self.read(api, 30).await.unwrap();
            assert!(self.seen.len() > seen, "the last event never arrives");
        }
    }
}

async fn followers_get_every_event_once_across_kills(installation: Installation) {
    let keys = installation.set_up();
    // A night of this creates more than an App's hourly limit.
    let limit = "new_users_per_hour=1000000";
    installation.admin(&["app", "set", &keys.app, limit]);
    let mut rng = Rng::from_seed(rng::seed());
    let mut followers: Vec<_> = (0..FOLLOWERS)
        .map(|_| Follower {
            rng: Rng::from_seed(rng.next()),
            after: None,
            seen: Vec::new(),
        })
        .collect();
    let mut servers = [installation.serve().await, installation.serve().await];
    let mut histories = Vec::new();
    let kills = rng::rounds(ROUNDS);
    for round in 0..kills {
        let [doomed, other] = match round % 2 {
            0 => [0, 1],
            _ => [1, 0],
        };
        let stop = Arc::<AtomicBool>::default();
        let following = followers.into_iter().enumerate().map(|(number, follower)| {
            let server = &servers[number % 2];
            follower.follow(server.api(&keys.test), Arc::clone(&stop))
        });
        let following: Vec<_> = following.collect();
        let load = Load::start(&servers[doomed].api(&keys.test), round, &mut rng);
        load.go_on(&mut rng).await;
        servers[doomed].process.kill().await;
        let clients = load.end().await;
        stop.store(true, Ordering::Relaxed);
        followers = Vec::new();
        for follower in following {
            followers.push(follower.await.unwrap());
        }
        check_rows(&installation).await;
        servers[doomed] = installation.serve().await;
        let checked = check_all(&servers[other].api(&keys.test), &installation, clients).await;
        histories.extend(checked.into_iter().map(|client| client.history));
    }
    let api = servers[0].api(&keys.test);
    let created = json!({"email": "last@example.com"});
    let last = text(
        &api.post("/v1/auth/users/create", &created).await.ok(),
        "user_id",
    );
    for follower in &mut followers {
        follower.catch_up(&api, &last).await;
    }
    let log = the_log(&followers);
    check_log(&log, &histories);
    let found = api.post("/v1/auth/users/search", &json!({})).await.ok();
    let users = log.iter().filter(|event| event["type"] == "user.created");
    assert_eq!(
        found["total_count"],
        users.count(),
        "users, and events of users"
    );
    println!(
        "{} events, read {FOLLOWERS} times across {kills} kills",
        log.len()
    );
    for server in servers {
        server.process.stop().await;
    }
}

/// EV-F3: an open transaction delays no event, neither into the log nor out of it. The effect of half an hour without vacuum is not tested
/// here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ev_f3_e_10_an_open_transaction_delays_nothing() {
    let Some(installation) = Installation::postgres().await else {
        return;
    };
    let keys = installation.set_up();
    let left_open = installation.database.leave_open().await;
    let server = installation.serve().await;
    let api = server.api(&keys.test);
    let mut follower = Follower {
        rng: Rng::from_seed(rng::seed()),
        after: None,
        seen: Vec::new(),
    };
    for number in 0..20 {
        let body = json!({"email": format!("user{number}@example.com")});
        let made = api.post("/v1/auth/users/create", &body).await.ok();
        follower.catch_up(&api, &text(&made, "user_id")).await;
    }
    // It was open the whole time.
    left_open.batch_execute("COMMIT").await.unwrap();
    the_log(&[follower]);
    server.process.stop().await;
}

/// Checks that all readers saw the same events, without gaps or repetitions (E-2, E-3).
fn the_log(followers: &[Follower]) -> Vec<Value> {
    let logs: Vec<_> = followers.iter().map(|follower| &follower.seen).collect();
    let shortest = logs.iter().map(|log| log.len()).min().unwrap();
    let log = logs[0][..shortest].to_vec();
    for (event, place) in log.iter().zip(1..) {
        assert_eq!(event["position"], place, "a gap or a repetition");
        assert_eq!(event["log"], 1);
    }
    for other in &logs {
        assert_eq!(other[..shortest], log[..]);
    }
    log
}

/// Checks that everything acknowledged has exactly one event, in order (E-1, E-4).
fn check_log(log: &[Value], histories: &[History]) {
    let mut emitted = BTreeMap::<(String, String), usize>::new();
    let mut born = BTreeMap::<String, i64>::new();
    for event in log {
        let data = &event["data"];
        let kind = event["type"].as_str().unwrap();
        for name in ["user_id", "wallet_id", "session_id"] {
            if let Some(id) = data[name].as_str() {
                *emitted.entry((kind.to_owned(), id.to_owned())).or_default() += 1;
            }
        }
        let user = data["user_id"].as_str().unwrap_or_default();
        let position = event["position"].as_i64().unwrap();
        if kind == "user.created" {
            born.insert(user.to_owned(), position);
        } else if !user.is_empty() {
            assert!(born.contains_key(user), "{event} comes before its user");
        }
    }
    let times = |kind: &str, id: &str| {
        let key = (kind.to_owned(), id.to_owned());
        emitted.get(&key).copied().unwrap_or_default()
    };
    let (mut users, mut wallets) = (0, 0);
    for history in histories {
        for user in &history.users {
            assert_eq!(times("user.created", user), 1, "{user}");
            users += 1;
        }
        for owner in &history.owners {
            assert_eq!(times("wallet.created", &owner.wallet_id), 1);
            wallets += 1;
        }
    }
    // A busy machine may create no wallet between kills.
    println!("{users} users and {wallets} wallets have events");
    assert!(users > 0, "no user was created");
}
