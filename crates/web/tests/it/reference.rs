//! The API description, as served.

use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::{Environment, World};

use crate::flows::sent;
use crate::harness::{API, Api, Lane, described, on};

async fn run(test: impl AsyncFnOnce(&Api)) {
    on(Lane::Sqlite, test).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_description_is_served_as_printed() {
    run(async |api| {
        let served = api.anonymous().get("/openapi.json").await.ok();
        assert_eq!(served.text, API.openapi());
        assert!(served.text.ends_with("}\n"));
        assert_eq!(served.body["openapi"], "3.1.0");
        assert_eq!(served.header("cache-control"), Some("public, max-age=300"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_is_self_contained_and_cannot_run_anything() {
    run(async |api| {
        let page = api.anonymous().get("/docs").await.ok();
        assert_eq!(
            page.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        let policy = page.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; style-src 'self';"),
            "{policy}"
        );
        for word in ["<script", "style=", "http://", "onclick", "src="] {
            assert!(!page.text.contains(word), "{word}");
        }
        for part in [
            "<!doctype html>",
            "id=\"call-createUser\"",
            "/v1/wallets/{wallet_id}/sign_message",
            "id=\"object-Session\"",
        ] {
            assert!(page.text.contains(part), "{part}");
        }
        let style = api.anonymous().get("/docs/style.css").await.ok();
        assert_eq!(
            style.header("content-type"),
            Some("text/css; charset=utf-8")
        );
        assert!(
            !style.text.contains("url(") && !style.text.contains("@import"),
            "{}",
            style.text
        );
    })
    .await;
}

/// Every described call exists, and needs no key unless the description says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_described_call_exists() {
    run(async |api| {
        for operation in described().all() {
            let path = operation.path.replace(['{', '}'], "");
            let body = operation.has_body.then(|| json!({}));
            let response = api
                .test()
                .send(&operation.method, &path, body.clone())
                .await;
            assert_ne!(
                response.param(),
                Some("route"),
                "{} {path}",
                operation.method
            );
            assert_ne!(response.status, 405, "{} {path}", operation.method);
            let anonymous = api.anonymous().send(&operation.method, &path, body).await;
            assert_eq!(
                anonymous.code() == "missing_api_key",
                operation.is_keyed,
                "{} {path}",
                operation.method
            );
        }
    })
    .await;
}

/// The description's examples, combined into bodies, work.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_examples_work() {
    run(async |api| {
        let code = sent(api, &api.test(), "ok+example@vestry.test").await;
        let world = World::new(api.app.id, Environment::Test);
        for kind in RedirectKind::ALL {
            let url = "https://app.example.com/in";
            let added = api
                .service
                .add_redirect_url(Principal::cli(), world, kind, url, true);
            added.await.unwrap();
        }
        let user = json!({"email": "first@example.com", "include_user": true});
        let user = api.test().post("/v1/auth/users/create", user).await.ok();
        let mut worked = 0;
        for operation in described().all().filter(|operation| operation.has_body) {
            let mut body = example(&operation.path, &operation.method);
            for (field, value) in [
                ("method_id", &code.method_id),
                ("user_id", &user.text_at("/user_id")),
            ] {
                if body.contains_key(field)
                    || field == "method_id" && operation.path.ends_with("otps/verify")
                {
                    body.insert(field.to_owned(), json!(value));
                }
            }
            // They need a session, a token or a signature of an earlier call, or a URL that the App registered.
            let needs_more = [
                "sessions",
                "passwords/session",
                "passwords/verify",
                "passwords/reset",
                "totps/verify",
                "totps/recovery",
                "webauthn",
                "auth/wallets",
                "auth/oauth",
            ];
            // And these need a key sealed to an earlier response, or an App that allows export.
            let transfers = ["wallets/import", "/export"];
            if needs_more.iter().any(|part| operation.path.contains(part))
                || transfers.iter().any(|end| operation.path.ends_with(end))
            {
                continue;
            }
            for call in ["magic_links/create", "magic_links/verify", "login_status"] {
                if operation.path.ends_with(call) {
                    body.extend(link(api, call).await);
                }
            }
            let of_user = ["wallets/create", "totps/create"];
            if of_user.iter().any(|call| operation.path.ends_with(call)) {
                body.insert("user_id".to_owned(), user.body["user_id"].clone());
            }
            let path = operation
                .path
                .replace("{wallet_id}", &user.text_at("/user/wallets/0/id"))
                .replace("{user_id}", &user.text_at("/user_id"));
            api.test()
                .send(&operation.method, &path, Some(Value::Object(body)))
                .await
                .ok();
            if path.ends_with("/disable") {
                // Later calls need the user.
                let enable = path.replace("/disable", "/enable");
                api.test().post(&enable, json!({})).await.ok();
            }
            worked += 1;
        }
        assert!(worked >= 10, "{worked}");
    })
    .await;
}

/// The fields for the calls about a link created for the example's user; for `login_status` it has been used.
async fn link(api: &Api, call: &str) -> serde_json::Map<String, Value> {
    let email = json!({"email": "first@example.com"});
    let client = api.test();
    let made = client.post("/v1/auth/magic_links/create", email.clone());
    let mut fields = made.await.ok().body.as_object().unwrap().clone();
    if call == "login_status" {
        let token = json!({ "token": fields["token"] });
        let verified = client.post("/v1/auth/magic_links/verify", token);
        verified.await.ok();
    }
    fields.insert("email".to_owned(), email["email"].clone());
    fields
}

/// The first example of each field that has one.
fn example(path: &str, method: &str) -> serde_json::Map<String, Value> {
    let document = &described().document;
    let operation = &document["paths"][path][method.to_lowercase()];
    let schema = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        .as_str()
        .unwrap();
    let schema = document.pointer(schema.trim_start_matches('#')).unwrap();
    let fields = schema["properties"].as_object().unwrap().iter();
    let examples = fields
        .filter_map(|(name, field)| Some((name.clone(), field.pointer("/examples/0")?.clone())));
    examples.collect()
}
