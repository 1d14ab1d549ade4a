//! The configuration of an App as one document (MG-1, MG-6, CN-C1).

use std::sync::Arc;

use serde_json::{Value, json};
use vestry_app::operators::NewManagementKeyFields;
use vestry_app::{Principal, Refusal, Service};
use vestry_contract::rng::{self, Rng};
use vestry_domain::Environment;
use vestry_domain::World;
use vestry_domain::config::Config;
use vestry_domain::ids::AppId;
use vestry_domain::management_key::Rights;
use vestry_domain::management_scope::ManagementScope;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::timestamp::Seconds;

use crate::harness::{Api, Client, START, on_both};

on_both! {
    cn_c1_mg_6_an_applied_export_is_the_same_document
    mg_1_a_put_of_what_was_read_changes_nothing
    mg_6_a_plan_is_what_apply_does
    mg_6_each_change_is_recorded_like_a_single_one
    mg_6_of_parallel_writers_with_one_etag_one_succeeds
    mg_6_no_single_change_is_lost_to_a_document
    mg_6_documents_change_endpoints_beside_the_sequencer
    a_new_provider_works_once_its_secret_is_set
    a_new_endpoint_has_a_secret_that_rotation_shows
    an_endpoint_is_kept_whatever_the_order_of_the_document
    a_document_names_what_it_refuses
    a_key_changes_no_more_than_its_environments
}

async fn key(api: &Api, environments: &[Environment], scopes: &[ManagementScope]) -> String {
    let rights = Rights::new(None, environments.to_vec(), scopes.to_vec(), None);
    let fields = NewManagementKeyFields {
        name: "terraform".to_owned(),
        rights: rights.unwrap(),
        expires_at: START + Seconds(86_400),
    };
    let made = api.service.create_management_key(Principal::cli(), fields);
    made.await.unwrap().key.expose().clone()
}

async fn manager(api: &Api) -> Client<'_> {
    let client = api.with_key(&key(api, &Environment::ALL, ManagementScope::ALL).await);
    client.unlimited()
}

fn path(app: AppId) -> String {
    format!("/v1/manage/apps/{app}/config")
}

fn config(document: Value) -> Config {
    serde_json::from_value(document).unwrap()
}

async fn new_app(service: &Service) -> AppId {
    let made = service.create_app(Principal::cli(), "Shop").await;
    made.unwrap().id
}

async fn export(service: &Service, app: AppId) -> Config {
    service.show_config(Principal::cli(), app).await.unwrap()
}

async fn apply(service: &Service, app: AppId, document: &Config) -> Config {
    let applied = service.apply_config(Principal::cli(), app, document, &|_| true);
    applied.await.unwrap().after
}

/// The events of both environments, without their ids.
async fn events(api: &Api, app: AppId) -> Vec<String> {
    api.service.sequence_all().await.unwrap();
    let by = manager(api).await.header("Vestry-App", &app.to_string());
    let mut all = Vec::new();
    for environment in ["test", "live"] {
        let by = by.clone().header("Vestry-Environment", environment);
        let page = by.get("/v1/events?limit=100").await.ok();
        for event in page.body["events"].as_array().unwrap() {
            let changed = &event["data"]["changed"];
            all.push(format!("{environment} {} {changed}", event["type"]));
        }
    }
    all.sort();
    all
}

/// The audit entries of both environments, without ids.
async fn entries(api: &Api, app: AppId) -> Vec<String> {
    let by = manager(api).await.header("Vestry-App", &app.to_string());
    let mut all = Vec::new();
    for environment in ["test", "live"] {
        let by = by.clone().header("Vestry-Environment", environment);
        let page = by.get("/v1/audit?limit=100").await.ok();
        for entry in page.body["entries"].as_array().unwrap() {
            all.push(format!(
                "{environment} {} {}",
                entry["action"], entry["detail"]
            ));
        }
    }
    all.sort();
    all
}

/// MG-6: documents that change, remove and add several endpoints are applied while events are addressed to these endpoints.
async fn mg_6_documents_change_endpoints_beside_the_sequencer(api: &Api) {
    let app = new_app(&api.service).await;
    let document = |round: usize| {
        let types = ["user.created", "redirect_url.*"];
        let hooks = (0..6).filter(|number| !(number + round).is_multiple_of(6));
        let hooks = hooks.map(|number| {
            json!({
                "url": format!("https://{number}.example/hook"),
                "types": [types[(number + round) % 2]],
            })
        });
        let hooks: Vec<_> = hooks.collect();
        let urls = [json!({"kind": "login", "url": format!("https://{round}.example/in")})];
        config(json!({"live": {"redirect_urls": urls, "webhook_endpoints": hooks}}))
    };
    apply(&api.service, app, &document(0)).await;
    let other = api.other_process(&api.clock).await;
    let writes = async {
        for round in 1..20 {
            let wanted = document(round);
            let applied = apply(&api.service, app, &wanted).await;
            assert_eq!(export(&api.service, app).await, applied);
        }
    };
    let sequencing = async {
        for _ in 0..40 {
            other.sequence_all().await.unwrap();
        }
    };
    futures_util::join!(writes, sequencing);
}

/// A random document. With `providers` it configures some.
fn random(rng: &mut Rng, has_providers: bool) -> Config {
    let mut settings = serde_json::Map::new();
    for (name, values) in [
        ("freshness_minutes", json!([1, 15, 1440])),
        ("jwt_algorithm", json!(["ES256", "RS256", "EdDSA"])),
        ("sms_countries", json!([[], ["US", "DE"], ["DE", "US"]])),
        ("wallet_export", json!([true, false])),
        ("test_per_minute", json!([null, 0, 4_294_967_295_u32])),
        ("event_retention_days", json!([null, 7, 365])),
        (
            "oauth_live_redirect_uri",
            json!([null, "https://a.example/own?a=b"]),
        ),
        ("webauthn_domains", json!([[], ["b.example", "a.example"]])),
        ("events_optional", json!([[], ["wallet.signed"]])),
        ("attached_identifiers", json!(["claim", "trusted"])),
    ] {
        let values = values.as_array().unwrap();
        if rng.below(3) > 0 {
            settings.insert(name.to_owned(), values[rng.below(values.len())].clone());
        }
    }
    let mut section = || {
        let mut urls = Vec::new();
        for kind in ["login", "registration", "invite"] {
            let default = rng.below(5);
            for number in (0..4)
                .rev()
                .filter(|_| rng.below(2) > 0)
                .collect::<Vec<_>>()
            {
                let url = [
                    "https://a.example/in",
                    "https://ümlaut.example/é?b=c",
                    "com.example.app:/x",
                    "http://127.0.0.1/x",
                ];
                urls.push(json!({"kind": kind, "url": url[number], "default": number == default}));
            }
        }
        let mut providers = serde_json::Map::new();
        for (name, provider) in [
            (
                "google",
                json!({"client_id": "g", "settings": {"scopes": ["b", "a"]}}),
            ),
            ("github", json!({"client_id": "g h"})),
            (
                "acme",
                json!({"client_id": "a", "settings": {
                    "issuer": "https://acme.example", "trust_email_verified": true, "token_endpoint_auth_method": "client_secret_post"
                }}),
            ),
            (
                "apple",
                json!({"client_id": "a", "settings": {"apple": {"team_id": "t", "key_id": "k"}}}),
            ),
            (
                "microsoft",
                json!({"client_id": "m", "settings": {"tenants": ["t2", "t1"], "store_tokens": true}}),
            ),
        ] {
            if has_providers && rng.below(2) > 0 {
                providers.insert(name.to_owned(), provider);
            }
        }
        let mut hooks = Vec::new();
        for number in 0..rng.below(5) {
            let url = format!("https://hooks.example/{}", rng.below(3));
            let types = [
                json!(["*"]),
                json!(["wallet.*", "user.*"]),
                json!(["user.created"]),
            ];
            let types = &types[rng.below(3)];
            let is_new = |hook: &Value| hook["url"] != url || hook["types"] != *types;
            if hooks.iter().all(is_new) {
                let name = (number % 2 == 0).then(|| format!("Höok {number}"));
                hooks.push(json!({"url": url, "types": types, "name": name}));
            }
        }
        json!({"redirect_urls": urls, "providers": providers, "webhook_endpoints": hooks})
    };
    let (test, live) = (section(), section());
    config(json!({"settings": settings, "test": test, "live": live}))
}

/// CN-C1. The number of Apps is `VESTRY_TEST_ROUNDS`, or 50.
async fn cn_c1_mg_6_an_applied_export_is_the_same_document(api: &Api) {
    let mut rng = Rng::from_seed(rng::seed());
    let by = Principal::cli();
    for round in 0..rng::rounds(50) {
        let source = new_app(&api.service).await;
        let after = apply(&api.service, source, &random(&mut rng, true)).await;
        let exported = export(&api.service, source).await;
        assert_eq!(after, exported, "round {round}");

        let target = new_app(&api.service).await;
        apply(&api.service, target, &random(&mut rng, false)).await;
        let before = export(&api.service, target).await;
        let planned = api.service.plan_config(by, target, &exported, &|_| true);
        let planned = planned.await.unwrap();
        assert_eq!(export(&api.service, target).await, before, "a plan");
        let applied = api.service.apply_config(by, target, &exported, &|_| true);
        let applied = applied.await.unwrap();
        assert_eq!(applied.changes, planned.changes);
        let now = export(&api.service, target).await;
        assert_eq!(now, exported, "round {round}");
        assert_eq!(before.changes_to(&now), planned.changes);
        let again = api.service.plan_config(by, target, &exported, &|_| true);
        assert_eq!(again.await.unwrap().changes, [], "round {round}");
    }
}

async fn mg_1_a_put_of_what_was_read_changes_nothing(api: &Api) {
    let mut rng = Rng::from_seed(rng::seed());
    let app = api.app.id;
    apply(&api.service, app, &random(&mut rng, true)).await;
    let by = manager(api).await;
    let read = by.get(&path(app)).await.ok();
    let etag = read.header("etag").unwrap().to_owned();
    let (seen, recorded) = (events(api, app).await, entries(api, app).await);
    api.pass(5);
    let put = by.clone().header("If-Match", &etag);
    let put = put.send("PUT", &path(app), Some(read.body.clone())).await;
    let put = put.ok();
    assert_eq!(put.body, read.body);
    assert_eq!(put.header("etag"), Some(etag.as_str()));
    assert_eq!(events(api, app).await, seen);
    assert_eq!(entries(api, app).await, recorded);
}

async fn mg_6_a_plan_is_what_apply_does(api: &Api) {
    let by = manager(api).await;
    let path = path(api.app.id);
    let plan = format!("{path}?plan=true");
    let document = json!({
        "settings": {"freshness_minutes": 9},
        "live": {
            "redirect_urls": [{"kind": "login", "url": "https://shop.example/in", "default": true}],
            "webhook_endpoints": [{"url": "https://shop.example/hooks"}],
        },
    });
    let before = by.get(&path).await.ok();
    let planned = by.send("PUT", &plan, Some(document.clone())).await.ok();
    assert_eq!(
        planned.body["changes"],
        json!([
            {"path": "settings.freshness_minutes", "from": 15, "to": 9},
            {
                "path": "live.redirect_urls[login https://shop.example/in]", "from": null,
                "to": {"kind": "login", "url": "https://shop.example/in", "default": true},
            },
            {
                "path": "live.webhook_endpoints[https://shop.example/hooks]", "from": null,
                "to": {"url": "https://shop.example/hooks", "types": ["*"], "name": null},
            },
        ])
    );
    assert_eq!(by.get(&path).await.ok().body, before.body);
    let etag = planned.header("etag").unwrap().to_owned();
    assert_eq!(before.header("etag"), Some(etag.as_str()));
    by.send("PUT", &path, Some(document.clone()))
        .await
        .refuses(428, "precondition_required", None);
    let by_etag = by.clone().header("If-Match", &etag);
    let applied = by_etag.send("PUT", &path, Some(document.clone())).await;
    let applied = applied.ok();
    assert_eq!(applied.body, by.get(&path).await.ok().body);
    assert_eq!(applied.body["settings"]["freshness_minutes"], 9);
    let planned = by.send("PUT", &plan, Some(document.clone())).await.ok();
    assert_eq!(planned.body["changes"], json!([]));
    for path in [&path, &plan] {
        let stale = by_etag.send("PUT", path, Some(document.clone())).await;
        stale.refuses(412, "precondition_failed", None);
        assert_eq!(stale.header("etag"), applied.header("etag"));
    }
    // A misspelt option must not turn a plan into a change.
    let path = format!("{path}?paln=true");
    let misspelt = by_etag.send("PUT", &path, Some(document));
    misspelt.await.refuses(400, "unknown_field", Some("paln"));
}

async fn mg_6_each_change_is_recorded_like_a_single_one(api: &Api) {
    let by = manager(api).await;
    let [single, whole] = [new_app(&api.service).await, new_app(&api.service).await];
    let first = json!({
        "settings": {"freshness_minutes": 9},
        "test": {},
        "live": {
            "redirect_urls": [
                {"kind": "login", "url": "https://a.example/a", "default": true},
                {"kind": "login", "url": "https://a.example/b"},
            ],
            "webhook_endpoints": [{"url": "https://a.example/"}, {"url": "https://b.example/"}],
        },
    });
    let second = json!({
        "settings": {"wallet_export": true},
        "live": {
            "redirect_urls": [{"kind": "invite", "url": "https://a.example/b"}],
            "webhook_endpoints": [{"url": "https://b.example/", "types": ["wallet.signed"], "name": "B"}],
        },
    });
    let world = format!("/v1/manage/apps/{single}/live");
    let settings = format!("/v1/manage/apps/{single}/settings");
    let send = async |method: &str, path: &str, body: Option<Value>| {
        let one = path.rsplit('/').next().unwrap();
        let is_guarded = path == settings || one.starts_with("whep_");
        let client = match is_guarded {
            true => {
                let read = by.get(path).await.ok();
                by.clone().header("If-Match", read.header("etag").unwrap())
            }
            false => by.clone(),
        };
        let response = client.send(method, path, body).await;
        assert!((200..300).contains(&response.status), "{}", response.text);
        response
    };
    let (urls, hooks) = (
        format!("{world}/redirect_urls"),
        format!("{world}/webhook_endpoints"),
    );
    send("PUT", &settings, Some(first["settings"].clone())).await;
    let mut ids = Vec::new();
    for (list, objects) in [
        (&urls, &first["live"]["redirect_urls"]),
        (&hooks, &first["live"]["webhook_endpoints"]),
    ] {
        for object in objects.as_array().unwrap() {
            let made = send("POST", list, Some(object.clone())).await;
            ids.push(made.text_at("/id"));
        }
    }
    apply(&api.service, whole, &config(first)).await;
    send("PUT", &settings, Some(second["settings"].clone())).await;
    for id in &ids[..2] {
        send("DELETE", &format!("{urls}/{id}"), None).await;
    }
    send(
        "POST",
        &urls,
        Some(second["live"]["redirect_urls"][0].clone()),
    )
    .await;
    send("DELETE", &format!("{hooks}/{}", ids[2]), None).await;
    let change = json!({"types": ["wallet.signed"], "name": "B"});
    send("PATCH", &format!("{hooks}/{}", ids[3]), Some(change)).await;
    apply(&api.service, whole, &config(second)).await;
    assert_eq!(
        export(&api.service, whole).await,
        export(&api.service, single).await
    );
    assert_eq!(entries(api, whole).await, entries(api, single).await);
    assert_eq!(events(api, whole).await, events(api, single).await);
    let [single, whole] = [single, whole].map(|app| api.service.show_app(Principal::cli(), app));
    // The optional event types that the endpoints name are recorded.
    let [single, whole] = [single.await.unwrap(), whole.await.unwrap()];
    assert_eq!(whole.named_events.live, ["wallet.signed"]);
    assert_eq!(whole.named_events, single.named_events);
}

/// MG-2, with two processes on one database.
async fn mg_6_of_parallel_writers_with_one_etag_one_succeeds(api: &Api) {
    let other = api.other_process(&api.clock).await;
    let before = export(&api.service, api.app.id).await;
    let writers = (0..20).map(|number: i64| {
        let service = if number % 2 == 0 { &api.service } else { &other };
        let (service, before, app) = (Arc::clone(service), before.clone(), api.app.id);
        tokio::spawn(async move {
            let url = format!("https://shop.example/{number}");
            let document = config(json!({
                "settings": {"freshness_minutes": 100 + number},
                "live": {"redirect_urls": [{"kind": "login", "url": url}], "webhook_endpoints": [{"url": url}]},
            }));
            let is_expected = |config: &Config| *config == before;
            let applied = service.apply_config(Principal::cli(), app, &document, &is_expected);
            applied.await.map(|plan| plan.after)
        })
    });
    let mut written = Vec::new();
    for writer in writers.collect::<Vec<_>>() {
        match writer.await.unwrap() {
            Ok(after) => written.push(after),
            Err(refused) => assert!(matches!(refused, Refusal::PreconditionFailed), "{refused}"),
        }
    }
    assert_eq!(written, [export(&api.service, api.app.id).await]);
}

/// A document and a single change at the same time: the document is refused, or the change comes after it.
async fn mg_6_no_single_change_is_lost_to_a_document(api: &Api) {
    let other = api.other_process(&api.clock).await;
    for round in 0..10 {
        let app = new_app(&api.service).await;
        let before = export(&api.service, app).await;
        let document =
            config(json!({"live": {"webhook_endpoints": [{"url": "https://a.example/"}]}}));
        let is_expected = |config: &Config| *config == before;
        let world = World::new(app, Environment::Live);
        let kind = RedirectKind::Login;
        let (applied, added) = tokio::join!(
            api.service
                .apply_config(Principal::cli(), app, &document, &is_expected),
            other.add_redirect_url(Principal::cli(), world, kind, "https://a.example/in", true),
        );
        added.unwrap();
        let live = export(&api.service, app).await.live.unwrap();
        assert_eq!(live.redirect_urls.len(), 1, "round {round}");
        match applied {
            Ok(_) => assert_eq!(live.webhook_endpoints.len(), 1, "round {round}"),
            Err(refused) => {
                assert!(matches!(refused, Refusal::PreconditionFailed), "{refused}");
                assert_eq!(live.webhook_endpoints, [], "round {round}");
            }
        }
    }
}

async fn a_new_provider_works_once_its_secret_is_set(api: &Api) {
    let by = manager(api).await;
    let document = config(json!({
        "test": {"redirect_urls": [{"kind": "login", "url": "https://a.example/in", "default": true}],
            "providers": {"github": {"client_id": "id"}}},
    }));
    apply(&api.service, api.app.id, &document).await;
    let begin = "/v1/auth/oauth/github/begin";
    api.test()
        .get(begin)
        .await
        .refuses(400, "provider_not_configured", None);
    let path = format!("/v1/manage/apps/{}/test/providers/github", api.app.id);
    let read = by.get(&path).await.ok();
    let by_etag = by.clone().header("If-Match", read.header("etag").unwrap());
    for (field, secret) in [("client_secret", " "), ("secret", "s3cr3t")] {
        let body = json!({"client_id": "id", field: secret});
        let refused = by_etag.send("PUT", &path, Some(body)).await;
        refused.refuses(400, "invalid_field", Some(field));
    }
    let secret = json!({"client_id": "id", "client_secret": "s3cr3t"});
    let set = by_etag.send("PUT", &path, Some(secret)).await.ok();
    assert_eq!(set.body["callback_url"], read.body["callback_url"]);
    let exported = export(&api.service, api.app.id).await;
    assert!(
        !serde_json::to_string(&exported).unwrap().contains("s3cr3t"),
        "MG-8"
    );
    // The secret stays with its provider and goes nowhere else.
    let mut moved = exported.clone();
    let section = moved.test.as_mut().unwrap();
    section.providers.get_mut("github").unwrap().client_id = "other".to_owned();
    let moved = serde_json::to_value(&moved).unwrap();
    let plan = format!("{}?plan=true", self::path(api.app.id));
    let refused = by.send("PUT", &plan, Some(moved));
    refused
        .await
        .refuses(400, "invalid_field", Some("test.providers.github"));
    assert_eq!(export(&api.service, api.app.id).await, exported);
}

async fn a_new_endpoint_has_a_secret_that_rotation_shows(api: &Api) {
    let by = manager(api).await;
    let document = config(json!({"live": {"webhook_endpoints": [{"url": "https://a.example/"}]}}));
    apply(&api.service, api.app.id, &document).await;
    let hooks = format!("/v1/manage/apps/{}/live/webhook_endpoints", api.app.id);
    let listed = by.get(&hooks).await.ok();
    let id = listed.text_at("/webhook_endpoints/0/id");
    let secrets = |body: &Value| body["secrets"].as_array().unwrap().len();
    assert_eq!(secrets(&listed.body["webhook_endpoints"][0]), 1);
    let rotate = format!("{hooks}/{id}/rotate_secret");
    let rotated = by.post(&rotate, json!({"overlap_minutes": 0})).await.ok();
    assert!(rotated.text_at("/secret").starts_with("whsec_"));
    let tested = by.send("POST", &format!("{hooks}/{id}/test"), None).await;
    assert_eq!(tested.ok().body["status"], 200);
}

async fn an_endpoint_is_kept_whatever_the_order_of_the_document(api: &Api) {
    let by = manager(api).await;
    let hooks = format!("/v1/manage/apps/{}/live/webhook_endpoints", api.app.id);
    let hook = |types: &str| json!({"url": "https://a.example/", "types": [types]});
    let orders = [["wallet.*", "session.*"], ["session.*", "wallet.*"]];
    let mut ends = Vec::new();
    for order in orders {
        let documents = [vec![hook("user.*")], order.map(hook).to_vec()];
        let mut ids = Vec::new();
        for endpoints in documents {
            let document = config(json!({"live": {"webhook_endpoints": endpoints}}));
            apply(&api.service, api.app.id, &document).await;
            let listed = by.get(&hooks).await.ok();
            let listed = listed.body["webhook_endpoints"].as_array().unwrap().clone();
            ids.push(
                listed
                    .into_iter()
                    .map(|hook| (hook["id"].clone(), hook["types"].clone())),
            );
        }
        let [first, then] = <[_; 2]>::try_from(ids).ok().unwrap();
        let first: Vec<_> = first.map(|(id, _)| id).collect();
        let kept: Vec<_> = then.filter(|(id, _)| first.contains(id)).collect();
        assert_eq!(kept.len(), 1, "{order:?}: {kept:?}");
        ends.push(kept[0].1.clone());
        let none = config(json!({"live": {"webhook_endpoints": []}}));
        apply(&api.service, api.app.id, &none).await;
    }
    assert_eq!(ends, [json!(["session.*"]), json!(["session.*"])]);
}

async fn a_document_names_what_it_refuses(api: &Api) {
    let by = manager(api).await;
    let path = path(api.app.id);
    let before = by.get(&path).await.ok();
    let by_etag = by
        .clone()
        .header("If-Match", before.header("etag").unwrap());
    let url = |url: &str, default: bool| json!({"kind": "login", "url": url, "default": default});
    let hook = json!({"url": "https://a.example/"});
    let good = json!({"redirect_urls": [url("https://a.example/in", true)]});
    for (document, code, param) in [
        (json!({"name": "Shop"}), "unknown_field", "name"),
        (
            json!({"settings": {"freshness": 1}}),
            "unknown_field",
            "settings.freshness",
        ),
        (
            json!({"settings": {"freshness_minutes": 0}}),
            "invalid_field",
            "settings.freshness_minutes",
        ),
        (
            json!({"settings": {"client_secret": "x"}}),
            "invalid_field",
            "settings.client_secret",
        ),
        (json!({"live": {"keys": []}}), "unknown_field", "live.keys"),
        (
            json!({"live": {"redirect_urls": [{"kind": "login"}]}}),
            "missing_field",
            "live.redirect_urls[0].url",
        ),
        (
            json!({"live": {"redirect_urls": [{"kind": "logout", "url": "https://a.example/"}]}}),
            "invalid_field",
            "live.redirect_urls[0].kind",
        ),
        (
            json!({"live": {"redirect_urls": [url("https://a.example/1", true), url("https://a.example/2", true)]}}),
            "invalid_field",
            "live.redirect_urls[1].default",
        ),
        (
            json!({"live": {"redirect_urls": [url("https://a.example/1", true), url("https://a.example/1", false)]}}),
            "invalid_field",
            "live.redirect_urls[1].url",
        ),
        (
            json!({"live": {"redirect_urls": [url("https://*.a.example/", true)]}}),
            "invalid_field",
            "live.redirect_urls[0].url",
        ),
        (
            json!({"test": {"providers": {"google": {"client_id": "a", "client_secret": "b"}}}}),
            "invalid_field",
            "test.providers.google.client_secret",
        ),
        (
            json!({"test": {"providers": {"google": {"client_id": "a", "settings": {"secret": "b"}}}}}),
            "invalid_field",
            "test.providers.google.settings.secret",
        ),
        (
            json!({"test": {"providers": {"apple": {"client_id": "a", "settings": {
                "apple": {"team_id": "t", "key_id": "k", "private_key": "p"}
            }}}}}),
            "invalid_field",
            "test.providers.apple.settings.apple.private_key",
        ),
        (
            json!({"test": {"providers": {"acme": {"client_id": "a"}}}}),
            "missing_field",
            "test.providers.acme.issuer",
        ),
        (
            json!({"test": {"providers": {"test": {"client_id": "a"}}}}),
            "invalid_field",
            "test.providers.test.provider",
        ),
        (
            json!({"live": {"webhook_endpoints": [hook, hook]}}),
            "invalid_field",
            "live.webhook_endpoints[1].url",
        ),
        (
            json!({"live": {"webhook_endpoints": vec![&hook; 21]}}),
            "invalid_field",
            "live.webhook_endpoints",
        ),
        (
            json!({"live": {"redirect_urls": vec![url("https://a.example/", false); 501]}}),
            "invalid_field",
            "live.redirect_urls",
        ),
        (
            json!({"test": {"providers": (0..51).map(|number| {
                (format!("acme-{number}"), json!({"client_id": "a"}))
            }).collect::<serde_json::Map<_, _>>()}}),
            "invalid_field",
            "test.providers",
        ),
        (
            json!({"live": {"webhook_endpoints": [{"url": "https://a.example/", "types": ["user.creatd"]}]}}),
            "unknown_field",
            "live.webhook_endpoints[0].types",
        ),
        (
            json!({"live": {"webhook_endpoints": [{"url": "https://a.example/", "secret": "whsec_x"}]}}),
            "invalid_field",
            "live.webhook_endpoints[0].secret",
        ),
    ] {
        let mut document = document;
        // The parts before the fault are not applied either.
        if document.get("test").is_none() {
            document["test"] = good.clone();
        }
        for path in [&path, &format!("{path}?plan=true")] {
            let refused = by_etag.send("PUT", path, Some(document.clone())).await;
            refused.refuses(400, code, Some(param));
        }
    }
    assert_eq!(by.get(&path).await.ok().body, before.body);
}

async fn a_key_changes_no_more_than_its_environments(api: &Api) {
    let scopes = [ManagementScope::ConfigWrite];
    let live = key(api, &[Environment::Live], &scopes).await;
    let both = key(api, &Environment::ALL, &[ManagementScope::ConfigRead]).await;
    let (live, reader) = (api.with_key(&live), api.with_key(&both));
    let path = path(api.app.id);
    let read = live.get(&path).await.ok();
    let parts: Vec<_> = read.body.as_object().unwrap().keys().collect();
    assert_eq!(parts, ["live"]);
    let live = live.header("If-Match", read.header("etag").unwrap());
    for (document, param) in [
        (json!({"settings": {}}), "environment"),
        (json!({"test": {}, "live": {}}), "environment"),
    ] {
        let refused = live.send("PUT", &path, Some(document)).await;
        refused.refuses(403, "key_not_allowed", Some(param));
    }
    let document = json!({"live": {"webhook_endpoints": [{"url": "https://a.example/"}]}});
    let applied = live.send("PUT", &path, Some(document.clone())).await.ok();
    assert_eq!(applied.body.as_object().unwrap().len(), 1);
    let whole = reader.get(&path).await.ok();
    assert_eq!(whole.body["live"], applied.body["live"]);
    assert_eq!(whole.body.as_object().unwrap().len(), 3);
    let plan = format!("{path}?plan=true");
    let refused = reader.send("PUT", &plan, Some(document));
    refused.await.refuses(403, "key_not_allowed", Some("scope"));
}
