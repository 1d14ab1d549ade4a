//! R13: one `Idempotency-Key` in many concurrent requests, in two processes, and across `kill -9`.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::block_in_place;
use vestry_contract::rng::{self, Rng};

use crate::on_both_databases;
use crate::races::{Field, all_at_once};
use crate::support::client::{Answer, Api};
use crate::support::installation::{Installation, Keys, Server, text};

on_both_databases! {
    /// R13: fifty at once
    r13_one_effect_of_fifty_requests_with_one_key => super::one_effect_of_fifty_requests_with_one_key;
    /// R13, and CN-K1 for the management API (MG-6, MG-10, AUD-1): after a crash
    cn_k1_r13_mg_10_one_effect_and_one_answer_over_kill_9 => super::one_effect_and_one_answer_over_kill_9;
}

const ROUNDS: usize = 10;
const PARALLEL: usize = 50;
const KILLS: usize = 3;
const UNDER_WAY: usize = 16;

fn is_replay(answer: &Answer) -> bool {
    answer.headers.contains_key("idempotent-replayed")
}

/// The response while the first request runs; clients retry it.
fn is_running(answer: &Answer) -> bool {
    answer.status == 409 && answer.headers.contains_key("retry-after")
}

/// The calls of a round, each with a body and a changed one, for operations with and without natural uniqueness.
fn calls(round: usize, user: &str) -> [(&'static str, Value, Value); 3] {
    let create = |email: String| json!({ "email": email, "include_user": true });
    [
        (
            "/v1/auth/users/create",
            create(format!("user{round}@example.com")),
            create(format!("changed{round}@example.com")),
        ),
        (
            "/v1/auth/totps/create",
            json!({ "user_id": user }),
            json!({ "user_id": user, "expires_in": 10 }),
        ),
        (
            "/v1/wallets/create",
            json!({ "user_id": user, "wallet_type": "DOT" }),
            json!({ "user_id": user, "wallet_type": "XLM" }),
        ),
    ]
}

async fn one_effect_of_fifty_requests_with_one_key(installation: Installation) {
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.test);
    for round in 0..ROUNDS {
        let email = json!({ "email": format!("owner{round}@example.com") });
        let owner = clients[0].post("/v1/auth/otps/email/login_or_create", &email);
        let owner = text(&owner.await.ok(), "user_id");
        for (number, (path, body, changed)) in calls(round, &owner).into_iter().enumerate() {
            let key = format!("key-{round}-{number}");
            let answers = all_at_once(&clients, PARALLEL, |number, api| {
                // A tenth of them send another body under the same key.
                let is_changed = number % 10 == 9;
                let body = if is_changed {
                    changed.clone()
                } else {
                    body.clone()
                };
                let api = api.keyed(&key);
                async move { api.post(path, &body).await }
            })
            .await;
            judge(&answers);
            let again = clients[round % clients.len()].keyed(&key);
            let again = (
                again.post(path, &body).await,
                again.post(path, &changed).await,
            );
            let first = answers.iter().find(|answer| answer.status == 200);
            let first = first.expect("one of them was answered");
            let winner = [&again.0, &again.1]
                .into_iter()
                .find(|answer| answer.status == 200);
            let winner = winner.expect("the winner is answered again");
            assert!(is_replay(winner) && winner.text == first.text);
            let refused = [&again.0, &again.1]
                .into_iter()
                .find(|answer| answer.status != 200);
            let refused = refused.expect("the other body is refused");
            assert_eq!(refused.error(409), "idempotency_key_reused");
            assert!(!is_running(refused));
        }
        let user = clients[0]
            .get(&format!("/v1/auth/users/{owner}"))
            .await
            .ok();
        assert_eq!(user["totps"].as_array().map(Vec::len), Some(1), "{user}");
        assert_eq!(user["wallets"].as_array().map(Vec::len), Some(1), "{user}");
    }
    let kept = "SELECT id AS one, user_id AS two FROM totps";
    assert_eq!(installation.database.pairs(kept).await.len(), ROUNDS);
    let users = "SELECT id AS one, status AS two FROM users";
    assert_eq!(installation.database.pairs(users).await.len(), 2 * ROUNDS);
    field.stop("R13", ROUNDS, PARALLEL).await;
}

/// Checks for one fresh response, its copies, and refusals.
fn judge(answers: &[Answer]) {
    let mut taken = answers.iter().filter(|answer| answer.status == 200);
    let first = taken.next().expect("one of them was answered");
    assert!(taken.all(|answer| answer.text == first.text));
    let taken = answers.iter().filter(|answer| answer.status == 200);
    assert_eq!(taken.filter(|answer| !is_replay(answer)).count(), 1);
    for refused in answers.iter().filter(|answer| answer.status != 200) {
        assert_eq!(refused.error(409), "idempotency_key_reused");
    }
}

/// A request that creates an object: a user, an App or an API key.
#[derive(Clone)]
struct Creation {
    api: Api,
    path: String,
    body: Value,
}

impl Creation {
    async fn send(&self) -> reqwest::Result<Answer> {
        self.api.try_post(&self.path, &self.body).await
    }
}

fn creations(server: &Server, keys: &Keys, management_key: &str, kill: usize) -> Vec<Creation> {
    let creation = |number: usize| {
        let name = format!("new-{kill}-{number}");
        let managed = json!({ "name": name });
        let (key, path, body) = match number % 4 {
            0 | 1 => {
                let user = json!({ "email": format!("{name}@example.com"), "include_user": true });
                (&*keys.test, "/v1/auth/users/create".to_owned(), user)
            }
            2 => (management_key, "/v1/manage/apps".to_owned(), managed),
            _ => {
                let path = format!("/v1/manage/apps/{}/live/keys", keys.app);
                (management_key, path, managed)
            }
        };
        let api = server.api(key).keyed(&name);
        Creation { api, path, body }
    };
    (0..UNDER_WAY).map(creation).collect()
}

/// A document in which everything has the same number.
fn document(number: usize) -> Value {
    let url = format!("https://shop.example/{number}");
    json!({
        "settings": { "freshness_minutes": 20 + number },
        "live": {
            "redirect_urls": [{ "kind": "login", "url": url }],
            "webhook_endpoints": [{ "url": url, "types": ["user.*"] }],
        },
    })
}

/// The number of the document that was applied, as a whole.
fn applied(config: &Value) -> Option<usize> {
    let minutes = config["settings"]["freshness_minutes"].as_u64().unwrap();
    let of_url = |path: &str| {
        let url = config.pointer(path)?.as_str()?;
        url.strip_prefix("https://shop.example/")?.parse().ok()
    };
    let number: Option<usize> = of_url("/live/redirect_urls/0/url");
    assert_eq!(number, of_url("/live/webhook_endpoints/0/url"), "{config}");
    let expected = number.map_or(15, |number| 20 + u64::try_from(number).unwrap());
    assert_eq!(minutes, expected, "{config}");
    number
}

/// Retries until the request is answered, as a client does that follows `Retry-After`.
async fn answered(creation: Creation) -> Answer {
    for _ in 0..60 {
        let answer = creation.send().await.expect("a response");
        if !is_running(&answer) {
            return answer;
        }
        let wait = tokio::time::timeout(Duration::from_secs(1), std::future::pending::<()>());
        wait.await.expect_err("nothing comes of it");
    }
    panic!("the key of a run that died was never free");
}

async fn one_effect_and_one_answer_over_kill_9(installation: Installation) {
    let keys = installation.set_up();
    let rights = ["--app", "all", "--environment", "test,live"];
    let scopes = "apps:write,keys:write,config:read,config:write";
    let scopes = ["--scope", scopes, "--expires-in", "1d"];
    let create = ["manage-key", "create", "terraform"];
    let key = block_in_place(|| installation.admin(&[&create[..], &rights, &scopes].concat()));
    let key = text(&key, "key");
    let config = format!("/v1/manage/apps/{}/config", keys.app);
    let rows = async |table: &str| {
        let rows = format!("SELECT id AS one, id AS two FROM {table}");
        installation.database.pairs(&rows).await.len()
    };
    // Each object with its entry in the audit log, and its event, which has a place in the log or waits for one.
    let traces = async || {
        let entries =
            async |action: &str| rows(&format!("control_entries WHERE action = '{action}'")).await;
        let created = "events WHERE kind = 'api_key.created'";
        let events = rows(created).await + rows(&format!("unsequenced_{created}")).await;
        [
            rows("apps").await,
            entries("app.create").await,
            rows("api_keys").await,
            entries("api_key.create").await,
            events,
        ]
    };
    let before = traces().await;
    let mut rng = Rng::from_seed(rng::seed());
    let (mut acknowledged, mut lost, mut documents) = (0, 0, 0);
    let kills = rng::rounds(KILLS);
    for kill in 0..kills {
        let mut server = installation.serve().await;
        let api = server.api(&key);
        let present = api.get(&config).await;
        let etag = present.headers["etag"].to_str().unwrap().to_owned();
        let previous = applied(&present.ok());
        let first: Vec<_> = creations(&server, &keys, &key, kill)
            .into_iter()
            .map(|creation| tokio::spawn(async move { creation.send().await }))
            .collect();
        let apply = {
            let config = config.clone();
            async move { api.try_replace(&config, &etag, &document(kill)).await }
        };
        let apply = tokio::spawn(apply);
        let moment = Duration::from_millis(u64::try_from(rng.below(400)).unwrap());
        let load = tokio::time::timeout(moment, std::future::pending::<()>());
        load.await.expect_err("it goes on until then");
        server.process.kill().await;
        if kill + 1 < kills {
            // As if the lease of its runs had ended. After the last kill it ends on its own.
            let over = "UPDATE idempotency_keys SET lease_until = 0";
            installation.database.touch(over).await;
        }
        let server = installation.serve().await;
        let now = applied(&server.api(&key).get(&config).await.ok());
        match apply.await.unwrap() {
            Ok(answer) if answer.status == 200 => assert_eq!(now, Some(kill)),
            _ => assert!([previous, Some(kill)].contains(&now), "{now:?}"),
        }
        documents += usize::from(now == Some(kill));
        let again: Vec<_> = creations(&server, &keys, &key, kill)
            .into_iter()
            .map(|creation| tokio::spawn(answered(creation)))
            .collect();
        for (first, again) in first.into_iter().zip(again) {
            let again = again.await.unwrap();
            assert!(matches!(again.status, 200 | 201), "{}", again.text);
            match first.await.unwrap() {
                Ok(first) if first.status == again.status => {
                    acknowledged += 1;
                    assert!(is_replay(&again));
                    assert_eq!(again.text, first.text);
                }
                _ => lost += 1,
            }
        }
        server.process.stop().await;
    }
    let users = rows("users").await;
    println!(
        "CN-K1: {kills} kills, {acknowledged} answers before, {lost} lost, {users} users, {documents} documents"
    );
    assert_eq!(users, kills * UNDER_WAY / 2);
    let added = kills * UNDER_WAY / 4;
    let mut expected = before.map(|number| number + added);
    // The chain of each environment records that its App was created.
    expected[1] += added;
    assert_eq!(traces().await, expected);
}
