//! "Try it" in the console: it runs the real thing and changes nothing (CON-18, CON-19, CON-24).

use std::fmt::Write as _;

use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_app::delivery::events::ListEvents;
use vestry_app::identity::sessions::ListSessions;
use vestry_app::platform::AppChange;
use vestry_contract::provider::{CLIENT_ID, Callback, Person, Shape};
use vestry_domain::audit::control::ControlAction;
use vestry_domain::message::Message;
use vestry_domain::operator::Role;
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::{Environment, Secret, World};
use vestry_ports::clock::Clock;
use vestry_ports::store::Store;

use crate::console::{Browser, Page, entries, grants, operator};
use crate::console_pages::{path, user_in};
use crate::harness::{Api, CONSOLE, Lane, Options, on_both, on_with};
use crate::oauth::setup::{ProviderSetup, provider_options};
use crate::oauth::{LOGIN, lands, location, path as path_of};

on_both! {
    provider_options;
    con_18_trying_a_provider_changes_nothing
    con_18_the_built_in_provider_is_tried_out
    a_trial_belongs_to_the_session_that_began_it
    a_failed_trial_names_the_setting_to_change
    con_18_five_test_messages_an_hour_reach_the_operator
}

const UNKNOWN: &str = "the state is unknown, expired, already used or from another sign-in";

/// What a sign-in could leave in either environment: users with their links, sessions and events.
async fn left(api: &Api) -> Vec<Value> {
    api.service.sequence_all().await.unwrap();
    let mut left = Vec::new();
    for (environment, client) in [
        (Environment::Test, api.test()),
        (Environment::Live, api.live()),
    ] {
        let caller =
            crate::harness::operator(&api.service, World::new(api.app.id, environment)).await;
        let found = client.post("/v1/auth/users/search", json!({})).await;
        let users = found.ok().body["users"].clone();
        for user in users.as_array().unwrap() {
            let id = user["user_id"].as_str().unwrap();
            left.push(client.get(&format!("/v1/auth/users/{id}")).await.ok().body);
            let sessions = ListSessions::of(id.parse().unwrap());
            let sessions = api.service.list_sessions(&caller, sessions).await.unwrap();
            left.push(json!(sessions.sessions.len()));
        }
        let newest = ListEvents {
            descending: true,
            ..ListEvents::default()
        };
        let events = api.service.list_events(&caller, &newest).await.unwrap();
        left.push(json!(events.events.len()));
    }
    left
}

/// Flows and tokens of sign-ins that are still there.
async fn unfinished(api: &Api, environment: Environment) -> u64 {
    let expired_by = api.clock.machine() + Seconds(3600);
    let store = api.store().await;
    let mut tx = store.begin().await.unwrap();
    let worlds = environment.into();
    let swept = tx.oauth_flows().sweep(&worlds, expired_by);
    swept.await.unwrap()
}

/// Begins a trial; returns the URL at the provider.
async fn begin(browser: &mut Browser<'_>, api: &Api, environment: &str, name: &str) -> String {
    let trial = path(api, environment, &format!("providers/{name}/trial"));
    let page = browser.fill("/console/me", &trial, &[]).await;
    let page = page.shows(200, "Continue to");
    let (_, rest) = page.html.split_once("content=\"0; url=").unwrap();
    rest.split_once('"').unwrap().0.replace("&#38;", "&")
}

/// Follows the App's registered callback; returns the page of the console to which it leads.
async fn to_console(api: &Api, callback: &str, query: &str) -> String {
    let back = api.anonymous().get(&format!("{callback}?{query}")).await;
    let url = location(&back);
    assert!(!url.contains("token="), "{url}");
    let path = url.strip_prefix(CONSOLE);
    path.unwrap_or_else(|| panic!("{url} is not in the console"))
        .to_owned()
}

/// The whole flow of a person, in the browser of an operator.
async fn tried(
    browser: &mut Browser<'_>,
    api: &Api,
    setup: &ProviderSetup<'_>,
    person: Option<Person>,
) -> Page {
    setup.server.signs_in(person);
    let callback = leave(browser, api, setup).await;
    let page = to_console(api, &setup.callback, &callback.form()).await;
    browser.get(&page).await
}

/// Begins a trial; returns what the browser brings back from the provider.
async fn leave(browser: &mut Browser<'_>, api: &Api, setup: &ProviderSetup<'_>) -> Callback {
    let url = begin(browser, api, "live", setup.name).await;
    let callback = setup.respond(&url);
    assert_eq!(path_of(&callback.redirect_uri), setup.callback);
    callback
}

fn hashed(subject: &str) -> String {
    let TokenHash(hash) = TokenHash::of(subject);
    hash.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

async fn con_18_trying_a_provider_changes_nothing(api: &Api) {
    lands(api).await;
    let mut setup =
        ProviderSetup::of(api, &api.app, Environment::Live, "acme", Shape::OpenId).await;
    let mut settings = setup.server.settings();
    settings.trust_email_verified = true;
    setup.set(settings.clone()).await;
    let linked = setup.sign_in(Person::new("subject-of-lin", "lin@example.com"));
    let linked = linked.await.ok().text_at("/user_id");
    let owner = json!({"email": "own@example.com"});
    let owner = user_in(api, Environment::Live, owner).await;
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let before = left(api).await;

    let new = Person::new("subject-of-new", "new@example.com");
    let page = tried(&mut ann, api, &setup, Some(new)).await;
    let page = page.shows(200, "Creates a new user.");
    let hash = hashed("subject-of-new");
    for text in [
        "Sign-in works",
        "<title>Live · Try it: acme ·",
        "No user, link, session or token was created.",
        &setup.server.settings().issuer.unwrap(),
        &hash,
        "<span class=\"tag\">email_verified</span>",
        "new@example.com",
        "Email counts as verified",
        "The provider says that it has verified the address.",
        "with the verified address",
    ] {
        assert!(page.html.contains(text), "{text} in {}", page.html);
    }
    for text in [
        "subject-of-new",
        "<span class=\"tag\">nonce",
        "code=",
        "state=",
    ] {
        assert!(!page.html.contains(text), "{text} in {}", page.html);
    }
    assert_eq!(left(api).await, before, "a trial changed something");
    let moved = Person::new("subject-of-lin", "moved@example.com").with_verified(json!(false));
    tried(&mut ann, api, &setup, Some(moved))
        .await
        .shows(200, "Signs in an existing user.")
        .shows(200, &linked)
        .shows(200, "The provider does not say that it has verified");
    let joins = Person::new("subject-of-own", "Own@example.com");
    tried(&mut ann, api, &setup, Some(joins.clone()))
        .await
        .shows(200, "Joins an existing user.")
        .shows(200, &owner);
    let unverified = joins.clone().with_verified(json!(false));
    let page = tried(&mut ann, api, &setup, Some(unverified)).await;
    let page = page
        .shows(200, "Sign-in refused")
        .shows(200, "A user has this address");
    assert!(!page.html.contains(&owner), "{}", page.html);
    assert_eq!(left(api).await, before, "a trial changed something");
    // The issuer's claim counts only if the connection trusts it.
    settings.trust_email_verified = false;
    setup.set(settings).await;
    let before = left(api).await;
    tried(&mut ann, api, &setup, Some(joins))
        .await
        .shows(200, "Sign-in refused")
        .shows(200, "turn “Trust the issuer’s email_verified” on");
    tried(&mut ann, api, &setup, None)
        .await
        .shows(200, "Sign-in fails")
        .shows(200, "would get error=access_denied");
    assert_eq!(left(api).await, before, "a trial changed something");
    for environment in Environment::ALL {
        assert_eq!(unfinished(api, environment).await, 0, "{environment}");
    }
}

async fn con_18_the_built_in_provider_is_tried_out(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let methods = path(api, "test", "methods");
    let button = "providers/test/trial\" target=\"_blank\" rel=\"noopener\"";
    ann.get(&methods).await.shows(200, button);
    user_in(api, Environment::Test, json!({"email": "ada@example.com"})).await;
    let before = left(api).await;
    for (answer, text) in [
        ("verified", "Joins an existing user."),
        ("unverified", "A user has this address"),
        ("changed", "Creates a new user."),
        ("denied", "error=access_denied"),
        ("error", "error=provider_unavailable"),
    ] {
        let url = begin(&mut ann, api, "test", "test").await;
        let page = format!("{}&identity={answer}", path_of(&url));
        let back = location(&api.anonymous().get(&page).await);
        let (callback, query) = path_of(&back).split_once('?').unwrap();
        let page = to_console(api, callback, query).await;
        ann.get(&page).await.shows(200, text);
    }
    assert_eq!(left(api).await, before, "a trial changed something");
    assert_eq!(unfinished(api, Environment::Test).await, 0);

    // CON-19, CON-24
    let live = path(api, "live", "providers/test/trial");
    let refused = ann.fill("/console/me", &live, &[]).await;
    refused.shows(404, "Page not found");
    let role = grants(Role::Developer, Some(api.app.id));
    let (mut dev, _) = operator(api, "dev@example.com", role).await;
    let shown = dev.get(&methods).await.shows(200, "Test provider");
    assert!(!shown.html.contains(button), "{}", shown.html);
    let trial = path(api, "test", "providers/test/trial");
    let refused = dev.fill("/console/me", &trial, &[]).await;
    refused.shows(403, "Your role does not include this");
    assert_eq!(unfinished(api, Environment::Test).await, 0);
}

async fn a_trial_belongs_to_the_session_that_began_it(api: &Api) {
    lands(api).await;
    let setup = ProviderSetup::of(api, &api.app, Environment::Live, "acme", Shape::OpenId).await;
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let (mut ben, _) = operator(api, "ben@example.com", grants(Role::Owner, None)).await;
    let callback = leave(&mut ann, api, &setup).await;
    let page = to_console(api, &setup.callback, &callback.form()).await;

    // Another browser gets the ordinary error, and so does the App. The trial stays.
    Browser::new(api).get(&page).await.shows(400, UNKNOWN);
    ben.get(&page).await.shows(400, UNKNOWN);
    let verified = setup.verifies(&callback).await;
    assert_eq!(verified.status, 400, "{}", verified.text);
    // So does the same browser in another environment, of another provider, or with another state.
    let (console, query) = page.split_once('?').unwrap();
    for (from, to) in [
        ("/live/", "/test/"),
        ("/acme/", "/google/"),
        (callback.state.as_str(), "acme-unknown"),
    ] {
        let other = page.replace(from, to);
        assert_ne!(other, page);
        ann.get(&other).await.shows(400, UNKNOWN);
    }
    let unknown = query.replace(&callback.state, "acme-unknown");
    let back = api
        .anonymous()
        .get(&format!("{}?{unknown}", setup.callback))
        .await;
    assert_eq!(location(&back), format!("{LOGIN}?error=invalid_state"));
    // Without a state the page leads back.
    let about = path(api, "live", "providers/acme");
    ann.get(console).await.leads_to(&about);

    ann.get(&page).await.shows(200, "Creates a new user.");
    ann.get(&page).await.shows(400, UNKNOWN);
    // Used up, the state is unknown to the callback too.
    let back = api
        .anonymous()
        .get(&format!("{}?{query}", setup.callback))
        .await;
    assert_eq!(location(&back), format!("{LOGIN}?error=invalid_state"));
    // A sign-in that was not begun here is no trial.
    let begun = setup.begin("").await;
    let callback = setup.respond(&begun.url);
    ann.get(&format!("{console}?{}", callback.form()))
        .await
        .shows(400, UNKNOWN);
    let landed = setup.lands(&api.anonymous(), &callback).await;
    assert!(landed.contains("token="), "{landed}");
}

async fn a_failed_trial_names_the_setting_to_change(api: &Api) {
    let mut setup =
        ProviderSetup::of(api, &api.app, Environment::Live, "acme", Shape::OpenId).await;
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let google = path(api, "live", "providers/google");
    let shown = ann.get(&google).await.shows(200, "Off");
    assert!(!shown.html.contains("Try it"), "{}", shown.html);
    let page = ann.fill(&google, &format!("{google}/trial"), &[]).await;
    page.shows(
        200,
        "The provider is not configured. Enter the client id and the client secret.",
    );
    let about = path(api, "live", "providers/acme");
    ann.get(&about).await.shows(200, "Try it");
    let unknown = path(api, "live", "providers/nowhere/trial");
    let page = ann.fill(&about, &unknown, &[]).await;
    page.shows(404, "Page not found");

    let world = World::new(api.app.id, Environment::Live);
    let (secret, settings) = (Secret::new("other".to_owned()), setup.server.settings());
    let name = "acme".parse().unwrap();
    let service = &api.service;
    let cli = Principal::cli();
    let set = service.set_provider(cli, world, name, CLIENT_ID, &secret, settings.clone());
    set.await.unwrap();
    let person = Some(Person::new("1001", "ada@example.com"));
    tried(&mut ann, api, &setup, person)
        .await
        .shows(200, "would get error=provider_misconfigured")
        .shows(200, "Enter the client id and the client secret again.");

    let mut elsewhere = settings;
    elsewhere.issuer = elsewhere.issuer.map(|issuer| format!("{issuer}/elsewhere"));
    setup.set(elsewhere).await;
    let trial = format!("{about}/trial");
    ann.fill(&about, &trial, &[])
        .await
        .shows(200, "The sign-in would not begin.")
        .shows(200, "Check the issuer and the endpoints");
    let change = AppChange {
        disabled: Some(true),
        ..AppChange::default()
    };
    let disabled = service.change_app(cli, api.app.id, change, &|_| true);
    disabled.await.unwrap();
    ann.fill(&about, &trial, &[])
        .await
        .shows(200, "The App is disabled. Enable the App.");
}

/// Sends a test message.
async fn sends(browser: &mut Browser<'_>, api: &Api, environment: &str) -> Page {
    let methods = path(api, environment, "methods");
    let shown = browser.get(&methods).await.shows(200, "methods/mail");
    send(browser, api, environment, &shown).await
}

/// Sends the form of a page that was opened before.
async fn send(browser: &mut Browser<'_>, api: &Api, environment: &str, page: &Page) -> Page {
    let form = ["form_token", "submission"].map(|name| (name, page.field(name)));
    let mail = path(api, environment, "methods/mail");
    browser.post(&mail, &form).await
}

/// The test messages that the transport has accepted.
fn test_messages(api: &Api) -> Vec<Message> {
    let sent = api.mailer.sent().into_iter().map(|(_, message)| message);
    sent.filter(|message| message.subject.starts_with("Vestry test message"))
        .collect()
}

/// The number of test messages in the audit log of an environment.
async fn recorded(api: &Api, environment: Environment) -> usize {
    let entries = entries(api, World::new(api.app.id, environment)).await;
    let events = entries.into_iter().map(|entry| entry.event);
    let events = events.filter(|event| event.action == ControlAction::TestMessageSend);
    let events: Vec<_> = events.collect();
    for event in &events {
        let detail = &event.detail;
        assert!(detail.contains(r#""channel":"email""#), "{detail}");
    }
    events.len()
}

/// CON-15, CON-24: the limit counts both environments together, and failures too.
async fn con_18_five_test_messages_an_hour_reach_the_operator(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let (test, live) = (path(api, "test", "methods"), path(api, "live", "methods"));
    let form = ann.get(&live).await.shows(200, "methods/mail");
    for flash in ["Test message accepted", "This form was sent before"] {
        send(&mut ann, api, "live", &form).await.leads_to(&live);
        ann.get(&live).await.shows(200, flash);
    }
    let sent = test_messages(api);
    assert_eq!(sent.len(), 1);
    let message = &sent[0];
    assert_eq!(message.to, "ann@example.com");
    assert_eq!(message.subject, "Vestry test message for Demo");
    assert!(
        message.text.contains("live environment"),
        "{}",
        message.text
    );
    assert_eq!(message.code.clone() + &message.link + &message.token, "");

    sends(&mut ann, api, "test").await.leads_to(&test);
    ann.get(&test).await.shows(200, "Test message captured");
    api.deliver().await;
    let messages = path(api, "test", "messages");
    ann.get(&messages).await.shows(200, "ann@example.com");
    assert_eq!(test_messages(api).len(), 1);
    api.mailer.fail_for_now(1);
    sends(&mut ann, api, "live")
        .await
        .shows(200, "The test message was not sent")
        .shows(
            200,
            "Check the user, the password and the host in mail.smtp.url, and whether this server reaches it.",
        );
    for _ in 0..2 {
        sends(&mut ann, api, "live").await.leads_to(&live);
    }
    for environment in ["test", "live"] {
        let refused = sends(&mut ann, api, environment).await;
        refused.shows(429, "Too many attempts");
    }
    assert_eq!(test_messages(api).len(), 3);
    assert_eq!(recorded(api, Environment::Test).await, 1);
    assert_eq!(recorded(api, Environment::Live).await, 4);

    // Another operator has a limit of their own.
    let (mut ben, _) = operator(api, "ben@example.com", grants(Role::Owner, None)).await;
    sends(&mut ben, api, "live").await.leads_to(&live);
    let role = grants(Role::Developer, Some(api.app.id));
    let (mut dev, _) = operator(api, "dev@example.com", role).await;
    let shown = dev.get(&test).await;
    assert!(!shown.html.contains("methods/mail"), "{}", shown.html);
    let mail = format!("{test}/mail");
    let refused = dev
        .fill("/console/me", &mail, &[("submission", "of-a-developer")])
        .await;
    refused.shows(403, "Your role does not include this");
    assert_eq!(test_messages(api).len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_transport_a_test_message_names_the_setting() {
    let options = Options {
        has_mailer: false,
        ..Options::default()
    };
    on_with(Lane::Sqlite, options, async |api: &Api| {
        let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
        sends(&mut ann, api, "live").await.shows(
            200,
            "The deployment has no mail transport. Set mail.kind to smtp",
        );
        assert_eq!(recorded(api, Environment::Live).await, 0);
    })
    .await;
}
