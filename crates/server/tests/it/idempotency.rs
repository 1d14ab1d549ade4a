//! R13: one `Idempotency-Key` in many concurrent requests, in two processes, and across `kill -9`.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::block_in_place;
use vestry_contract::rng::Rng;

use crate::on_both_databases;
use crate::races::{Field, all_at_once};
use crate::support::client::{Answer, Api};
use crate::support::installation::{Installation, Keys, Server, text};

on_both_databases! {
    /// R13: fifty at once
    r13_one_effect_of_fifty_requests_with_one_key => super::one_effect_of_fifty_requests_with_one_key;
    /// R13, and CN-K1 for the management API: after a crash
    r13_mg_10_one_effect_and_one_answer_over_kill_9 => super::one_effect_and_one_answer_over_kill_9;
}

const ROUNDS: usize = 20;
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
    let scopes = ["--scope", "apps:write,keys:write", "--expires-in", "1d"];
    let create = ["manage-key", "create", "terraform"];
    let key = block_in_place(|| installation.admin(&[&create[..], &rights, &scopes].concat()));
    let key = text(&key, "key");
    let rows = async |table: &str| {
        let rows = format!("SELECT id AS one, id AS two FROM {table}");
        installation.database.pairs(&rows).await.len()
    };
    let [apps, api_keys] = [rows("apps").await, rows("api_keys").await];
    let mut rng = Rng::from_seed(vestry_contract::rng::seed());
    let (mut acknowledged, mut lost) = (0, 0);
    for kill in 0..KILLS {
        let mut server = installation.serve().await;
        let first: Vec<_> = creations(&server, &keys, &key, kill)
            .into_iter()
            .map(|creation| tokio::spawn(async move { creation.send().await }))
            .collect();
        let moment = Duration::from_millis(u64::try_from(rng.below(400)).unwrap());
        let load = tokio::time::timeout(moment, std::future::pending::<()>());
        load.await.expect_err("it goes on until then");
        server.process.kill().await;
        let server = installation.serve().await;
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
    println!("R13: {KILLS} kills, {acknowledged} answers before, {lost} lost, {users} users");
    assert_eq!(users, KILLS * UNDER_WAY / 2);
    assert_eq!(rows("apps").await, apps + KILLS * UNDER_WAY / 4);
    assert_eq!(rows("api_keys").await, api_keys + KILLS * UNDER_WAY / 4);
}
