//! Races about users: R7 with a deletion, R9 and R11, with two server processes on one Postgres and with one on SQLite.
//!
//! A statement without a guard loses its race in the first rounds. `cargo xtask attacks --races` runs many more.

use std::collections::HashSet;

use serde_json::{Value, json};
use vestry_contract::rng;

use crate::on_both_databases;
use crate::races::{Field, all_at_once};
use crate::support::client::{Answer, Api};
use crate::support::flow::{captured_code, send_code};
use crate::support::installation::{Installation, text};

on_both_databases! {
    /// R7, S-5
    a_deleted_user_cannot_sign_in => super::a_deleted_user_cannot_sign_in;
    /// attack-1, O-10, CL-3
    two_first_proofs_never_share_an_account => super::two_first_proofs_never_share_an_account;
    /// CL-3, CL-8
    no_planted_session_outlives_the_founding => super::no_planted_session_outlives_the_founding;
    /// M-18, S-5
    m_18_no_session_outlives_a_disabling => super::no_session_outlives_a_disabling;
    /// CL-4, CL-8
    a_claim_ends_as_some_order_says => super::a_claim_ends_as_some_order_says;
    /// R9
    fifty_merges_lose_no_key => super::fifty_merges_lose_no_key;
    /// R11
    one_user_gets_the_address => super::one_user_gets_the_address;
}

/// The rounds of each race: `VESTRY_TEST_ROUNDS`, set by `cargo xtask attacks --races`, or 15.
fn rounds() -> usize {
    rng::rounds(15)
}

async fn new_user(api: &Api, email: &str) -> String {
    let body = json!({ "email": email });
    text(
        &api.post("/v1/auth/users/create", &body).await.ok(),
        "user_id",
    )
}

async fn update(api: &Api, user: &str, body: &Value) -> Answer {
    api.put(&format!("/v1/auth/users/{user}/update"), body)
        .await
}

async fn a_deleted_user_cannot_sign_in(installation: Installation) {
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.test);
    let mut signed_in = 0;
    for round in 0..rounds() {
        let email = format!("user{round}@example.com");
        let method_id = send_code(&clients[0], &email).await;
        let code = captured_code(&clients[0], &email).await;
        let filter = json!({ "filters": { "operator": "AND", "fields": [
            { "field": "email_id", "operator": "eq", "value": method_id },
        ] } });
        let found = clients[0].post("/v1/auth/users/search", &filter).await.ok();
        let user = text(&found["users"][0], "user_id");
        let verification = json!({ "method_id": method_id, "otp": code, "session_expires_in": 60 });
        let answers = all_at_once(&clients, 4, |number, api| {
            let (user, verification) = (user.clone(), verification.clone());
            async move {
                if number % 2 == round % 2 {
                    api.post("/v1/auth/otps/verify", &verification).await
                } else {
                    api.delete(&format!("/v1/auth/users/{user}/delete"), &json!({}))
                        .await
                }
            }
        })
        .await;
        let mut deletions = 0;
        for (number, answer) in answers.iter().enumerate() {
            match (number % 2 == round % 2, answer.status) {
                (true, 200) => {
                    signed_in += 1;
                    let body = json!({ "session_token": answer.body["session_token"] });
                    let verified = clients[0].post("/v1/auth/sessions/verify", &body).await;
                    assert_eq!(verified.error(401), "invalid_session", "round {round}");
                }
                (true, _) => assert_eq!(answer.error(400), "invalid_otp", "round {round}"),
                (false, 200) => deletions += 1,
                (false, _) => assert_eq!(answer.error(404), "not_found", "round {round}"),
            }
        }
        assert_eq!(deletions, 1, "round {round}");
        let gone = clients[0].get(&format!("/v1/auth/users/{user}")).await;
        assert_eq!(gone.error(404), "not_found", "round {round}");
    }
    for table in ["users", "sessions", "user_emails", "codes", "user_metadata"] {
        let rows = format!("SELECT app_id AS one, environment AS two FROM {table}");
        assert_eq!(installation.database.pairs(&rows).await, [], "{table}");
    }
    println!(
        "R7: {signed_in} of {} users signed in just before they were deleted",
        rounds()
    );
    field.stop("R7", rounds(), 4).await;
}

/// Right codes and passwords while the user is disabled. Earlier sign-ins succeed and are then ended; later ones are refused as wrong.
async fn no_session_outlives_a_disabling(installation: Installation) {
    const PARALLEL: usize = 12;
    const ROUNDS: usize = 10;
    // Of 72 times x.
    const WEAK: &str = "$2b$04$abcdefghijklmnopqrstuubzadhGtS2zEF.gu0yd0opP6cVzb.e0i";
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.test);
    let email = |round: usize| format!("user{round}@example.com");
    let line = |round| {
        let address = json!({ "email": email(round), "verified": true });
        format!(
            "{}\n",
            json!({ "emails": [address], "password_hash": WEAK })
        )
    };
    let lines: String = (0..ROUNDS).map(line).collect();
    std::fs::write(installation.file("users.jsonl"), lines).unwrap();
    let (app, environment) = (field.keys.app.as_str(), "test");
    let import = ["users", "import", app, environment, "users.jsonl"];
    tokio::task::block_in_place(|| installation.admin(&import));
    let mut sessions = 0;
    for round in 0..ROUNDS {
        let path = "/v1/auth/otps/email/login_or_create";
        let asked = clients[0]
            .post(path, &json!({ "email": email(round) }))
            .await
            .ok();
        let user = text(&asked, "user_id");
        let code = captured_code(&clients[0], &email(round)).await;
        let code = json!({ "method_id": asked["email_id"], "otp": code, "session_expires_in": 60 });
        let password = json!({
            "user_id": user, "password": "x".repeat(72), "session_expires_in": 60,
        });
        let answers = all_at_once(&clients, PARALLEL, |number, api| {
            let (code, password) = (code.clone(), password.clone());
            let disable = format!("/v1/auth/users/{user}/disable");
            async move {
                match (number + round) % PARALLEL {
                    0 => api.post(&disable, &json!({ "reason": "abuse" })).await,
                    1 => api.post("/v1/auth/otps/verify", &code).await,
                    _ => api.post("/v1/auth/passwords/verify", &password).await,
                }
            }
        })
        .await;
        for (number, answer) in answers.into_iter().enumerate() {
            let kind = (number + round) % PARALLEL;
            if answer.status != 200 {
                let wrong = match kind {
                    1 => (400, "invalid_otp"),
                    _ => (401, "invalid_credentials"),
                };
                assert_eq!(answer.error(wrong.0), wrong.1, "round {round}, {number}");
                continue;
            }
            let body = answer.ok();
            if kind == 0 {
                assert_eq!(body["status"], "disabled", "round {round}");
                continue;
            }
            sessions += 1;
            for name in ["session_token", "session_jwt"] {
                let named = json!({ name: text(&body, name) });
                for api in &clients {
                    let over = api.post("/v1/auth/sessions/verify", &named).await;
                    assert_eq!(
                        over.error(401),
                        "invalid_session",
                        "round {round}, {number}"
                    );
                }
            }
        }
        let path = format!("/v1/auth/users/{user}/enable");
        clients[0].post(&path, &json!({})).await.ok();
        let last = clients.last().unwrap();
        last.post("/v1/auth/passwords/verify", &password).await.ok();
    }
    println!("M-18: {sessions} sessions were there before their user was disabled");
    field.stop("M-18", ROUNDS, PARALLEL).await;
}

async fn fifty_merges_lose_no_key(installation: Installation) {
    const PARALLEL: usize = 50;
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.test);
    for round in 0..rounds() {
        let user = new_user(&clients[0], &format!("user{round}@example.com")).await;
        let body = move |number: usize| match round % 3 {
            0 => json!({ "metadata": { number.to_string(): number } }),
            1 => json!({ "metadata": { "one": number, "same": number } }),
            // Every fifth replaces all of it.
            _ if number.is_multiple_of(5) => {
                json!({ "metadata": { "base": number }, "replace_metadata": true })
            }
            _ => json!({ "metadata": { number.to_string(): number } }),
        };
        let answers = all_at_once(&clients, PARALLEL, |number, api| {
            let user = user.clone();
            async move { update(&api, &user, &body(number)).await }
        })
        .await;
        for (number, answer) in answers.into_iter().enumerate() {
            let own = body(number)["metadata"].clone();
            let returned = answer.ok()["user"]["metadata"].clone();
            for (key, value) in own.as_object().unwrap() {
                assert_eq!(
                    &returned[key], value,
                    "round {round}: each sees its own write"
                );
            }
        }
        let stored = clients[0].get(&format!("/v1/auth/users/{user}")).await.ok();
        let metadata = stored["metadata"].as_object().unwrap();
        match round % 3 {
            0 => {
                let all: Value = (0..PARALLEL)
                    .map(|key| (key.to_string(), json!(key)))
                    .collect();
                assert_eq!(stored["metadata"], all, "round {round}");
            }
            1 => {
                assert_eq!(metadata.len(), 2, "round {round}");
                assert_eq!(metadata["one"], metadata["same"], "round {round}");
            }
            // Some serial order: the last replacement, and merges after it.
            _ => {
                let base = metadata["base"].as_u64().unwrap();
                assert!(base.is_multiple_of(5), "round {round}");
                for (key, value) in metadata.iter().filter(|(key, _)| *key != "base") {
                    assert_eq!(*key, value.to_string(), "round {round}");
                }
            }
        }
    }
    field.stop("R9", rounds(), PARALLEL).await;
}

async fn one_user_gets_the_address(installation: Installation) {
    const PARALLEL: usize = 20;
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.test);
    let mut winners = HashSet::new();
    for round in 0..rounds() {
        let users = [
            new_user(&clients[0], &format!("a{round}@example.com")).await,
            new_user(&clients[0], &format!("b{round}@example.com")).await,
        ];
        // Two addresses in both orders: no deadlock.
        let pair = |number: usize| {
            let mut pair = [
                format!("x{round}@example.com"),
                format!("Y{round}@example.com"),
            ];
            pair.rotate_left(number % 2);
            json!({ "emails": [{ "email": pair[0] }, { "email": pair[1] }] })
        };
        let answers = all_at_once(&clients, PARALLEL, |number, api| {
            let (user, body) = (users[number / 2 % 2].clone(), pair(number));
            async move { update(&api, &user, &body).await }
        })
        .await;
        let mut owners = HashSet::new();
        for (number, answer) in answers.iter().enumerate() {
            match answer.status {
                200 => drop(owners.insert(number / 2 % 2)),
                _ => assert_eq!(answer.error(409), "duplicate", "round {round}"),
            }
        }
        assert_eq!(owners.len(), 1, "round {round}: exactly one user has them");
        for (number, answer) in answers.iter().enumerate() {
            let is_owner = owners.contains(&(number / 2 % 2));
            assert_eq!(
                answer.status == 200,
                is_owner,
                "round {round}, call {number}"
            );
        }
        for (which, user) in users.iter().enumerate() {
            let stored = clients[0].get(&format!("/v1/auth/users/{user}")).await.ok();
            let count = if owners.contains(&which) { 3 } else { 1 };
            assert_eq!(
                stored["emails"].as_array().unwrap().len(),
                count,
                "round {round}"
            );
        }
        winners.extend(owners);
    }
    println!("R11: {} of the two users won at least once", winners.len());
    field.stop("R11", rounds(), PARALLEL).await;
}

/// The victim's and the attacker's addresses are in one account without an owner, and both are verified at the same moment. The first gets
/// the account, the other another one.
async fn two_first_proofs_never_share_an_account(installation: Installation) {
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.test);
    for round in 0..rounds() {
        let addresses = [
            format!("victim{round}@example.com"),
            format!("planter{round}@example.com"),
        ];
        let user = new_user(&clients[0], &addresses[0]).await;
        let more = json!({ "emails": [{ "email": addresses[1] }] });
        update(&clients[0], &user, &more).await.ok();
        let mut proofs = Vec::new();
        for address in &addresses {
            let method_id = send_code(&clients[0], address).await;
            let code = captured_code(&clients[0], address).await;
            proofs.push(json!({ "method_id": method_id, "otp": code, "session_expires_in": 60 }));
        }
        let answers = all_at_once(&clients, 2, |number, api| {
            let proof = proofs[number].clone();
            async move { api.post("/v1/auth/otps/verify", &proof).await }
        })
        .await;
        let mut owners = HashSet::new();
        for (answer, address) in answers.into_iter().zip(&addresses) {
            // The account belongs to the first. The other is asked to start again, and gets an account of their own.
            let signed_in = if answer.status == 200 {
                answer.ok()
            } else {
                assert_eq!(answer.error(403), "insufficient_factor", "round {round}");
                // Two messages of the same second have no known order.
                clients[0]
                    .delete("/v1/test/messages", &json!({}))
                    .await
                    .ok();
                let method_id = send_code(&clients[0], address).await;
                let code = captured_code(&clients[0], address).await;
                let proof =
                    json!({ "method_id": method_id, "otp": code, "session_expires_in": 60 });
                clients[0].post("/v1/auth/otps/verify", &proof).await.ok()
            };
            let token = text(&signed_in, "session_token");
            let body = json!({ "session_token": token });
            clients[0]
                .post("/v1/auth/sessions/verify", &body)
                .await
                .ok();
            owners.insert(text(&signed_in, "user_id"));
        }
        assert_eq!(owners.len(), 2, "round {round}");
        let left = clients[0].get(&format!("/v1/auth/users/{user}")).await.ok();
        assert_eq!(left["emails"].as_array().unwrap().len(), 1, "round {round}");
    }
}

/// A claimed address of an owned account is verified from outside, attached again and removed at once. It has either moved, verified, to
/// its new owner, or was removed before. It is never verified on the claiming account.
async fn a_claim_ends_as_some_order_says(installation: Installation) {
    const PARALLEL: usize = 100;
    const ROUNDS: usize = 10;
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.test);
    let mut moved = 0;
    for round in 0..ROUNDS {
        let (own, claimed) = (
            format!("owner{round}@example.com"),
            format!("claimed{round}@example.com"),
        );
        let vouched = json!({ "email": own, "email_verified": true });
        let created = clients[0].post("/v1/auth/users/create", &vouched).await;
        let user = text(&created.ok(), "user_id");
        let attach = json!({ "emails": [{ "email": claimed }] });
        update(&clients[0], &user, &attach).await.ok();
        let asked = json!({ "email": claimed });
        let path = "/v1/auth/otps/email/login_or_create";
        let asked = clients[0].post(path, &asked).await.ok();
        let (method_id, pending_owner) = (text(&asked, "email_id"), text(&asked, "user_id"));
        assert_ne!(pending_owner, user, "round {round}");
        let code = captured_code(&clients[0], &claimed).await;
        let proof = json!({ "method_id": method_id, "otp": code });
        let answers = all_at_once(&clients, PARALLEL, |number, api| {
            let (user, attach, proof) = (user.clone(), attach.clone(), proof.clone());
            let removal = format!("/v1/auth/users/emails/{method_id}/delete");
            async move {
                // Starts with another kind in each round.
                match (number + round) % 3 {
                    0 => api.post("/v1/auth/otps/verify", &proof).await,
                    1 => update(&api, &user, &attach).await,
                    _ => api.delete(&removal, &json!({})).await,
                }
            }
        })
        .await;
        let mut successes = [0; 3];
        for (number, answer) in answers.iter().enumerate() {
            assert!(answer.status < 500, "round {round}: {}", answer.status);
            successes[(number + round) % 3] += usize::from(answer.status == 200);
        }
        let [proofs, _, removals] = successes;
        assert_eq!(proofs + removals, 1, "round {round}");
        moved += proofs;
        let emails = |user: Value| -> Vec<(String, Value)> {
            let rows = user["emails"].as_array().unwrap().iter();
            rows.map(|row| (text(row, "email"), row["verified"].clone()))
                .collect()
        };
        let path = |id: &str| format!("/v1/auth/users/{id}");
        let left = emails(clients[0].get(&path(&user)).await.ok());
        let next = emails(clients[0].get(&path(&pending_owner)).await.ok());
        assert_eq!(left[0], (own, json!(true)), "round {round}");
        if proofs == 1 {
            assert_eq!(next, [(claimed, json!(true))], "round {round}");
            assert_eq!(left.len(), 1, "round {round}");
        } else {
            assert_eq!(next, [], "round {round}");
            let claims = left[1..].to_vec();
            assert!(
                claims.is_empty() || claims == [(claimed, json!(false))],
                "round {round}: {claims:?}"
            );
        }
    }
    println!("CL-8: {moved} of {ROUNDS} claims moved before they were removed");
    field.stop("CL-8", ROUNDS, PARALLEL).await;
}

/// An attacker who knows the password of an account under the victim's address signs in while the victim verifies it. None of the
/// attacker's sessions survive.
async fn no_planted_session_outlives_the_founding(installation: Installation) {
    const PARALLEL: usize = 12;
    const ROUNDS: usize = 10;
    // Of 72 times x.
    const WEAK: &str = "$2b$04$abcdefghijklmnopqrstuubzadhGtS2zEF.gu0yd0opP6cVzb.e0i";
    let field = Field::start(&installation).await;
    let clients = field.clients(&field.keys.test);
    let victim = |round: usize| format!("victim{round}@example.com");
    let line = |round| {
        let line = json!({ "emails": [{ "email": victim(round) }], "password_hash": WEAK });
        format!("{line}\n")
    };
    let lines: String = (0..ROUNDS).map(line).collect();
    std::fs::write(installation.file("users.jsonl"), lines).unwrap();
    let app = field.keys.app.as_str();
    let import = ["users", "import", app, "test", "users.jsonl"];
    tokio::task::block_in_place(|| installation.admin(&import));
    let mut sessions = 0;
    for round in 0..ROUNDS {
        let asked = json!({ "email": victim(round) });
        let path = "/v1/auth/otps/email/login_or_create";
        let asked = clients[0].post(path, &asked).await.ok();
        let user = text(&asked, "user_id");
        let code = captured_code(&clients[0], &victim(round)).await;
        let proof = json!({
            "method_id": asked["email_id"], "otp": code, "session_expires_in": 60,
        });
        let planted = json!({
            "user_id": user, "password": "x".repeat(72), "session_expires_in": 60,
        });
        let answers = all_at_once(&clients, PARALLEL, |number, api| {
            let (proof, planted) = (proof.clone(), planted.clone());
            async move {
                if number == round % PARALLEL {
                    api.post("/v1/auth/otps/verify", &proof).await
                } else {
                    api.post("/v1/auth/passwords/verify", &planted).await
                }
            }
        })
        .await;
        for (number, answer) in answers.into_iter().enumerate() {
            assert!(answer.status < 500, "round {round}: {}", answer.status);
            if answer.status != 200 {
                continue;
            }
            let is_victim = number == round % PARALLEL;
            sessions += usize::from(!is_victim);
            let token = json!({ "session_token": text(&answer.ok(), "session_token") });
            let open = clients[0].post("/v1/auth/sessions/verify", &token).await;
            assert_eq!(open.status == 200, is_victim, "round {round}, {number}");
        }
    }
    println!("CL-3: {sessions} planted sessions were there before the founding");
    field.stop("CL-3", ROUNDS, PARALLEL).await;
}
