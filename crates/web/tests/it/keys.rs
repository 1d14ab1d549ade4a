//! API keys: authentication, and what each key may do.

use serde_json::json;
use vestry_app::Principal;
use vestry_domain::Environment;
use vestry_domain::api_key::{ApiKeyKind, Scope};
use vestry_domain::ids::ApiKeyId;

use crate::harness::{Api, Client, Response, assert_response_snapshot, described, on_both};

on_both! {
    a_key_is_needed_before_anything_else
    every_invalid_key_gets_one_response
    a_revoked_key_stops_within_a_second
    a_rotated_key_and_its_successor_both_work
    the_scheme_may_be_spelled_in_any_case
    a_call_without_its_scope_is_refused
    no_scopes_means_all_but_export
    only_the_key_set_accepts_a_key_in_the_query
}

/// Requests with other errors too: without a valid key none of these is checked (B3).
async fn broken_requests(client: Client<'_>) -> Vec<Response> {
    vec![
        client.get("/v1/auth/users/x").await,
        client.post("/v1/auth/users/create", json!([])).await,
        client.send("PATCH", "/v1/wallets/create", None).await,
        client
            .send_bytes("POST", "/v1/auth/otps/verify", b"{")
            .await,
        client
            .send_bytes("POST", "/v1/auth/users/create", &vec![b'a'; 257 * 1024])
            .await,
        client.get("/v1/test/messages?wait=x").await,
        client.get("/v1/auth/jwks/default").await,
    ]
}

async fn a_key_is_needed_before_anything_else(api: &Api) {
    for operation in described().all().filter(|operation| operation.is_keyed) {
        let response = api
            .anonymous()
            .send(&operation.method, &operation.path, None)
            .await;
        response.refuses(401, "missing_api_key", None);
    }
    for response in broken_requests(api.anonymous()).await {
        response.refuses(401, "missing_api_key", None);
    }
    let empty = api.anonymous().header("Authorization", "");
    empty
        .get("/v1/wallets/list")
        .await
        .refuses(401, "missing_api_key", None);
    let refused = api.anonymous().get("/v1/wallets/list").await;
    assert_response_snapshot!(refused, @r#"
    {
      "body": {
        "error": {
          "code": "missing_api_key",
          "message": "send the App's secret key as `Authorization: Bearer sk_…`"
        },
        "error_message": "send the App's secret key as `Authorization: Bearer sk_…`",
        "error_type": "missing_api_key",
        "request_id": "[request id]",
        "status_code": 401
      },
      "status": 401
    }
    "#);
}

/// Malformed, unknown, revoked, of another kind: byte for byte the same.
async fn every_invalid_key_gets_one_response(api: &Api) {
    let public = api
        .key_of(&api.app, ApiKeyKind::Public, Environment::Test, &[])
        .await;
    let revoked = api.new_key(Environment::Test, &[]).await;
    revoke(api, &revoked).await;
    let known = api.new_key(Environment::Test, &[]).await;
    api.pass(1);
    let credentials = [
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        "Bearer sk_test_".to_owned(),
        "Bearer x".to_owned(),
        format!("Bearer sk_test_{}", "a".repeat(48)),
        format!("Bearer sk_live_{}", "a".repeat(48)),
        format!("Bearer sk_live_{}", known.trim_start_matches("sk_test_")),
        format!("Bearer {known}x"),
        format!("Bearer {}", &known[..known.len() - 1]),
        format!("Bearer {}", known.to_uppercase()),
        format!("Bearer {public}"),
        format!("Bearer {revoked}"),
        format!("Bearer {known} {known}"),
        format!("Basic {known}"),
        format!("PublicToken {public}"),
        known.clone(),
        "Bearer \u{ff}\u{fe}".to_owned(),
    ];
    let mut responses = Vec::new();
    for value in credentials {
        let client = api
            .anonymous()
            .header("X-Request-Id", "one")
            .header("Authorization", &value);
        responses.push(client.get("/v1/wallets/list").await);
    }
    // Two headers are not a key, even if one of them alone would be.
    let twice = api.with_key(&known).header("X-Request-Id", "one");
    responses.push(
        twice
            .header("Authorization", &format!("Bearer {known}"))
            .get("/v1/wallets/list")
            .await,
    );
    for response in &responses {
        response.refuses(401, "invalid_api_key", None);
        assert_eq!(response.text, responses[0].text);
    }
    assert_response_snapshot!(responses[0], @r#"
    {
      "body": {
        "error": {
          "code": "invalid_api_key",
          "message": "the API key is not valid"
        },
        "error_message": "the API key is not valid",
        "error_type": "invalid_api_key",
        "request_id": "one",
        "status_code": 401
      },
      "status": 401
    }
    "#);
    api.with_key(&known).get("/v1/wallets/list").await.ok();
}

/// The id of a key, by the part that is stored for display.
async fn id_of(api: &Api, key: &str) -> ApiKeyId {
    let keys = api
        .service
        .list_api_keys(Principal::cli(), api.app.id.into())
        .await
        .unwrap();
    let mut found = keys
        .iter()
        .filter(|record| key.ends_with(&record.last_four));
    let id = found.next().unwrap().id;
    assert!(
        found.next().is_none(),
        "two keys with the same last characters"
    );
    id
}

async fn revoke(api: &Api, key: &str) {
    let id = id_of(api, key).await;
    api.service
        .revoke_api_key(Principal::cli(), api.app.id.into(), id)
        .await
        .unwrap();
}

/// R12: a lookup is valid for the rest of its second.
async fn a_revoked_key_stops_within_a_second(api: &Api) {
    api.pass(1);
    let key = api.new_key(Environment::Test, &[]).await;
    let client = api.with_key(&key);
    client.get("/v1/wallets/list").await.ok();
    revoke(api, &key).await;
    api.pass(1);
    client
        .get("/v1/wallets/list")
        .await
        .refuses(401, "invalid_api_key", None);
    for response in broken_requests(client).await {
        response.refuses(401, "invalid_api_key", None);
    }
}

async fn a_rotated_key_and_its_successor_both_work(api: &Api) {
    let old = api.new_key(Environment::Live, &[Scope::WalletsRead]).await;
    let id = id_of(api, &old).await;
    let new = api
        .service
        .rotate_api_key(Principal::cli(), api.app.id.into(), id)
        .await
        .unwrap();
    for key in [&old, new.key.expose()] {
        let client = api.with_key(key);
        client.get("/v1/wallets/list").await.ok();
        let refused = client
            .post("/v1/auth/users/create", json!({"email": "a@example.com"}))
            .await;
        refused.refuses(403, "key_not_allowed", Some("scope"));
    }
    api.service
        .revoke_api_key(Principal::cli(), api.app.id.into(), id)
        .await
        .unwrap();
    api.pass(1);
    api.with_key(&old)
        .get("/v1/wallets/list")
        .await
        .refuses(401, "invalid_api_key", None);
    api.with_key(new.key.expose())
        .get("/v1/wallets/list")
        .await
        .ok();
}

async fn the_scheme_may_be_spelled_in_any_case(api: &Api) {
    let key = api.new_key(Environment::Test, &[]).await;
    for value in [
        format!("bearer {key}"),
        format!("BEARER {key}"),
        format!("Bearer   {key}"),
    ] {
        api.anonymous()
            .header("Authorization", &value)
            .get("/v1/wallets/list")
            .await
            .ok();
    }
}

/// Each call once with every scope but its own, and once with its own.
async fn a_call_without_its_scope_is_refused(api: &Api) {
    let user = format!("user_{}", "0".repeat(27));
    let wallet = format!("wallet_{}", "0".repeat(27));
    let calls = [
        (
            Scope::UsersWrite,
            "POST",
            "/v1/auth/users/create".to_owned(),
            json!({"email": "ada@example.com"}),
        ),
        (
            Scope::UsersRead,
            "GET",
            format!("/v1/auth/users/{user}"),
            json!(null),
        ),
        (
            Scope::AuthWrite,
            "POST",
            "/v1/auth/otps/email/login_or_create".to_owned(),
            json!({"email": "ada@example.com"}),
        ),
        (
            Scope::AuthWrite,
            "POST",
            "/v1/auth/otps/email/send".to_owned(),
            json!({"email": "ada@example.com"}),
        ),
        (
            Scope::AuthWrite,
            "POST",
            "/v1/auth/otps/verify".to_owned(),
            json!({"method_id": format!("email_{}", "0".repeat(27)), "otp": "1"}),
        ),
        (
            Scope::AuthWrite,
            "POST",
            "/v1/auth/passwords/verify".to_owned(),
            json!({"user_id": user, "password": "x"}),
        ),
        (
            Scope::AuthWrite,
            "POST",
            "/v1/auth/passwords/session/update".to_owned(),
            json!({"session_token": "x", "password": "x"}),
        ),
        (
            Scope::AuthWrite,
            "POST",
            "/v1/auth/passwords/strength_check".to_owned(),
            json!({"password": "x"}),
        ),
        (
            Scope::SessionsWrite,
            "POST",
            "/v1/auth/sessions/verify".to_owned(),
            json!({"session_token": "x"}),
        ),
        (
            Scope::SessionsWrite,
            "GET",
            format!("/v1/auth/sessions/list?user_id={user}"),
            json!(null),
        ),
        (
            Scope::SessionsWrite,
            "DELETE",
            "/v1/auth/sessions/delete".to_owned(),
            json!({"session_token": "x"}),
        ),
        (
            Scope::SessionsWrite,
            "DELETE",
            "/v1/auth/sessions/delete_all".to_owned(),
            json!({"user_id": user}),
        ),
        (
            Scope::WalletsWrite,
            "POST",
            "/v1/wallets/create".to_owned(),
            json!({"user_id": user, "wallet_type": "ethereum"}),
        ),
        (
            Scope::WalletsRead,
            "GET",
            "/v1/wallets/list".to_owned(),
            json!(null),
        ),
        (
            Scope::WalletsRead,
            "GET",
            format!("/v1/wallets/{wallet}"),
            json!(null),
        ),
        (
            Scope::AuthWrite,
            "GET",
            "/v1/test/messages".to_owned(),
            json!(null),
        ),
        (
            Scope::AuthWrite,
            "DELETE",
            "/v1/test/messages".to_owned(),
            json!(null),
        ),
        (
            Scope::AuthWrite,
            "GET",
            "/v1/test/clock".to_owned(),
            json!(null),
        ),
        (
            Scope::AuthWrite,
            "POST",
            "/v1/test/clock".to_owned(),
            json!({"advance_seconds": 1}),
        ),
        (
            Scope::AuthWrite,
            "DELETE",
            "/v1/test/clock".to_owned(),
            json!(null),
        ),
        (
            Scope::WalletsSign,
            "POST",
            format!("/v1/wallets/{wallet}/sign_message"),
            json!({"message": "test"}),
        ),
    ];
    for (scope, method, path, body) in calls {
        let others: Vec<Scope> = Scope::ALL
            .into_iter()
            .filter(|other| *other != scope)
            .collect();
        let (without, with) = (
            api.new_key(Environment::Test, &others).await,
            api.new_key(Environment::Test, &[scope]).await,
        );
        let body = (!body.is_null()).then_some(body);
        let refused = api
            .with_key(&without)
            .send(method, &path, body.clone())
            .await;
        refused.refuses(403, "key_not_allowed", Some("scope"));
        assert!(
            refused.text_at("/error/message").contains(scope.as_str()),
            "{}",
            refused.text
        );
        let passed = api.with_key(&with).send(method, &path, body).await;
        assert_ne!(passed.status, 403, "{method} {path}: {}", passed.text);
    }
}

async fn no_scopes_means_all_but_export(api: &Api) {
    let key = api
        .new_key(Environment::Test, &[Scope::WalletsExport])
        .await;
    api.with_key(&key)
        .get("/v1/wallets/list")
        .await
        .refuses(403, "key_not_allowed", Some("scope"));
    api.test().get("/v1/wallets/list").await.ok();
}

async fn only_the_key_set_accepts_a_key_in_the_query(api: &Api) {
    let key = api.new_key(Environment::Test, &[]).await;
    let by_header = api.with_key(&key).get("/v1/auth/jwks/default").await.ok();
    let by_query = api
        .anonymous()
        .get(&format!("/v1/auth/jwks/default?api_key={key}"))
        .await
        .ok();
    assert_eq!(by_query.body, by_header.body);
    let unknown = format!("/v1/auth/jwks/default?api_key=sk_test_{}", "a".repeat(48));
    api.anonymous()
        .get(&unknown)
        .await
        .refuses(401, "invalid_api_key", None);
    api.anonymous()
        .get("/v1/auth/jwks/default?api_key=")
        .await
        .refuses(401, "missing_api_key", None);
    let other = format!("/v1/wallets/list?api_key={key}");
    api.anonymous()
        .get(&other)
        .await
        .refuses(401, "missing_api_key", None);
}
