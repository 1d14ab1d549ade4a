//! The management API: its calls, the rights of its keys, and what they reach (MG-1 to MG-5, MG-8).

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use vestry_app::Principal;
use vestry_app::operators::{NewManagementKeyFields, OperatorChange};
use vestry_app::platform::{AppChange, SettingsChange};
use vestry_contract::fakes::FakeProviders;
use vestry_contract::rng;
use vestry_domain::api_key::{KeyFields, Scope};
use vestry_domain::app::App;
use vestry_domain::ids::{AppId, Id};
use vestry_domain::management_key::Rights;
use vestry_domain::management_scope::ManagementScope;
use vestry_domain::operation::Operation;
use vestry_domain::provider::MAX_PROVIDERS;
use vestry_domain::redirect::MAX_URLS;
use vestry_domain::signing_key::MAX_KEYS;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, World};

use crate::harness::{Api, Client, Options, START, on_both};
use crate::idempotency::keyed;

on_both! {
    with_providers;
    an_app_is_set_up_by_api_alone
    cn_m1_mg_5_every_call_needs_its_scope_app_and_environment
    the_state_of_the_deployment_is_for_keys_of_all_apps
    a_put_of_what_was_read_changes_nothing
    a_change_needs_the_current_etag
    a_stored_secret_is_sent_where_it_was
    cn_r1_mg_2_of_parallel_writers_with_one_etag_one_succeeds
    unknown_fields_are_refused_and_change_nothing
    a_key_grants_no_scope_that_it_cannot_hold
    objects_of_an_app_are_reached_with_its_headers
    what_only_a_backend_may_do_is_refused
    a_management_key_is_refused_like_any_other
    the_requests_of_a_key_are_counted
    operators_are_invited_and_removed
    mg_13_an_environment_has_a_maximum_of_objects
}

pub(crate) async fn key(
    api: &Api,
    apps: Option<Vec<AppId>>,
    environments: &[Environment],
    scopes: &[ManagementScope],
) -> String {
    let fields = NewManagementKeyFields {
        name: "terraform".to_owned(),
        rights: Rights::new(apps, environments.to_vec(), scopes.to_vec(), None).unwrap(),
        expires_at: START + Seconds(86_400),
    };
    let made = api.service.create_management_key(Principal::cli(), fields);
    made.await.unwrap().key.expose().clone()
}

/// A service that calls no real provider.
pub(crate) fn with_providers() -> Options {
    Options {
        providers: Some(Arc::new(FakeProviders::default())),
        ..Options::default()
    }
}

const STATUS: &str = "/v1/manage/status";

/// A key for everything.
pub(crate) async fn full(api: &Api) -> Client<'_> {
    api.with_key(&key(api, None, &Environment::ALL, ManagementScope::ALL).await)
}

pub(crate) fn of_app(app: impl ToString, rest: &str) -> String {
    format!("/v1/manage/apps/{}{rest}", app.to_string())
}

/// MG-13: the last free places go to as many of the parallel calls.
async fn mg_13_an_environment_has_a_maximum_of_objects(api: &Api) {
    let by = full(api).await;
    let url =
        |number: usize| json!({"kind": "login", "url": format!("https://{number}.shop.example/")});
    let provider = |number: usize| {
        let settings = json!({"issuer": format!("https://{number}.example")});
        (
            format!("acme-{number}"),
            json!({"client_id": "shop", "settings": settings}),
        )
    };
    let document = json!({"live": {
        "redirect_urls": (3..=MAX_URLS).map(url).collect::<Vec<_>>(),
        "providers": (2..=MAX_PROVIDERS).map(provider).collect::<Map<_, _>>(),
    }});
    let document = serde_json::from_value(document).unwrap();
    let applied = api
        .service
        .apply_config(Principal::cli(), api.app.id, &document, &|_| true);
    applied.await.unwrap();

    let urls = of_app(api.app.id, "/live/redirect_urls");
    let new = (1_000..1_010).map(|number| by.post(&urls, url(number)));
    let mut refused = 0;
    for added in join_all(new).await {
        if added.status != 201 {
            added.refuses(409, "limit_reached", Some("url"));
            refused += 1;
        }
    }
    assert_eq!(refused, 8);
    let known = by.post(&urls, url(3)).await;
    assert!(
        known.status < 300,
        "a known URL is not a new one: {}",
        known.text
    );
    let elsewhere = of_app(api.app.id, "/test/redirect_urls");
    assert_eq!(by.post(&elsewhere, url(1)).await.status, 201);

    let set = async |number| {
        let (name, mut provider) = provider(number);
        provider["client_secret"] = json!("s3cr3t-value");
        let path = of_app(api.app.id, &format!("/live/providers/{name}"));
        let known = by.get(&path).await;
        let expected = match known.header("etag") {
            Some(etag) => by.clone().header("If-Match", etag),
            None => by.clone(),
        };
        expected.send("PUT", &path, Some(provider)).await
    };
    assert!(set(1).await.status < 300);
    set(1_000).await.refuses(409, "limit_reached", Some("name"));
    assert!(
        set(2).await.status < 300,
        "a known provider is not a new one"
    );

    let keys = of_app(api.app.id, "/live/signing_keys");
    let rotate = format!("{keys}/rotate");
    for _ in 1..MAX_KEYS {
        assert_eq!(by.send("POST", &rotate, None).await.status, 201);
    }
    let full = by.send("POST", &rotate, None).await;
    full.refuses(409, "limit_reached", Some("signing_key"));
    // Not the key that signs, which is replaced at once. Keys of one second are listed in no particular order.
    let listed = by.get(&keys).await.ok();
    let listed = listed.body["signing_keys"].as_array().unwrap();
    let waiting = (listed.iter()).max_by_key(|key| key["active_from"].as_i64());
    let waiting = waiting.and_then(|key| key["id"].as_str()).unwrap();
    let revoke = format!("{keys}/{waiting}/revoke");
    by.send("POST", &revoke, None).await.ok();
    assert_eq!(by.send("POST", &rotate, None).await.status, 201);
}

async fn an_app_is_set_up_by_api_alone(api: &Api) {
    let by = full(api).await;
    let app = by.post("/v1/manage/apps", json!({"name": "Shop"})).await;
    assert_eq!(app.status, 201);
    let app = app.text_at("/id");
    let listed = by.get("/v1/manage/apps").await.ok();
    let names: Vec<_> = listed.body["apps"].as_array().unwrap().iter().collect();
    assert_eq!(names.len(), 2, "{}", listed.text);
    let path = of_app(&app, "");
    let renamed = by.send("PATCH", &path, Some(json!({"name": "Shop 2"})));
    assert_eq!(renamed.await.ok().text_at("/name"), "Shop 2");
    let shown = by.get(&of_app(&app, "")).await.ok();
    assert_eq!(shown.text_at("/name"), "Shop 2");

    let urls = of_app(&app, "/live/redirect_urls");
    let url = json!({"kind": "login", "url": "https://shop.example/in", "default": true});
    let added = by.post(&urls, url).await;
    assert_eq!(
        (added.status, added.body["default"].as_bool()),
        (201, Some(true))
    );
    let removed = by
        .delete(&format!("{urls}/{}", added.text_at("/id")), None)
        .await;
    removed.ok();
    let listed = by.get(&urls).await.ok();
    assert_eq!(listed.body["redirect_urls"], json!([]));

    let keys = of_app(&app, "/live/keys");
    let made = by
        .post(&keys, json!({"name": "backend", "preset": "sign-in"}))
        .await;
    assert_eq!(made.status, 201, "{}", made.text);
    let backend = api.with_key(&made.text_at("/key"));
    let user = json!({"email": "ada@example.com"});
    backend.post("/v1/auth/users/create", user).await.ok();
    let id = made.text_at("/id");
    let one = format!("{keys}/{id}");
    let narrowed =
        json!({"scopes": ["users:read"], "name": null, "expires_at": START.unix() + 3_600});
    let narrowed = by.send("PATCH", &one, Some(narrowed)).await.ok();
    assert_eq!(narrowed.body["scopes"], json!(["users:read"]));
    assert_eq!(narrowed.body["name"], "");
    assert_eq!(narrowed.body["expires_at"], START.unix() + 3_600);
    let rotated = by.send("POST", &format!("{one}/rotate"), None).await;
    assert_eq!(
        (rotated.status, rotated.body["scopes"].clone()),
        (201, json!(["users:read"]))
    );
    by.delete(&one, None).await.ok();
    by.delete(&one, None)
        .await
        .refuses(404, "not_found", Some("active key"));
    let listed = by.get(&keys).await.ok();
    let listed = listed.body["keys"].as_array().unwrap().clone();
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().all(|key| key.get("key").is_none()), "MG-8");

    let providers = of_app(&app, "/live/providers");
    let google = format!("{providers}/google");
    let set = json!({"client_id": "id", "client_secret": "s3cr3t-value"});
    let set = by.send("PUT", &google, Some(set)).await.ok();
    assert!(!set.contains("s3cr3t-value"), "MG-8");
    let shown = json!({"set": true, "last_four": null, "updated_at": START.unix()});
    assert_eq!(set.body["secret"], shown, "a short one is not shown");
    api.pass(5);
    let longer = json!({"client_id": "id", "client_secret": "s3cr3t-of-some-length"});
    let with_etag = by.clone().header("If-Match", set.header("etag").unwrap());
    let set = with_etag.send("PUT", &google, Some(longer)).await.ok();
    let listed = by.get(&providers).await.ok();
    let shown = json!({"set": true, "last_four": "ngth", "updated_at": START.unix() + 5});
    assert_eq!(set.body["secret"], shown);
    assert_eq!(listed.body["providers"], json!([set.body]));
    assert!(!listed.contains("s3cr3t-of"), "MG-8");

    let signing = of_app(&app, "/live/signing_keys");
    let next = by.send("POST", &format!("{signing}/rotate"), None).await;
    assert_eq!(next.status, 201);
    let listed = by.get(&signing).await.ok();
    let listed = listed.body["signing_keys"].as_array().unwrap().clone();
    assert_eq!(listed.len(), 2);
    assert!(!listed[0].to_string().contains("\"d\""), "a private key");
    let revoke = format!("{signing}/{}/revoke", next.text_at("/id"));
    by.send("POST", &revoke, None).await.ok();

    let hooks = of_app(&app, "/live/webhook_endpoints");
    let hook = json!({"url": "https://shop.example/hooks", "types": ["user.*"]});
    let made = by.post(&hooks, hook.clone()).await;
    assert_eq!(made.status, 201);
    let secret = made.text_at("/secret");
    by.post(&hooks, hook).await.refuses(409, "duplicate", None);
    let one = format!("{hooks}/{}", made.text_at("/id"));
    let etag = made.header("etag").unwrap();
    let renaming = by.clone().header("If-Match", etag);
    let renamed = renaming.send("PATCH", &one, Some(json!({"name": "Hook"})));
    renamed.await.ok();
    let rotated = by
        .post(
            &format!("{one}/rotate_secret"),
            json!({"overlap_minutes": 5}),
        )
        .await;
    assert_ne!(rotated.ok().text_at("/secret"), secret);
    let shown = by.get(&one).await.ok();
    assert_eq!(shown.body["secrets"].as_array().unwrap().len(), 2);
    assert!(!shown.contains(&secret), "MG-8");
    by.send("POST", &format!("{one}/disable"), None).await.ok();
    let enabled = by
        .post(&format!("{one}/enable"), json!({"resume": "none"}))
        .await;
    assert_eq!(enabled.ok().text_at("/state"), "active");
    let tested = by.send("POST", &format!("{one}/test"), None).await.ok();
    assert_eq!(tested.body["status"], 200);

    let ended = by
        .send("POST", &of_app(&app, "/live/sessions/end_all"), None)
        .await;
    assert_eq!(ended.ok().body, json!({"ended": 0}));
}

/// A call, the scope that it needs, and whether it is about one environment.
pub(crate) struct Row {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) body: Option<Value>,
    scope: ManagementScope,
}

/// A row for each call of the management API, about objects of one App and environment.
pub(crate) async fn rows(api: &Api, app: AppId) -> Vec<Row> {
    use ManagementScope as S;
    let by = full(api).await;
    let world = |rest: &str| of_app(app, &format!("/test{rest}"));
    let key = by
        .post(&world("/keys"), json!({"scopes": ["users:read"]}))
        .await;
    let [key, rotated] = [key.text_at("/id"), {
        let key = by
            .post(&world("/keys"), json!({"scopes": ["users:read"]}))
            .await;
        key.text_at("/id")
    }];
    let url = json!({"kind": "login", "url": "https://walk.example/in"});
    let url = by.post(&world("/redirect_urls"), url).await.text_at("/id");
    let provider = json!({"client_id": "id", "client_secret": "secret"});
    by.send("PUT", &world("/providers/github"), Some(provider.clone()))
        .await
        .ok();
    let jwk = by
        .send("POST", &world("/signing_keys/rotate"), None)
        .await
        .text_at("/id");
    let hook = json!({"url": "https://walk.example/hooks"});
    let hook = by
        .post(&world("/webhook_endpoints"), hook)
        .await
        .text_at("/id");
    let hook = |rest: &str| world(&format!("/webhook_endpoints/{hook}{rest}"));
    api.service.sequence_all().await.unwrap();
    let of_app_in_test = by
        .clone()
        .header("Vestry-App", &app.to_string())
        .header("Vestry-Environment", "test");
    let seen = of_app_in_test.get("/v1/events?limit=10").await.ok();
    let event = seen.text_at("/events/0/id");
    let again = by
        .post(&hook("/replay"), json!({"event_id": event}))
        .await
        .ok();
    let delivery = again.text_at("/delivery_id");
    let row = |method, path, body, scope| Row {
        method,
        path,
        body,
        scope,
    };
    vec![
        row("GET", of_app(app, ""), None, S::AppsRead),
        row(
            "PATCH",
            of_app(app, ""),
            Some(json!({"name": "Walk"})),
            S::AppsWrite,
        ),
        row("GET", of_app(app, "/settings"), None, S::SettingsRead),
        row(
            "PATCH",
            of_app(app, "/settings"),
            Some(json!({"freshness_minutes": 9})),
            S::SettingsWrite,
        ),
        row(
            "PUT",
            of_app(app, "/settings"),
            Some(json!({"freshness_minutes": 8})),
            S::SettingsWrite,
        ),
        row("GET", of_app(app, "/config"), None, S::ConfigRead),
        row(
            "PUT",
            of_app(app, "/config"),
            Some(json!({"test": {}})),
            S::ConfigWrite,
        ),
        row("GET", world("/keys"), None, S::KeysRead),
        row("POST", world("/keys"), Some(json!({})), S::KeysWrite),
        row(
            "PATCH",
            world(&format!("/keys/{key}")),
            Some(json!({"name": "x"})),
            S::KeysWrite,
        ),
        row(
            "POST",
            world(&format!("/keys/{rotated}/rotate")),
            None,
            S::KeysWrite,
        ),
        row("DELETE", world(&format!("/keys/{key}")), None, S::KeysWrite),
        row("GET", world("/redirect_urls"), None, S::RedirectUrlsRead),
        row(
            "POST",
            world("/redirect_urls"),
            Some(json!({"kind": "login", "url": "https://walk.example/2"})),
            S::RedirectUrlsWrite,
        ),
        row(
            "PATCH",
            world(&format!("/redirect_urls/{url}")),
            Some(json!({"default": true})),
            S::RedirectUrlsWrite,
        ),
        row(
            "DELETE",
            world(&format!("/redirect_urls/{url}")),
            None,
            S::RedirectUrlsWrite,
        ),
        row("GET", world("/providers"), None, S::ProvidersRead),
        row("GET", world("/providers/github"), None, S::ProvidersRead),
        row(
            "PUT",
            world("/providers/google"),
            Some(json!({"client_id": "id", "client_secret": "s"})),
            S::ProvidersWrite,
        ),
        row(
            "POST",
            world("/providers/github/check"),
            None,
            S::ProvidersWrite,
        ),
        row(
            "DELETE",
            world("/providers/github"),
            None,
            S::ProvidersWrite,
        ),
        row("GET", world("/signing_keys"), None, S::KeysRead),
        row("POST", world("/signing_keys/rotate"), None, S::KeysWrite),
        row(
            "POST",
            world(&format!("/signing_keys/{jwk}/revoke")),
            None,
            S::KeysWrite,
        ),
        row("POST", world("/sessions/end_all"), None, S::SessionsWrite),
        row("GET", world("/webhook_endpoints"), None, S::WebhooksRead),
        row(
            "POST",
            world("/webhook_endpoints"),
            Some(json!({"url": "https://walk.example/2"})),
            S::WebhooksWrite,
        ),
        row("GET", hook(""), None, S::WebhooksRead),
        row(
            "PATCH",
            hook(""),
            Some(json!({"name": "x"})),
            S::WebhooksWrite,
        ),
        row("POST", hook("/disable"), None, S::WebhooksWrite),
        row("POST", hook("/enable"), None, S::WebhooksWrite),
        row("POST", hook("/rotate_secret"), None, S::WebhooksWrite),
        row("POST", hook("/test"), None, S::WebhooksWrite),
        row("GET", hook("/deliveries?limit=10"), None, S::WebhooksRead),
        row(
            "GET",
            hook(&format!("/deliveries/{delivery}")),
            None,
            S::WebhooksRead,
        ),
        row(
            "POST",
            hook("/replay"),
            Some(json!({"event_id": event})),
            S::WebhooksWrite,
        ),
        row("GET", hook("/replays"), None, S::WebhooksRead),
        row("DELETE", hook(""), None, S::WebhooksWrite),
    ]
}

/// The pattern of the OpenAPI document behind a path.
pub(crate) fn pattern(path: &str) -> String {
    let words = path.split('/').enumerate().map(|(place, word)| match word {
        "test" | "live" if place == 5 => "{environment}".to_owned(),
        "github" | "google" => "{provider}".to_owned(),
        word => match word.split_once('_') {
            Some((prefix, rest)) if rest.len() == 27 => format!("{{{prefix}_id}}"),
            _ => word.to_owned(),
        },
    });
    words.collect::<Vec<_>>().join("/")
}

/// Objects that the walk deletes.
const REMOVED: [&str; 4] = [
    "/keys/{key_id}",
    "/redirect_urls/{redirect_id}",
    "/providers/{provider}",
    "/webhook_endpoints/{whep_id}",
];

/// MG-5 and the rights of keys, for each call: with the scope alone it is permitted. Without it, in another environment or for another App
/// it is refused, and so it is for an object of another App and for a deleted one. A route without a row fails.
async fn cn_m1_mg_5_every_call_needs_its_scope_app_and_environment(api: &Api) {
    let other = api
        .service
        .create_app(Principal::cli(), "Other")
        .await
        .unwrap();
    let unknown = AppId::new(START, [9; 16]);
    let (mine, environment) = (api.app.id, Environment::Test);
    let of_others = rows(api, other.id).await;
    let rows = rows(api, mine).await;
    let walked: BTreeSet<_> = rows
        .iter()
        .map(|row| {
            (
                row.method.to_owned(),
                pattern(row.path.split('?').next().unwrap()),
            )
        })
        // These name no App.
        .chain(
            [
                ("GET", "/v1/manage/apps"),
                ("POST", "/v1/manage/apps"),
                ("GET", STATUS),
                ("GET", "/v1/manage/operators"),
                ("PATCH", "/v1/manage/operators/{user_id}"),
                ("DELETE", "/v1/manage/operators/{user_id}"),
                ("GET", "/v1/manage/operators/invitations"),
                ("POST", "/v1/manage/operators/invitations"),
                ("DELETE", "/v1/manage/operators/invitations/{inv_id}"),
            ]
            .map(|(method, path)| (method.to_owned(), path.to_owned())),
        )
        .collect();
    let routes: BTreeSet<_> = vestry_manage::endpoints()
        .iter()
        .map(|route| (route.method().to_string(), route.path.clone()))
        .collect();
    assert_eq!(
        walked, routes,
        "a route without a row, or a row without a route"
    );

    for (row, foreign) in rows.iter().zip(&of_others) {
        let Row {
            method,
            path,
            body,
            scope,
        } = row;
        let shown = format!("{method} {path}");
        let without: Vec<_> = ManagementScope::ALL
            .iter()
            .copied()
            .filter(|other| !other.covers(*scope))
            .collect();
        let lacking = api.with_key(&key(api, Some(vec![mine]), &Environment::ALL, &without).await);
        let send = async |by: &Client<'_>, path: &str| by.send(method, path, body.clone()).await;
        let refused = send(&lacking, path).await;
        refused.refuses(403, "key_not_allowed", Some("scope"));
        assert!(
            refused.text.contains(scope.as_str()),
            "{shown}: {}",
            refused.text
        );

        // The scope is checked first, with an `Idempotency-Key` too: a key without it does not learn which Apps exist.
        let lacking = api.with_key(&key(api, None, &Environment::ALL, &without).await);
        for app in [mine, other.id, unknown, AppId::BUILT_IN] {
            let foreign = path.replace(&mine.to_string(), &app.to_string());
            for by in [lacking.clone(), keyed(lacking.clone(), "order-17")] {
                let refused = send(&by, &foreign).await;
                refused.refuses(403, "key_not_allowed", Some("scope"));
            }
        }

        let elsewhere = [environment_other(environment)];
        let elsewhere = api.with_key(&key(api, Some(vec![mine]), &elsewhere, &[*scope]).await);
        let refused = send(&elsewhere, path).await;
        // What an App is called can be read with either environment.
        if !matches!(
            (*method, *scope),
            (
                "GET",
                ManagementScope::AppsRead
                    | ManagementScope::SettingsRead
                    | ManagementScope::ConfigRead
            )
        ) {
            refused.refuses(403, "key_not_allowed", Some("environment"));
        }

        let only = api.with_key(&key(api, Some(vec![mine]), &Environment::ALL, &[*scope]).await);
        let every = api.with_key(&key(api, None, &Environment::ALL, &[*scope]).await);
        let live = path.replace("/test/", "/live/");
        let mut answers = Vec::new();
        // The built-in App is of the live environment, so an `all` key must not reach it there either.
        for (by, app, path) in [
            (&only, other.id, path),
            (&only, unknown, path),
            (&only, AppId::BUILT_IN, path),
            (&only, AppId::BUILT_IN, &live),
            (&every, unknown, path),
            (&every, AppId::BUILT_IN, path),
            (&every, AppId::BUILT_IN, &live),
        ] {
            let foreign = path.replace(&mine.to_string(), &app.to_string());
            // A change of nothing tells nothing either.
            let nothing = body.as_ref().map(|_| json!({}));
            let refused = by.send(method, &foreign, nothing).await;
            assert!(
                [400, 404].contains(&refused.status),
                "{shown} of {app}: {}",
                refused.text
            );
            let refused = send(by, &foreign).await;
            assert_eq!(refused.status, 404, "{shown} of {app}: {}", refused.text);
            let mut body = refused.body.clone();
            body["request_id"] = json!(null);
            answers.push(body);
        }
        assert!(
            answers.iter().all(|body| *body == answers[0]),
            "{shown}: {answers:?}"
        );
        // In the other environment no object has these ids.
        let swapped = path.replace("/test/", "/live/");
        if pattern(path).matches('{').count() > 2 && *method != "PUT" {
            let refused = send(&only, &swapped).await;
            assert_eq!(refused.status, 404, "{shown}: {}", refused.text);
        }

        // Nor has this App the objects of another, for a key of both.
        let foreign = foreign
            .path
            .replace(&other.id.to_string(), &mine.to_string());
        if foreign != *path {
            let refused = send(&every, &foreign).await;
            assert_eq!(refused.status, 404, "{method} {foreign}: {}", refused.text);
        }

        let allowed = send(&only, path).await;
        let is_guarded = allowed.code() == "precondition_required";
        assert!(
            (200..300).contains(&allowed.status) || is_guarded,
            "{shown}: {}",
            allowed.text
        );
    }

    let by = full(api).await;
    for Row { path, .. } in rows.iter().filter(|row| row.method == "DELETE") {
        // The others are gone.
        if let Some(etag) = by.get(path).await.header("etag") {
            let by = by.clone().header("If-Match", etag);
            by.send("DELETE", path, None).await.ok();
        }
    }
    for Row {
        method, path, body, ..
    } in &rows
    {
        let is_removed = REMOVED.iter().any(|end| pattern(path).contains(end));
        // The other key was only replaced.
        let is_replaced = path.ends_with("/rotate");
        if is_removed && !is_replaced && *method != "PUT" {
            let refused = by.send(method, path, body.clone()).await;
            assert_eq!(
                refused.status, 404,
                "{method} {path}, deleted: {}",
                refused.text
            );
        }
    }
}

async fn the_state_of_the_deployment_is_for_keys_of_all_apps(api: &Api) {
    let (all, of_status) = (Environment::ALL, [ManagementScope::AppsRead]);
    let without = [ManagementScope::KeysRead];
    for (apps, environments, scopes, param) in [
        (Some(vec![api.app.id]), &all[..], of_status, "apps"),
        (None, &[Environment::Live], of_status, "environment"),
        (None, &all, without, "scope"),
    ] {
        let by = api.with_key(&key(api, apps, environments, &scopes).await);
        let refused = by.get(STATUS).await;
        refused.refuses(403, "key_not_allowed", Some(param));
    }
    let by = api.with_key(&key(api, None, &all, &of_status).await);
    let vault = json!({"kind": "local", "version": 1});
    let expected = |wallets: &Value, messages: i64, checkpoint: Value| {
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "migrations": "ok",
            "vaults": {"wallets": wallets, "secrets": vault},
            "backlog": {"messages": messages},
            "checkpoint": checkpoint,
        })
    };
    let shown = by.get(STATUS).await.ok();
    assert_eq!(shown.body, expected(&vault, 0, json!(null)));
    let login = json!({"email": "ada@example.com"});
    let path = "/v1/auth/otps/email/login_or_create";
    api.live().post(path, login).await.ok();
    // A new key signs after one period.
    api.service.checkpoint_key_ripens_in().await.unwrap();
    api.pass(60);
    api.service.make_checkpoint().await.unwrap().unwrap();
    api.pass(7);
    api.vault.set_gone(true);
    let checkpoint = json!({"at": START.unix() + 60, "age_seconds": 7});
    let shown = by.get(STATUS).await.ok();
    assert_eq!(shown.body, expected(&json!(null), 1, checkpoint));
    api.vault.set_gone(false);
}

const fn environment_other(environment: Environment) -> Environment {
    match environment {
        Environment::Test => Environment::Live,
        Environment::Live => Environment::Test,
    }
}

async fn events(api: &Api) -> usize {
    api.service.sequence_all().await.unwrap();
    let page = api.live().get("/v1/events?limit=100").await.ok();
    page.body["events"].as_array().unwrap().len()
}

/// MG-1, for settings and a provider.
async fn a_put_of_what_was_read_changes_nothing(api: &Api) {
    let by = full(api).await;
    let settings = of_app(api.app.id, "/settings");
    let github = of_app(api.app.id, "/live/providers/github");
    let provider =
        json!({"client_id": "id", "client_secret": "s", "settings": {"scopes": ["b", "a"]}});
    by.send("PUT", &github, Some(provider)).await.ok();
    let before = events(api).await;
    assert!(before > 0);
    for path in [settings, github] {
        let read = by.get(&path).await.ok();
        let etag = read.header("etag").unwrap().to_owned();
        api.pass(5);
        let put = by.clone().header("If-Match", &etag);
        let put = put.send("PUT", &path, Some(read.body.clone())).await.ok();
        assert_eq!(put.body, read.body);
        assert_eq!(put.header("etag"), Some(etag.as_str()));
    }
    assert_eq!(events(api).await, before);
}

async fn a_change_needs_the_current_etag(api: &Api) {
    let by = full(api).await;
    let hooks = of_app(api.app.id, "/live/webhook_endpoints");
    let hook = json!({"url": "https://shop.example/hooks"});
    let hook = format!("{hooks}/{}", by.post(&hooks, hook).await.text_at("/id"));
    let github = of_app(api.app.id, "/live/providers/github");
    let provider = json!({"client_id": "id", "client_secret": "s"});
    by.send("PUT", &github, Some(provider.clone())).await.ok();
    let settings = of_app(api.app.id, "/settings");
    let minutes = |minutes| Some(json!({"freshness_minutes": minutes}));
    for (method, path, body) in [
        ("PATCH", &settings, minutes(7)),
        ("PUT", &settings, minutes(6)),
        ("PATCH", &hook, Some(json!({"name": "Hook"}))),
        ("DELETE", &hook, None),
        (
            "PUT",
            &github,
            Some(json!({"client_id": "id", "settings": {"scopes": ["x"]}})),
        ),
        ("DELETE", &github, None),
    ] {
        let read = by.get(path).await.ok();
        let etag = read.header("etag").unwrap().to_owned();
        by.send(method, path, body.clone())
            .await
            .refuses(428, "precondition_required", None);
        for wrong in [
            "*",
            &format!("W/{etag}"),
            &format!("{etag}, {etag}"),
            "\"0\"",
            "",
        ] {
            let by = by.clone().header("If-Match", wrong);
            let refused = by.send(method, path, body.clone()).await;
            refused.refuses(412, "precondition_failed", None);
            assert_eq!(
                refused.header("etag"),
                Some(etag.as_str()),
                "{method} {path} {wrong}"
            );
        }
        assert_eq!(by.get(path).await.ok().body, read.body, "{method} {path}");
        let by = by.clone().header("If-Match", &etag);
        by.send(method, path, body.clone()).await.ok();
        let stale = by.send(method, path, body).await;
        let expected = if method == "DELETE" { 404 } else { 412 };
        assert_eq!(stale.status, expected, "{method} {path}: {}", stale.text);
    }
}

/// MG-8: a key that may change a provider cannot have its stored secret sent elsewhere. A second secret is a change too.
async fn a_stored_secret_is_sent_where_it_was(api: &Api) {
    let by = full(api).await;
    let path = of_app(api.app.id, "/live/providers/acme");
    let acme = |changes: Value| {
        let mut acme = json!({"client_id": "id", "settings": {"issuer": "https://acme.example"}});
        for (name, value) in changes.as_object().unwrap() {
            acme[name] = value.clone();
        }
        acme
    };
    let secret = |secret: &str| acme(json!({"client_secret": secret}));
    by.send("PUT", &path, Some(acme(json!({})))).await.refuses(
        400,
        "missing_field",
        Some("client_secret"),
    );
    let first = by.send("PUT", &path, Some(secret("first"))).await.ok();
    let etag = first.header("etag").unwrap().to_owned();
    let with_etag = by.clone().header("If-Match", &etag);
    let second = with_etag
        .send("PUT", &path, Some(secret("second")))
        .await
        .ok();
    with_etag
        .send("PUT", &path, Some(secret("third")))
        .await
        .refuses(412, "precondition_failed", None);
    let by = by.header("If-Match", second.header("etag").unwrap());
    for moved in [
        json!({"client_id": "other"}),
        json!({"settings": {"issuer": "https://evil.example"}}),
        json!({"settings": {"issuer": "https://acme.example", "token_endpoint": "https://evil.example/t"}}),
        json!({"settings": {"issuer": "https://acme.example", "token_endpoint_auth_method": "client_secret_post"}}),
    ] {
        let refused = by.send("PUT", &path, Some(acme(moved))).await;
        refused.refuses(400, "missing_field", Some("client_secret"));
    }
    let same = json!({"settings": {"issuer": "https://acme.example", "scopes": ["email"]}});
    by.send("PUT", &path, Some(acme(same))).await.ok();
}

/// MG-2, with two processes on one database.
async fn cn_r1_mg_2_of_parallel_writers_with_one_etag_one_succeeds(api: &Api) {
    let other = api.other_process(&api.clock).await;
    let shown = async || {
        let shown = api.service.show_app(Principal::cli(), api.app.id);
        shown.await.unwrap()
    };
    for round in 0..rng::rounds(1) {
        let before = shown().await;
        // Every round writes other values than the one before.
        let lowest = if round % 2 == 0 { 100 } else { 300 };
        let writers = (0..100).map(|number: i64| {
            let service = if number % 2 == 0 {
                &api.service
            } else {
                &other
            };
            let (service, before) = (std::sync::Arc::clone(service), before.clone());
            tokio::spawn(async move {
                let settings = json!({"freshness_minutes": lowest + number});
                let settings = settings.as_object().unwrap().clone();
                let change = AppChange {
                    settings: Some(SettingsChange::Some(settings)),
                    ..AppChange::default()
                };
                let is_expected = |app: &App| app.settings == before.settings;
                service
                    .change_app(Principal::cli(), before.id, change, &is_expected)
                    .await
                    .map(|app| app.settings.freshness_minutes)
            })
        });
        let mut written = Vec::new();
        for writer in writers.collect::<Vec<_>>() {
            match writer.await.unwrap() {
                Ok(minutes) => written.push(minutes),
                Err(refused) => assert!(
                    matches!(refused, vestry_app::Refusal::PreconditionFailed),
                    "{refused}"
                ),
            }
        }
        assert_eq!(written, [shown().await.settings.freshness_minutes]);
    }
}

async fn unknown_fields_are_refused_and_change_nothing(api: &Api) {
    let by = full(api).await;
    let (app, keys) = (of_app(api.app.id, ""), of_app(api.app.id, "/live/keys"));
    let settings = of_app(api.app.id, "/settings");
    let before = by.get(&settings).await.ok();
    let etag = before.header("etag").unwrap().to_owned();
    for (method, path, body, code, param) in [
        (
            "POST",
            "/v1/manage/apps",
            json!({"name": "x", "nmae": 1}),
            "unknown_field",
            "nmae",
        ),
        (
            "POST",
            "/v1/manage/apps",
            json!({}),
            "missing_field",
            "name",
        ),
        (
            "POST",
            "/v1/manage/apps",
            json!({"name": ""}),
            "invalid_field",
            "name",
        ),
        (
            "PATCH",
            app.as_str(),
            json!({"disable": true}),
            "unknown_field",
            "disable",
        ),
        (
            "POST",
            &keys,
            json!({"scope": ["users:read"]}),
            "unknown_field",
            "scope",
        ),
        (
            "POST",
            &keys,
            json!({"scopes": ["users:raed"]}),
            "unknown_field",
            "scopes",
        ),
        (
            "POST",
            &keys,
            json!({"preset": "signer", "scopes": ["users:read"]}),
            "invalid_field",
            "preset",
        ),
        (
            "POST",
            &keys,
            json!({"ip_allow": ["0.0.0.0/0"]}),
            "invalid_field",
            "ip_allow",
        ),
        (
            "POST",
            &keys,
            json!({"kind": "root"}),
            "invalid_field",
            "kind",
        ),
        (
            "PATCH",
            &settings,
            json!({"freshness": 3}),
            "unknown_field",
            "freshness",
        ),
        (
            "PATCH",
            &settings,
            json!({"freshness_minutes": "3"}),
            "invalid_field",
            "freshness_minutes",
        ),
    ] {
        let by = by.clone().header("If-Match", &etag);
        let refused = by.send(method, path, Some(body)).await;
        refused.refuses(400, code, Some(param));
    }
    assert_eq!(by.get(&settings).await.ok().body, before.body);
    let keys = by.get(&keys).await.ok();
    assert_eq!(keys.body["keys"].as_array().unwrap().len(), 1);
}

/// MG-3, for the scopes that no key has unless they are named.
async fn a_key_grants_no_scope_that_it_cannot_hold(api: &Api) {
    let keys = of_app(api.app.id, "/live/keys");
    let without = [ManagementScope::KeysWrite];
    let with = [ManagementScope::KeysWrite, ManagementScope::AuditRead];
    let without = api.with_key(&key(api, None, &Environment::ALL, &without).await);
    let with = api.with_key(&key(api, None, &Environment::ALL, &with).await);
    let powerful = KeyFields::scoped(vec![Scope::AuditRead, Scope::WalletsExport]);
    let world = World::new(api.app.id, Environment::Live);
    let kind = vestry_domain::api_key::ApiKeyKind::Secret;
    let powerful = api
        .service
        .create_api_key(Principal::cli(), world, kind, powerful);
    let powerful = format!("{keys}/{}", powerful.await.unwrap().record.id);
    let plain = with.post(&keys, json!({"scopes": ["users:read"]})).await;
    let plain = format!("{keys}/{}", plain.text_at("/id"));
    let narrow = json!({"operations": ["getUser"]});
    let (audit, export) = (
        json!({"scopes": ["audit:read"]}),
        json!({"scopes": ["wallets:export"]}),
    );
    for (by, method, path, body, is_allowed) in [
        (&without, "POST", keys.clone(), Some(&audit), false),
        (&with, "POST", keys.clone(), Some(&audit), true),
        (&with, "POST", keys.clone(), Some(&export), false),
        (&without, "PATCH", plain.clone(), Some(&audit), false),
        (&with, "PATCH", plain.clone(), Some(&export), false),
        (&with, "PATCH", plain, Some(&audit), true),
        (&with, "POST", format!("{powerful}/rotate"), None, false),
        (&with, "PATCH", powerful.clone(), Some(&narrow), false),
        (&with, "PATCH", powerful, Some(&json!({"name": "x"})), true),
    ] {
        let response = by.send(method, &path, body.cloned()).await;
        match is_allowed {
            true => assert!(
                (200..300).contains(&response.status),
                "{method} {path}: {}",
                response.text
            ),
            false => response.refuses(403, "key_not_allowed", Some("scope")),
        }
    }
}

async fn objects_of_an_app_are_reached_with_its_headers(api: &Api) {
    let by = full(api).await;
    let app = api.app.id.to_string();
    let live = by
        .clone()
        .header("Vestry-App", &app)
        .header("Vestry-Environment", "live");
    let body = json!({"email": "ada@example.com"});
    let user = live
        .post("/v1/auth/users/create", body)
        .await
        .ok()
        .text_at("/user_id");
    let path = format!("/v1/auth/users/{user}");
    api.live().get(&path).await.ok();
    api.test()
        .get(&path)
        .await
        .refuses(404, "not_found", Some("user"));
    live.get(&path).await.ok();
    live.send("POST", &format!("{path}/disable"), None)
        .await
        .ok();
    let wallet = json!({"user_id": user, "wallet_type": "ethereum"});
    let wallet = api.live().post("/v1/wallets/create", wallet).await.ok();
    let wallet = format!("/v1/wallets/{}", wallet.text_at("/id"));
    live.send("POST", &format!("{wallet}/disable"), None)
        .await
        .ok();
    let uses = live.get(&format!("{wallet}/audit")).await.ok();
    assert_eq!(uses.body["entries"][0]["actor"]["type"], "management_key");
    assert_eq!(uses.body["entries"][0]["api_key_id"], json!(null));
    api.service.sequence_all().await.unwrap();
    let seen = live.get("/v1/events?limit=100").await.ok();
    let disabled = seen.body["events"].as_array().unwrap().iter();
    let disabled = disabled.filter(|event| event["type"] == "user.disabled");
    assert!(disabled.clone().count() == 1);
    for event in disabled {
        assert_eq!(event["actor"]["type"], "management_key");
    }
    // A key without the scope does not learn which Apps exist.
    let lacking = key(api, None, &Environment::ALL, &[ManagementScope::AuditRead]).await;
    for named in [&app, "app_3Mn9PNR3LQoWYO7VKGiApjOImmI"] {
        let lacking = api.with_key(&lacking).header("Vestry-App", named);
        let lacking = lacking.header("Vestry-Environment", "live");
        let refused = lacking.get(&path).await;
        refused.refuses(403, "key_not_allowed", Some("scope"));
    }
    for (headers, status, code, param) in [
        (vec![], 400, "missing_field", Some("Vestry-App")),
        (
            vec![("Vestry-App", app.as_str())],
            400,
            "missing_field",
            Some("Vestry-Environment"),
        ),
        (
            vec![("Vestry-App", "app_x"), ("Vestry-Environment", "live")],
            400,
            "invalid_field",
            Some("Vestry-App"),
        ),
        (
            vec![
                ("Vestry-App", app.as_str()),
                ("Vestry-App", app.as_str()),
                ("Vestry-Environment", "live"),
            ],
            400,
            "invalid_field",
            Some("Vestry-App"),
        ),
        (
            vec![("Vestry-App", app.as_str()), ("Vestry-Environment", "Live")],
            400,
            "invalid_field",
            Some("Vestry-Environment"),
        ),
        (
            vec![
                ("Vestry-App", "app_000000000000000000000000001"),
                ("Vestry-Environment", "live"),
            ],
            404,
            "not_found",
            Some("app"),
        ),
    ] {
        let sent = headers
            .iter()
            .fold(by.clone(), |by, (name, value)| by.header(name, value));
        sent.get(&path).await.refuses(status, code, param);
    }
    let test_only = key(
        api,
        Some(vec![api.app.id]),
        &[Environment::Test],
        ManagementScope::ALL,
    );
    let test_only = api.with_key(&test_only.await).header("Vestry-App", &app);
    let live = test_only.clone().header("Vestry-Environment", "live");
    live.get(&path)
        .await
        .refuses(403, "key_not_allowed", Some("environment"));
}

/// MG-4, for each operation of the API.
async fn what_only_a_backend_may_do_is_refused(api: &Api) {
    let by = full(api).await;
    let by = by.header("Vestry-App", &api.app.id.to_string());
    let by = by.header("Vestry-Environment", "test");
    let mut refused = 0;
    for operation in crate::harness::described().all() {
        let Ok(known) = operation.id.parse::<Operation>() else {
            continue;
        };
        if known.action().management_scope().is_some() {
            continue;
        }
        let response = by.send(&operation.method, &operation.path, None).await;
        match known {
            // Calls that also take other credentials, and those of the test environment, know only their own.
            Operation::BeginOauth
            | Operation::GetDefaultKeySet
            | Operation::ListTestMessages
            | Operation::DeleteTestMessages
            | Operation::ReadTestClock
            | Operation::SetTestClock
            | Operation::ResetTestClock => response.refuses(401, "invalid_api_key", None),
            _ => response.refuses(403, "key_not_allowed", Some("operation")),
        }
        refused += 1;
    }
    assert!(refused > 40, "{refused}");
}

/// An App's keys are unknown to the management API, and a management key to calls that take public tokens.
async fn a_management_key_is_refused_like_any_other(api: &Api) {
    let apps = "/v1/manage/apps";
    api.anonymous()
        .get(apps)
        .await
        .refuses(401, "missing_api_key", None);
    api.live()
        .get(apps)
        .await
        .refuses(401, "invalid_api_key", None);
    api.with_key("mk_short")
        .get(apps)
        .await
        .refuses(401, "invalid_api_key", None);
    let unknown = format!("mk_{}", "a".repeat(48));
    api.with_key(&unknown)
        .get(apps)
        .await
        .refuses(401, "invalid_api_key", None);
    let path = format!("/v1/auth/users/{}", "user_000000000000000000000000001");
    api.with_key(&unknown)
        .get(&path)
        .await
        .refuses(401, "invalid_api_key", None);
    let expiring = full(api).await;
    expiring.get(apps).await.ok();
    api.pass(86_400);
    expiring
        .get(apps)
        .await
        .refuses(401, "invalid_api_key", None);
}

async fn the_requests_of_a_key_are_counted(api: &Api) {
    let [one, other] = [full(api).await, full(api).await];
    for left in (0..600).rev() {
        let response = one.get("/v1/manage/apps").await.ok();
        assert_eq!(response.header("x-ratelimit-limit"), Some("600"));
        let remaining = response.header("x-ratelimit-remaining");
        assert_eq!(remaining, Some(left.to_string().as_str()));
    }
    let refused = one.get("/v1/manage/apps").await;
    refused.refuses(429, "rate_limited", None);
    other.get("/v1/manage/apps").await.ok();
    api.pass(60);
    one.get("/v1/manage/apps").await.ok();
}

/// OPR-2, MG-3: a key makes and manages the viewers of its Apps, and sees no other operators.
async fn operators_are_invited_and_removed(api: &Api) {
    const PATH: &str = "/v1/manage/operators";
    const INVITATIONS: &str = "/v1/manage/operators/invitations";
    let other = (api.service.create_app(Principal::cli(), "Other"))
        .await
        .unwrap();
    let (mine, both) = (api.app.id, Environment::ALL);
    let scopes = [ManagementScope::OperatorsWrite];
    let only = api.with_key(&key(api, Some(vec![mine]), &both, &scopes).await);
    let test = [Environment::Test];
    let test = api.with_key(&key(api, Some(vec![mine]), &test, &scopes).await);
    let others: Vec<_> = (ManagementScope::ALL.iter().copied())
        .filter(|scope| !scope.covers(ManagementScope::OperatorsRead))
        .collect();
    let lacking = api.with_key(&key(api, None, &both, &others).await);
    let invite =
        |role: &str, apps: Value| json!({"email": "ann@example.com", "role": role, "apps": apps});
    for (method, path, body) in [
        ("GET", PATH, None),
        ("GET", INVITATIONS, None),
        ("POST", INVITATIONS, Some(invite("viewer", json!([mine])))),
        (
            "DELETE",
            "/v1/manage/operators/invitations/inv_2qLWHG4bS2fTgFOzTyqEbJXVpHZ",
            None,
        ),
        (
            "PATCH",
            "/v1/manage/operators/user_2qLWHG4bS2fTgFOzTyqEbJXVpHZ",
            Some(json!({"disabled": true})),
        ),
        (
            "DELETE",
            "/v1/manage/operators/user_2qLWHG4bS2fTgFOzTyqEbJXVpHZ",
            None,
        ),
    ] {
        let refused = lacking.send(method, path, body.clone()).await;
        refused.refuses(403, "key_not_allowed", Some("scope"));
    }
    for (by, body, status, code, param) in [
        (
            &only,
            invite("developer", json!([mine])),
            403,
            "key_not_allowed",
            Some("role"),
        ),
        (
            &only,
            invite("owner", json!("all")),
            403,
            "key_not_allowed",
            Some("scope"),
        ),
        (
            &only,
            invite("viewer", json!("all")),
            403,
            "key_not_allowed",
            Some("apps"),
        ),
        (
            &only,
            invite("viewer", json!([other.id])),
            404,
            "not_found",
            Some("app"),
        ),
        (
            &only,
            invite("viewer", json!(["app_x"])),
            404,
            "not_found",
            Some("app"),
        ),
        (
            &only,
            invite("viewer", json!([])),
            400,
            "invalid_field",
            Some("apps"),
        ),
        (
            &only,
            invite("viewer", json!("some")),
            400,
            "invalid_field",
            Some("apps"),
        ),
        (
            &only,
            invite("king", json!([mine])),
            400,
            "unknown_field",
            Some("role"),
        ),
        (
            &test,
            invite("viewer", json!([mine])),
            403,
            "key_not_allowed",
            Some("environment"),
        ),
    ] {
        by.post(INVITATIONS, body)
            .await
            .refuses(status, code, param);
    }
    let made = only
        .post(INVITATIONS, invite("viewer", json!([mine])))
        .await;
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(made.body["roles"], json!({mine.to_string(): "viewer"}));
    assert!(!made.text.contains("token="), "MG-8");
    api.deliver().await;
    let (_, mail) = api.mailer.sent().pop().unwrap();
    assert!(
        mail.link
            .starts_with("https://console.example.com/console/join?token=")
    );
    let listed = only.get(INVITATIONS).await.ok();
    assert_eq!(listed.body["invitations"][0], made.body);
    let one = format!("{INVITATIONS}/{}", made.text_at("/id"));
    only.delete(&one, None).await.ok();
    assert_eq!(
        only.get(INVITATIONS).await.ok().body["invitations"],
        json!([])
    );

    let viewer = crate::console::joined(api, "ann@example.com", "viewer", Some(mine)).await;
    let developer = crate::console::joined(api, "ben@example.com", "developer", Some(mine)).await;
    let stranger = crate::console::joined(api, "eve@example.com", "viewer", Some(other.id)).await;
    let listed = only.get(PATH).await.ok();
    let operators = listed.body["operators"].as_array().unwrap();
    let emails: BTreeSet<_> = operators
        .iter()
        .map(|one| one["email"].as_str().unwrap())
        .collect();
    assert_eq!(
        emails,
        BTreeSet::from(["ann@example.com", "ben@example.com"])
    );
    assert!(!listed.text.contains("second_factor"), "MG-12");
    let disable = json!({"disabled": true});
    let path = |user: &str| format!("{PATH}/{user}");
    let changed = only
        .send("PATCH", &path(&viewer), Some(disable.clone()))
        .await
        .ok();
    assert_eq!(changed.body["disabled"], true);
    let refused = only
        .send("PATCH", &path(&developer), Some(disable.clone()))
        .await;
    refused.refuses(403, "key_not_allowed", Some("role"));
    let refused = only
        .send("PATCH", &path(&stranger), Some(disable.clone()))
        .await;
    refused.refuses(404, "not_found", Some("operator"));
    // MG-12: it stays disabled for the key, even if an owner did it.
    only.send("PATCH", &path(&viewer), Some(disable.clone()))
        .await
        .ok();
    for (method, body) in [
        ("PATCH", Some(json!({"disabled": false}))),
        ("DELETE", None),
    ] {
        let refused = only.send(method, &path(&viewer), body).await;
        refused.refuses(403, "key_not_allowed", Some("disabled"));
    }
    let listed = only.get(PATH).await.ok();
    let listed = listed.body["operators"].as_array().unwrap();
    assert!(listed.contains(&changed.body), "{listed:?}");
    let enabled = (api.service).change_operator(
        Principal::cli(),
        viewer.parse().unwrap(),
        OperatorChange::Enable,
    );
    enabled.await.unwrap();
    let enable = json!({"disabled": false});
    let same = only.send("PATCH", &path(&viewer), Some(enable)).await.ok();
    assert_eq!(same.body["disabled"], false);
    only.delete(&path(&viewer), None).await.ok();
    only.delete(&path(&developer), None)
        .await
        .refuses(403, "key_not_allowed", Some("role"));
}
