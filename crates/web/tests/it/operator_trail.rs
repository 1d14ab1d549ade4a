//! What operators leave behind and what they are told: views of users (AUD-1), and mails about webhook endpoints (WH-11).

use std::sync::Arc;

use serde_json::json;
use vestry_app::Principal;
use vestry_app::platform::webhooks::NewEndpoint;
use vestry_contract::race::race;
use vestry_domain::audit::control::{ControlAction, ControlFilter};
use vestry_domain::operator::Role;
use vestry_domain::{Environment, World};
use vestry_ports::store::Store;

use crate::console::principal;
use crate::harness::{Api, on_both};

on_both! {
    aud_1_parallel_views_of_a_user_leave_one_entry
    wh_11_admins_are_told_once_that_an_endpoint_is_gone
}

async fn aud_1_parallel_views_of_a_user_leave_one_entry(api: &Api) {
    let other = api.other_process(&api.clock).await;
    let body = json!({"email": "ada@example.com"});
    let ada = api.live().post("/v1/auth/users/create", body).await.ok();
    let ada = ada.text_at("/user_id").parse().unwrap();
    let by = principal(api, "ann@example.com", Role::Developer, Some(api.app.id)).await;
    let world = World::new(api.app.id, Environment::Live);
    let caller = api.service.caller(&by, world).await.unwrap();
    let entries = async || {
        let store = api.store().await;
        let mut read = store.read().await.unwrap();
        let views = ControlFilter {
            actions: vec![ControlAction::UserView],
            ..ControlFilter::default()
        };
        let page = read.control_log().page(&world, &views, None, 100);
        page.await.unwrap()
    };
    for hour in 1..3 {
        let views = race((0..20).map(|number| {
            let service = [&api.service, &other][number % 2];
            let (service, caller) = (Arc::clone(service), caller.clone());
            async move { service.get_user(&caller, ada).await.is_ok() }
        }));
        assert!(views.await.iter().all(|seen| *seen));
        let found = entries().await;
        assert_eq!(found.len(), hour);
        assert_eq!(
            found[0].event.actor.id(),
            by.as_operator().map(|it| it.user_id.to_string())
        );
        api.pass(3_600);
    }
}

async fn wh_11_admins_are_told_once_that_an_endpoint_is_gone(api: &Api) {
    let app = api.app.id;
    principal(api, "ann@example.com", Role::Admin, Some(app)).await;
    principal(api, "eve@example.com", Role::Developer, Some(app)).await;
    api.deliver().await;
    let before = api.mailer.sent().len();
    let hosts = ["one.example", "two.example"];
    for host in hosts {
        let endpoint = NewEndpoint {
            url: format!("https://{host}/hooks"),
            name: None,
            types: vec!["user.created".to_owned()],
            enabled: true,
        };
        let world = World::new(app, Environment::Live);
        let added = api.service.add_webhook(Principal::cli(), world, endpoint);
        added.await.unwrap();
        api.webhooks.answer(host, 410, None);
    }
    for name in ["ada", "bob"] {
        let body = json!({"email": format!("{name}@example.com")});
        api.live().post("/v1/auth/users/create", body).await.ok();
        api.service.sequence_all().await.unwrap();
        api.service.send_due().await.unwrap();
        api.deliver().await;
    }
    let sent = api.mailer.sent().split_off(before);
    let mut told: Vec<_> = sent
        .iter()
        .filter(|(_, mail)| mail.kind.as_str() == "operator_notice")
        .map(|(_, mail)| {
            let host = hosts.iter().find(|host| mail.text.contains(**host));
            (mail.to.as_str(), *host.unwrap())
        })
        .collect();
    told.sort_unstable();
    assert_eq!(told, hosts.map(|host| ("ann@example.com", host)));
}
