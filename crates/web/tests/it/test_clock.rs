//! The effects of a test environment's clock, on both databases.

use serde_json::json;
use vestry_app::Principal;
use vestry_app::platform::webhooks::NewEndpoint;
use vestry_domain::ids::WebhookEndpointId;
use vestry_domain::webhook::{Delivery, DeliveryState};
use vestry_domain::{Environment, World};
use vestry_ports::store::DeliveryFilter;

use crate::harness::{Api, START, on_both};

on_both! {
    wh_1_ten_attempts_need_ten_advances_of_the_clock
}

const HOST: &str = "hooks.example.com";
/// Seconds from one attempt to the next.
const WAITS: [i64; 9] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

async fn endpoint(api: &Api) -> WebhookEndpointId {
    let world = World::new(api.app.id, Environment::Test);
    let new = NewEndpoint {
        url: format!("https://{HOST}/events"),
        name: None,
        types: vec!["user.created".to_owned()],
        enabled: true,
    };
    let (added, _) = api
        .service
        .add_webhook(Principal::cli(), world, new)
        .await
        .unwrap();
    added.endpoint.id
}

/// Sequences the emitted events and sends due ones; returns the number sent.
async fn flow(api: &Api) -> usize {
    api.service.sequence_all().await.unwrap();
    api.service.send_due().await.unwrap()
}

/// The delivery of the newest event. Ids of one second do not say which one that is.
async fn newest(api: &Api, endpoint: WebhookEndpointId) -> Delivery {
    let all = DeliveryFilter::default();
    let found = api
        .service
        .list_deliveries(Principal::cli(), api.app.id.into(), endpoint, all, 10);
    let found = found.await.unwrap().into_iter();
    found.max_by_key(|delivery| delivery.position).unwrap()
}

/// A clock that is a week ahead, whether it runs or stands still, uses up no attempt; each advance by a retry delay makes one due.
async fn wh_1_ten_attempts_need_ten_advances_of_the_clock(api: &Api) {
    let client = api.test();
    let path = "/v1/test/clock";
    api.webhooks.answer(HOST, 500, None);
    let never = [("webhook_disable_after_days".to_owned(), "0".to_owned())];
    api.service
        .set_app(Principal::cli(), api.app.id, &never)
        .await
        .unwrap();
    api.pass(1);
    let endpoint = endpoint(api).await;
    for (number, frozen) in [false, true].into_iter().enumerate() {
        let weeks = i64::try_from(number).unwrap() + 1;
        let week = START.unix() + weeks * 604_800;
        client
            .post(path, json!({"now": week, "frozen": frozen}))
            .await
            .ok();
        let body = json!({"email": format!("ada{number}@example.com")});
        client.post("/v1/auth/users/create", body).await.ok();
        assert_eq!(flow(api).await, 1, "frozen: {frozen}");
        for planned in WAITS {
            assert_eq!(flow(api).await, 0, "nothing moved, frozen: {frozen}");
            let shown = client.get(path).await.ok().body["now"].as_i64().unwrap();
            let next = newest(api, endpoint).await.next_attempt_at().unwrap();
            let wait = next.unix() - shown;
            let bounds = planned * 9 / 10..=planned * 11 / 10;
            assert!(bounds.contains(&wait), "{wait} s instead of {planned} s");
            for (seconds, due) in [(wait - 1, 0), (1, 1)] {
                client
                    .post(path, json!({"advance_seconds": seconds}))
                    .await
                    .ok();
                assert_eq!(flow(api).await, due, "{seconds} of {wait} s");
            }
        }
        let ended = newest(api, endpoint).await;
        assert_eq!(
            (ended.state, ended.attempts),
            (DeliveryState::Exhausted, 10)
        );
    }
    assert_eq!(api.webhooks.sent_to(HOST).len(), 20);
}
