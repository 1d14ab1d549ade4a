//! Events: which ones a change emits, and how they are read.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_contract::fakes::FakeClock;
use vestry_contract::rng::{self, Rng};
use vestry_domain::api_key::{ApiKeyKind, KeyFields, Scope};
use vestry_domain::event::EventKind;
use vestry_domain::ids::{EventId, Id, UserId};
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, World};
use vestry_ports::store::Store;

use crate::flows::sent;
use crate::harness::{Api, Client, START, on_both};

on_both! {
    e_1_a_user_emits_events_throughout_its_life
    e_1_a_sign_in_emits_an_event
    e_8_a_refused_or_repeated_call_emits_nothing
    e_7_a_key_reads_its_own_environment
    e_3_pages_show_every_event_once
    e_9_an_unknown_cursor_is_refused
    e_10_no_call_waits_for_the_sequencer
    ev_r3_e_4_clocks_that_differ_change_no_order
    a_reader_is_told_what_is_wrong
    a_call_waits_for_an_event
    five_calls_of_a_key_may_wait
    api_23_an_app_gets_at_most_half_of_the_slots
    events_need_a_scope
    optional_events_are_emitted_on_demand
    old_events_are_swept
    e_9_an_up_to_date_reader_is_not_refused
    e_9_a_prune_beside_readers_leaves_no_silent_gap
    the_clock_of_a_test_environment_dates_events
    app_events_are_emitted_in_both_environments
}

/// The events emitted so far, once they are sequenced.
pub(crate) async fn event_log(api: &Api, client: &Client<'_>) -> Vec<Value> {
    api.service.sequence_all().await.unwrap();
    let (mut events, mut after) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/events?limit=1000{after}");
        let page = client.get(&path).await.ok();
        events.extend(page.body["events"].as_array().unwrap().iter().cloned());
        if page.body["has_more"] == false {
            break;
        }
        after = format!("&after={}", page.text_at("/next_after"));
    }
    events.iter().for_each(assert_described);
    events
}

/// Asserts that the event's data has the fields of its type, and no others (E-5).
pub(crate) fn assert_described(event: &Value) {
    let kind: EventKind = event["type"].as_str().unwrap().parse().unwrap();
    let data = event["data"].as_object().unwrap();
    let mut found: Vec<_> = data.keys().map(String::as_str).collect();
    let mut described: Vec<_> = kind.fields().iter().map(|(name, _)| *name).collect();
    found.sort_unstable();
    described.sort_unstable();
    assert_eq!(found, described, "{event}");
}

/// The types of the events after the first `after` ones.
async fn types(api: &Api, client: &Client<'_>, after: usize) -> Vec<String> {
    let events = event_log(api, client).await.into_iter().skip(after);
    let types = events.map(|event| event["type"].as_str().unwrap().to_owned());
    types.collect()
}

async fn create(client: &Client<'_>, body: Value) -> String {
    let created = client.post("/v1/auth/users/create", body).await.ok();
    created.text_at("/user_id")
}

async fn e_1_a_user_emits_events_throughout_its_life(api: &Api) {
    let client = api.test().header("X-Request-Id", "r-1");
    let before = event_log(api, &client).await.len();
    let id = create(&client, json!({"email": "ann@example.com"})).await;
    let events = event_log(api, &client).await.split_off(before);
    let kinds: Vec<_> = events.iter().map(|event| &event["type"]).collect();
    assert_eq!(kinds, ["user.created", "email.added", "wallet.created"]);
    for event in &events {
        assert_eq!(event["data"]["user_id"], id);
        assert_eq!(event["request_id"], "r-1");
        assert_eq!(event["actor"]["type"], "api_key");
        assert_eq!(event["environment"], "test");
        assert_eq!(event["app_id"], api.app.id.to_string());
        assert_eq!(event["created_at"], 1_800_000_000);
        assert_eq!(event["timestamp"], "2027-01-15T08:00:00Z");
        let path = format!("/v1/events/{}", event["id"].as_str().unwrap());
        assert_eq!(client.get(&path).await.ok().body, *event);
    }
    assert_eq!(events[0]["data"], json!({"user_id": id, "via": "create"}));
    let text = json!(events).to_string();
    // An id may contain these characters, but does not begin with them.
    assert!(!text.contains("ann@") && !text.contains("\"0x"), "{text}");

    let user = format!("/v1/auth/users/{id}");
    let steps = [
        (
            "update",
            json!({"first_name": "Ann", "metadata": {"a": 1}}),
            vec!["user.updated"],
        ),
        ("update", json!({"first_name": "Ann"}), vec![]),
        (
            "update",
            json!({"phone_numbers": [{"phone_number": "+12025550123"}]}),
            vec!["phone_number.added"],
        ),
        ("disable", json!({}), vec!["user.disabled"]),
        ("disable", json!({}), vec![]),
        ("enable", json!({}), vec!["user.enabled"]),
        ("enable", json!({}), vec![]),
    ];
    for (call, body, expected) in steps {
        let before = event_log(api, &client).await.len();
        let path = format!("{user}/{call}");
        let method = if call == "update" { "PUT" } else { "POST" };
        client.send(method, &path, Some(body.clone())).await.ok();
        assert_eq!(types(api, &client, before).await, expected, "{call} {body}");
    }
    let before = event_log(api, &client).await.len();
    client.delete(&format!("{user}/delete"), None).await.ok();
    let expected = ["user.deleted"];
    assert_eq!(types(api, &client, before).await, expected);
}

/// How often one user is changed; the first number of EV-R3.
const CHANGES: usize = 50;

/// Two processes change the same users in turn, with clocks that are five seconds apart. The events are in the order of the changes,
/// whichever process sequences them.
async fn ev_r3_e_4_clocks_that_differ_change_no_order(api: &Api) {
    let mut rng = Rng::from_seed(rng::seed());
    let apart = if rng.below(2) == 0 { 5 } else { -5 };
    let clock = Arc::new(FakeClock::at(START + Seconds(apart)));
    let processes = [Arc::clone(&api.service), api.other_process(&clock).await];
    let client = api.test();
    let mut users = Vec::new();
    for name in ["ann", "bob", "cid"] {
        let id = create(&client, json!({"email": format!("{name}@example.com")})).await;
        users.push((id.parse::<UserId>().unwrap(), false));
    }
    let before = event_log(api, &client).await.len();
    let mut done = Vec::new();
    for _ in 0..rng::rounds(CHANGES) * users.len() {
        let (user, is_disabled) = &mut users[rng.below(3)];
        let process = &processes[rng.below(2)];
        let caller = process.authenticate(api.test_key()).await.unwrap();
        if *is_disabled {
            process.enable_user(&caller, *user).await.unwrap();
        } else {
            process
                .disable_user(&caller, *user, "in turn")
                .await
                .unwrap();
        }
        *is_disabled = !*is_disabled;
        let kind = if *is_disabled {
            "user.disabled"
        } else {
            "user.enabled"
        };
        done.push((user.to_string(), kind.to_owned()));
        if rng.below(10) == 0 {
            processes[rng.below(2)].sequence_all().await.unwrap();
        }
    }
    let events = event_log(api, &client).await.split_off(before);
    let order = events.iter().map(|event| {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&event["data"]["user_id"]), text(&event["type"]))
    });
    assert_eq!(order.collect::<Vec<_>>(), done);
}

async fn e_1_a_sign_in_emits_an_event(api: &Api) {
    let client = api.test();
    let before = event_log(api, &client).await.len();
    let sent = sent(api, &client, "bob@example.com").await;
    let verify = json!({
        "method_id": sent.method_id, "otp": sent.code, "session_expires_in": 60,
    });
    let path = "/v1/auth/otps/verify";
    let verified = client.post(path, verify.clone()).await.ok();
    let session = verified.text_at("/session/id");
    let events = event_log(api, &client).await.split_off(before);
    let kinds: Vec<_> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "user.created",
            "email.added",
            "email.verified",
            "user.activated",
            "session.created"
        ]
    );
    assert_eq!(events[0]["data"]["via"], "email_otp");
    let factor = json!({"type": "otp", "delivery_channel": "email"});
    assert_eq!(events[4]["data"]["factor"], factor);
    // The same code again, and calls that only read.
    let before = before + events.len();
    client
        .post(path, verify)
        .await
        .refuses(400, "invalid_otp", None);
    let body = json!({"session_token": verified.text_at("/session_token")});
    client
        .post("/v1/auth/sessions/verify", body.clone())
        .await
        .ok();
    assert_eq!(types(api, &client, before).await, [""; 0]);
    client
        .delete("/v1/auth/sessions/delete", Some(body))
        .await
        .ok();
    let ended = event_log(api, &client).await.split_off(before);
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0]["type"], "session.ended");
    assert_eq!(
        ended[0]["data"],
        json!({"user_id": sent.user_id, "session_ids": [session], "count": 1, "reason": "deleted"})
    );
}

async fn e_8_a_refused_or_repeated_call_emits_nothing(api: &Api) {
    let client = api.test();
    let keyed = client.clone().header("Idempotency-Key", "once");
    let before = event_log(api, &client).await.len();
    let body = json!({"email": "cat@example.com"});
    let path = "/v1/auth/users/create";
    let first = keyed.post(path, body.clone()).await.ok();
    let again = keyed.post(path, body.clone()).await.ok();
    assert_eq!(first.body, again.body);
    let expected = ["user.created", "email.added", "wallet.created"];
    assert_eq!(types(api, &client, before).await, expected);
    let refused = client.post(path, body).await;
    refused.refuses(409, "duplicate", Some("email"));
    let unknown = "/v1/auth/users/user_000000000000000000000000000/delete";
    client
        .delete(unknown, None)
        .await
        .refuses(404, "not_found", Some("user"));
    assert_eq!(types(api, &client, before + 3).await, [""; 0]);
}

/// With each filter, cursor and order, a key reads only events of its own environment, even if the filter names an object of another one.
async fn e_7_a_key_reads_its_own_environment(api: &Api) {
    let own = api.test();
    let user = create(&own, json!({"email": "dan@example.com"})).await;
    let log = event_log(api, &own).await;
    let wallet = log.last().unwrap()["data"]["wallet_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let filters = [
        String::new(),
        format!("&user_id={user}"),
        format!("&wallet_id={wallet}"),
        format!("&user_id={user}&wallet_id={wallet}&types=wallet.*"),
        "&types=user.created,email.added".to_owned(),
    ];
    for stranger in [api.live(), api.other_app().await] {
        // As many events as the other environment has, at the same positions and of the same types.
        while event_log(api, &stranger).await.len() <= log.len() {
            let number = event_log(api, &stranger).await.len();
            create(
                &stranger,
                json!({"email": format!("dan+{number}@example.com")}),
            )
            .await;
        }
        for filter in &filters {
            for order in ["asc", "desc"] {
                let path = format!("/v1/events?limit=1000&order={order}{filter}");
                let ours = own.get(&path).await.ok();
                let ours = ours.body["events"].as_array().unwrap().clone();
                assert!(!ours.is_empty(), "{path}");
                let page = stranger.get(&path).await.ok();
                let theirs = page.body["events"].as_array().unwrap();
                assert!(ours.iter().all(|event| !theirs.contains(event)), "{path}");
                let is_foreign = filter.contains(&user) || filter.contains(&wallet);
                assert!(theirs.is_empty() == is_foreign, "{path}");
                for id in [&user, &wallet] {
                    assert!(!page.text.contains(id.as_str()), "{path}");
                }
            }
            for event in &log {
                let id = event["id"].as_str().unwrap();
                for order in ["asc", "desc"] {
                    let path = format!("/v1/events?after={id}&order={order}{filter}");
                    let refused = stranger.get(&path).await;
                    refused.refuses(409, "cursor_unknown", Some("after"));
                }
            }
        }
        for event in &log {
            let path = format!("/v1/events/{}", event["id"].as_str().unwrap());
            let refused = stranger.get(&path).await;
            refused.refuses(404, "not_found", Some("event"));
        }
        let head = stranger.get("/v1/events/head").await.ok();
        let ids = log.iter().map(|event| event["id"].as_str().unwrap());
        assert!(ids.into_iter().all(|id| !head.text.contains(id)));
    }
}

async fn e_3_pages_show_every_event_once(api: &Api) {
    let client = api.test();
    let mut users = Vec::new();
    for number in 0..15 {
        users.push(create(&client, json!({"email": format!("u{number}@example.com")})).await);
    }
    let all = event_log(api, &client).await;
    let filters = [
        String::new(),
        "&types=user.created".to_owned(),
        "&types=email.*,wallet.created".to_owned(),
        format!("&user_id={}", users[7]),
        "&types=user.deleted".to_owned(),
    ];
    for filter in filters {
        for order in ["asc", "desc"] {
            let (mut seen, mut after) = (Vec::new(), String::new());
            loop {
                let path = format!("/v1/events?limit=10&order={order}{filter}{after}");
                let page = client.get(&path).await.ok();
                let events = page.body["events"].as_array().unwrap();
                assert!(events.len() <= 10);
                seen.extend(events.clone());
                after = format!("&after={}", page.text_at("/next_after"));
                if page.body["has_more"] == false {
                    break;
                }
            }
            if order == "desc" {
                seen.reverse();
            }
            let fits = |event: &&Value| {
                let kind = event["type"].as_str().unwrap();
                match filter.as_str() {
                    "" => true,
                    "&types=user.created" => kind == "user.created",
                    "&types=email.*,wallet.created" => {
                        kind.starts_with("email.") || kind == "wallet.created"
                    }
                    "&types=user.deleted" => false,
                    _ => event["data"]["user_id"] == users[7],
                }
            };
            let expected: Vec<_> = all.iter().filter(fits).cloned().collect();
            assert_eq!(seen, expected, "{filter} {order}");
            // A reader that has everything stays where it is.
            let end = client
                .get(&format!("/v1/events?order={order}{after}"))
                .await
                .ok();
            assert_eq!(end.body["events"], json!([]));
            assert_eq!(format!("&after={}", end.text_at("/next_after")), after);
        }
    }
    let head = client.get("/v1/events/head").await.ok();
    assert_eq!(head.body["log"], 1);
    assert_eq!(head.body["oldest"]["id"], all[0]["id"]);
    assert_eq!(head.body["newest"]["position"], all.len());
}

async fn e_9_an_unknown_cursor_is_refused(api: &Api) {
    let client = api.test();
    let path = "/v1/events?after=event_000000000000000000000000000";
    client
        .get(path)
        .await
        .refuses(409, "cursor_unknown", Some("after"));
}

async fn e_10_no_call_waits_for_the_sequencer(api: &Api) {
    // No sequencer runs here unless the test calls it.
    let client = api.test();
    let before = event_log(api, &client).await.len();
    for number in 0..12 {
        create(&client, json!({"email": format!("w{number}@example.com")})).await;
    }
    let page = client.get("/v1/events?limit=1000").await.ok();
    assert_eq!(page.body["events"].as_array().unwrap().len(), before);
    let events = event_log(api, &client).await;
    assert_eq!(events.len(), before + 36);
}

async fn a_reader_is_told_what_is_wrong(api: &Api) {
    let client = api.test();
    for (query, code, param) in [
        ("limit=9", "invalid_field", "limit"),
        ("limit=1001", "invalid_field", "limit"),
        ("limit=many", "invalid_field", "limit"),
        ("wait=31", "invalid_field", "wait"),
        ("wait=-1", "invalid_field", "wait"),
        ("order=up", "invalid_field", "order"),
        ("after=event_1", "invalid_field", "after"),
        (
            "after=user_000000000000000000000000000",
            "invalid_field",
            "after",
        ),
        ("user_id=1", "invalid_field", "user_id"),
        ("wallet_id=1", "invalid_field", "wallet_id"),
        ("types=user.borne", "unknown_field", "types"),
        ("types=user.created,", "unknown_field", "types"),
        ("types=unknown.*", "unknown_field", "types"),
    ] {
        let refused = client.get(&format!("/v1/events?{query}")).await;
        refused.refuses(400, code, Some(param));
    }
    let refused = client.get("/v1/events/event_1").await;
    refused.refuses(404, "not_found", Some("event"));
}

async fn a_call_waits_for_an_event(api: &Api) {
    let client = api.test();
    event_log(api, &client).await;
    let newest = client.get("/v1/events/head").await.ok();
    let after = newest.text_at("/newest/id");
    let begun = Instant::now();
    let path = format!("/v1/events?wait=1&after={after}");
    let nothing = client.get(&path).await.ok();
    assert_eq!(nothing.body["events"], json!([]));
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert_eq!(nothing.text_at("/next_after"), after);
    let path = format!("/v1/events?wait=30&types=email.*&after={after}");
    let waiting = client.get(&path);
    let emitting = async {
        create(&client, json!({"email": "eve@example.com"})).await;
        api.service.sequence_all().await.unwrap();
    };
    let (page, ()) = tokio::join!(waiting, emitting);
    let page = page.ok();
    assert_eq!(page.body["events"][0]["type"], "email.added");
    assert!(begun.elapsed() < Duration::from_secs(25), "it did not wake");
}

async fn five_calls_of_a_key_may_wait(api: &Api) {
    let client = api.test();
    event_log(api, &client).await;
    let head = client.get("/v1/events/head").await.ok();
    let path = format!("/v1/events?wait=30&after={}", head.text_at("/newest/id"));
    let calls = (0..6).map(|_| client.get(&path));
    let mut calls: FuturesUnordered<_> = calls.collect();
    // One is too many. It gets a response after a second, so that a client that retries at once does not keep the service busy.
    let begun = Instant::now();
    let surplus = calls.next().await.unwrap().ok();
    assert_eq!(surplus.body["events"], json!([]));
    assert!(begun.elapsed() >= Duration::from_secs(1));
    let emitting = async {
        create(&client, json!({"email": "fay@example.com"})).await;
        api.service.sequence_all().await.unwrap();
    };
    let (responses, ()) = tokio::join!(calls.collect::<Vec<_>>(), emitting);
    for response in responses {
        assert_ne!(response.ok().body["events"], json!([]));
    }
    // Waiting calls are ended when the service stops.
    let head = client.get("/v1/events/head").await.ok();
    let path = format!("/v1/events?wait=30&after={}", head.text_at("/newest/id"));
    let (waited, ()) = tokio::join!(client.get(&path), async { api.service.stop_waiting() });
    assert_eq!(waited.ok().body["events"], json!([]));
}

async fn api_23_an_app_gets_at_most_half_of_the_slots(api: &Api) {
    let mut keys = Vec::new();
    for _ in 0..11 {
        keys.push(api.new_key(Environment::Test, &[]).await);
    }
    let clients: Vec<_> = keys.iter().map(|key| api.with_key(key)).collect();
    event_log(api, &clients[0]).await;
    let head = clients[0].get("/v1/events/head").await.ok();
    let path = format!("/v1/events?wait=30&after={}", head.text_at("/newest/id"));
    let calls = (0..51).map(|number| clients[number / 5].get(&path));
    let mut calls: FuturesUnordered<_> = calls.collect();
    let begun = Instant::now();
    let surplus = calls.next().await.unwrap().ok();
    assert_eq!(surplus.body["events"], json!([]));
    assert!(begun.elapsed() >= Duration::from_secs(1));
    // The other half is reserved for other Apps.
    let foreign = api.other_app().await;
    event_log(api, &foreign).await;
    let head = foreign.get("/v1/events/head").await.ok();
    let theirs = format!("/v1/events?wait=2&after={}", head.text_at("/newest/id"));
    let begun = Instant::now();
    foreign.get(&theirs).await.ok();
    assert!(begun.elapsed() >= Duration::from_secs(2), "it had no slot");
    let emitting = async {
        create(&clients[0], json!({"email": "ivy@example.com"})).await;
        api.service.sequence_all().await.unwrap();
    };
    let (responses, ()) = tokio::join!(calls.collect::<Vec<_>>(), emitting);
    for response in responses {
        assert_ne!(response.ok().body["events"], json!([]));
    }
}

async fn events_need_a_scope(api: &Api) {
    let key = api.new_key(Environment::Test, &[Scope::UsersRead]).await;
    for path in [
        "/v1/events",
        "/v1/events?wait=5",
        "/v1/events/head",
        "/v1/events/event_000000000000000000000000000",
    ] {
        let refused = api.with_key(&key).get(path).await;
        refused.refuses(403, "key_not_allowed", Some("scope"));
    }
    let key = api.new_key(Environment::Test, &[Scope::EventsRead]).await;
    api.with_key(&key).get("/v1/events").await.ok();
    let public = api.key_of(&api.app, ApiKeyKind::Public, Environment::Test, &[]);
    let refused = api.with_key(&public.await).get("/v1/events").await;
    refused.refuses(401, "invalid_api_key", None);
}

async fn optional_events_are_emitted_on_demand(api: &Api) {
    let client = api.test();
    let id = create(&client, json!({"email": "gus@example.com"})).await;
    let user = client.get(&format!("/v1/auth/users/{id}")).await.ok();
    let wallet = user.text_at("/wallets/0/id");
    let sign = format!("/v1/wallets/{wallet}/sign_message");
    let before = event_log(api, &client).await.len();
    client.post(&sign, json!({"message": "one"})).await.ok();
    assert_eq!(types(api, &client, before).await, [""; 0]);
    let optional = (
        "events_optional".to_owned(),
        r#"["wallet.signed"]"#.to_owned(),
    );
    api.service
        .set_app(Principal::cli(), api.app.id, &[optional])
        .await
        .unwrap();
    // Settings take effect within a second.
    api.pass(1);
    let before = event_log(api, &client).await.len();
    client.post(&sign, json!({"message": "two"})).await.ok();
    let events = event_log(api, &client).await.split_off(before);
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["type"], "wallet.signed");
    let audit = client
        .get(&format!("/v1/wallets/{wallet}/audit"))
        .await
        .ok();
    let entry = &audit.body["entries"][0];
    assert_eq!(events[0]["data"]["audit_entry_id"], entry["id"]);
    assert_eq!(events[0]["data"]["result_sha256"], entry["result_sha256"]);
    let group = client
        .get("/v1/events?limit=1000&types=wallet.*")
        .await
        .ok();
    assert!(!group.text.contains("wallet.signed"));
    let bad = (
        "events_optional".to_owned(),
        r#"["user.created"]"#.to_owned(),
    );
    let refused = api
        .service
        .set_app(Principal::cli(), api.app.id, &[bad])
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("events_optional"), "{refused}");
}

async fn old_events_are_swept(api: &Api) {
    const DAY: i64 = 86_400;
    let client = api.test();
    create(&client, json!({"email": "old@example.com"})).await;
    create(&api.live(), json!({"email": "old@example.com"})).await;
    let old = event_log(api, &client).await;
    let live = event_log(api, &api.live()).await;
    api.pass(6 * DAY);
    create(&client, json!({"email": "young@example.com"})).await;
    let all = event_log(api, &client).await;
    api.pass(DAY + 1);
    api.service.sweep("one").await;
    let kept = event_log(api, &client).await;
    assert_eq!(kept, all[old.len()..]);
    assert_eq!(event_log(api, &api.live()).await, live);
    let head = client.get("/v1/events/head").await.ok();
    assert_eq!(head.body["oldest"]["position"], old.len() + 1);
    let path = format!("/v1/events?after={}", old[0]["id"].as_str().unwrap());
    client
        .get(&path)
        .await
        .refuses(409, "cursor_unknown", Some("after"));
    api.pass(24 * DAY);
    api.service.sweep("one").await;
    for client in [&client, &api.live()] {
        let head = client.get("/v1/events/head").await.ok();
        assert_eq!(head.body, json!({"log": 1, "oldest": null, "newest": null}));
    }
    // The positions continue.
    create(&client, json!({"email": "new@example.com"})).await;
    let next = event_log(api, &client).await;
    assert_eq!(next[0]["position"], all.len() + 1);
}

fn after(event: &Value) -> String {
    format!("/v1/events?after={}", event["id"].as_str().unwrap())
}

/// Retention costs a reader that is up to date nothing: the position of the last deleted event is still known.
async fn e_9_an_up_to_date_reader_is_not_refused(api: &Api) {
    const DAY: i64 = 86_400;
    let client = api.test();
    create(&client, json!({"email": "ann@example.com"})).await;
    let first = event_log(api, &client).await;
    let read = first.last().unwrap();
    api.pass(8 * DAY);
    api.service.sweep("one").await;
    let head = client.get("/v1/events/head").await.ok();
    assert_eq!(head.body["oldest"], Value::Null);
    for order in ["asc", "desc"] {
        let path = format!("{}&order={order}", after(read));
        let page = client.get(&path).await.ok();
        let expected = json!({"events": [], "has_more": false, "next_after": read["id"]});
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(&page.body[name], value, "{order}");
        }
    }
    create(&client, json!({"email": "bob@example.com"})).await;
    let second = event_log(api, &client).await;
    let page = client.get(&after(read)).await.ok();
    assert_eq!(page.body["events"], json!(second));
    api.pass(3 * DAY);
    create(&client, json!({"email": "cat@example.com"})).await;
    api.pass(5 * DAY);
    api.service.sweep("one").await;
    let third = event_log(api, &client).await;
    let page = client.get(&after(second.last().unwrap())).await.ok();
    assert_eq!(page.body["events"], json!(third));
    // A reader that missed something gets an error.
    for missed in [&second[0], read] {
        let refused = client.get(&after(missed)).await;
        refused.refuses(409, "cursor_unknown", Some("after"));
    }
}

/// While the oldest events are deleted, readers at that end of the log get everything after their cursor, or a refusal.
async fn e_9_a_prune_beside_readers_leaves_no_silent_gap(api: &Api) {
    let client = api.test();
    for number in 0..60 {
        create(&client, json!({"email": format!("p{number}@example.com")})).await;
    }
    let log = event_log(api, &client).await;
    let store = api.store().await;
    let world = World::new(api.app.id, Environment::Test);
    let (gone, reads) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let prune = async {
        let all = EventId::new(START + Seconds(1_000_000_000), [0; 16]);
        while gone.load(Relaxed) + 4 < log.len() {
            // At least one page is read while these are deleted.
            let before = reads.load(Relaxed);
            while reads.load(Relaxed) == before {
                tokio::task::yield_now().await;
            }
            let mut tx = store.begin().await.unwrap();
            let swept = tx.events().sweep(&world, all, None, 3).await.unwrap();
            tx.commit().await.unwrap();
            gone.fetch_add(usize::try_from(swept).unwrap(), Relaxed);
        }
    };
    let read = async || {
        let mut refused = 0;
        loop {
            let cursor = gone.load(Relaxed);
            if cursor + 4 >= log.len() {
                return refused;
            }
            let page = client.get(&after(&log[cursor])).await;
            reads.fetch_add(1, Relaxed);
            match page.status {
                200 => assert_eq!(page.body["events"][0], log[cursor + 1]),
                _ => {
                    page.refuses(409, "cursor_unknown", Some("after"));
                    refused += 1;
                }
            }
        }
    };
    let (one, two, three, ()) = tokio::join!(read(), read(), read(), prune);
    println!("{} pages were refused", one + two + three);
}

async fn the_clock_of_a_test_environment_dates_events(api: &Api) {
    let client = api.test();
    client
        .post("/v1/test/clock", json!({"now": 1_900_000_000}))
        .await
        .ok();
    create(&client, json!({"email": "hal@example.com"})).await;
    let events = event_log(api, &client).await;
    let last = events.last().unwrap();
    assert_eq!(last["created_at"], 1_900_000_000);
    assert_eq!(last["timestamp"], "2030-03-17T17:46:40Z");
}

async fn app_events_are_emitted_in_both_environments(api: &Api) {
    let change = [("wallet_export".to_owned(), "true".to_owned())];
    api.service
        .set_app(Principal::cli(), api.app.id, &change)
        .await
        .unwrap();
    api.service
        .set_app(Principal::cli(), api.app.id, &change)
        .await
        .unwrap();
    for client in [api.test(), api.live()] {
        let events = event_log(api, &client).await;
        let kinds: Vec<_> = events
            .iter()
            .map(|event| event["type"].as_str().unwrap())
            .collect();
        assert_eq!(kinds.first(), Some(&"app.created"));
        let updates = events.iter().filter(|event| event["type"] == "app.updated");
        let updates: Vec<_> = updates.collect();
        assert_eq!(updates.len(), 1, "{kinds:?}");
        assert_eq!(updates[0]["data"], json!({"changed": ["wallet_export"]}));
        assert_eq!(updates[0]["actor"], json!({"type": "cli", "id": null}));
    }
    let world = World::new(api.app.id, Environment::Test);
    let made = api
        .service
        .create_api_key(
            Principal::cli(),
            world,
            ApiKeyKind::Secret,
            KeyFields::scoped(vec![Scope::UsersRead]),
        )
        .await
        .unwrap();
    let events = event_log(api, &api.test()).await;
    let last = events.last().unwrap();
    assert_eq!(last["type"], "api_key.created");
    let expected = json!({"api_key_id": made.record.id.to_string(), "kind": "secret", "scopes": ["users:read"]});
    assert_eq!(last["data"], expected);
    assert!(
        !event_log(api, &api.live())
            .await
            .iter()
            .any(|event| event["id"] == last["id"])
    );
}
