//! What the pages of the console cost: statements and round trips, which do not grow with the rows of a page, and weight.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use vestry_app::Principal;
use vestry_app::operators::Handover;
use vestry_app::platform::webhooks::{DeliveryFilter, NewEndpoint};
use vestry_domain::operator::Role;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::{Environment, World};
use vestry_testkit::statements::Statements;

use crate::console::{Browser, Page, grants, joined, operator};
use crate::console_pages::{PAGES, event_in, key_in, path, submit, user_in};
use crate::harness::{Api, Lane, Options};

/// The most statements of a page. A user with everything is read with eight, which are sent together.
const MAX_STATEMENTS: u32 = 20;
/// The most round trips of a page to a database server.
const MAX_ROUND_TRIPS: u32 = 12;
/// A page that looks for the newest event of two types, in a log that has few of them.
const MORE: (&str, u32) = ("quick-start", 13);
const MAX_LOADS: usize = 10;
/// Compressed weights, in bytes.
const MAX_HTML: usize = 40_000;
const MAX_CSS: usize = 20_000;
const MAX_SCRIPTS: usize = 30_000;

/// The pages about the whole deployment, and lists with filters.
const OTHERS: &[&str] = &[
    "/console/",
    "/console/apps/new",
    "/console/operators",
    "/console/operators/invite",
    "/console/operators/{operator}",
    "/console/operators/{operator}/remove",
    "/console/management-keys",
    "/console/management-keys/new",
    "/console/deployment",
    "/console/me",
    "users?q=user-1%40example.com",
    "users?q=user",
    "users?q=Ada",
    "wallets?q={address}",
    "webhooks/{hook}?state=waiting",
    "audit?action=api_key.create",
    "events?type=user.created",
];

/// Pages that exist, but not for the objects of this test.
const ABSENT: &[&str] = &["providers/google/remove"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_keep_to_their_statements_and_weights_on_sqlite() {
    pages_keep_to_their_statements_and_weights(Lane::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_keep_to_their_statements_and_weights_on_postgres() {
    pages_keep_to_their_statements_and_weights(Lane::Postgres).await;
}

async fn pages_keep_to_their_statements_and_weights(lane: Lane) {
    let Some(mut place) = lane.place().await else {
        return;
    };
    let statements = Statements::of(&mut place.settings).await;
    let api = Api::start(place, Options::default()).await;
    let (mut ann, _) = operator(&api, "ann@example.com", grants(Role::Owner, None)).await;
    let mut seen = Vec::<(&str, u32)>::new();
    let mut failures = Vec::new();
    let mut names = None;
    let mut number = 0;
    for rows in [2, 18] {
        while number < rows {
            let made = fill(&api, &mut ann, number).await;
            names.get_or_insert(made);
            number += 1;
        }
        let names = names.as_ref().unwrap();
        let of_environment = PAGES.iter().map(|(page, ..)| *page);
        for page in of_environment.chain(OTHERS.iter().copied()) {
            let address = address_of(&api, page, names);
            let before = seen.iter().find(|(known, _)| *known == page);
            let before = before.map(|(_, count)| *count);
            let bars = Bars {
                statements: before.unwrap_or(MAX_STATEMENTS),
                round_trips: if page == MORE.0 {
                    MORE.1
                } else {
                    MAX_ROUND_TRIPS
                },
            };
            let (shown, counts) = load(&mut ann, &statements, &address, bars).await;
            println!("{page} with {rows} rows: {counts:?}");
            let expected = if ABSENT.contains(&page) { 404 } else { 200 };
            if shown.status != expected {
                failures.push(format!("{page}: status {}", shown.status));
            }
            let weight = compressed(shown.html.as_bytes());
            if weight > MAX_HTML {
                failures.push(format!("{page}: {weight} bytes"));
            }
            if !bars.are_kept_by(counts) {
                failures.push(format!(
                    "{page}: {counts:?} statements and round trips with {rows} rows, {before:?} with fewer"
                ));
            }
            seen.push((page, counts.0));
        }
    }
    failures.extend(assets_too_heavy(&api, &mut ann).await);
    api.stop().await;
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The ids in the addresses of pages.
type Names = Vec<(&'static str, String)>;

fn address_of(api: &Api, page: &str, names: &Names) -> String {
    let mut page = page.to_owned();
    for (name, id) in names {
        page = page.replace(&format!("{{{name}}}"), id);
    }
    match page.starts_with("/console/") {
        true => page,
        false => path(api, "test", &page),
    }
}

/// What a page may cost.
#[derive(Clone, Copy)]
struct Bars {
    statements: u32,
    round_trips: u32,
}

impl Bars {
    const fn are_kept_by(self, (statements, round_trips): (u32, u32)) -> bool {
        statements <= self.statements && round_trips <= self.round_trips
    }
}

/// Loads a page until it keeps to the bars, and returns its least statements and round trips. Some requests also fill a cache or open a
/// connection, and on a busy machine statements that are sent together can count as several round trips.
async fn load(
    browser: &mut Browser<'_>,
    statements: &Statements,
    address: &str,
    bars: Bars,
) -> (Page, (u32, u32)) {
    let mut least = (u32::MAX, u32::MAX);
    let mut page = browser.get(address).await;
    for _ in 0..MAX_LOADS {
        let start = statements.count();
        page = browser.get(address).await;
        let end = statements.count();
        least = (least.0.min(end.0 - start.0), least.1.min(end.1 - start.1));
        if bars.are_kept_by(least) {
            break;
        }
    }
    (page, least)
}

/// One more of everything.
async fn fill(api: &Api, ann: &mut Browser<'_>, number: usize) -> Names {
    let test = Environment::Test;
    let world = World::new(api.app.id, test);
    let cli = Principal::cli();
    let user = user_in(api, test, json!({"first_name": "Ada"})).await;
    let request = json!({"user_id": user, "wallet_type": "ethereum"});
    let wallet = api.test().post("/v1/wallets/create", request).await.ok();
    let key = key_in(api, test).await.to_string();
    let url = format!("https://app.example.com/{number}");
    let kind = RedirectKind::Login;
    let url = (api.service)
        .add_redirect_url(cli, world, kind, &url, false)
        .await;
    let new = NewEndpoint {
        url: format!("https://hooks.example.com/{number}"),
        name: None,
        types: vec!["*".to_owned()],
        enabled: true,
    };
    let hook = api.service.add_webhook(cli, world, new).await;
    let hook = hook.unwrap().0.endpoint.id;
    // Each endpoint has a delivery of the events of later users too.
    user_in(api, test, json!({})).await;
    let event = event_in(api, test).await;
    let all = DeliveryFilter::default();
    let delivery = (api.service)
        .list_deliveries(cli, world.into(), hook, all, 1)
        .await;
    let email = format!("operator-{number}@example.com");
    let operator = joined(api, &email, "viewer", Some(api.app.id)).await;
    let invited = format!("invited-{number}@example.com");
    let viewer = grants(Role::Viewer, Some(api.app.id));
    let link = (api.service)
        .invite_operator(cli, &invited, viewer, Handover::Shown)
        .await;
    link.unwrap();
    let app = api.service.create_app(cli, &format!("App {number}")).await;
    app.unwrap();
    let fields = [
        ("name", "Terraform"),
        ("apps", "all"),
        ("environments", "test"),
        ("scopes", "redirect_urls:read"),
        ("expires_in", "30"),
    ];
    let made = submit(ann, "/console/management-keys/new", &fields).await;
    made.shows(200, "Copy this key now");
    let issuer = format!("issuer-{number}");
    let fields = [
        ("provider", &*issuer),
        ("issuer", "https://id.example.org"),
        ("client_id", "id"),
        ("client_secret", "s3cr3t"),
    ];
    let added = submit(ann, &path(api, "test", "providers"), &fields).await;
    assert_eq!(added.status, 303, "{}", added.html);
    vec![
        ("user", user),
        ("wallet", wallet.text_at("/id")),
        ("address", wallet.text_at("/public_address")),
        ("key", key),
        ("url", url.unwrap().id.to_string()),
        ("hook", hook.to_string()),
        ("delivery", delivery.unwrap()[0].id.to_string()),
        ("event", event),
        ("operator", operator),
    ]
}

fn compressed(bytes: &[u8]) -> usize {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap().len()
}

/// The stylesheets, and the scripts of all pages together.
async fn assets_too_heavy(api: &Api, browser: &mut Browser<'_>) -> Vec<String> {
    let mut weights = [("css", 0, MAX_CSS), ("js", 0, MAX_SCRIPTS)];
    let mut known = Vec::new();
    let events = path(api, "test", "events");
    for page in ["/console/", "/console/me", &*events] {
        let page = browser.get(page).await;
        for piece in page
            .html
            .split('"')
            .filter(|text| text.starts_with("/console/assets/"))
        {
            if known.iter().all(|one| one != piece) {
                known.push(piece.to_owned());
            }
        }
    }
    for asset in known {
        let (_, ending) = asset.rsplit_once('.').unwrap();
        if let Some((_, weight, _)) = weights.iter_mut().find(|(kind, ..)| *kind == ending) {
            let file = browser.get(&asset).await;
            assert_eq!(file.status, 200, "{asset}");
            *weight += compressed(file.html.as_bytes());
        }
    }
    println!("{weights:?}");
    assert!(
        weights.iter().all(|(_, weight, _)| *weight > 0),
        "{weights:?}"
    );
    let heavy = weights
        .into_iter()
        .filter(|(_, weight, most)| weight > most);
    heavy
        .map(|(kind, weight, _)| format!("{kind}: {weight} bytes"))
        .collect()
}
