//! `Idempotency-Key` (API-19, R13).

use futures_util::future::join_all;
use serde_json::{Value, json};
use vestry_domain::Environment;
use vestry_domain::api_key::Scope;

use crate::flows::{sent, signed_in};
use crate::harness::{Api, Client, Response, on_both};

on_both! {
    r13_a_repeat_gets_the_first_response
    r13_another_request_with_the_key_is_refused
    environments_have_their_own_keys
    a_key_with_fewer_rights_gets_no_stored_response
    refusals_are_kept
    undecided_responses_are_not_stored
    failures_release_the_key
    an_invalid_idempotency_key_is_refused
    read_only_calls_ignore_the_key
    every_kind_of_change_is_replayed
    attack_27_neither_key_nor_response_is_stored_in_plain_text
    attack_28_a_lost_response_is_returned_again
    r13_parallel_duplicates_have_one_effect
}

const CREATE: &str = "/v1/auth/users/create";
const DAY: i64 = 86_400;

/// The client with an idempotency key.
pub(crate) fn keyed<'a>(client: Client<'a>, key: &str) -> Client<'a> {
    client.header("Idempotency-Key", key)
}

pub(crate) fn is_replay(response: &Response) -> bool {
    let replayed = response.header("idempotent-replayed");
    assert!(replayed.is_none_or(|value| value == "true"));
    replayed.is_some()
}

async fn users(client: &Client<'_>) -> Value {
    let found = client.post("/v1/auth/users/search", json!({})).await.ok();
    found.body["total_count"].clone()
}

/// Everything in a refusal except its request id.
fn refusal(response: &Response) -> Value {
    let mut body = response.body.clone();
    body.as_object_mut().unwrap().remove("request_id");
    body
}

/// Byte for byte, up to the last second of a day by the environment's clock; then the key counts as new.
async fn r13_a_repeat_gets_the_first_response(api: &Api) {
    let request = json!({"email": "ada@example.com", "include_user": true});
    let client = keyed(api.test(), "order-17");
    let first = client.post(CREATE, request.clone()).await.ok();
    assert!(!is_replay(&first));
    for later in [0, 1, DAY - 2] {
        api.pass(later);
        let again = client.post(CREATE, request.clone()).await.ok();
        assert!(is_replay(&again));
        assert_eq!(again.text, first.text);
        assert_ne!(again.header("x-request-id"), first.header("x-request-id"));
    }
    assert_eq!(users(&api.test()).await, 1);
    api.pass(1);
    let late = client.post(CREATE, request).await;
    late.refuses(409, "duplicate", Some("email"));
    assert!(!is_replay(&late));
}

async fn r13_another_request_with_the_key_is_refused(api: &Api) {
    let client = keyed(api.test(), "order-17");
    let request = json!({"email": "ada@example.com"});
    let first = client.post(CREATE, request.clone()).await.ok();
    let user = first.text_at("/user_id");
    let login = "/v1/auth/otps/email/login_or_create";
    for (method, path, body) in [
        (
            "POST",
            CREATE.to_owned(),
            json!({"email": "eve@example.com"}),
        ),
        (
            "POST",
            CREATE.to_owned(),
            json!({"email": "ada@example.com", "wallet_type": ""}),
        ),
        ("POST", format!("{CREATE}?x"), request.clone()),
        ("POST", login.to_owned(), request.clone()),
        (
            "PUT",
            format!("/v1/auth/users/{user}/update"),
            request.clone(),
        ),
        ("DELETE", format!("/v1/auth/users/{user}/delete"), json!({})),
    ] {
        let refused = client.send(method, &path, Some(body)).await;
        refused.refuses(409, "idempotency_key_reused", None);
        assert!(!is_replay(&refused));
        assert_eq!(refused.header("retry-after"), None);
    }
    assert_eq!(users(&api.test()).await, 1);
    assert_eq!(client.post(CREATE, request).await.ok().text, first.text);
}

async fn environments_have_their_own_keys(api: &Api) {
    let request = json!({"email": "ada@example.com"});
    for client in [api.test(), api.live(), api.other_app().await] {
        let first = keyed(client.clone(), "order-17")
            .post(CREATE, request.clone())
            .await;
        assert!(!is_replay(&first.clone().ok()));
        let again = keyed(client, "order-17")
            .post(CREATE, request.clone())
            .await;
        assert!(is_replay(&again));
        assert_eq!(again.text, first.text);
    }
}

/// A response to a key that may sign is not returned to one that may not, and a key that lacks a scope spoils nothing.
async fn a_key_with_fewer_rights_gets_no_stored_response(api: &Api) {
    let request = json!({"email": "ada@example.com"});
    let reader = api.new_key(Environment::Test, &[Scope::UsersRead]).await;
    let reader = keyed(api.with_key(&reader), "order-17");
    let refused = reader.post(CREATE, request.clone()).await;
    refused.refuses(403, "key_not_allowed", Some("scope"));
    let writer = keyed(api.test(), "order-17");
    let first = writer.post(CREATE, request.clone()).await.ok();
    assert!(!is_replay(&first));
    let refused = reader.post(CREATE, request.clone()).await;
    refused.refuses(403, "key_not_allowed", Some("scope"));
    // Another key with the same rights works as well: keys are rotated.
    let rotated = api.new_key(Environment::Test, &[]).await;
    let again = keyed(api.with_key(&rotated), "order-17");
    assert_eq!(again.post(CREATE, request).await.ok().text, first.text);
}

/// A decided refusal is kept, even if the same request without the key would now be accepted.
async fn refusals_are_kept(api: &Api) {
    let request = json!({"email": "ada@example.com"});
    let ada = api.test().post(CREATE, request.clone()).await.ok();
    let client = keyed(api.test(), "twice");
    let first = client.post(CREATE, request.clone()).await;
    first.refuses(409, "duplicate", Some("email"));
    let path = format!("/v1/auth/users/{}/delete", ada.text_at("/user_id"));
    let deleted = keyed(api.test(), "gone").delete(&path, None).await.ok();
    let again = client.post(CREATE, request.clone()).await;
    assert!(is_replay(&again));
    assert_eq!(refusal(&again), refusal(&first));
    let gone = keyed(api.test(), "gone").delete(&path, None).await.ok();
    assert_eq!(gone.text, deleted.text);
    api.test()
        .delete(&path, None)
        .await
        .refuses(404, "not_found", Some("user"));
    let invalid = keyed(api.test(), "invalid");
    for replayed in [false, true] {
        let refused = invalid.post(CREATE, json!({"email": "no address"})).await;
        refused.refuses(400, "invalid_field", Some("email"));
        assert_eq!(is_replay(&refused), replayed);
    }
    keyed(api.test(), "once-more")
        .post(CREATE, request)
        .await
        .ok();
}

async fn undecided_responses_are_not_stored(api: &Api) {
    // 401: the response about presented credentials is always current.
    let client = keyed(api.test(), "password");
    let update = json!({"session_token": "x".repeat(64), "password": "a long enough password"});
    for _ in 0..2 {
        let path = "/v1/auth/passwords/session/update";
        let refused = client.post(path, update.clone()).await;
        refused.refuses(401, "invalid_session", None);
        assert!(!is_replay(&refused));
    }
    // 415 and 413: the request never reached a use case. The same key works once the request is valid.
    let client = keyed(api.test(), "form");
    let body = br#"{"email": "form@example.com"}"#;
    let refused = client.send_bytes("POST", CREATE, body).await;
    refused.refuses(415, "unsupported_media_type", None);
    let json = client.clone().header("Content-Type", "application/json");
    let large = vec![b' '; 256 * 1024 + 1];
    let refused = json.send_bytes("POST", CREATE, &large).await;
    refused.refuses(413, "body_too_large", None);
    let taken = json.send_bytes("POST", CREATE, body).await;
    assert!(!is_replay(&taken.ok()));
    // 429: after the retry delay the request runs.
    let login = "/v1/auth/otps/email/login_or_create";
    let request = json!({"email": "often@example.com"});
    while api.test().post(login, request.clone()).await.status == 200 {
        // Any sooner, it would only repeat the one before.
        api.pass(20);
    }
    let client = keyed(api.test(), "patient");
    let refused = client.post(login, request.clone()).await;
    refused.refuses(429, "too_many_attempts", None);
    let wait: i64 = refused.header("retry-after").unwrap().parse().unwrap();
    api.pass(wait);
    let first = client.post(login, request.clone()).await.ok();
    assert!(!is_replay(&first));
    let again = client.post(login, request).await.ok();
    assert!(is_replay(&again) && again.text == first.text);
}

/// 503: nothing was done, so the same request runs when the service is available again.
async fn failures_release_the_key(api: &Api) {
    // Responses are sealed under the sign-in key, which is there; the root key for creating wallets is not.
    let login = json!({"email": "ada@example.com"});
    let path = "/v1/auth/otps/email/login_or_create";
    let user = keyed(api.test(), "login").post(path, login).await.ok();
    let request = json!({"user_id": user.text_at("/user_id"), "wallet_type": "ethereum"});
    let client = keyed(api.test(), "wallet");
    api.vault.set_gone(true);
    for _ in 0..2 {
        let refused = client.post("/v1/wallets/create", request.clone()).await;
        refused.refuses(503, "sealed", None);
        assert!(!is_replay(&refused));
    }
    api.vault.set_gone(false);
    let made = client
        .post("/v1/wallets/create", request.clone())
        .await
        .ok();
    assert!(!is_replay(&made));
    let again = client.post("/v1/wallets/create", request).await.ok();
    assert!(is_replay(&again) && again.text == made.text);
}

async fn an_invalid_idempotency_key_is_refused(api: &Api) {
    let request = json!({"email": "ada@example.com"});
    let param = Some("Idempotency-Key");
    for bad in ["", "a b", "ké", "a\tb", &"k".repeat(256)] {
        let refused = keyed(api.test(), bad).post(CREATE, request.clone()).await;
        refused.refuses(400, "invalid_field", param);
    }
    let two = keyed(keyed(api.test(), "one"), "two");
    let refused = two.post(CREATE, request.clone()).await;
    refused.refuses(400, "invalid_field", param);
    assert_eq!(users(&api.test()).await, 0);
    let longest = "~".repeat(255);
    keyed(api.test(), &longest).post(CREATE, request).await.ok();
}

/// Their responses are always current: an ended session is not reported as live.
async fn read_only_calls_ignore_the_key(api: &Api) {
    let session = signed_in(api, "ada@example.com").await;
    let token = json!({"session_token": session.text_at("/session_token")});
    let client = keyed(api.test(), "same");
    let verify = "/v1/auth/sessions/verify";
    client.post(verify, token.clone()).await.ok();
    assert_eq!(users(&client).await, 1);
    let ended = client.delete("/v1/auth/sessions/delete", Some(token.clone()));
    assert!(!is_replay(&ended.await.ok()));
    let refused = client.post(verify, token).await;
    refused.refuses(401, "invalid_session", None);
}

/// Created, signed, verified, updated, ended: sent twice each, done once.
async fn every_kind_of_change_is_replayed(api: &Api) {
    let twice = async |key: &str, method: &str, path: &str, body: Value| {
        let client = keyed(api.test(), key);
        let first = client.send(method, path, Some(body.clone())).await.ok();
        let again = client.send(method, path, Some(body)).await.ok();
        assert!(!is_replay(&first) && is_replay(&again), "{path}");
        assert_eq!(again.text, first.text, "{path}");
        first
    };
    let code = sent(api, &api.test(), "ada@example.com").await;
    let user = code.user_id.clone();
    let verify = json!({"method_id": code.method_id, "otp": code.code, "session_expires_in": 60});
    let session = twice("verify", "POST", "/v1/auth/otps/verify", verify).await;
    for (number, wallet_type) in ["ethereum", "solana", "bitcoin", "DOT", "XLM"]
        .iter()
        .enumerate()
    {
        let create = json!({"user_id": user, "wallet_type": wallet_type});
        let wallet = twice(
            &format!("create-{number}"),
            "POST",
            "/v1/wallets/create",
            create,
        )
        .await;
        let path = format!("/v1/wallets/{}/sign_message", wallet.text_at("/id"));
        // Two sr25519 signatures of one message are never equal.
        twice(
            &format!("sign-{number}"),
            "POST",
            &path,
            json!({"message": "test"}),
        )
        .await;
    }
    let update = json!({"first_name": "Ada", "metadata": {"plan": "pro"}});
    let path = format!("/v1/auth/users/{user}/update");
    twice("update", "PUT", &path, update).await;
    let totp = twice(
        "totp",
        "POST",
        "/v1/auth/totps/create",
        json!({"user_id": user}),
    )
    .await;
    let path = format!("/v1/auth/users/totps/{}/delete", totp.text_at("/totp_id"));
    twice("delete", "DELETE", &path, json!({})).await;
    let end = json!({"session_token": session.text_at("/session_token")});
    twice("end", "DELETE", "/v1/auth/sessions/delete", end).await;
}

/// Keys contain order numbers, requests contain passwords and responses contain tokens: the database holds none of them as plain text.
async fn attack_27_neither_key_nor_response_is_stored_in_plain_text(api: &Api) {
    let code = sent(api, &api.test(), "ada@example.com").await;
    let verify = json!({"method_id": code.method_id, "otp": code.code, "session_expires_in": 60});
    let client = keyed(api.test(), "canary-of-a-key");
    let session = client.post("/v1/auth/otps/verify", verify).await.ok();
    let password = "canary of a password";
    let set = json!({"session_token": session.text_at("/session_token"), "password": password});
    let client = keyed(api.test(), "another-canary");
    let path = "/v1/auth/passwords/session/update";
    client.post(path, set).await.ok();
    let dump = api.place.dump().await;
    let holds = |text: &str| {
        let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        [text.to_owned(), hex.to_uppercase(), hex]
            .iter()
            .any(|form| {
                dump.windows(form.len())
                    .any(|window| window == form.as_bytes())
            })
    };
    assert!(holds("ada@example.com"), "the dump is one");
    for secret in [
        "canary-of-a-key",
        "another-canary",
        password,
        &session.text_at("/session_token"),
        &session.text_at("/session_jwt"),
    ] {
        assert!(!holds(secret), "the dump holds {secret}");
    }
}

/// The client disconnects before it reads and repeats the call with the key: it gets the response that it missed.
async fn attack_28_a_lost_response_is_returned_again(api: &Api) {
    for number in 0..20 {
        let request = json!({"email": format!("lost-{number}@example.com")});
        let body = request.to_string();
        let client = keyed(api.test(), &format!("lost-{number}"));
        let mut lost = api.connect().await;
        let json = client.clone().header("Content-Type", "application/json");
        let head = json.head("POST", CREATE, body.len());
        lost.send(format!("{head}{body}").as_bytes()).await;
        drop(lost);
        let first = final_response(&client, &request).await;
        let again = final_response(&client, &request).await;
        assert!(is_replay(&again));
        assert_eq!(again.text, first.text);
    }
    assert_eq!(users(&api.test()).await, 20);
}

/// The final response to the request. While it runs, the only error allowed is that it is still running.
async fn final_response(client: &Client<'_>, request: &Value) -> Response {
    loop {
        let response = client.post(CREATE, request.clone()).await;
        if response.status == 200 {
            return response;
        }
        response.refuses(409, "idempotency_key_reused", None);
        assert_eq!(response.header("retry-after"), Some("1"));
    }
}

async fn r13_parallel_duplicates_have_one_effect(api: &Api) {
    for number in 0..4 {
        let request = json!({"email": format!("twin-{number}@example.com")});
        let client = keyed(api.test(), &format!("twin-{number}"));
        let twins = (0..50).map(|_| client.post(CREATE, request.clone()));
        let responses = join_all(twins).await;
        let (taken, waiting): (Vec<_>, Vec<_>) = responses
            .iter()
            .partition(|response| response.status == 200);
        for response in waiting {
            response.refuses(409, "idempotency_key_reused", None);
            assert_eq!(response.header("retry-after"), Some("1"));
        }
        let first = taken.iter().filter(|response| !is_replay(response));
        assert_eq!(first.count(), 1);
        assert!(taken.iter().all(|response| response.text == taken[0].text));
    }
    assert_eq!(users(&api.test()).await, 4);
}
