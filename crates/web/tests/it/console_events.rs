//! The pages of the event log: order, filters, pages of the list, and one event with its deliveries (CON-5, CON-6, CON-19, CON-24).

use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_app::platform::webhooks::NewEndpoint;
use vestry_app::platform::{AppChange, SettingsChange};
use vestry_domain::operator::Role;
use vestry_domain::{Environment, World};

use crate::console::{Browser, Page, grants, operator};
use crate::console_pages::path;
use crate::events::event_log;
use crate::harness::{Api, on_both};

on_both! {
    events_are_listed_newest_first
    events_are_found_by_type_object_and_time
    a_wrong_filter_of_events_is_named
    an_event_is_shown_with_its_deliveries
}

const DAY: i64 = 86_400;

async fn user(api: &Api, email: &str) -> String {
    let body = json!({"email": email});
    let created = api.live().post("/v1/auth/users/create", body).await.ok();
    created.text_at("/user_id")
}

async fn admin(api: &Api) -> Browser<'_> {
    let grants = grants(Role::Admin, Some(api.app.id));
    operator(api, "ann@example.com", grants).await.0
}

/// The positions of the events on a page.
fn positions(page: &Page) -> Vec<i64> {
    let rows = page.html.split("<li id=\"p").skip(1);
    rows.map(|row| row.split_once('"').unwrap().0.parse().unwrap())
        .collect()
}

/// The address of the next page, if there is one.
fn older(page: &Page) -> Option<String> {
    let (before, _) = page.html.split_once("\" rel=\"next\">Older")?;
    let (_, address) = before.rsplit_once("href=\"").unwrap();
    Some(address.replace("&#38;", "&"))
}

/// The positions on all pages of a list.
async fn all(browser: &mut Browser<'_>, list: &str) -> Vec<i64> {
    let (mut found, mut next) = (Vec::new(), Some(list.to_owned()));
    while let Some(address) = next {
        let page = browser.get(&address).await;
        assert_eq!(page.status, 200, "{address}: {}", page.html);
        found.extend(positions(&page));
        next = older(&page);
    }
    found
}

/// The positions of the events that fit, newest first.
fn newest_first(log: &[Value], fits: impl Fn(&Value) -> bool) -> Vec<i64> {
    let fitting = log.iter().rev().filter(|event| fits(event));
    let positions = fitting.map(|event| event["position"].as_i64().unwrap());
    positions.collect()
}

async fn events_are_listed_newest_first(api: &Api) {
    let mut ann = admin(api).await;
    let list = path(api, "live", "events");
    ann.get(&list).await.shows(200, "No events yet");
    for number in 0..20 {
        user(api, &format!("user-{number}@example.com")).await;
    }
    let log = event_log(api, &api.live()).await;
    let first = ann.get(&list).await.shows(200, "50 events on this page");
    assert_eq!(positions(&first).len(), 50);
    assert_eq!(all(&mut ann, &list).await, newest_first(&log, |_| true));
    // The page before the last one leads on, and the last one does not.
    let second = ann.get(&older(&first).unwrap()).await;
    let second = second.shows(200, "Newest");
    assert_eq!(older(&second), None);

    // The overview has the last ten, and the log of the other environment is another one (CON-19).
    let overview = ann.get(&path(api, "live", "")).await;
    let overview = overview.shows(200, "Last events");
    assert_eq!(positions(&overview), newest_first(&log, |_| true)[..10]);
    let id = log[0]["id"].as_str().unwrap();
    ann.get(&path(api, "test", &format!("events/{id}")))
        .await
        .shows(404, "Page not found");
    ann.get(&format!("{}?after={id}", path(api, "test", "events")))
        .await
        .shows(400, "is no longer in the log");
}

async fn events_are_found_by_type_object_and_time(api: &Api) {
    let ada = user(api, "ada@example.com").await;
    api.pass(2 * DAY);
    for number in 0..3 {
        user(api, &format!("user-{number}@example.com")).await;
    }
    let mut ann = admin(api).await;
    let log = event_log(api, &api.live()).await;
    let list = path(api, "live", "events");
    let mut of_ada = log.iter().filter(|event| event["data"]["user_id"] == *ada);
    let wallet = of_ada.find_map(|event| event["data"]["wallet_id"].as_str());
    let wallet = wallet.expect("a wallet").to_owned();
    let starts = |event: &Value, prefix: &str| event["type"].as_str().unwrap().starts_with(prefix);
    // Ada was created on 15 January.
    let is_late = |event: &Value| event["created_at"].as_i64().unwrap() >= 1_800_057_600;
    let cases: [(String, Vec<i64>); 7] = [
        (
            format!("q={ada}"),
            newest_first(&log, |event| event["data"]["user_id"] == *ada),
        ),
        (
            format!("q={wallet}"),
            newest_first(&log, |event| event["data"]["wallet_id"] == *wallet),
        ),
        (
            "types=user.*".to_owned(),
            newest_first(&log, |event| starts(event, "user.")),
        ),
        (
            "types=email.added,user.created".to_owned(),
            newest_first(&log, |event| {
                event["type"] == "email.added" || event["type"] == "user.created"
            }),
        ),
        ("from=2027-01-16".to_owned(), newest_first(&log, is_late)),
        (
            "until=2027-01-16T00%3A00".to_owned(),
            newest_first(&log, |event| !is_late(event)),
        ),
        (
            format!("from=2027-01-16&until=2027-02-01&types=user.created&q={ada}"),
            Vec::new(),
        ),
    ];
    for (query, expected) in cases {
        let found = all(&mut ann, &format!("{list}?{query}")).await;
        assert_eq!(found, expected, "{query}");
        assert_eq!(expected.is_empty(), query.contains("&q="), "{query}");
    }
    let page = ann
        .get(&format!("{list}?q={ada}&types=wallet.created"))
        .await;
    for text in [
        format!("value=\"{ada}\""),
        format!("events?q={ada}\">type: wallet.created"),
        "<option selected>wallet.created</option>".to_owned(),
        format!("types=wallet.created&#38;user_id={ada}"),
    ] {
        assert!(page.html.contains(&text), "{text} in {}", page.html);
    }
    // The page of the user leads here.
    let shown = ann.get(&path(api, "live", &format!("users/{ada}"))).await;
    shown.shows(200, &format!("/live/events?q={ada}"));
    let id = log[0]["id"].as_str().unwrap();
    ann.get(&format!("{list}?q={id}"))
        .await
        .leads_to(&format!("{list}/{id}"));
}

async fn a_wrong_filter_of_events_is_named(api: &Api) {
    let mut ann = admin(api).await;
    user(api, "ada@example.com").await;
    event_log(api, &api.live()).await;
    let list = path(api, "live", "events");
    for (query, message) in [
        ("q=ada", "search for the whole id"),
        ("q=%3Cscript%3E", "search for the whole id"),
        ("types=user.flown", "unknown event type"),
        ("types=plane.*", "unknown group"),
        ("from=soon", "from must be a date"),
        ("until=2027-02-30", "until must be a date"),
        ("after=nonsense", "after must be the id"),
        (
            "after=event_3OuigQNLSUxdI1W5hygdLz1iV2w",
            "is no longer in the log",
        ),
    ] {
        let page = ann.get(&format!("{list}?{query}")).await;
        let page = page.shows(400, message).shows(400, "role=\"alert\"");
        assert!(!page.html.contains("<script>"), "{query}");
        assert!(positions(&page).is_empty(), "{query}");
    }
}

async fn an_event_is_shown_with_its_deliveries(api: &Api) {
    let world = World::new(api.app.id, Environment::Live);
    for (name, environment) in [("one", Environment::Live), ("two", Environment::Test)] {
        let endpoint = NewEndpoint {
            url: format!("https://{name}.example/hooks"),
            name: None,
            types: vec!["user.created".to_owned()],
            enabled: true,
        };
        let world = World::new(world.app_id, environment);
        let added = api.service.add_webhook(Principal::cli(), world, endpoint);
        added.await.unwrap();
    }
    let ada = user(api, "ada@example.com").await;
    let log = event_log(api, &api.live()).await;
    let of_type = |kind: &str| {
        let mut events = log.iter();
        let found = events.find(|event| event["type"] == kind).unwrap();
        found["id"].as_str().unwrap().to_owned()
    };
    let mut ann = admin(api).await;
    let created = path(api, "live", &format!("events/{}", of_type("user.created")));
    let page = ann.get(&created).await.shows(200, "<h1>user.created</h1>");
    for text in [
        "https://one.example/hooks",
        "Waiting",
        "A user was created.",
        &format!("/live/users/{ada}\">{ada}</a>"),
        &format!("<span class=\"ts\">&#34;{ada}&#34;</span>"),
        "Live · user.created",
        "vestry events resend event_",
    ] {
        assert!(page.html.contains(text), "{text} in {}", page.html);
    }
    assert!(!page.html.contains("two.example"), "{}", page.html);
    let added = path(api, "live", &format!("events/{}", of_type("email.added")));
    ann.get(&added)
        .await
        .shows(200, "No endpoint receives this event.");

    let change = AppChange {
        settings: Some(SettingsChange::Some(
            json!({"event_addresses": true})
                .as_object()
                .unwrap()
                .clone(),
        )),
        ..AppChange::default()
    };
    let changed = api
        .service
        .change_app(Principal::cli(), api.app.id, change, &|_| true);
    changed.await.unwrap();
    ann.get(&added).await.shows(200, "ada@example.com");

    // A viewer reads events, but no users and addresses (CON-24).
    let viewer = grants(Role::Viewer, Some(api.app.id));
    let (mut vic, _) = operator(api, "vic@example.com", viewer).await;
    let page = vic.get(&created).await.shows(200, "one.example");
    assert!(!page.html.contains("/live/users/"), "{}", page.html);
    for address in [&added, &path(api, "live", "events")] {
        let page = vic.get(address).await.shows(200, "email.added");
        assert!(!page.html.contains("ada@example.com"), "{}", page.html);
    }
    for unknown in ["nonsense", "event_3OuigQNLSUxdI1W5hygdLz1iV2w"] {
        ann.get(&path(api, "live", &format!("events/{unknown}")))
            .await
            .shows(404, "Page not found");
    }
}
