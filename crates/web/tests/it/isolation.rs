//! Nothing of one App or environment is visible to another (I11, B4, API-3, attack 25).

use serde_json::{Value, json};

use crate::flows::{Sent, sent, signed_in, verified};
use crate::harness::{Api, Client, Response, described, on_both};

on_both! {
    b4_foreign_and_absent_objects_get_one_response
    s_17_the_test_environment_does_not_exist_for_live_keys
    the_same_address_is_two_people_in_two_environments
}

/// One object of each kind, by its name.
struct Names {
    user: String,
    wallet: String,
    session: String,
    token: String,
    jwt: String,
    code: Sent,
}

async fn own(api: &Api) -> Names {
    let signed_in = signed_in(api, "ada@example.com").await;
    let user = signed_in.text_at("/user_id");
    let wallet = json!({"user_id": user, "wallet_type": "ethereum"});
    let wallet = api.test().post("/v1/wallets/create", wallet).await.ok();
    Names {
        user,
        wallet: wallet.text_at("/id"),
        session: signed_in.text_at("/session/id"),
        token: signed_in.text_at("/session_token"),
        jwt: signed_in.text_at("/session_jwt"),
        code: sent(api, &api.test(), "ada@example.com").await,
    }
}

/// Names of the right form for nonexistent objects.
fn absent(own: &Names) -> Names {
    let id = |prefix: &str| format!("{prefix}_{}", "0".repeat(27));
    let (head, signature) = own.jwt.rsplit_once('.').unwrap();
    let other = if signature.starts_with('A') { "B" } else { "A" };
    Names {
        user: id("user"),
        wallet: id("wallet"),
        session: id("sess"),
        token: "0".repeat(64),
        jwt: format!("{head}.{other}{}", &signature[1..]),
        code: Sent {
            user_id: id("user"),
            method_id: id("email"),
            code: own.code.code.clone(),
        },
    }
}

/// Every call that names an object, with these names.
async fn calls(client: &Client<'_>, names: &Names) -> Vec<(&'static str, Response)> {
    let client = client.clone().header("X-Request-Id", "one");
    let sessions = "/v1/auth/sessions";
    vec![
        (
            "user",
            client.get(&format!("/v1/auth/users/{}", names.user)).await,
        ),
        (
            "update",
            client
                .send(
                    "PUT",
                    &format!("/v1/auth/users/{}/update", names.user),
                    Some(json!({"first_name": "A"})),
                )
                .await,
        ),
        (
            "search",
            client
                .post(
                    "/v1/auth/users/search",
                    json!({"starting_after": names.user}),
                )
                .await,
        ),
        (
            "wallets/create",
            client
                .post(
                    "/v1/wallets/create",
                    json!({"user_id": names.user, "wallet_type": "ethereum"}),
                )
                .await,
        ),
        (
            "wallet",
            client.get(&format!("/v1/wallets/{}", names.wallet)).await,
        ),
        (
            "sign",
            client
                .post(
                    &format!("/v1/wallets/{}/sign_message", names.wallet),
                    json!({"message": "test"}),
                )
                .await,
        ),
        (
            "wallets/list",
            client
                .get(&format!("/v1/wallets/list?user_id={}", names.user))
                .await,
        ),
        (
            "wallets after",
            client
                .get(&format!("/v1/wallets/list?starting_after={}", names.wallet))
                .await,
        ),
        (
            "sessions/list",
            client
                .get(&format!("{sessions}/list?user_id={}", names.user))
                .await,
        ),
        (
            "verify token",
            client
                .post(
                    &format!("{sessions}/verify"),
                    json!({"session_token": names.token}),
                )
                .await,
        ),
        (
            "verify jwt",
            client
                .post(
                    &format!("{sessions}/verify"),
                    json!({"session_jwt": names.jwt}),
                )
                .await,
        ),
        (
            "delete token",
            client
                .delete(
                    &format!("{sessions}/delete"),
                    Some(json!({"session_token": names.token})),
                )
                .await,
        ),
        (
            "delete jwt",
            client
                .delete(
                    &format!("{sessions}/delete"),
                    Some(json!({"session_jwt": names.jwt})),
                )
                .await,
        ),
        (
            "delete id",
            client
                .delete(
                    &format!("{sessions}/delete"),
                    Some(json!({"session_id": names.session})),
                )
                .await,
        ),
        (
            "delete_all",
            client
                .delete(
                    &format!("{sessions}/delete_all"),
                    Some(json!({"user_id": names.user})),
                )
                .await,
        ),
        (
            "otp",
            verified(&client, &names.code, json!({"session_expires_in": 60})).await,
        ),
        (
            "delete email",
            client
                .delete(
                    &format!("/v1/auth/users/emails/{}/delete", names.code.method_id),
                    None,
                )
                .await,
        ),
        (
            "delete wallet",
            client
                .delete(
                    &format!("/v1/auth/users/wallets/{}/delete", names.wallet),
                    None,
                )
                .await,
        ),
        (
            "delete user",
            client
                .delete(&format!("/v1/auth/users/{}/delete", names.user), None)
                .await,
        ),
    ]
}

async fn b4_foreign_and_absent_objects_get_one_response(api: &Api) {
    let own = own(api).await;
    let absent = absent(&own);
    let other_app = api.other_app().await;
    for (whose, stranger) in [
        ("another App", &other_app),
        ("another environment", &api.live()),
    ] {
        let foreign = calls(stranger, &own).await;
        let nothing = calls(stranger, &absent).await;
        for ((name, foreign), (_, nothing)) in foreign.iter().zip(&nothing) {
            assert_eq!(
                (foreign.status, &foreign.text),
                (nothing.status, &nothing.text),
                "{name} of {whose}"
            );
            let empty = ["wallets/list", "wallets after", "search"].contains(name);
            let expected: &[u16] = if empty { &[200] } else { &[400, 401, 404] };
            assert!(
                expected.contains(&foreign.status),
                "{name} of {whose}: {}",
                foreign.text
            );
            if empty {
                let found = if *name == "search" {
                    "users"
                } else {
                    "wallets"
                };
                assert_eq!(foreign.body[found], json!([]), "{name} of {whose}");
            }
        }
    }
    // All of it still exists for its owner, the session too.
    let order = [
        "user",
        "update",
        "search",
        "wallets/create",
        "wallet",
        "sign",
        "wallets/list",
        "wallets after",
        "sessions/list",
        "verify token",
        "verify jwt",
        "delete token",
        "delete user",
    ];
    for (name, response) in calls(&api.test(), &own).await {
        if order.contains(&name) {
            assert_eq!(response.status, 200, "{name}: {}", response.text);
        }
    }
    // A deleted object looks as if it had never existed.
    let request = |token: &str| json!({ "session_token": token });
    let client = api.test().header("X-Request-Id", "one");
    let deleted = client
        .post("/v1/auth/sessions/verify", request(&own.token))
        .await;
    let never = client
        .post("/v1/auth/sessions/verify", request(&absent.token))
        .await;
    assert_eq!((deleted.status, &deleted.text), (never.status, &never.text));
}

/// Calls every route with a live key: test-only routes get the response of a nonexistent route, byte for byte.
async fn s_17_the_test_environment_does_not_exist_for_live_keys(api: &Api) {
    let live = api.live().header("X-Request-Id", "one");
    let nowhere = live.get("/v1/test/nowhere").await;
    nowhere.refuses(404, "not_found", Some("route"));
    let (mut hidden, mut open) = (0, 0);
    for operation in described().all() {
        let path = operation.path.replace(['{', '}'], "");
        for method in [operation.method.as_str(), "PATCH"] {
            let body = operation.has_body.then(|| json!({}));
            let response = live.send(method, &path, body).await;
            let is_for_tests = operation.path.starts_with("/v1/test/");
            assert_eq!(
                response.text == nowhere.text && response.status == 404,
                is_for_tests,
                "{method} {path}: {}",
                response.text
            );
            if is_for_tests { hidden += 1 } else { open += 1 }
        }
    }
    assert!(hidden >= 4 && open >= 30, "{hidden} {open}");
    // Nor is the invalid query reported.
    assert_eq!(
        live.get("/v1/test/messages?wait=x").await.text,
        nowhere.text
    );
    // And nothing sent to a live address can be read with a test key.
    api.live()
        .post(
            "/v1/auth/otps/email/login_or_create",
            json!({"email": "ada@example.com"}),
        )
        .await
        .ok();
    api.deliver().await;
    assert_eq!(
        api.test().get("/v1/test/messages").await.ok().body["messages"],
        json!([])
    );
}

async fn the_same_address_is_two_people_in_two_environments(api: &Api) {
    let request = json!({"email": "ada@example.com", "metadata": {"world": "x"}});
    let clients = [api.test(), api.live(), api.other_app().await];
    let mut users: Vec<Value> = Vec::new();
    for client in &clients {
        let created = client
            .post("/v1/auth/users/create", request.clone())
            .await
            .ok();
        users.push(created.body["user_id"].clone());
    }
    users.sort_by_key(ToString::to_string);
    users.dedup();
    assert_eq!(users.len(), 3);
}
