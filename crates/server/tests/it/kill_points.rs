//! EV-K2: a process is killed at a step, where a lock on a table holds it: a request between its change and the event of it, the
//! sequencer between taking events and giving them places, the worker between a receiver's answer and its note of it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use vestry_contract::rng::{self, Rng};

use crate::support::client::Api;
use crate::support::process::PATIENCE;
use crate::support::receiver::{Manner, Receiver};
use crate::support::site::{Site, text};

/// At each step; the first number of EV-K2.
const KILLS: usize = 2;

/// Tables that are written at one step each.
const STEPS: [&str; 5] = [
    // The event is left.
    "events_inbox",
    // It is to get its place,
    "event_heads",
    // has got it,
    "events",
    // and is to be sent; or a note of the answer is to be made.
    "webhook_deliveries",
    "webhook_attempts",
];

/// Who is made while the table is locked.
const USERS: usize = 6;

/// A user who may come to be; the id, where that was acknowledged.
fn user(api: &Api, name: String) -> JoinHandle<Option<String>> {
    let api = api.clone();
    tokio::spawn(async move {
        let body = json!({"email": format!("{name}@example.com")});
        let made = api.try_post("/v1/auth/users/create", &body).await.ok()?;
        (made.status == 200).then(|| text(&made.ok(), "user_id"))
    })
}

/// Looks until something is so.
async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let looking = async { while !is_so().await {} };
    // What was taken by a process that is gone comes when its lease ends, a minute later.
    let looked = tokio::time::timeout(2 * PATIENCE, looking).await;
    looked.unwrap_or_else(|_late| panic!("{what} does not come to pass"));
}

/// The whole log of the test world.
async fn log(api: &Api) -> Vec<Value> {
    let (mut log, mut after) = (Vec::new(), String::new());
    loop {
        let page = api.get(&format!("/v1/events?limit=1000{after}")).await.ok();
        log.extend(page["events"].as_array().unwrap().iter().cloned());
        if page["has_more"] == false {
            return log;
        }
        after = format!("&after={}", text(&page, "next_after"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ev_k2_e_1_e_2_wh_1_a_kill_at_any_step_loses_nothing() {
    let Some(mut site) = Site::postgres().await else {
        return;
    };
    site.set("outbound.allowed_networks", "127.0.0.0/8");
    let keys = site.set_up();
    let mut rng = Rng::from_seed(rng::seed());
    let receiver = Receiver::start(Manner::Sound, &mut rng).await;
    let types = ["--types", "user.created"];
    let create = ["webhook", "create", &keys.app, "test", &receiver.url];
    site.admin(&[&create[..], &types].concat());
    let mut servers = [site.serve().await, site.serve().await];
    let mut acknowledged = BTreeSet::new();
    let kills = rng::rounds(KILLS);
    for step in STEPS {
        for kill in 0..kills {
            let name = |number: usize| format!("{step}-{kill}-{number}").replace('_', "-");
            let lock = site.database.lock(step).await;
            let api = servers[0].api(&keys.test);
            let mut users: Vec<_> = (0..USERS).map(|number| user(&api, name(number))).collect();
            until(step, async || site.database.is_waited_for(step).await).await;
            servers[0].process.kill().await;
            drop(lock);
            let other = servers[1].api(&keys.test);
            users.push(user(&other, name(USERS)));
            for user in users {
                acknowledged.extend(user.await.unwrap());
            }
            servers[0] = site.serve().await;
        }
    }
    // The one that was made last at each kill, at least.
    assert!(acknowledged.len() >= STEPS.len() * kills);
    let api = servers[1].api(&keys.test);
    let last = user(&api, "last".to_owned()).await.unwrap().unwrap();
    let told = |events: &[Value]| -> BTreeMap<String, String> {
        let created = events
            .iter()
            .filter(|event| event["type"] == "user.created");
        created
            .map(|event| (text(&event["data"], "user_id"), text(event, "id")))
            .collect()
    };
    until("the last event", async || {
        told(&log(&api).await).contains_key(&last)
    })
    .await;

    let events = log(&api).await;
    let places: Vec<_> = events
        .iter()
        .map(|event| event["position"].as_i64().unwrap())
        .collect();
    let expected: Vec<_> = (1..).take(places.len()).collect();
    assert_eq!(places, expected, "E-2");
    let created = told(&events);
    let count = events
        .iter()
        .filter(|event| event["type"] == "user.created")
        .count();
    assert_eq!(count, created.len(), "each is told of once");
    for user in acknowledged {
        assert!(created.contains_key(&user), "nothing tells of {user}");
    }
    let found = api.post("/v1/auth/users/search", &json!({})).await.ok();
    assert_eq!(
        found["total_count"],
        created.len(),
        "who is there is told of, and nobody else"
    );
    let wanted: BTreeSet<_> = created.into_values().collect();
    until("every delivery", async || {
        let arrived = receiver.arrived();
        let ids = arrived
            .iter()
            .map(|arrived| arrived.header("webhook-id").to_owned());
        ids.collect::<BTreeSet<_>>() == wanted
    })
    .await;
    let again = receiver.arrived().len() - wanted.len();
    println!(
        "EV-K2: {} kills, {} events, {again} sent once more",
        STEPS.len() * kills,
        wanted.len()
    );
    for server in servers {
        server.process.stop().await;
    }
}
