//! Stored responses follow the current rules (M-9): a repeated request gets its first response only while the request would still be
//! allowed. Used-up codes and tokens do not matter.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_contract::sealing::Recipient;
use vestry_domain::Environment;
use vestry_domain::api_key::Scope;

use crate::flows::{sent, signed_in, verified};
use crate::harness::{Api, Client, Response, on_both};

on_both! {
    m_9_a_stored_signature_needs_a_wallet_that_signs
    m_9_a_stored_export_needs_an_app_that_allows_export
    m_9_a_stored_response_needs_a_key_that_may_call
    m_9_a_call_within_a_session_needs_its_user
    m_9_what_a_call_itself_used_up_or_disabled_does_not_count
    m_9_a_deleted_user_takes_the_stored_responses_along
    m_9_a_repeat_creates_no_deleted_user_again
    m_9_the_deletion_of_a_user_leaves_other_responses_alone
}

fn is_replay(response: &Response) -> bool {
    response.header("idempotent-replayed") == Some("true")
}

/// A completed request with its stored response.
struct Asked {
    key: String,
    method: &'static str,
    path: String,
    body: Value,
    text: String,
}

impl Asked {
    async fn first(
        client: Client<'_>,
        key: &str,
        method: &'static str,
        path: &str,
        body: Value,
    ) -> Self {
        let keyed = client.header("Idempotency-Key", key);
        let response = keyed.send(method, path, Some(body.clone())).await.ok();
        assert!(!is_replay(&response), "{path}");
        Self {
            key: key.to_owned(),
            method,
            path: path.to_owned(),
            body,
            text: response.text,
        }
    }

    async fn again(&self, client: Client<'_>) -> Response {
        let keyed = client.header("Idempotency-Key", &self.key);
        let body = Some(self.body.clone());
        keyed.send(self.method, &self.path, body).await
    }

    async fn is_replayed(&self, client: Client<'_>) {
        let response = self.again(client).await.ok();
        assert!(is_replay(&response), "{}", self.path);
        assert_eq!(response.text, self.text, "{}", self.path);
    }

    async fn is_refused(&self, client: Client<'_>, status: u16, code: &str) {
        let response = self.again(client).await;
        assert!(!is_replay(&response), "{}: {}", self.path, response.text);
        let found = (response.status, response.code());
        assert_eq!(found, (status, code), "{}: {}", self.path, response.text);
    }
}

struct Owned {
    user: String,
    wallet: String,
}

async fn owned(api: &Api) -> Owned {
    let user = sent(api, &api.test(), "ada@example.com").await.user_id;
    let request = json!({"user_id": user, "wallet_type": "ethereum"});
    let made = api.test().post("/v1/wallets/create", request).await.ok();
    let wallet = format!("/v1/wallets/{}", made.text_at("/id"));
    Owned { user, wallet }
}

async fn call(api: &Api, path: &str) {
    api.test().post(path, json!({})).await.ok();
}

async fn set(api: &Api, setting: &str, value: &str) {
    let change = [(setting.to_owned(), value.to_owned())];
    api.service
        .set_app(Principal::cli(), api.app.id, &change)
        .await
        .unwrap();
    // Settings are read once a second.
    api.pass(1);
}

/// Attack 27, CH-7: a signature is returned again while the wallet could sign, but not while it is disabled or after it is deleted.
async fn m_9_a_stored_signature_needs_a_wallet_that_signs(api: &Api) {
    let Owned { user, wallet } = owned(api).await;
    let transaction = json!({
        "to": "0x8ba1f109551bD432803012645Ac136ddd64DBA72", "value": "0x1", "nonce": "0x0", "gas": "0x5208",
        "maxFeePerGas": "0x2", "maxPriorityFeePerGas": "0x1", "chainId": "0xaa36a7",
    });
    let bodies = [
        ("sign_message", json!({"message": "hi"})),
        ("sign_transaction", json!({"eth_transaction": transaction})),
        (
            "rpc",
            json!({"method": "personal_sign", "params": {"message": "hi"}}),
        ),
    ];
    let mut asked = Vec::new();
    for (name, body) in bodies {
        let path = format!("{wallet}/{name}");
        asked.push(Asked::first(api.test(), name, "POST", &path, body).await);
    }
    for _ in 0..2 {
        call(api, &format!("{wallet}/disable")).await;
        for asked in &asked {
            asked.is_refused(api.test(), 403, "wallet_disabled").await;
        }
        call(api, &format!("{wallet}/enable")).await;
        for asked in &asked {
            asked.is_replayed(api.test()).await;
        }
    }
    let delete = format!("/v1/auth/users/{user}/delete");
    api.test().delete(&delete, None).await.ok();
    for asked in &asked {
        let gone = asked.again(api.test()).await;
        assert!(!is_replay(&gone), "{}", gone.text);
        gone.refuses(404, "not_found", Some("wallet"));
    }
}

/// An earlier export is not a reason to return the private key again.
async fn m_9_a_stored_export_needs_an_app_that_allows_export(api: &Api) {
    let Owned { wallet, .. } = owned(api).await;
    set(api, "wallet_export", "true").await;
    let exporter = api
        .new_key(Environment::Test, &[Scope::WalletsExport])
        .await;
    let exporter = || api.with_key(&exporter);
    let recipient = STANDARD.encode(Recipient::fresh().public_key);
    let body = json!({"recipient_public_key": recipient, "entropy_type": "private_key"});
    let export = format!("{wallet}/export");
    let asked = Asked::first(exporter(), "export", "POST", &export, body).await;
    asked.is_replayed(exporter()).await;
    set(api, "wallet_export", "false").await;
    asked.is_refused(exporter(), 403, "feature_disabled").await;
    set(api, "wallet_export", "true").await;
    call(api, &format!("{wallet}/disable")).await;
    asked.is_refused(exporter(), 403, "wallet_disabled").await;
    call(api, &format!("{wallet}/enable")).await;
    asked.is_replayed(exporter()).await;
    // A key without scopes has all but this one.
    asked.is_refused(api.test(), 403, "key_not_allowed").await;
}

/// A key that may no longer make the call gets its refusal. One that may gets the stored response, whatever its other rights.
async fn m_9_a_stored_response_needs_a_key_that_may_call(api: &Api) {
    let body = json!({"email": "ada@example.com"});
    let create = "/v1/auth/users/create";
    let first = api.new_key(Environment::Test, &[Scope::UsersWrite]).await;
    let asked = Asked::first(api.with_key(&first), "order-17", "POST", create, body).await;
    let narrow = api.new_key(Environment::Test, &[Scope::UsersRead]).await;
    let refused = asked.is_refused(api.with_key(&narrow), 403, "key_not_allowed");
    refused.await;
    asked.is_replayed(api.test()).await;
    let keys = api
        .service
        .list_api_keys(Principal::cli(), api.app.id.into())
        .await
        .unwrap();
    let newest = keys.iter().filter(|key| key.scopes == [Scope::UsersWrite]);
    let id = newest.map(|key| key.id).next().unwrap();
    api.service
        .revoke_api_key(Principal::cli(), api.app.id.into(), id)
        .await
        .unwrap();
    // Keys are read once a second.
    api.pass(1);
    let refused = asked.is_refused(api.with_key(&first), 401, "invalid_api_key");
    refused.await;
    asked.is_replayed(api.test()).await;
}

/// The session ended when the user was disabled, and the results of its use are no longer returned.
async fn m_9_a_call_within_a_session_needs_its_user(api: &Api) {
    let session = signed_in(api, "ada@example.com").await;
    let user = session.text_at("/user_id");
    let token = session.text_at("/session_token");
    let body = json!({"session_token": token, "password": "correct horse battery"});
    let path = "/v1/auth/passwords/session/update";
    let asked = Asked::first(api.test(), "password", "POST", path, body).await;
    asked.is_replayed(api.test()).await;
    call(api, &format!("/v1/auth/users/{user}/disable")).await;
    asked.is_refused(api.test(), 401, "invalid_session").await;
}

/// A client that lost the response of a successful call gets it, even if the call itself prevents its own repetition.
async fn m_9_what_a_call_itself_used_up_or_disabled_does_not_count(api: &Api) {
    let Owned { user, wallet } = owned(api).await;
    api.pass(60);
    let code = sent(api, &api.test(), "ada@example.com").await;
    let session = verified(&api.test(), &code, json!({"session_expires_in": 60})).await;
    let token = session.ok().text_at("/session_token");
    api.pass(60);
    let code = sent(api, &api.test(), "ada@example.com").await;
    let again = json!({"method_id": code.method_id, "otp": code.code, "session_token": token});
    let calls = [
        // The code is used up, and the token was replaced.
        ("POST", "/v1/auth/otps/verify".to_owned(), again),
        ("POST", format!("{wallet}/disable"), json!({})),
        ("POST", format!("/v1/auth/users/{user}/unlock"), json!({})),
        (
            "DELETE",
            "/v1/auth/sessions/delete_all".to_owned(),
            json!({"user_id": user}),
        ),
    ];
    for (number, (method, path, body)) in calls.into_iter().enumerate() {
        let asked = Asked::first(api.test(), &number.to_string(), method, &path, body).await;
        asked.is_replayed(api.test()).await;
    }
    for (method, name) in [("POST", "disable"), ("DELETE", "delete")] {
        let path = format!("/v1/auth/users/{user}/{name}");
        let asked = Asked::first(api.test(), name, method, &path, json!({})).await;
        asked.is_replayed(api.test()).await;
    }
}

/// A user, and requests with idempotency keys for the user's wallet, authenticator app, link and code.
async fn asked_about(api: &Api, email: &str) -> (String, Vec<Asked>) {
    let test = || api.test();
    let create = json!({"email": email, "include_user": true});
    let created = Asked::first(test(), "c", "POST", "/v1/auth/users/create", create).await;
    let body: Value = serde_json::from_str(&created.text).unwrap();
    let user = body["user_id"].as_str().unwrap().to_owned();
    let of_user = |rest: &str| format!("/v1/auth/users/{user}/{rest}");
    let named = json!({"last_name": "Lovelace", "metadata": {"plan": "pro"}});
    let wallet = json!({"user_id": user, "wallet_type": "solana"});
    let calls = [
        ("PUT", of_user("update"), named),
        ("POST", of_user("disable"), json!({"reason": "chargeback"})),
        ("POST", of_user("enable"), json!({})),
        ("POST", of_user("unlock"), json!({})),
        ("POST", "/v1/wallets/create".to_owned(), wallet),
        (
            "POST",
            "/v1/auth/totps/create".to_owned(),
            json!({"user_id": user}),
        ),
        (
            "POST",
            "/v1/auth/magic_links/create".to_owned(),
            json!({"user_id": user}),
        ),
        (
            "POST",
            "/v1/auth/otps/email/send".to_owned(),
            json!({"email": email}),
        ),
    ];
    let mut asked = vec![created];
    for (number, (method, path, body)) in calls.into_iter().enumerate() {
        let key = number.to_string();
        asked.push(Asked::first(test(), &key, method, &path, body).await);
    }
    (user, asked)
}

async fn deletes(api: &Api, user: &str) {
    let path = format!("/v1/auth/users/{user}/delete");
    api.test().delete(&path, None).await.ok();
}

/// Deleting a user erases what calls returned about it. A repeat of any of them is refused like a new call.
async fn m_9_a_deleted_user_takes_the_stored_responses_along(api: &Api) {
    let (user, asked) = asked_about(api, "ada@example.com").await;
    for asked in &asked {
        asked.is_replayed(api.test()).await;
    }
    deletes(api, &user).await;
    for round in 0..2 {
        for asked in &asked {
            let refused = asked.again(api.test()).await;
            let said = format!("{round} {}: {}", asked.path, refused.text);
            assert_eq!(refused.status, 404, "{said}");
            assert_eq!(refused.code(), "not_found", "{said}");
            assert!(!refused.text.contains("ada@example.com"), "{said}");
            // The refusal is stored like that of any other request.
            assert_eq!(is_replay(&refused), round == 1, "{said}");
        }
    }
    let found = api.test().post("/v1/auth/users/search", json!({})).await;
    assert_eq!(found.ok().body["total_count"], 0);
}

/// An erased user stays erased: repeating the call that created the user does not create another one.
async fn m_9_a_repeat_creates_no_deleted_user_again(api: &Api) {
    let starts = [
        ("/v1/auth/users/create", "email", "ada@example.com"),
        (
            "/v1/auth/otps/email/login_or_create",
            "email",
            "bob@example.com",
        ),
        (
            "/v1/auth/magic_links/email/login_or_create",
            "email",
            "cyd@example.com",
        ),
        (
            "/v1/auth/otps/sms/login_or_create",
            "phone_number",
            "+14155552671",
        ),
    ];
    crate::attacks::people::with_urls(api).await;
    for (path, field, value) in starts {
        let body = json!({ field: value });
        let asked = Asked::first(api.test(), path, "POST", path, body.clone()).await;
        let response: Value = serde_json::from_str(&asked.text).unwrap();
        deletes(api, response["user_id"].as_str().unwrap()).await;
        let refused = asked.again(api.test()).await;
        refused.refuses(404, "not_found", Some("user"));
        assert!(!is_replay(&refused));
        let found = api.test().post("/v1/auth/users/search", json!({})).await;
        assert_eq!(found.ok().body["total_count"], 0, "{path}");
        // Another request may.
        let other = api.test().post(path, body).await.ok();
        deletes(api, &other.text_at("/user_id")).await;
        api.pass(60);
    }
}

async fn m_9_the_deletion_of_a_user_leaves_other_responses_alone(api: &Api) {
    let body = json!({"email": "bob@example.com", "metadata": {"friend": "ada@example.com"}});
    let path = "/v1/auth/users/create";
    let bob = Asked::first(api.test(), "bob", "POST", path, body).await;
    let (user, _) = asked_about(api, "ada@example.com").await;
    let delete = format!("/v1/auth/users/{user}/delete");
    let deleted = Asked::first(api.test(), "delete", "DELETE", &delete, json!({})).await;
    bob.is_replayed(api.test()).await;
    deleted.is_replayed(api.test()).await;
}
