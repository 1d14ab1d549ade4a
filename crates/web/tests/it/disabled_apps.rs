//! A disabled App (MG-11): its keys, public tokens and pages are refused, and the sessions of its users have ended.

use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_app::operators::NewManagementKeyFields;
use vestry_domain::Environment;
use vestry_domain::ids::{AppId, OauthCallbackId};
use vestry_domain::management_key::Rights;
use vestry_domain::management_scope::ManagementScope;
use vestry_domain::timestamp::Seconds;

use crate::flows::signed_in;
use crate::harness::{Api, Client, START, described, on_both};
use crate::oauth::{cookie, lands, location, path, public_token};

on_both! {
    mg_11_every_call_of_a_disabled_app_is_refused
    mg_11_an_app_is_disabled_and_enabled_again
    mg_11_sessions_that_a_crash_left_end_before_the_app_is_enabled
    mg_11_a_sign_in_under_way_is_refused
    the_built_in_app_stays_enabled
}

const VERIFY: &str = "/v1/auth/sessions/verify";

/// Disables or enables the App in another process.
async fn switch(api: &Api, disabled: bool) {
    let other = api.other_process(&api.clock).await;
    let app = other
        .switch_app(Principal::cli(), api.app.id, disabled)
        .await
        .unwrap();
    assert_eq!(app.disabled_at.is_some(), disabled);
    api.pass(1);
}

async fn management(api: &Api) -> Client<'_> {
    let all = ManagementScope::ALL.to_vec();
    let fields = NewManagementKeyFields {
        name: "terraform".to_owned(),
        rights: Rights::new(None, Environment::ALL.to_vec(), all, None).unwrap(),
        expires_at: START + Seconds(86_400),
    };
    let made = api.service.create_management_key(Principal::cli(), fields);
    api.with_key(made.await.unwrap().key.expose())
}

/// A row for each call of the API: with a key it is refused, and so is each page that browsers reach without one. A new route is refused,
/// belongs to no App, or fails here.
async fn mg_11_every_call_of_a_disabled_app_is_refused(api: &Api) {
    let public = public_token(api, Environment::Live).await;
    let callback = OauthCallbackId::of_test_provider(api.app.id).to_string();
    switch(api, true).await;
    for operation in described().all() {
        let (method, path) = (&operation.method, &operation.path);
        if operation.is_keyed {
            api.test()
                .unlimited()
                .send(method, path, None)
                .await
                .refuses(403, "feature_disabled", Some("app"));
            let live = api.live().unlimited().send(method, path, None).await;
            match path.starts_with("/v1/test/") {
                true => live.refuses(404, "not_found", Some("route")),
                false => live.refuses(403, "feature_disabled", Some("app")),
            }
            continue;
        }
        let response = match path.as_str() {
            "/v1/auth/oauth/callback/{oauthcb_id}"
            | "/v1/auth/oauth/test/{oauthcb_id}/authorize" => {
                let path = path.replace("{oauthcb_id}", &callback);
                let query = format!("{path}?state=test-state");
                let form = "application/x-www-form-urlencoded";
                let browser = api.anonymous().header("Content-Type", form);
                browser
                    .send_bytes(method, &query, b"state=test-state")
                    .await
            }
            "/v1/auth/jwks/{app_id}" => {
                let path = path.replace("{app_id}", &api.app.id.to_string());
                let keys = api.anonymous().get(&path).await.ok();
                assert_eq!(keys.body["keys"].as_array().unwrap().len(), 2);
                continue;
            }
            // Not about an App.
            "/livez" | "/readyz" | "/openapi.json" | "/docs" | "/docs/style.css" => continue,
            unknown => panic!("{unknown} may serve a disabled App"),
        };
        response.refuses(403, "feature_disabled", Some("app"));
    }
    let page = format!("/v1/auth/oauth/test/begin?public_token={public}&redirect=true");
    let page = api.anonymous().get(&page).await;
    assert_eq!(page.status, 403);
    assert!(page.contains("the App is disabled"), "{}", page.text);
    let by_token = api
        .anonymous()
        .header("Authorization", &format!("PublicToken {public}"));
    let begin = by_token.get("/v1/auth/oauth/google/begin").await;
    begin.refuses(403, "feature_disabled", Some("app"));
}

async fn mg_11_an_app_is_disabled_and_enabled_again(api: &Api) {
    let by = management(api).await;
    let session = signed_in(api, "ada@example.com").await;
    let token = json!({"session_token": session.text_at("/session_token")});
    let jwt = json!({"session_jwt": session.text_at("/session_jwt")});
    api.test().post(VERIFY, token.clone()).await.ok();
    let user = session.text_at("/user_id");
    let wallet = json!({"user_id": user, "wallet_type": "ethereum"});
    let wallet = api.test().post("/v1/wallets/create", wallet).await.ok();
    let wallet = wallet.text_at("/id");
    let sign = format!("/v1/wallets/{wallet}/sign_message");
    let message = json!({"message": "hello", "encoding": "utf-8"});
    let keyed = api.test().header("Idempotency-Key", "once");
    keyed.post(&sign, message.clone()).await.ok();

    let app = format!("/v1/manage/apps/{}", api.app.id);
    let patch = async |body: Value| by.send("PATCH", &app, Some(body)).await.ok();
    let disabled = patch(json!({"disabled": true})).await;
    assert_eq!(disabled.body["disabled"], true);
    let again = patch(json!({"disabled": true, "name": "Demo"})).await;
    assert_eq!(again.text, disabled.text, "a repeat changes nothing");
    api.pass(1);
    for (path, body) in [
        (VERIFY, &token),
        (VERIFY, &jwt),
        (sign.as_str(), &message),
        (
            "/v1/auth/users/create",
            &json!({"email": "eve@example.com"}),
        ),
    ] {
        let refused = api.test().post(path, body.clone()).await;
        refused.refuses(403, "feature_disabled", Some("app"));
    }
    let replayed = keyed.post(&sign, message.clone()).await;
    replayed.refuses(403, "feature_disabled", Some("app"));

    // It can still be administered.
    let listed = by.get("/v1/manage/apps").await.ok();
    assert_eq!(listed.body["apps"][0]["disabled"], true);
    by.get(&format!("{app}/test/keys")).await.ok();
    let id = api.app.id.to_string();
    let objects = by
        .clone()
        .header("Vestry-App", &id)
        .header("Vestry-Environment", "test");
    let shown = format!("/v1/auth/users/{user}");
    objects.get(&shown).await.ok();
    api.service.sequence_all().await.unwrap();
    let events = objects.get("/v1/events?limit=100").await.ok();
    let events = events.body["events"].as_array().unwrap();
    let of = |kind: &str| {
        let found = events.iter().filter(|event| event["type"] == kind);
        found.cloned().collect::<Vec<_>>()
    };
    let updated = of("app.updated");
    assert_eq!(updated.len(), 1);
    assert_eq!(updated[0]["data"]["changed"], json!(["disabled"]));
    assert_eq!(updated[0]["actor"]["type"], "management_key");
    let ended = of("session.ended");
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0]["data"]["reason"], "app_wide");
    assert_eq!(ended[0]["actor"]["type"], "management_key");

    let enabled = patch(json!({"disabled": false})).await;
    assert_eq!(enabled.body["disabled"], false);
    api.pass(1);
    for ended in [token, jwt] {
        let refused = api.test().post(VERIFY, ended).await;
        refused.refuses(401, "invalid_session", None);
    }
    api.test().post(&sign, message).await.ok();
    let session = signed_in(api, "bob@example.com").await;
    let token = json!({"session_token": session.text_at("/session_token")});
    api.test().post(VERIFY, token).await.ok();
}

/// Sessions that were started while the App was being disabled do not come back with it.
async fn mg_11_sessions_that_a_crash_left_end_before_the_app_is_enabled(api: &Api) {
    let other = api.other_process(&api.clock).await;
    // For the rest of this second, this process knows the key and the App as they are now.
    api.test().get("/v1/events/head").await.ok();
    let disabled = other.switch_app(Principal::cli(), api.app.id, true).await;
    disabled.unwrap();
    let session = signed_in(api, "ada@example.com").await;
    let token = json!({"session_token": session.text_at("/session_token")});
    api.pass(1);
    let refused = api.test().post(VERIFY, token.clone()).await;
    refused.refuses(403, "feature_disabled", Some("app"));
    switch(api, false).await;
    let refused = api.test().post(VERIFY, token).await;
    refused.refuses(401, "invalid_session", None);
}

async fn mg_11_a_sign_in_under_way_is_refused(api: &Api) {
    lands(api).await;
    let public = public_token(api, Environment::Test).await;
    let link = format!("/v1/auth/oauth/test/begin?public_token={public}&redirect=true");
    let page = api.anonymous().get(&link).await;
    let browser = api.anonymous().header("Cookie", &cookie(&page));
    let page = location(&page);
    browser.get(path(&page)).await.ok();
    let chosen = format!("{}&identity=verified", path(&page));
    let back = location(&browser.get(&chosen).await);
    switch(api, true).await;
    for address in [path(&page).to_owned(), chosen, path(&back).to_owned()] {
        let refused = browser.get(&address).await;
        refused.refuses(403, "feature_disabled", Some("app"));
    }
    switch(api, false).await;
    let landed = location(&browser.get(path(&back)).await);
    assert!(
        landed.contains("token="),
        "the refusals used nothing up: {landed}"
    );
}

async fn the_built_in_app_stays_enabled(api: &Api) {
    let switched = api
        .service
        .switch_app(Principal::cli(), AppId::BUILT_IN, true)
        .await;
    assert!(
        matches!(switched, Err(vestry_app::Refusal::NotFound("app"))),
        "{switched:?}"
    );
    let path = format!("/v1/manage/apps/{}", AppId::BUILT_IN);
    let by = management(api).await;
    let refused = by.send("PATCH", &path, Some(json!({"disabled": true})));
    refused.await.refuses(404, "not_found", Some("app"));
}
