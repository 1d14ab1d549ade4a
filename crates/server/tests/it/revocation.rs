//! Immediate revocation despite caches: with two processes on Postgres and one on SQLite, plus the command's own process.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::block_in_place;

use crate::on_both_databases;
use crate::races::Field;
use crate::support::client::{Answer, Api};
use crate::support::flow::sign_in;
use crate::support::installation::{Installation, text};
use crate::support::process::PATIENCE;

on_both_databases! {
    /// M-23, S-13
    m_23_a_withdrawn_signing_key_counts_nowhere => super::a_withdrawn_signing_key_counts_nowhere;
    /// S-4, S-5, S-6, attack-14
    attack_14_what_has_ended_stays_ended => super::ended_sessions_stay_ended;
    /// R12
    r12_a_key_that_ends_stops_calls_in_flight => super::a_key_that_ends_stops_calls_in_flight;
    /// M-22, S-4
    m_22_everybody_is_signed_out_everywhere => super::everybody_is_signed_out_everywhere;
    mg_11_a_disabled_app_is_refused_everywhere => super::a_disabled_app_is_refused_everywhere;
}

const VERIFY: &str = "/v1/auth/sessions/verify";

/// The IDs of the keys that this process publishes for the test environment.
async fn published(api: &Api, app: &str) -> Vec<String> {
    let path = format!("/v1/auth/jwks/{app}?environment=test");
    let set = api.get(&path).await.ok();
    let keys = set["keys"].as_array().unwrap().iter();
    keys.map(|key| text(key, "kid")).collect()
}

async fn a_withdrawn_signing_key_counts_nowhere(installation: Installation) {
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.test);
    let app = field.keys.app.clone();
    let session = sign_in(&clients[0], "ada@example.com").await;
    let named = |name: &str| json!({ name: text(&session, name) });
    let mut jwts = vec![named("session_jwt")];
    for api in &clients {
        // By now every process has read the keys, and signed with this one.
        let fresh = api.post(VERIFY, &named("session_jwt")).await.ok();
        jwts.push(json!({ "session_jwt": text(&fresh, "session_jwt") }));
    }
    let leaked = published(&clients[0], &app).await.remove(0);
    let revoke = ["signing-key", "revoke", app.as_str(), leaked.as_str()];
    let revoked: Value = block_in_place(|| installation.admin(&revoke));
    let next = text(&revoked["signing_key"], "id");
    for api in &clients {
        for jwt in &jwts {
            let refused = api.post(VERIFY, jwt).await;
            assert_eq!(refused.error(401), "invalid_session");
        }
        api.post(VERIFY, &named("session_token")).await.ok();
    }
    for api in &clients {
        let moment = std::time::Instant::now();
        let mut shown_last = moment;
        let is_gone = async {
            loop {
                let asked = std::time::Instant::now();
                if published(api, &app).await == [next.as_str()] {
                    break;
                }
                shown_last = asked;
            }
        };
        tokio::time::timeout(PATIENCE, is_gone).await.unwrap();
        let shown_for = shown_last.duration_since(moment);
        assert!(shown_for.as_secs_f64() <= 2.0, "{shown_for:?}");
    }
    for api in &clients {
        // The process that publishes it signs with it.
        let fresh = api.post(VERIFY, &named("session_token")).await.ok();
        let jwt = json!({ "session_jwt": text(&fresh, "session_jwt") });
        for other in &clients {
            other.post(VERIFY, &jwt).await.ok();
        }
    }
    let again = block_in_place(|| installation.run(&revoke));
    assert_eq!(again.code, 1, "{again:?}");
    field.stop("M-23", 1, jwts.len()).await;
}

async fn everybody_is_signed_out_everywhere(installation: Installation) {
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.test);
    let app = field.keys.app.clone();
    let mut sessions = Vec::new();
    for (number, api) in clients.iter().cycle().take(3).enumerate() {
        let session = sign_in(api, &format!("user{number}@example.com")).await;
        for name in ["session_token", "session_jwt"] {
            sessions.push(json!({ name: text(&session, name) }));
        }
    }
    let end_all = |environment| {
        block_in_place(|| installation.admin(&["sessions", "end-all", app.as_str(), environment]))
    };
    assert_eq!(end_all("live")["ended"], 0);
    for session in &sessions {
        clients[0].post(VERIFY, session).await.ok();
    }
    let expected = json!({ "app_id": app, "environment": "test", "ended": 3 });
    assert_eq!(end_all("test"), expected);
    for api in &clients {
        for session in &sessions {
            let refused = api.post(VERIFY, session).await;
            assert_eq!(refused.error(401), "invalid_session");
        }
    }
    assert_eq!(end_all("test")["ended"], 0);
    // No user is locked out. Two messages of the same second have no known order.
    clients[0]
        .delete("/v1/test/messages", &json!({}))
        .await
        .ok();
    let session = sign_in(&clients[0], "user0@example.com").await;
    let named = json!({ "session_token": text(&session, "session_token") });
    clients[0].post(VERIFY, &named).await.ok();
    field.stop("M-22", 1, sessions.len()).await;
}

/// MG-11
async fn a_disabled_app_is_refused_everywhere(installation: Installation) {
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.test);
    let app = field.keys.app.clone();
    let session = sign_in(&clients[0], "ada@example.com").await;
    let named = json!({ "session_token": text(&session, "session_token") });
    for api in &clients {
        api.post(VERIFY, &named).await.ok();
    }
    let switch = |verb| block_in_place(|| installation.admin(&["app", verb, app.as_str()]));
    for (verb, is_disabled, status, code) in [
        ("disable", true, 403, "feature_disabled"),
        ("enable", false, 401, "invalid_session"),
    ] {
        assert_eq!(switch(verb)["disabled"], is_disabled);
        let listed = block_in_place(|| installation.admin(&["app", "list"]));
        assert_eq!(listed["apps"][0]["disabled"], is_disabled);
        for api in &clients {
            let follows = async {
                while api.post(VERIFY, &named).await.status != status {}
                assert_eq!(api.post(VERIFY, &named).await.error(status), code);
            };
            tokio::time::timeout(PATIENCE, follows).await.unwrap();
        }
    }
    let table = block_in_place(|| installation.run(&["app", "list"])).done();
    assert!(table.stdout.contains("active"), "{}", table.stdout);
    clients[0]
        .delete("/v1/test/messages", &json!({}))
        .await
        .ok();
    let session = sign_in(&clients[0], "ada@example.com").await;
    let named = json!({ "session_token": text(&session, "session_token") });
    clients[0].post(VERIFY, &named).await.ok();
    field.stop("MG-11", 1, clients.len()).await;
}

/// The ways to end a session, each a call to one process.
const ENDS: [&str; 5] = [
    "sessions/delete",
    "sessions/delete_all",
    "users/disable",
    "users/delete",
    "passwords/session/update",
];

/// Ends the session of this sign-in in one of the ways.
async fn end(api: &Api, way: &str, session: &Value, email: &str) {
    let user = text(session, "user_id");
    let ended = match way {
        "sessions/delete" => {
            let named = json!({ "session_token": text(session, "session_token") });
            api.delete("/v1/auth/sessions/delete", &named).await
        }
        "sessions/delete_all" => {
            let named = json!({ "user_id": user });
            api.delete("/v1/auth/sessions/delete_all", &named).await
        }
        "users/disable" => {
            let path = format!("/v1/auth/users/{user}/disable");
            api.post(&path, &json!({ "reason": "left" })).await
        }
        "users/delete" => {
            let path = format!("/v1/auth/users/{user}/delete");
            api.delete(&path, &json!({})).await
        }
        "passwords/session/update" => {
            // By another session of the user, which continues.
            let other = sign_in(api, email).await;
            let change = json!({
                "session_token": text(&other, "session_token"), "password": "correct horse battery",
            });
            api.post("/v1/auth/passwords/session/update", &change).await
        }
        other => panic!("nothing ends by {other}"),
    };
    assert_eq!(ended.status, 200, "{way}: {}", ended.text);
}

/// Every process verifies each session shortly before one of them ends it. Then all are killed and restarted.
async fn ended_sessions_stay_ended(installation: Installation) {
    let mut field = Field::start(&installation).await;
    let key = field.keys.test.clone();
    let clients = field.clients(&key);
    let mut ended = Vec::new();
    for (number, way) in ENDS.into_iter().enumerate() {
        let email = format!("user{number}@example.com");
        let session = sign_in(&clients[0], &email).await;
        let named =
            ["session_token", "session_jwt"].map(|name| json!({ name: text(&session, name) }));
        for (api, named) in clients
            .iter()
            .flat_map(|api| named.iter().map(move |named| (api, named)))
        {
            api.post(VERIFY, named).await.ok();
        }
        // Two messages of the same second have no known order.
        clients[0]
            .delete("/v1/test/messages", &json!({}))
            .await
            .ok();
        end(&clients[number % clients.len()], way, &session, &email).await;
        ended.extend(named.map(|named| (way, named)));
    }
    let is_refused_everywhere = async |clients: &[Api], when: &str| {
        for (api, (way, named)) in clients
            .iter()
            .flat_map(|api| ended.iter().map(move |one| (api, one)))
        {
            let answer = api.post(VERIFY, named).await;
            assert_eq!(
                answer.status, 401,
                "attack 14: alive {when} after {way}: {}",
                answer.text
            );
            assert_eq!(answer.error(401), "invalid_session");
        }
    };
    is_refused_everywhere(&clients, "at once").await;
    field.kill_and_start_again(&installation).await;
    is_refused_everywhere(&field.clients(&key), "after a kill").await;
    field.stop("attack 14", 1, ended.len()).await;
}

/// Short calls with one key at each process while it is revoked.
const BUSY: usize = 10;

/// Reads to the end. Returns the last event.
async fn newest_event(api: &Api) -> String {
    let mut after = String::new();
    loop {
        let page = api
            .get(&format!("/v1/events?limit=1000&wait=2{after}"))
            .await;
        let page = page.ok();
        let last = text(&page, "next_after");
        if page["events"].as_array().unwrap().is_empty() {
            return last;
        }
        after = format!("&after={last}");
    }
}

/// Calls in sequence until one is refused. Returns when the last success began, and the refusal. Announces the first success.
async fn call_until_refused(api: Api, begun: UnboundedSender<()>) -> (Instant, Answer) {
    let mut last = Instant::now();
    loop {
        let asked = Instant::now();
        let answer = api.get("/v1/events/head").await;
        if answer.status != 200 {
            return (last, answer);
        }
        last = asked;
        // Sending fails once every caller has started.
        let _heard = begun.send(());
    }
}

/// Revokes one key and narrows another while their calls wait at every process and short ones follow one another.
async fn a_key_that_ends_stops_calls_in_flight(installation: Installation) {
    let field = Field::start(&installation).await;
    let app = field.keys.app.clone();
    for (status, code) in [(401, "invalid_api_key"), (403, "key_not_allowed")] {
        let made = block_in_place(|| installation.admin(&["key", "create", app.as_str(), "test"]));
        let (id, key) = (text(&made, "id"), text(&made, "key"));
        let clients = field.clients(&key);
        let newest = newest_event(&clients[0]).await;
        let waiting = [
            format!("/v1/events?wait=30&after={newest}"),
            "/v1/test/messages?wait=30".to_owned(),
        ];
        let mut waits = Vec::new();
        for api in &clients {
            for path in waiting.clone() {
                let api = api.clone();
                waits.push(tokio::spawn(async move {
                    let answer = api.get(&path).await;
                    (path, Instant::now(), answer)
                }));
            }
        }
        let mut short = Vec::new();
        for api in &clients {
            for _ in 0..BUSY {
                let (begun, mut has_begun) = unbounded_channel();
                short.push(tokio::spawn(call_until_refused(api.clone(), begun)));
                has_begun.recv().await.unwrap();
            }
        }
        if status == 401 {
            let revoke = ["key", "revoke", app.as_str(), id.as_str()];
            let _revoked: Value = block_in_place(|| installation.admin(&revoke));
        } else {
            let narrow = [
                "key",
                "update",
                app.as_str(),
                id.as_str(),
                "--scope",
                "wallets:read",
            ];
            let _narrowed: Value = block_in_place(|| installation.admin(&narrow));
        }
        let ended = Instant::now();
        for call in short {
            let (last, refused) = call.await.unwrap();
            assert_eq!(refused.error(status), code);
            let late = last.saturating_duration_since(ended);
            assert!(
                late <= Duration::from_secs(1),
                "a success began after {late:?}"
            );
        }
        for call in waits {
            let (path, answered, refused) = call.await.unwrap();
            assert_eq!(refused.status, status, "R12: {path}: {}", refused.text);
            assert_eq!(refused.error(status), code);
            let after = answered.saturating_duration_since(ended);
            println!("R12: {path} was refused with {status} after {after:?}");
        }
    }
    field.stop("R12", 2, BUSY).await;
}
