//! EV-K1: no receiver misses an event, though the processes that send are killed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use vestry_contract::rng::{self, Rng};
use vestry_domain::Timestamp;
use vestry_domain::webhook::signatures;

use crate::on_both_databases;
use crate::support::installation::{Installation, text};
use crate::support::mixed_load::{Load, check_all, check_rows};
use crate::support::receiver::{Arrived, Manner, Receiver};
use crate::webhooks::{Endpoint, endpoint, log, on_loopback, until, until_nothing_lacks, user};

on_both_databases! {
    ev_k1_no_receiver_misses_an_event_across_kills => super::no_receiver_misses_an_event_across_kills;
}

/// Each process is killed once.
const ROUNDS: usize = 2;
/// Concurrent requests to one endpoint when a process is killed, first attempts and retries.
const WINDOW: usize = 32;

/// The accepted requests of each event.
fn taken(arrived: &[Arrived]) -> BTreeMap<String, usize> {
    let mut taken = BTreeMap::new();
    for request in arrived.iter().filter(|request| request.was_taken) {
        let id = request.header("webhook-id").to_owned();
        *taken.entry(id).or_default() += 1;
    }
    taken
}

fn check_signatures(endpoint: &Endpoint, arrived: &[Arrived]) {
    for request in arrived {
        let at = request.header("webhook-timestamp").parse().unwrap();
        let secrets = std::slice::from_ref(&endpoint.secret);
        let id = request.header("webhook-id");
        let expected = signatures(secrets, id, Timestamp::from_unix(at), &request.body);
        assert_eq!(request.header("webhook-signature"), expected);
        assert_eq!(request.event()["id"], id);
    }
}

async fn no_receiver_misses_an_event_across_kills(mut installation: Installation) {
    on_loopback(&mut installation);
    // Attempts at the dead receiver end within it, and processes that stop wait for them.
    installation.set("webhooks.timeout", "5");
    let keys = installation.set_up();
    // A night of this creates more than an App's hourly limit.
    let limit = "new_users_per_hour=1000000";
    installation.admin(&["app", "set", &keys.app, limit]);
    let mut rng = Rng::from_seed(rng::seed());
    let sound = Receiver::start(Manner::Sound, &mut rng).await;
    let flaky = Receiver::start(Manner::Flaky, &mut rng).await;
    let dead = Receiver::start(Manner::Dead, &mut rng).await;
    let mut servers = [installation.serve().await, installation.serve().await];
    let api = servers[0].api(&keys.test);
    let endpoints = [&sound, &flaky, &dead].map(|to| endpoint(&installation, &keys, &to.url, "*"));
    // All endpoints get the events after the last of them.
    let created = json!(endpoints[2].id);
    let mut from = String::new();
    until("the endpoints", async || {
        let page = api.try_get("/v1/events?limit=100").await.unwrap().ok();
        let mut events = page["events"].as_array().unwrap().iter();
        let last = events.find(|event| event["data"]["webhook_endpoint_id"] == created);
        from = last.map(|event| text(event, "id")).unwrap_or_default();
        !from.is_empty()
    })
    .await;
    let kills = rng::rounds(ROUNDS);
    for round in 0..kills {
        let [doomed, other] = match round % 2 {
            0 => [0, 1],
            _ => [1, 0],
        };
        let load = Load::start(&servers[doomed].api(&keys.test), round, &mut rng);
        load.go_on(&mut rng).await;
        servers[doomed].process.kill().await;
        let clients = load.end().await;
        check_rows(&installation).await;
        servers[doomed] = installation.serve().await;
        check_all(&servers[other].api(&keys.test), &installation, clients).await;
    }
    // A process that stops finishes its attempts, so only leases of killed ones are left. They last a minute by the machine's clock.
    for server in servers {
        server.process.stop().await;
    }
    let over = "UPDATE webhook_deliveries SET due_at = 0 WHERE ended_at IS NULL";
    installation.database.touch(over).await;
    let servers = [installation.serve().await, installation.serve().await];
    let api = servers[1].api(&keys.test);
    let last = user(&api, 1).await;
    let mut all = Vec::new();
    until("the last event", async || {
        all = log(&api).await;
        all.iter().any(|event| event["data"]["user_id"] == *last)
    })
    .await;
    let behind = all.iter().skip_while(|event| event["id"] != *from).skip(1);
    let ids: BTreeSet<String> = behind.map(|event| text(event, "id")).collect();
    // Failed deliveries become due by the test clock.
    for (name, receiver) in [("sound", &sound), ("flaky", &flaky)] {
        until_nothing_lacks(name, async || {
            let taken = taken(&receiver.arrived());
            let missing = ids.iter().filter(|id| !taken.contains_key(*id));
            let missing: Vec<String> = missing.cloned().collect();
            if !missing.is_empty() {
                let ahead = json!({ "advance_seconds": 3_600 });
                api.post("/v1/test/clock", &ahead).await.ok();
            }
            missing
        })
        .await;
    }
    let arrived = [&sound, &flaky].map(Receiver::arrived);
    // Moving the clock created further events, as the dead endpoint fails by it.
    let known: BTreeSet<String> = log(&api)
        .await
        .iter()
        .map(|event| text(event, "id"))
        .collect();
    for (arrived, endpoint) in arrived.into_iter().zip(&endpoints) {
        check_signatures(endpoint, &arrived);
        let taken = taken(&arrived);
        let unknown: Vec<_> = taken.keys().filter(|id| !known.contains(*id)).collect();
        assert!(unknown.is_empty(), "sent, and not in the log: {unknown:?}");
        let twice: usize = taken.values().map(|times| times - 1).sum();
        assert!(twice <= kills * WINDOW, "{twice} came more than once");
        println!(
            "{} events, {twice} more than once, {kills} kills",
            ids.len()
        );
    }
    assert!(!dead.arrived().is_empty());
    let shown = installation.admin(&["webhook", "show", &keys.app, &endpoints[2].id]);
    assert_eq!(shown["last_success_at"], Value::Null);
    for server in servers {
        server.process.stop().await;
    }
}
