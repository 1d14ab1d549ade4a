//! WH-8: an endpoint's secret is in the responses that create it, and nowhere else.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use vestry_app::Principal;
use vestry_app::audit::ListChanges;
use vestry_app::platform::webhooks::NewEndpoint;
use vestry_domain::api_key::Scope;
use vestry_domain::audit::control::ControlFilter;
use vestry_domain::{Environment, World};

use crate::events::event_log;
use crate::harness::{Api, on_both};

on_both! {
    wh_8_a_secret_is_shown_once
}

/// The forms in which a secret's bytes could appear.
fn forms(secret: &str) -> Vec<Vec<u8>> {
    let base64 = secret.strip_prefix("whsec_").unwrap();
    let bytes = STANDARD.decode(base64).unwrap();
    vec![
        base64.as_bytes().to_vec(),
        hex::encode(&bytes).into_bytes(),
        hex::encode_upper(&bytes).into_bytes(),
        bytes,
    ]
}

async fn wh_8_a_secret_is_shown_once(api: &Api) {
    let world = World::new(api.app.id, Environment::Test);
    let new = NewEndpoint {
        url: "https://hooks.example.com/events".to_owned(),
        name: Some("Orders".to_owned()),
        types: vec!["*".to_owned()],
        enabled: true,
    };
    let (listed, first) = api
        .service
        .add_webhook(Principal::cli(), world, new)
        .await
        .unwrap();
    let id = listed.endpoint.id;
    api.pass(1);
    let second = api
        .service
        .rotate_webhook_secret(Principal::cli(), api.app.id.into(), id, 60)
        .await;
    let second = second.unwrap();
    assert_ne!(first.expose(), second.expose());
    assert!(!format!("{first:?}{second:?}").contains("whsec_"));

    let mut said = format!("{listed:?}\n");
    let listed = api
        .service
        .list_webhooks(Principal::cli(), api.app.id.into())
        .await
        .unwrap();
    said.push_str(&format!("{listed:?}\n"));
    let ends: Vec<_> = listed[0]
        .secrets
        .iter()
        .map(|secret| &secret.last_four)
        .collect();
    // Newest first. The suffix helps people to compare, and is not enough to sign with.
    for (end, secret) in ends.into_iter().zip([&second, &first]) {
        assert!(secret.expose().ends_with(end.as_str()) && end.len() == 4);
    }
    let key = api.new_key(Environment::Test, &[Scope::AuditRead]).await;
    let audit = api.with_key(&key).get("/v1/audit?limit=100").await.ok();
    said.push_str(&audit.body.to_string());
    let caller = api.service.authenticate(&key).await.unwrap();
    let changes = ListChanges {
        filter: ControlFilter::default(),
        limit: Some(100),
        starting_after: None,
    };
    let changes = api.service.list_changes(&caller, changes).await.unwrap();
    assert!(
        changes
            .entries
            .iter()
            .any(|entry| entry.event.subject == id.into())
    );
    said.push_str(&format!("{changes:?}\n"));
    let events = event_log(api, &api.test()).await;
    assert!(
        events
            .iter()
            .any(|event| event["type"] == "webhook_endpoint.secret_rotated")
    );
    said.push_str(&format!("{events:?}\n"));
    let dump = api.place.dump().await;
    for secret in [first.expose(), second.expose()] {
        for form in forms(secret) {
            let is_in = |text: &[u8]| text.windows(form.len()).any(|window| window == form);
            assert!(!is_in(said.as_bytes()), "a secret in a response");
            assert!(!is_in(&dump), "a secret in the database");
        }
    }
}
