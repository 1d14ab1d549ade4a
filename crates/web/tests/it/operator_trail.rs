//! What operators leave behind: views of users (AUD-1).

use std::sync::Arc;

use serde_json::json;
use vestry_contract::race::race;
use vestry_domain::audit::control::{ControlAction, ControlFilter};
use vestry_domain::operator::Role;
use vestry_domain::{Environment, World};
use vestry_ports::store::Store;

use crate::console::principal;
use crate::harness::{Api, on_both};

on_both! {
    aud_1_parallel_views_of_a_user_leave_one_entry
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
