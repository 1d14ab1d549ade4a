//! Objects of others on the pages of an environment: of another App, of the other environment, and deleted ones (CN-B2, CON-6, CON-19).

use serde_json::json;
use vestry_app::Principal;
use vestry_app::platform::webhooks::{DeliveryFilter, NewEndpoint};
use vestry_domain::api_key::{ApiKeyKind, KeyFields};
use vestry_domain::app::App;
use vestry_domain::operator::Role;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::{Environment, World};

use crate::console::{entries, grants, operator};
use crate::console_pages::{PAGES, complete_form, keys, path};
use crate::harness::{Api, on_both};

on_both! {
    objects_of_others_do_not_exist
}

/// One object of each kind: the name that addresses have for it, and its id.
type Objects = Vec<(&'static str, String)>;

fn id<'a>(objects: &'a Objects, name: &str) -> &'a str {
    &objects.iter().find(|(own, _)| *own == name).unwrap().1
}

fn with_ids(page: &str, objects: &Objects) -> String {
    let mut address = page.to_owned();
    for (name, id) in objects {
        address = address.replace(&format!("{{{name}}}"), id);
    }
    address
}

async fn objects(api: &Api, app: &App, environment: Environment) -> Objects {
    let cli = Principal::cli();
    let world = World::new(app.id, environment);
    let made = (api.service)
        .create_api_key(cli, world, ApiKeyKind::Secret, KeyFields::default())
        .await
        .unwrap();
    let (key, client) = (made.record.id, api.with_key(made.key.expose()));
    let url = &format!("https://app.example.com/{key}");
    let url = (api.service)
        .add_redirect_url(cli, world, RedirectKind::Login, url, false)
        .await;
    let new = NewEndpoint {
        url: format!("https://hooks.example.com/{key}"),
        name: None,
        types: vec!["*".to_owned()],
        enabled: true,
    };
    let hook = api.service.add_webhook(cli, world, new).await;
    let hook = hook.unwrap().0.endpoint.id;
    let email = format!("{key}@example.com");
    let created = client.post("/v1/auth/users/create", json!({"email": email}));
    let user = created.await.ok().text_at("/user_id");
    let request = json!({"user_id": user, "wallet_type": "ethereum"});
    let wallet = client.post("/v1/wallets/create", request).await;
    api.service.sequence_all().await.unwrap();
    let caller = crate::harness::operator(&api.service, world).await;
    let event = api.service.events_head(&caller).await.unwrap().newest;
    let all = DeliveryFilter::default();
    let delivery = (api.service)
        .list_deliveries(cli, world.into(), hook, all, 1)
        .await;
    vec![
        ("user", user),
        ("wallet", wallet.ok().text_at("/id")),
        ("key", key.to_string()),
        ("url", url.unwrap().id.to_string()),
        ("hook", hook.to_string()),
        ("delivery", delivery.unwrap()[0].id.to_string()),
        ("event", event.expect("an event").id.to_string()),
    ]
}

/// Deletes what can be deleted; events stay.
async fn delete(api: &Api, app: &App, environment: Environment, objects: &mut Objects) {
    let cli = Principal::cli();
    let world = World::new(app.id, environment);
    let key = api.key_of(app, ApiKeyKind::Secret, environment, &[]).await;
    let path = format!("/v1/auth/users/{}/delete", id(objects, "user"));
    api.with_key(&key).delete(&path, None).await.ok();
    let key = id(objects, "key").parse().unwrap();
    let revoked = api.service.revoke_api_key(cli, world.into(), key).await;
    revoked.unwrap();
    let url = id(objects, "url").parse().unwrap();
    let removed = api
        .service
        .remove_redirect_url(cli, world.into(), url)
        .await;
    removed.unwrap();
    let hook = id(objects, "hook").parse().unwrap();
    let removed = api.service.remove_webhook(cli, world.into(), hook).await;
    removed.unwrap();
    objects.retain(|(name, _)| *name != "event");
}

async fn objects_of_others_do_not_exist(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let other = api.service.create_app(Principal::cli(), "Other").await;
    let other = other.unwrap();
    let own = objects(api, &api.app, Environment::Test).await;
    let mut deleted = objects(api, &api.app, Environment::Test).await;
    delete(api, &api.app, Environment::Test, &mut deleted).await;
    let mut cases = vec![
        ("live", objects(api, &api.app, Environment::Live).await),
        (
            "of another App",
            objects(api, &other, Environment::Test).await,
        ),
        ("deleted", deleted),
    ];
    // A delivery to an endpoint of another environment, below an own endpoint.
    let mut mixed = own.clone();
    mixed.retain(|(name, _)| *name == "hook");
    let foreign = id(&cases[0].1, "delivery").to_owned();
    mixed.push(("delivery", foreign));
    cases.push(("mixed", mixed));
    let worlds = [
        World::new(api.app.id, Environment::Test),
        World::new(api.app.id, Environment::Live),
        World::new(other.id, Environment::Test),
        World::DEPLOYMENT,
    ];
    let mut before = Vec::new();
    for world in worlds {
        before.push(entries(api, world).await);
    }
    let known = keys(api, Environment::Test).await;
    let token = ann.get("/console/me").await.field("form_token").to_owned();
    let mut number = 0;
    let about_objects = || PAGES.iter().filter(|(page, ..)| page.contains('{'));
    for (page, ..) in about_objects() {
        let address = path(api, "test", &with_ids(page, &own));
        assert_eq!(ann.get(&address).await.status, 200, "own {page}");
    }
    for (case, objects) in &cases {
        for (page, has_form, _) in about_objects() {
            let address = with_ids(page, objects);
            if address.contains('{') || *case == "mixed" && !address.contains("/deliveries/") {
                continue;
            }
            number += 1;
            let address = path(api, "test", &address);
            let shown = ann.get(&address).await;
            assert_eq!(shown.status, 404, "{case} {page}: {}", shown.html);
            for (_, id) in &own {
                assert!(!shown.html.contains(id.as_str()), "{case} {page}");
            }
            if *has_form {
                let submission = format!("isolation-{number}-of-{case}").replace(' ', "-");
                let user = objects.iter().find(|(name, _)| *name == "user");
                let user = user.map_or("", |(_, user)| user);
                let form = complete_form(&shown, &token, &submission, "issuer", user);
                let form = form.iter().map(|(name, value)| (*name, value.as_str()));
                let sent = ann.post(&address, &form.collect::<Vec<_>>()).await;
                assert_eq!(sent.status, 404, "{case} {page}: {}", sent.html);
            }
        }
    }
    assert!(number > 60, "{number} pages");
    for (world, before) in worlds.into_iter().zip(before) {
        assert_eq!(entries(api, world).await, before);
    }
    assert_eq!(keys(api, Environment::Test).await, known);
}
