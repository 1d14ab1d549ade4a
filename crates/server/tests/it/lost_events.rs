//! Readers of the event log on a hot standby, and after a failover that lost its end (EV-R4).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

use serde_json::{Value, json};
use tokio::task::{JoinHandle, block_in_place};
use tokio_postgres::SimpleQueryMessage;
use vestry_contract::rng;

use crate::support::client::{Answer, Api};
use crate::support::cluster::{Cluster, Programs};
use crate::support::installation::text;
use crate::support::poll::looks;
use crate::support::process::PATIENCE;
use crate::support::proxy::behind_a_proxy;

/// The first figure of EV-R4.
const FAILOVERS: usize = 3;
/// Users created between two steps.
const USERS: usize = 20;

async fn create_some(api: &Api, names: &str) -> String {
    let mut last = String::new();
    for number in 0..USERS {
        let body = json!({"email": format!("{names}-{number}@example.com")});
        let made = api.post("/v1/auth/users/create", &body).await.ok();
        last = text(&made, "user_id");
    }
    last
}

/// Retries until the database responds.
async fn ask(call: impl AsyncFn() -> Answer) -> Answer {
    let asked = async {
        let mut looks = looks();
        loop {
            looks.tick().await;
            let answer = call().await;
            if answer.status != 503 {
                return answer;
            }
        }
    };
    let asked = tokio::time::timeout(PATIENCE, asked).await;
    asked.expect("the new primary is found")
}

/// All events after a cursor, up to the creation of this user.
async fn read_up_to(api: &Api, after: Option<&str>, user: &str) -> Vec<Value> {
    let mut events: Vec<Value> = Vec::new();
    let is_last =
        |event: &Value| event["type"] == "user.created" && event["data"]["user_id"] == user;
    let mut after = after.map(str::to_owned);
    while !events.iter().any(is_last) {
        let cursor = after.map_or(String::new(), |after| format!("&after={after}"));
        let path = format!("/v1/events?limit=1000&wait=30{cursor}");
        let page = api.get(&path).await.ok();
        events.extend(page["events"].as_array().unwrap().iter().cloned());
        after = page["next_after"].as_str().map(str::to_owned);
    }
    events
}

fn position(event: &Value) -> i64 {
    event["position"].as_i64().unwrap()
}

/// The positions that a server has in the test environment, in order.
async fn places(client: &tokio_postgres::Client) -> Vec<i64> {
    let query = "SELECT position FROM events WHERE environment = 'test' ORDER BY position";
    let rows = client.simple_query(query).await.unwrap();
    let places = rows.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap().parse().unwrap()),
        _ => None,
    });
    places.collect()
}

/// Reads continuously on a standby: it never has a gap (E-3).
async fn read_on(standby: &Cluster, stop: &Arc<AtomicBool>) -> JoinHandle<Vec<i64>> {
    let (client, stop) = (standby.client().await, Arc::clone(stop));
    tokio::spawn(async move {
        loop {
            let is_last = stop.load(SeqCst);
            let seen = places(&client).await;
            let whole: Vec<_> = (1..).take(seen.len()).collect();
            assert_eq!(seen, whole, "a gap on the standby");
            if is_last {
                return seen;
            }
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ev_r4_e_3_e_9_readers_of_a_standby_and_after_a_loss() {
    let Some(programs) = Programs::find().await else {
        return;
    };
    let (mut primary, proxy, installation) = behind_a_proxy(&programs).await;
    let keys = block_in_place(|| installation.set_up());
    let server = installation.serve().await;
    let api = server.api(&keys.test);
    let mut known: Option<Value> = None;
    for round in 0..rng::rounds(FAILOVERS) {
        let standby = primary.standby();
        standby.start();
        let stop = Arc::<AtomicBool>::default();
        let reading = read_on(&standby, &stop).await;
        let kept = create_some(&api, &format!("kept-{round}")).await;
        let after = known.as_ref().map(|event| text(event, "id"));
        let survived = read_up_to(&api, after.as_deref(), &kept)
            .await
            .pop()
            .unwrap();
        primary.is_followed_by(&standby).await;
        stop.store(true, SeqCst);
        assert!(reading.await.unwrap().contains(&position(&survived)));
        standby.stop();

        let lost = create_some(&api, &format!("lost-{round}")).await;
        let id = text(&survived, "id");
        let lost = read_up_to(&api, Some(&id), &lost).await.pop().unwrap();
        proxy.close();
        primary.stop();
        standby.start();
        standby.promote();
        proxy.route_to(&standby.socket());
        primary = standby;
        let path = format!("/v1/events?after={}", text(&lost, "id"));
        let refused = ask(async || api.get(&path).await).await;
        assert_eq!(refused.error(409), "cursor_unknown", "round {round}");
        let later = json!({"email": format!("later-{round}@example.com")});
        let later = ask(async || api.post("/v1/auth/users/create", &later).await).await;
        let events = read_up_to(&api, Some(&id), &text(&later.ok(), "user_id")).await;
        let places: Vec<_> = events.iter().map(position).collect();
        let expected: Vec<_> = (position(&survived) + 1..).take(places.len()).collect();
        assert_eq!(places, expected, "round {round}");
        let log = survived["log"].as_i64().unwrap();
        let restarted = events.iter().find(|event| event["type"] == "log.restarted");
        let restarted = restarted.unwrap_or_else(|| panic!("round {round}: {events:?}"));
        assert_eq!(restarted["data"]["previous_log"], log, "round {round}");
        let last = events.last().unwrap();
        assert_eq!(last["log"], log + 1, "round {round}");
        known = Some(last.clone());
    }
    server.process.stop().await;
}
