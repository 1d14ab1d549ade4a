//! `GET /v1/audit`: changes to the App, and denied requests.

use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_domain::Environment;
use vestry_domain::api_key::{ApiKeyKind, KeyFields, Scope};
use vestry_domain::redirect::RedirectKind;

use crate::harness::{Api, Client, on_both};

on_both! {
    changes_are_listed
    pages_show_every_entry_once
    a_filter_shows_matching_events
    a_reader_is_told_what_is_wrong
    an_entry_stays_in_its_environment
    aud_6_refused_calls_are_recorded
}

/// A client that may read the audit log of the test environment, and nothing else.
async fn reader(api: &Api) -> Client<'_> {
    let key = api.new_key(Environment::Test, &[Scope::AuditRead]).await;
    api.with_key(&key).unlimited()
}

async fn entries(client: &Client<'_>, query: &str) -> Vec<Value> {
    let page = client.get(&format!("/v1/audit?limit=100{query}")).await;
    let page = page.ok();
    assert_eq!(page.body["has_more"], false);
    page.body["entries"].as_array().unwrap().clone()
}

fn actions(entries: &[Value]) -> Vec<&str> {
    let actions = entries.iter().map(|entry| entry["action"].as_str());
    actions.map(Option::unwrap).collect()
}

async fn changes_are_listed(api: &Api) {
    let client = reader(api).await;
    let all = entries(&client, "").await;
    assert_eq!(all.last().unwrap()["action"], "app.create");
    let newest = &all[0];
    assert_eq!(newest["action"], "api_key.create");
    assert_eq!(newest["actor"], json!({"type": "cli", "id": null}));
    assert_eq!(newest["subject"]["type"], "api_key");
    assert_eq!(newest["outcome"], "done");
    assert_eq!(newest["request_id"], json!(null));
    assert_eq!(newest["created_at"], 1_800_000_000);
    let detail = json!({"kind": "secret", "scopes": ["audit:read"]});
    assert_eq!(newest["detail"], detail);
    for (place, entry) in all.iter().rev().enumerate() {
        assert_eq!(entry["sequence"], place + 1);
        assert_eq!(entry["chain"], newest["chain"]);
    }
    // An operator action through the API names its call.
    let ann = json!({"email": "ann@example.com"});
    let user = api.test().post("/v1/auth/users/create", ann).await;
    let user = user.ok().text_at("/user_id");
    let operator = api.test().header("X-Request-Id", "r-7");
    let path = format!("/v1/auth/users/{user}/unlock");
    operator.post(&path, json!({})).await.ok();
    let new = entries(&client, "").await;
    assert_eq!(new.len(), all.len() + 1);
    assert_eq!(new[0]["action"], "user.unlock");
    assert_eq!(new[0]["subject"], json!({"type": "user", "id": user}));
    assert_eq!(new[0]["actor"]["type"], "api_key");
    assert_eq!(new[0]["request_id"], "r-7");
}

async fn pages_show_every_entry_once(api: &Api) {
    for _ in 0..23 {
        api.new_key(Environment::Test, &[]).await;
    }
    let client = reader(api).await;
    let all = entries(&client, "").await;
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("/v1/audit?limit=10{after}")).await;
        let page = page.ok();
        seen.extend(page.body["entries"].as_array().unwrap().clone());
        after = format!(
            "&starting_after={}",
            seen[seen.len() - 1]["id"].as_str().unwrap()
        );
        if page.body["has_more"] == false {
            break;
        }
    }
    assert_eq!(seen, all);
    assert_eq!(entries(&client, &after).await, [json!(null); 0]);
}

async fn a_filter_shows_matching_events(api: &Api) {
    let client = reader(api).await;
    let url = "https://app.example.com/in";
    let world = vestry_domain::World::new(api.app.id, Environment::Test);
    let added =
        api.service
            .add_redirect_url(Principal::cli(), world, RedirectKind::Login, url, false);
    let added = added.await.unwrap();
    api.pass(60);
    let revoked = api.service.create_api_key(
        Principal::cli(),
        world,
        ApiKeyKind::Secret,
        KeyFields::default(),
    );
    let revoked = revoked.await.unwrap().record.id;
    api.service
        .revoke_api_key(Principal::cli(), api.app.id.into(), revoked)
        .await
        .unwrap();
    let all = entries(&client, "").await;
    for (query, expected) in [
        (
            "action=redirect_url.add".to_owned(),
            vec!["redirect_url.add"],
        ),
        (
            "action=api_key.revoke,redirect_url.add".to_owned(),
            vec!["api_key.revoke", "redirect_url.add"],
        ),
        ("subject=redirect_url".to_owned(), vec!["redirect_url.add"]),
        (format!("subject={}", added.id), vec!["redirect_url.add"]),
        (
            format!("subject={revoked}"),
            vec!["api_key.revoke", "api_key.create"],
        ),
        (
            "from=1800000060".to_owned(),
            vec!["api_key.revoke", "api_key.create"],
        ),
        (
            "from=1800000060&action=api_key.revoke&actor=cli".to_owned(),
            vec!["api_key.revoke"],
        ),
        ("until=1800000060".to_owned(), actions(&all[2..])),
        ("actor=cli".to_owned(), actions(&all)),
        ("outcome=done".to_owned(), actions(&all)),
        ("actor=system".to_owned(), vec![]),
        (format!("actor={revoked}"), vec![]),
        ("outcome=refused".to_owned(), vec![]),
    ] {
        let found = entries(&client, &format!("&{query}")).await;
        assert_eq!(actions(&found), expected, "{query}");
    }
}

async fn a_reader_is_told_what_is_wrong(api: &Api) {
    let client = reader(api).await;
    let many = vec!["app.create"; 21].join(",");
    for (query, code, param) in [
        ("limit=9", "invalid_field", "limit"),
        ("limit=101", "invalid_field", "limit"),
        ("outcome=good", "invalid_field", "outcome"),
        ("from=-1", "invalid_field", "from"),
        ("until=soon", "invalid_field", "until"),
        ("starting_after=1", "invalid_field", "starting_after"),
        ("action=app.destroy", "unknown_field", "action"),
        ("action=app.create,", "unknown_field", "action"),
        (&*format!("action={many}"), "invalid_field", "action"),
    ] {
        let refused = client.get(&format!("/v1/audit?{query}")).await;
        refused.refuses(400, code, Some(param));
    }
}

async fn an_entry_stays_in_its_environment(api: &Api) {
    let own = entries(&reader(api).await, "").await;
    let live = api.new_key(Environment::Live, &[Scope::AuditRead]).await;
    let theirs = entries(&api.with_key(&live), "").await;
    assert!(own.iter().all(|entry| !theirs.contains(entry)));
    let all = api.test().get("/v1/audit").await;
    all.refuses(403, "key_not_allowed", None);
}

/// An attacker with a key without rights fills neither the log nor the disk.
async fn aud_6_refused_calls_are_recorded(api: &Api) {
    let client = reader(api).await;
    let before = entries(&client, "").await.len();
    let weak = api.new_key(Environment::Test, &[Scope::UsersRead]).await;
    let weak = api
        .with_key(&weak)
        .unlimited()
        .header("X-Request-Id", "r-1");
    for _ in 0..14 {
        let refused = weak.post("/v1/auth/users/create", json!({})).await;
        refused.refuses(403, "key_not_allowed", Some("scope"));
    }
    // These are unknown keys, and there is no end of them.
    let unknown = format!("sk_test_{}", "0".repeat(43));
    api.with_key(&unknown).get("/v1/audit").await;
    let noted = entries(&client, "&outcome=refused").await;
    assert_eq!(noted.len(), 10);
    for entry in &noted {
        assert_eq!(entry["action"], "request.deny");
        assert_eq!(entry["actor"]["type"], "api_key");
        let call = "POST /v1/auth/users/create";
        assert_eq!(entry["subject"], json!({"type": "call", "id": call}));
        assert_eq!(entry["detail"], json!({"code": "key_not_allowed"}));
        assert_eq!(entry["request_id"], "r-1");
    }
    api.service.write_counted_refusals(None).await;
    let all = entries(&client, "").await;
    // Including the entry of the key itself.
    assert_eq!(all.len(), before + 12);
    assert_eq!(all[0]["detail"], json!({"count": 4}));
    assert_eq!(all[0]["actor"], noted[0]["actor"]);
    assert_eq!(all[0]["subject"]["type"], "world");
    api.service.write_counted_refusals(None).await;
    assert_eq!(entries(&client, "").await.len(), all.len());
}
