//! EV-K2: kills a process at an exact step, held there by a table lock. The request is between its change and its event, the sequencer
//! between taking and sequencing events, or the worker between a response and its outcome record.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use vestry_contract::rng::{self, Rng};

use crate::support::client::Api;
use crate::support::installation::{Installation, text};
use crate::support::poll;
use crate::support::process::PATIENCE;
use crate::support::receiver::{Manner, Receiver};

/// Kills at each step; the first figure of EV-K2.
const KILLS: usize = 2;

/// Tables that are written at exactly one step.
const STEPS: [&str; 5] = [
    // The event is queued,
    "unsequenced_events",
    // is about to be sequenced,
    "event_heads",
    // has been sequenced,
    "events",
    // is about to be sent, or has an outcome to record.
    "webhook_deliveries",
    "webhook_attempts",
];

/// A user created while the table is locked.
const USERS: usize = 6;

/// A user that may have been created; the ID if acknowledged.
fn user(api: &Api, name: String) -> JoinHandle<Option<String>> {
    let api = api.clone();
    tokio::spawn(async move {
        let body = json!({"email": format!("{name}@example.com")});
        let made = api.try_post("/v1/auth/users/create", &body).await.ok()?;
        (made.status == 200).then(|| text(&made.ok(), "user_id"))
    })
}

/// Polls until a condition holds.
async fn until(what: &str, is_so: impl AsyncFnMut() -> bool) {
    // Work of a killed process resumes when its lease ends, a minute later.
    let looked = tokio::time::timeout(2 * PATIENCE, poll::until(is_so)).await;
    looked.unwrap_or_else(|_late| panic!("timed out waiting for {what}"));
}

/// The whole log of the test environment.
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
    let Some(mut installation) = Installation::postgres().await else {
        return;
    };
    installation.set("outbound.allowed_networks", "127.0.0.0/8");
    let keys = installation.set_up();
    let mut rng = Rng::from_seed(rng::seed());
    let receiver = Receiver::start(Manner::Sound, &mut rng).await;
    let types = ["--types", "user.created"];
    let create = ["webhook", "create", &keys.app, "test", &receiver.url];
    installation.admin(&[&create[..], &types].concat());
    let mut servers = [installation.serve().await, installation.serve().await];
    let mut acknowledged = BTreeSet::new();
    let kills = rng::rounds(KILLS);
    for step in STEPS {
        for kill in 0..kills {
            let name = |number: usize| format!("{step}-{kill}-{number}").replace('_', "-");
            let lock = installation.database.lock(step).await;
            let api = servers[0].api(&keys.test);
            let mut users: Vec<_> = (0..USERS).map(|number| user(&api, name(number))).collect();
            until(step, async || {
                installation.database.is_waited_for(step).await
            })
            .await;
            servers[0].process.kill().await;
            drop(lock);
            let other = servers[1].api(&keys.test);
            users.push(user(&other, name(USERS)));
            for user in users {
                acknowledged.extend(user.await.unwrap());
            }
            servers[0] = installation.serve().await;
        }
    }
    // At least the last one created at each kill.
    assert!(acknowledged.len() >= STEPS.len() * kills);
    let api = servers[1].api(&keys.test);
    let last = user(&api, "last".to_owned()).await.unwrap().unwrap();
    let emitted = |events: &[Value]| -> BTreeMap<String, String> {
        let created = events
            .iter()
            .filter(|event| event["type"] == "user.created");
        created
            .map(|event| (text(&event["data"], "user_id"), text(event, "id")))
            .collect()
    };
    until("the last event", async || {
        emitted(&log(&api).await).contains_key(&last)
    })
    .await;

    let events = log(&api).await;
    let places: Vec<_> = events
        .iter()
        .map(|event| event["position"].as_i64().unwrap())
        .collect();
    let expected: Vec<_> = (1..).take(places.len()).collect();
    assert_eq!(places, expected, "E-2");
    let created = emitted(&events);
    let count = events
        .iter()
        .filter(|event| event["type"] == "user.created")
        .count();
    assert_eq!(count, created.len(), "each has one event");
    for user in acknowledged {
        assert!(created.contains_key(&user), "user {user} has no event");
    }
    let found = api.post("/v1/auth/users/search", &json!({})).await.ok();
    assert_eq!(
        found["total_count"],
        created.len(),
        "existing users have an event, and no others"
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
        "EV-K2: {} kills, {} events, {again} sent again",
        STEPS.len() * kills,
        wanted.len()
    );
    for server in servers {
        server.process.stop().await;
    }
}
