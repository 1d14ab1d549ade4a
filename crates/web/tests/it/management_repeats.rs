//! `Idempotency-Key` on the `POST` calls of the management API (API-19, MG-10).

use std::collections::BTreeSet;

use futures_util::future::join_all;
use serde_json::{Value, json};
use vestry_domain::audit::control::ControlFilter;
use vestry_domain::management_scope::ManagementScope;
use vestry_domain::{Environment, World};
use vestry_ports::store::Store;

use crate::harness::{Api, Client, on_both};
use crate::idempotency::{is_replay, keyed};
use crate::management::{Row, full, key, of_app, pattern, rows};

on_both! {
    mg_10_every_post_is_done_once
    mg_10_of_a_hundred_parallel_repeats_one_runs
    mg_10_a_repeat_belongs_to_its_management_key
    refused_calls_of_the_management_api_are_not_stored
    mg_8_stored_responses_of_the_management_api_are_encrypted
}

const APPS: &str = "/v1/manage/apps";
const INVITATIONS: &str = "/v1/manage/operators/invitations";

/// The number of changes in an environment and in the deployment, Apps and requests to webhooks.
async fn effects(api: &Api, world: World) -> [usize; 4] {
    let store = api.store().await;
    let mut read = store.read().await.unwrap();
    let all = ControlFilter::default();
    let entries = read.control_log().page(&world, &all, None, 1_000);
    let entries = entries.await.unwrap().len();
    let above = (read.control_log()).page(&World::DEPLOYMENT, &all, None, 1_000);
    let above = above.await.unwrap().len();
    let apps = read.apps().list().await.unwrap().len();
    [
        entries,
        above,
        apps,
        api.webhooks.sent_to("walk.example").len(),
    ]
}

/// A repeat in another process gets the first response and has no effect. Another request with the key is refused.
async fn mg_10_every_post_is_done_once(api: &Api) {
    let second = api.second_listener().await;
    let world = World::new(api.app.id, Environment::Test);
    let mut posts: Vec<Row> = rows(api, world.app_id).await;
    let routes = vestry_manage::endpoints();
    let routes = routes.iter().filter(|route| route.takes_idempotency_key());
    let routes: BTreeSet<_> = routes
        .inspect(|route| assert_eq!(route.method(), "POST"))
        .map(|route| route.path.clone())
        .collect();
    posts.retain(|row| row.method == "POST" && routes.contains(&pattern(&row.path)));
    let mut posts: Vec<_> = posts.into_iter().map(|row| (row.path, row.body)).collect();
    posts.push((APPS.to_owned(), Some(json!({"name": "Shop"}))));
    let viewer = json!({"email": "ann@example.com", "role": "viewer", "apps": [api.app.id]});
    posts.push((INVITATIONS.to_owned(), Some(viewer)));
    let walked: BTreeSet<_> = posts.iter().map(|(path, _)| pattern(path)).collect();
    assert_eq!(walked, routes, "a route without a row");

    let by = full(api).await;
    for (number, (path, body)) in posts.into_iter().enumerate() {
        let by = keyed(by.clone(), &format!("order-{number}"));
        let before = effects(api, world).await;
        let first = by.send("POST", &path, body.clone()).await;
        assert!((200..300).contains(&first.status), "{path}: {}", first.text);
        assert!(!is_replay(&first), "{path}");
        let done = effects(api, world).await;
        assert_ne!(done, before, "{path}");
        for by in [by.clone().at(&second), by.clone()] {
            let again = by.send("POST", &path, body.clone()).await;
            assert!(is_replay(&again), "{path}: {}", again.text);
            assert_eq!((again.status, &again.text), (first.status, &first.text));
        }
        let mut other = body.unwrap_or_else(|| json!({}));
        other["another"] = json!(true);
        let other = by.send("POST", &path, Some(other)).await;
        other.refuses(409, "idempotency_key_reused", None);
        assert_eq!(effects(api, world).await, done, "{path}");
    }
    second.stop().await;
}

async fn mg_10_of_a_hundred_parallel_repeats_one_runs(api: &Api) {
    let second = api.second_listener().await;
    let by = full(api).await;
    let keys = of_app(api.app.id, "/live/keys");
    for (path, list, body) in [
        (APPS, "apps", json!({"name": "Shop"})),
        (&keys, "keys", json!({"preset": "sign-in"})),
    ] {
        let count = async || {
            let listed = by.get(path).await.ok();
            listed.body[list].as_array().unwrap().len()
        };
        let before = count().await;
        let keyed = keyed(by.clone(), "order-17");
        let calls = (0..100).map(|number| {
            let by = keyed.clone();
            let by = if number % 2 == 0 { by } else { by.at(&second) };
            let body = body.clone();
            async move { by.post(path, body).await }
        });
        let responses = join_all(calls).await;
        let (taken, waiting): (Vec<_>, Vec<_>) = responses
            .iter()
            .partition(|response| response.status == 201);
        for response in waiting {
            response.refuses(409, "idempotency_key_reused", None);
            assert_eq!(response.header("retry-after"), Some("1"));
        }
        let first = taken.iter().filter(|response| !is_replay(response));
        assert_eq!(first.count(), 1, "{path}");
        assert!(taken.iter().all(|response| response.text == taken[0].text));
        let again = keyed.post(path, body).await;
        assert_eq!(again.text, taken[0].text);
        assert_eq!(count().await, before + 1, "{path}");
    }
    second.stop().await;
}

fn of<'a>(by: &Client<'a>) -> Client<'a> {
    keyed(by.clone(), "order-17")
}

/// The same key of another management key, or of a key of the App, is another one.
async fn mg_10_a_repeat_belongs_to_its_management_key(api: &Api) {
    let [one, other] = [full(api).await, full(api).await];
    for (path, body) in [
        (APPS.to_owned(), json!({"name": "Shop"})),
        (of_app(api.app.id, "/live/keys"), json!({"name": "backend"})),
    ] {
        let first = of(&one).post(&path, body.clone()).await;
        let theirs = of(&other).post(&path, body.clone()).await;
        assert_eq!((first.status, theirs.status), (201, 201));
        assert!(!is_replay(&theirs), "{path}");
        assert_ne!(first.text_at("/id"), theirs.text_at("/id"));
        let again = of(&one).post(&path, body).await;
        assert!(is_replay(&again) && again.text == first.text, "{path}");
    }
    let app = api.app.id.to_string();
    let users = "/v1/auth/users/create";
    let ada = json!({"email": "ada@example.com"});
    let [one, other] = [&one, &other].map(|by| {
        let by = of(by).header("Vestry-App", &app);
        by.header("Vestry-Environment", "test")
    });
    let first = one.post(users, ada.clone()).await.ok();
    let again = one.post(users, ada.clone()).await.ok();
    assert!(is_replay(&again) && again.text == first.text);
    for by in [other, of(&api.test())] {
        let refused = by.post(users, ada.clone()).await;
        refused.refuses(409, "duplicate", Some("email"));
        assert!(!is_replay(&refused));
    }
}

/// A refusal for lack of rights decides nothing, unlike that of the request itself.
async fn refused_calls_of_the_management_api_are_not_stored(api: &Api) {
    let scopes = [ManagementScope::KeysWrite, ManagementScope::WebhooksWrite];
    let only = Some(vec![api.app.id]);
    let by = api.with_key(&key(api, only, &[Environment::Live], &scopes).await);
    let by = keyed(by, "order-17");
    let of_unknown = "/v1/manage/apps/app_000000000000000000000000001/live/keys";
    // Rights come before existence.
    let end_all_of_unknown =
        "/v1/manage/apps/app_000000000000000000000000001/live/sessions/end_all";
    let urls = of_app(api.app.id, "/live/redirect_urls");
    let url = json!({"kind": "login", "url": "https://shop.example/in"});
    let audit = json!({"scopes": ["audit:read"]});
    let live = of_app(api.app.id, "/live/keys");
    let test = of_app(api.app.id, "/test/keys");
    let name = || json!({"name": "Shop"});
    for (path, body, status, code, param) in [
        (APPS, name(), 403, "key_not_allowed", "scope"),
        (&urls, url, 403, "key_not_allowed", "scope"),
        (&live, audit, 403, "key_not_allowed", "scope"),
        (&test, name(), 403, "key_not_allowed", "environment"),
        (of_unknown, name(), 404, "not_found", "app"),
        (end_all_of_unknown, name(), 403, "key_not_allowed", "scope"),
        (
            "/v1/manage/apps/x/live/keys",
            name(),
            404,
            "not_found",
            "app",
        ),
    ] {
        for _ in 0..2 {
            let refused = by.post(path, body.clone()).await;
            refused.refuses(status, code, Some(param));
            assert!(!is_replay(&refused), "{path}");
        }
    }
    let bad = by.without("Idempotency-Key");
    for bad in [keyed(bad.clone(), ""), keyed(by, "another")] {
        let refused = bad.post(&live, name()).await;
        refused.refuses(400, "invalid_field", Some("Idempotency-Key"));
    }
    let hooks = of_app(api.app.id, "/live/webhook_endpoints");
    let hook = json!({"url": "https://shop.example/hooks"});
    let made = bad.post(&hooks, hook.clone()).await;
    let duplicate = keyed(bad.clone(), "duplicate");
    let refused = duplicate.post(&hooks, hook.clone()).await;
    refused.refuses(409, "duplicate", None);
    let one = format!("{hooks}/{}", made.text_at("/id"));
    let etag = made.header("etag").unwrap();
    let bad = bad.header("If-Match", etag);
    bad.delete(&one, None).await.ok();
    let again = duplicate.post(&hooks, hook).await;
    again.refuses(409, "duplicate", None);
    assert!(is_replay(&again));
}

async fn mg_8_stored_responses_of_the_management_api_are_encrypted(api: &Api) {
    let by = keyed(full(api).await, "canary-of-a-key");
    let secret = async |path: &str, body: Value, name: &str| {
        let made = by.post(&of_app(api.app.id, path), body).await;
        made.text_at(name)
    };
    let key = secret("/live/keys", json!({}), "/key").await;
    let hook = json!({"url": "https://shop.example/hooks"});
    let hook = secret("/test/webhook_endpoints", hook, "/secret").await;
    let dump = api.place.dump().await;
    let holds = |text: &str| {
        let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        let forms = [text.to_owned(), hex];
        let mut forms = forms.iter().map(String::as_bytes);
        forms.any(|form| dump.windows(form.len()).any(|window| window == form))
    };
    assert!(holds("https://shop.example/hooks"), "the dump is one");
    for secret in ["canary-of-a-key", &key, &hook] {
        assert!(!holds(secret), "the dump holds {secret}");
    }
}
