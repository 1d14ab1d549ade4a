//! Pages of the console about the deployment, its alarms, and what an environment still needs (CON-12, CON-19, CON-24).

use vestry_app::Principal;
use vestry_app::platform::webhooks::NewEndpoint;
use vestry_domain::api_key::{ApiKeyKind, KeyFields};
use vestry_domain::operator::Role;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::{Environment, World};

use crate::console::{grants, operator};
use crate::console_pages::{path, user_in};
use crate::harness::{Api, on_both};

on_both! {
    the_deployment_is_for_owners
    con_12_an_alarm_shows_on_the_next_page
    the_checklist_follows_the_environment
    the_quick_start_marks_calls
}

const START: &str = "/console/";
const DEPLOYMENT: &str = "/console/deployment";

async fn the_deployment_is_for_owners(api: &Api) {
    let (mut owner, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    owner
        .get(START)
        .await
        .shows(200, "href=\"/console/deployment\"");
    let shown = owner.get(DEPLOYMENT).await.shows(200, "Deployment");
    for text in [
        "every migration is applied",
        "<code>local</code>",
        "100,000 per minute",
        "No sinks",
        "/v1/manage/status",
    ] {
        assert!(shown.html.contains(text), "{text} in {}", shown.html);
    }
    assert!(!shown.html.contains("Alarms"), "{}", shown.html);
    for role in [Role::Admin, Role::Developer, Role::Viewer] {
        let grants = grants(role, Some(api.app.id));
        let (mut other, _) = operator(api, &format!("{role}@example.com"), grants).await;
        other.get(DEPLOYMENT).await.shows(403, "Not allowed");
        let start = other.get(START).await.shows(200, "Apps");
        assert!(!start.html.contains(DEPLOYMENT), "{}", start.html);
    }
}

/// CON-12: a raised alarm shows on the next page of those who may see it, and is gone when its cause is.
async fn con_12_an_alarm_shows_on_the_next_page(api: &Api) {
    let (mut owner, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let own = grants(Role::Viewer, Some(api.app.id));
    let (mut viewer, _) = operator(api, "ben@example.com", own).await;
    let other = api
        .service
        .create_app(Principal::cli(), "Other")
        .await
        .unwrap();
    let foreign = grants(Role::Admin, Some(other.id));
    let (mut stranger, _) = operator(api, "eve@example.com", foreign).await;

    let host = "hooks.example.com";
    let new = NewEndpoint {
        url: format!("https://{host}/vestry"),
        name: Some("<b>Orders</b>".to_owned()),
        types: vec!["user.*".to_owned()],
        enabled: true,
    };
    let live = World::new(api.app.id, Environment::Live);
    let added = api.service.add_webhook(Principal::cli(), live, new).await;
    let endpoint = added.unwrap().0.endpoint.id;
    api.webhooks.answer(host, 500, None);
    user_in(api, Environment::Live, serde_json::json!({})).await;
    for wait in [0, 6, 331] {
        api.pass(wait);
        api.service.sequence_all().await.unwrap();
        api.service.send_due().await.unwrap();
    }
    let failing = "a webhook endpoint is failing";
    for browser in [&mut owner, &mut viewer] {
        let shown = browser.get(START).await.shows(200, failing);
        let page = path(api, "live", &format!("webhooks/{endpoint}"));
        assert!(shown.html.contains(&page), "{}", shown.html);
        assert!(shown.html.contains("&#60;b&#62;Orders"), "{}", shown.html);
    }
    let shown = stranger.get(START).await.shows(200, "Apps");
    assert!(!shown.html.contains("Alarms"), "{}", shown.html);

    api.vault.set_gone(true);
    let sealed = "The root key of wallets is unavailable";
    owner.get(START).await.shows(200, sealed);
    owner
        .get(DEPLOYMENT)
        .await
        .shows(200, sealed)
        .shows(200, "Unavailable");
    let shown = viewer.get(START).await.shows(200, failing);
    assert!(!shown.html.contains(sealed), "{}", shown.html);
    api.vault.set_gone(false);

    api.webhooks.answer(host, 204, None);
    user_in(api, Environment::Live, serde_json::json!({})).await;
    api.service.sequence_all().await.unwrap();
    api.service.send_due().await.unwrap();
    let shown = owner.get(START).await.shows(200, "Apps");
    assert!(!shown.html.contains("Alarms"), "{}", shown.html);
}

/// The checklist is about live only (CON-19), and every task it shows as done was done there.
async fn the_checklist_follows_the_environment(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let overview = path(api, "live", "");
    let shown = ann.get(&path(api, "test", "")).await.shows(200, "Overview");
    assert!(!shown.html.contains("Go-live checklist"), "{}", shown.html);
    let shown = ann.get(&overview).await.shows(200, "Go-live checklist");
    for text in [
        "1 key has full access",
        "lead only to registered URLs",
        "not notified of changes",
        "only in the log of the service",
    ] {
        assert!(shown.html.contains(text), "{text} in {}", shown.html);
    }
    let (cli, live) = (Principal::cli(), World::new(api.app.id, Environment::Live));
    for key in api.service.list_api_keys(cli, live.into()).await.unwrap() {
        let revoked = api.service.revoke_api_key(cli, live.into(), key.id);
        revoked.await.unwrap();
    }
    ann.get(&overview)
        .await
        .shows(200, "No live key exists yet");
    let fields = KeyFields {
        scopes: Some(vec!["users:read".parse().unwrap()]),
        ..Default::default()
    };
    let made = api
        .service
        .create_api_key(cli, live, ApiKeyKind::Secret, fields);
    made.await.unwrap();
    let url = "https://app.example.com/in";
    let added = api
        .service
        .add_redirect_url(cli, live, RedirectKind::Login, url, true);
    added.await.unwrap();
    let shown = ann.get(&overview).await.shows(200, "1 restricted key");
    assert!(shown.html.contains("1 URL, 1 default"), "{}", shown.html);
}

async fn the_quick_start_marks_calls(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let start = path(api, "test", "quick-start");
    let shown = ann.get(&start).await.shows(200, "Quick start");
    assert_eq!(
        shown.html.matches("Not seen yet").count(),
        4,
        "{}",
        shown.html
    );
    assert!(
        shown.html.contains("/v1/auth/users/create"),
        "{}",
        shown.html
    );
    let ada = serde_json::json!({"email": "ada@example.com"});
    user_in(api, Environment::Test, ada.clone()).await;
    let code = "/v1/auth/otps/email/login_or_create";
    api.test().post(code, ada).await.ok();
    api.service.sequence_all().await.unwrap();
    api.service.deliver_due("a test").await.unwrap();
    let shown = ann.get(&start).await.shows(200, "Done");
    assert_eq!(
        shown.html.matches("Not seen yet").count(),
        2,
        "{}",
        shown.html
    );
    // The other environment has seen nothing (CON-19).
    let live = ann.get(&path(api, "live", "quick-start")).await;
    assert_eq!(
        live.html.matches("Not seen yet").count(),
        4,
        "{}",
        live.html
    );
}
