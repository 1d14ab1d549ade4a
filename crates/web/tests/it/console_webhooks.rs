//! Pages of the console about webhook endpoints (CON-5 to CON-7, CON-15, CON-19).

use vestry_app::Principal;
use vestry_app::platform::webhooks::{DeliveryFilter, ListedEndpoint, NewEndpoint, Replayed};
use vestry_domain::ids::WebhookEndpointId;
use vestry_domain::operator::Role;
use vestry_domain::webhook::{Delivery, DeliveryState};
use vestry_domain::{Environment, World};

use crate::console::{Browser, Page, grants, operator};
use crate::console_pages::{path, secret, submit, unescaped, user_in};
use crate::harness::{Api, on_both};

on_both! {
    endpoints_and_deliveries_are_shown
    deliveries_are_shown_by_page
    a_signing_secret_is_shown_once
    an_endpoint_is_edited_disabled_and_enabled
    a_sample_is_sent
    events_are_replayed
}

const HOST: &str = "hooks.example.com";

fn world(api: &Api) -> World {
    World::new(api.app.id, Environment::Live)
}

/// An endpoint of the live environment.
async fn endpoint(api: &Api, name: &str) -> WebhookEndpointId {
    let new = NewEndpoint {
        url: format!("https://{HOST}/vestry"),
        name: Some(name.to_owned()),
        types: vec!["user.*".to_owned()],
        enabled: true,
    };
    let added = api.service.add_webhook(Principal::cli(), world(api), new);
    added.await.unwrap().0.endpoint.id
}

async fn endpoints(api: &Api) -> Vec<ListedEndpoint> {
    let of = world(api).into();
    let listed = api.service.list_webhooks(Principal::cli(), of);
    listed.await.unwrap()
}

/// Puts events into the log and sends due deliveries.
async fn flow(api: &Api) {
    api.service.sequence_all().await.unwrap();
    api.service.send_due().await.unwrap();
}

async fn deliveries(api: &Api, id: WebhookEndpointId) -> Vec<Delivery> {
    let (of, all) = (world(api).into(), DeliveryFilter::default());
    let listed = api
        .service
        .list_deliveries(Principal::cli(), of, id, all, 1000);
    listed.await.unwrap()
}

async fn user(api: &Api) {
    user_in(api, Environment::Live, serde_json::json!({})).await;
}

async fn owner(api: &Api) -> Browser<'_> {
    operator(api, "ann@example.com", grants(Role::Owner, None))
        .await
        .0
}

async fn endpoints_and_deliveries_are_shown(api: &Api) {
    let mut ann = owner(api).await;
    let list = path(api, "live", "webhooks");
    ann.get(&list).await.shows(200, "No endpoints yet");
    let id = endpoint(api, "<script>alert(1)</script>").await;
    let page = format!("{list}/{id}");
    for shown in [ann.get(&list).await, ann.get(&page).await] {
        let shown = shown.shows(200, "Active");
        // CON-5
        assert!(!shown.html.contains("<script>alert"), "{}", shown.html);
        for text in ["&#60;script&#62;", "hooks.example.com/vestry", "user.*"] {
            assert!(shown.html.contains(text), "{text} in {}", shown.html);
        }
    }
    ann.get(&page).await.shows(200, "No deliveries yet");
    // It belongs to one environment (CON-19).
    let foreign = path(api, "test", &format!("webhooks/{id}"));
    for unknown in [
        foreign,
        format!("{list}/whep_3JOwos8byR7MbsKqDnW14XBMrAb"),
        format!("{list}/x"),
        format!("{page}/deliveries/whdel_3OuFyaeukT6FilmJ1OqHFe5KmNs"),
        format!("{page}/deliveries/x"),
    ] {
        ann.get(&unknown).await.shows(404, "Page not found");
    }

    api.webhooks.answer(HOST, 500, None);
    user(api).await;
    flow(api).await;
    let shown = ann.get(&page).await.shows(200, "Pending");
    for text in ["user.created", "1 attempt", "Next attempt"] {
        assert!(shown.html.contains(text), "{text} in {}", shown.html);
    }
    let delivery = deliveries(api, id).await.remove(0);
    let own = format!("{page}/deliveries/{}", delivery.id);
    ann.get(&own)
        .await
        .shows(200, ">500</span>")
        .shows(200, "answered 500");
    api.webhooks.be_silent(HOST);
    api.pass(6);
    flow(api).await;
    ann.get(&own).await.shows(200, "No response");
    api.webhooks.answer(HOST, 204, None);
    api.pass(331);
    flow(api).await;
    ann.get(&own)
        .await
        .shows(200, "Delivered")
        .shows(200, ">204</span>");

    for (query, status, text) in [
        ("state=delivered", 200, "user.created"),
        ("state=exhausted", 200, "No deliveries match"),
        ("state=held", 200, "No deliveries match"),
        ("state=nonsense", 400, "state must be waiting"),
        ("event_id=nonsense", 400, "role=\"alert\""),
        ("starting_after=nonsense", 400, "role=\"alert\""),
    ] {
        let page = ann.get(&format!("{page}?{query}")).await;
        page.shows(status, text);
    }
    let by_event = format!("{page}?event_id={}", delivery.event_id);
    ann.get(&by_event).await.shows(200, "user.created");
}

/// The delivery pages that a list links to.
fn linked(page: &Page) -> usize {
    page.html.matches("View attempts").count()
}

async fn deliveries_are_shown_by_page(api: &Api) {
    let mut ann = owner(api).await;
    let id = endpoint(api, "Orders").await;
    user(api).await;
    flow(api).await;
    let of = world(api).into();
    let event = deliveries(api, id).await.remove(0).event_id;
    for _ in 0..54 {
        let what = Replayed::Event(event);
        let replayed = api.service.replay_webhook(Principal::cli(), of, id, what);
        replayed.await.unwrap();
    }
    let page = path(api, "live", &format!("webhooks/{id}"));
    let first = ann.get(&page).await.shows(200, "rel=\"next\"");
    assert_eq!(linked(&first), 50);
    let (_, rest) = first.html.split_once("starting_after=").unwrap();
    let after = rest.split_once('"').unwrap().0;
    let second = ann.get(&format!("{page}?starting_after={after}")).await;
    assert_eq!((second.status, linked(&second)), (200, 5));
    assert!(!second.html.contains("rel=\"next\""), "{}", second.html);
}

async fn a_signing_secret_is_shown_once(api: &Api) {
    let mut ann = owner(api).await;
    let list = path(api, "live", "webhooks");
    let new = format!("{list}/new");
    let url = format!("https://{HOST}/orders");
    for (field, value, message) in [
        ("url", "http://hooks.example.com/", "must start with https"),
        ("other_types", "user.flew", "nknown event type"),
        ("name", &"n".repeat(101), "Name must be 1 to 100"),
    ] {
        let mut fields = vec![("name", "Orders"), ("url", &url), ("types", "user.*")];
        fields.retain(|(own, _)| *own != field);
        fields.push((field, value));
        let refused = submit(&mut ann, &new, &fields).await.shows(400, message);
        let refused = refused.shows(400, "value=\"user.*\" checked");
        assert!(refused.html.contains(value), "{}", refused.html);
    }
    assert!(endpoints(api).await.is_empty());

    let shown = ann.get(&new).await;
    let form = [
        ("form_token", shown.field("form_token")),
        ("submission", shown.field("submission")),
        ("name", "Orders"),
        ("url", &url),
        ("types", "user.*"),
        ("other_types", "wallet.exported, session.ended"),
    ];
    let created = ann.post(&new, &form).await.shows(200, "Copy this signing");
    let first = secret(&created, "whsec_");
    // CON-15: the second response shows no secret.
    let again = ann.post(&new, &form).await;
    again.leads_to(&list);
    assert!(!again.html.contains(&first));
    let listed = endpoints(api).await;
    assert_eq!(listed.len(), 1);
    let types = ["session.ended", "user.*", "wallet.exported"];
    assert_eq!(listed[0].endpoint.types.names(), types);
    let same = submit(&mut ann, &new, &form[2..]).await;
    same.shows(400, "Another endpoint of this environment");

    let id = listed[0].endpoint.id;
    let page = format!("{list}/{id}");
    let rotate = format!("{page}/rotate");
    for minutes in ["soon", "-1", "10081", ""] {
        let fields = [("overlap_minutes", minutes)];
        let refused = submit(&mut ann, &rotate, &fields).await;
        refused.shows(
            400,
            "Overlap_minutes must be a whole number from 0 to 10080",
        );
    }
    let rotated = submit(&mut ann, &rotate, &[("overlap_minutes", "60")]).await;
    let second = secret(&rotated, "whsec_");
    assert_ne!(first, second);
    rotated.shows(200, &first[first.len() - 4..]);
    assert_eq!(endpoints(api).await[0].secrets.len(), 2);
    // CON-7: no other page has them.
    for other in [&list, &page, &rotate] {
        let shown = ann.get(other).await;
        assert_eq!(shown.status, 200);
        for secret in [&first, &second] {
            assert!(!shown.html.contains(secret), "{other}");
        }
    }
    ann.get(&page).await.shows(200, "Previous secret");
}

async fn an_endpoint_is_edited_disabled_and_enabled(api: &Api) {
    let mut ann = owner(api).await;
    let id = endpoint(api, "Orders").await;
    let page = path(api, "live", &format!("webhooks/{id}"));
    let edit = format!("{page}/edit");
    let shown = ann.get(&edit).await.shows(200, "value=\"user.*\" checked");
    let base = unescaped(shown.field("base"));
    let changed = [
        ("base", base.as_str()),
        ("name", ""),
        ("url", "https://hooks.example.com/v2"),
        ("types", "*"),
    ];
    let mut wrong = changed;
    wrong[2].1 = "ftp://hooks.example.com/";
    let refused = ann.fill(&edit, &edit, &wrong).await;
    refused.shows(400, "The endpoint was not saved. Fix 1 field.");
    ann.fill(&edit, &edit, &changed).await.leads_to(&page);
    ann.get(&page)
        .await
        .shows(200, "Endpoint saved")
        .shows(200, "<h1>hooks.example.com</h1>")
        .shows(200, "hooks.example.com/v2");
    // A form that was filled before undoes nothing.
    wrong[2].1 = "https://hooks.example.com/late";
    let late = ann.fill(&edit, &edit, &wrong).await;
    late.shows(400, "Another operator has changed the endpoint")
        .shows(400, "https://hooks.example.com/v2");

    let disable = format!("{page}/disable");
    let enable = format!("{page}/enable");
    api.webhooks.answer(HOST, 500, None);
    user(api).await;
    flow(api).await;
    ann.get(&disable).await.shows(200, "held for 30 days");
    ann.fill(&disable, &disable, &[]).await.leads_to(&page);
    ann.get(&page)
        .await
        .shows(200, "Endpoint disabled")
        .shows(200, "An operator disabled it.")
        .shows(200, "Held");
    assert_eq!(deliveries(api, id).await[0].state, DeliveryState::Held);
    ann.fill(&enable, &enable, &[("resume", "none")])
        .await
        .leads_to(&page);
    ann.get(&page)
        .await
        .shows(200, "Endpoint enabled")
        .shows(200, "Discarded");
    let is_waiting = |delivery: &Delivery| delivery.state == DeliveryState::Waiting;
    assert!(!deliveries(api, id).await.iter().any(is_waiting));
}

async fn a_sample_is_sent(api: &Api) {
    let mut ann = owner(api).await;
    let id = endpoint(api, "Orders").await;
    let page = path(api, "live", &format!("webhooks/{id}"));
    let test = format!("{page}/test");
    ann.fill(&page, &test, &[])
        .await
        .shows(200, "The endpoint accepted it")
        .shows(200, "Status 200");
    let sent = api.webhooks.sent_to(HOST);
    assert_eq!(sent.len(), 1);
    api.webhooks.answer(HOST, 503, None);
    ann.fill(&test, &test, &[("type", "user.created")])
        .await
        .shows(200, "The endpoint did not accept it")
        .shows(200, "Status 503")
        .shows(200, "answered 503")
        .shows(200, "<option selected>user.created");
    api.webhooks.be_silent(HOST);
    ann.fill(&test, &test, &[("type", "webhook.test")])
        .await
        .shows(200, "No response");
    ann.fill(&test, &test, &[("type", "user.flew")])
        .await
        .shows(400, "No test event was sent.");
    assert_eq!(api.webhooks.sent_to(HOST).len(), 3);
    // It is no delivery.
    assert!(deliveries(api, id).await.is_empty());
}

async fn events_are_replayed(api: &Api) {
    let id = endpoint(api, "Orders").await;
    api.webhooks.answer(HOST, 500, None);
    user(api).await;
    flow(api).await;
    for wait in [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400] {
        api.pass(wait * 11 / 10 + 1);
        flow(api).await;
    }
    let exhausted = deliveries(api, id).await.remove(0);
    assert_eq!(exhausted.state, DeliveryState::Exhausted);

    let mut ann = owner(api).await;
    let page = path(api, "live", &format!("webhooks/{id}"));
    let replay = format!("{page}/replay");
    ann.get(&page)
        .await
        .shows(200, "Exhausted")
        .shows(200, "This endpoint is failing");
    let unknown = "event_3OuFyflXVJJgsjDP6v1qoklIEaU";
    for (fields, message) in [
        (&[("what", "all")][..], "Choose the events to replay"),
        (
            &[("what", "failed"), ("days", "90")],
            "Choose one of the times",
        ),
        (&[("what", "range")], "After is required"),
        (
            &[("what", "range"), ("after", "x")],
            "No replay was started.",
        ),
        (&[("what", "range"), ("after", unknown)], "no such event"),
    ] {
        let refused = submit(&mut ann, &replay, fields).await;
        refused.shows(400, message);
    }
    let failed = [("what", "failed"), ("days", "7")];
    api.webhooks.answer(HOST, 200, None);
    submit(&mut ann, &replay, &failed).await.leads_to(&page);
    ann.get(&page)
        .await
        .shows(200, "1 event is sent again")
        .shows(200, "Running");
    let running = submit(&mut ann, &replay, &failed).await;
    running.shows(400, "already running");
    api.pass(2);
    flow(api).await;
    ann.get(&page).await.shows(200, "1 of 1 events");
    let replayed = deliveries(api, id).await.remove(0);
    assert_eq!(replayed.event_id, exhausted.event_id);
    assert_eq!(replayed.state, DeliveryState::Delivered);

    // One event, once per form (CON-15).
    let one = format!("{page}/deliveries/{}", exhausted.id);
    let again = format!("{one}/replay");
    let shown = ann.get(&one).await;
    let form = [
        ("form_token", shown.field("form_token")),
        ("submission", shown.field("submission")),
    ];
    let first = ann.post(&again, &form).await;
    let to = first.header("location").to_owned();
    ann.get(&to)
        .await
        .shows(200, "1 event is sent again")
        .shows(200, "No attempts yet");
    ann.post(&again, &form).await.leads_to(&page);
    assert_eq!(deliveries(api, id).await.len(), 3);

    let range = format!("{}", exhausted.event_id);
    let fields = [("what", "range"), ("after", range.as_str())];
    submit(&mut ann, &replay, &fields).await.leads_to(&page);
    // A form that was loaded before the endpoint was disabled.
    let shown = ann.get(&page).await;
    let mut form = vec![
        ("form_token", shown.field("form_token")),
        ("submission", shown.field("submission")),
    ];
    form.extend(failed);
    let of = world(api).into();
    let disabled = api.service.disable_webhook(Principal::cli(), of, id);
    disabled.await.unwrap();
    let refused = ann.post(&replay, &form).await;
    refused
        .shows(400, "The webhook endpoint is disabled")
        .shows(400, "Enable the endpoint to replay events.");
}
