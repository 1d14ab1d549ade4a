//! Checks of provider connections over HTTP, with the real adapter and a provider played by the test.

use serde_json::{Value, json};
use vestry_contract::provider::{ProviderServer, Reply, Shape};
use vestry_domain::Environment;
use vestry_domain::management_scope::ManagementScope;

use crate::harness::{Api, on_both};
use crate::management::{full, key, of_app};
use crate::oauth::setup::provider_options;

on_both! {
    provider_options;
    a_connection_is_checked
    checks_are_limited_per_environment
}

const AUTHORIZE: &str = "/authorize";

async fn connected(api: &Api, environment: &str) -> (ProviderServer, String) {
    let server = ProviderServer::start(Shape::OpenId).await;
    server.replies(
        AUTHORIZE,
        Some(Reply::redirect(302, "https://login.example/")),
    );
    let path = of_app(api.app.id, &format!("/{environment}/providers/acme"));
    let settings = serde_json::to_value(server.settings()).unwrap();
    let acme = json!({"client_id": "id", "client_secret": "s3cr3t-value", "settings": settings});
    let by = full(api).await;
    by.send("PUT", &path, Some(acme)).await.ok();
    (server, format!("{path}/check"))
}

fn outcomes(body: &Value) -> Vec<(&str, bool)> {
    let checks = body["checks"].as_array().unwrap().iter();
    checks
        .map(|check| (check["name"].as_str().unwrap(), check["ok"] == true))
        .collect()
}

async fn a_connection_is_checked(api: &Api) {
    let (server, path) = connected(api, "live").await;
    let by = full(api).await;
    let reader = [ManagementScope::ProvidersRead];
    let reader = api.with_key(&key(api, None, &Environment::ALL, &reader).await);
    let refused = reader.send("POST", &path, None).await;
    refused.refuses(403, "key_not_allowed", Some("scope"));
    let missing = path.replace("acme", "google");
    let missing = by.send("POST", &missing, None).await;
    missing.refuses(404, "not_found", Some("provider"));
    assert_eq!(server.requests().len(), 0);

    let shown = by.send("POST", &path, None).await.ok();
    let all = [("discovery", true), ("jwks", true), ("callback_url", true)];
    assert_eq!(outcomes(&shown.body), all, "{}", shown.text);
    assert!(shown.contains("https://id.example.com/v1/auth/oauth/callback/"));
    assert!(
        server
            .requests()
            .iter()
            .all(|request| !request.body.contains("s3cr3t"))
    );

    let page = Reply::Says(400, String::new(), "hunter2".to_owned());
    server.replies(AUTHORIZE, Some(page));
    let shown = by.send("POST", &path, None).await.ok();
    let refused = [("discovery", true), ("jwks", true), ("callback_url", false)];
    assert_eq!(outcomes(&shown.body), refused, "{}", shown.text);
    let gone = Reply::Says(404, String::new(), "hunter2".to_owned());
    server.replies(server.discovery_path(), Some(gone));
    let gone = by.send("POST", &path, None).await.ok();
    assert_eq!(
        outcomes(&gone.body),
        [("discovery", false)],
        "{}",
        gone.text
    );
    assert!(!shown.contains("hunter2") && !gone.contains("hunter2"));
}

async fn checks_are_limited_per_environment(api: &Api) {
    let (_live, live) = connected(api, "live").await;
    let (_test, test) = connected(api, "test").await;
    let by = full(api).await;
    for _ in 0..5 {
        by.send("POST", &live, None).await.ok();
    }
    let refused = by.send("POST", &live, None).await;
    refused.refuses(429, "too_many_attempts", None);
    assert_eq!(refused.header("retry-after"), Some("60"));
    by.send("POST", &test, None).await.ok();
    api.pass(60);
    by.send("POST", &live, None).await.ok();
}
