//! Pages of the console about an App: what they show and change, for whom, and how often (OPR-1, OPR-11, CON-5 to CON-7, CON-15, CON-19,
//! CON-24).

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_app::platform::webhooks::{DeliveryFilter, NewEndpoint};
use vestry_domain::api_key::{ApiKeyKind, KeyFields};
use vestry_domain::audit::control::ControlAction;
use vestry_domain::event::Actor;
use vestry_domain::ids::{ApiKeyId, AppId, Id, MessageId};
use vestry_domain::message::{CapturedMessage, Channel, Message, MessageKind};
use vestry_domain::operator::Role;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::{Environment, World};
use vestry_ports::store::Store;

use crate::console::{Browser, Page, code, encoded, entries, grants, operator};
use crate::harness::{Api, START, on_both};

on_both! {
    a_key_is_created_restricted_rotated_and_revoked
    a_form_acts_once
    refused_fields_keep_their_input
    pages_are_for_their_roles
    other_apps_do_not_exist
    names_are_shown_as_text
    redirect_urls_are_added_checked_and_removed
    settings_are_reviewed_and_saved
    of_two_saves_one_wins
    users_are_found
    support_helps_a_user
    wallets_are_found_disabled_and_enabled
    con_13_captured_mail_is_never_rendered
    messages_are_found_and_cleared
    the_test_clock_is_moved_once_per_form
    an_app_is_created
    the_theme_is_kept
}

pub(crate) fn path(api: &Api, environment: &str, page: &str) -> String {
    format!("/console/{}/{environment}/{page}", api.app.id)
}

/// The key that a page shows.
#[track_caller]
pub(crate) fn secret(page: &Page, prefix: &str) -> String {
    let (_, rest) = page
        .html
        .split_once("<code id=\"secret\">")
        .expect("a secret");
    let secret = rest.split_once('<').unwrap().0.to_owned();
    assert!(secret.starts_with(prefix), "{secret}");
    secret
}

pub(crate) async fn keys(api: &Api, environment: Environment) -> Vec<(ApiKeyId, String, bool)> {
    let world = World::new(api.app.id, environment);
    let keys = api.service.list_api_keys(Principal::cli(), world.into());
    let keys = keys.await.unwrap().into_iter();
    keys.map(|key| (key.id, key.name, key.revoked_at.is_some()))
        .collect()
}

pub(crate) async fn key_in(api: &Api, environment: Environment) -> ApiKeyId {
    let world = World::new(api.app.id, environment);
    let fields = KeyFields::default();
    let made = api
        .service
        .create_api_key(Principal::cli(), world, ApiKeyKind::Secret, fields);
    made.await.unwrap().record.id
}

/// A new user; the id.
pub(crate) async fn user_in(api: &Api, environment: Environment, fields: Value) -> String {
    let client = match environment {
        Environment::Test => api.test(),
        Environment::Live => api.live(),
    };
    let mut fields = fields;
    if fields["email"].is_null() {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        fields["email"] = format!("user-{number}@example.com").into();
    }
    let created = client.post("/v1/auth/users/create", fields).await;
    created.ok().text_at("/user_id")
}

/// An Ethereum wallet of a user; the id.
async fn wallet_in(api: &Api, environment: Environment, user: &str) -> String {
    let client = match environment {
        Environment::Test => api.test(),
        Environment::Live => api.live(),
    };
    let request = json!({"user_id": user, "wallet_type": "ethereum"});
    let created = client.post("/v1/wallets/create", request).await;
    created.ok().text_at("/id")
}

/// The newest event.
pub(crate) async fn event_in(api: &Api, environment: Environment) -> String {
    api.service.sequence_all().await.unwrap();
    let caller = crate::harness::operator(&api.service, World::new(api.app.id, environment)).await;
    let head = api.service.events_head(&caller).await.unwrap();
    head.newest.expect("an event").id.to_string()
}

async fn url_in(api: &Api, environment: Environment) -> String {
    let world = World::new(api.app.id, environment);
    let url = "https://app.example.com/in";
    let kind = RedirectKind::Login;
    let added = api
        .service
        .add_redirect_url(Principal::cli(), world, kind, url, false);
    added.await.unwrap().id.to_string()
}

/// An endpoint for a role, and a delivery to it.
async fn hook_in(api: &Api, environment: Environment, role: Role) -> (String, String) {
    let world = World::new(api.app.id, environment);
    let new = NewEndpoint {
        url: format!("https://hooks.example.com/{role}"),
        name: None,
        types: vec!["*".to_owned()],
        enabled: true,
    };
    let added = api.service.add_webhook(Principal::cli(), world, new).await;
    let id = added.unwrap().0.endpoint.id;
    user_in(api, environment, json!({})).await;
    api.service.sequence_all().await.unwrap();
    let all = DeliveryFilter::default();
    let listed = api
        .service
        .list_deliveries(Principal::cli(), world.into(), id, all, 1);
    (id.to_string(), listed.await.unwrap()[0].id.to_string())
}

#[track_caller]
fn named(keys: &[(ApiKeyId, String, bool)], name: &str) -> ApiKeyId {
    keys.iter()
        .find(|(_, own, is_revoked)| own == name && !is_revoked)
        .expect("a key")
        .0
}

const NEW: &[(&str, &str)] = &[
    ("kind", "secret"),
    ("name", "Shop"),
    ("preset", "read-only"),
    ("expires_in", "90"),
    ("ip_allow", "127.0.0.0/8\r\n\r\n2001:db8::/32"),
];

/// Sends the form of a page.
pub(crate) async fn submit(browser: &mut Browser<'_>, page: &str, fields: &[(&str, &str)]) -> Page {
    let shown = browser.get(page).await;
    assert_eq!(shown.status, 200, "{page}: {}", shown.html);
    let mut form = vec![("form_token", shown.field("form_token"))];
    // Forms that may be sent twice have none.
    if shown.html.contains("name=\"submission\"") {
        form.push(("submission", shown.field("submission")));
    }
    form.extend(fields);
    browser.post(page, &form).await
}

async fn a_key_is_created_restricted_rotated_and_revoked(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let list = path(api, "live", "keys");
    let created = submit(&mut ann, &format!("{list}/new"), NEW).await;
    let key = secret(&created, "sk_live_");
    let read = api
        .with_key(&key)
        .get("/v1/auth/users/user_3Fno4DCcJNUgxEXYswBqUg5tzib")
        .await;
    assert_eq!(read.status, 404);
    // The key is on no other page (CON-7).
    let shown = ann.get(&list).await.shows(200, "Shop");
    assert!(!shown.html.contains(&key));
    for text in [
        "Read-only",
        "127.0.0.0/8",
        "2001:db8::/32",
        "in 3 months",
        "Live · API keys",
    ] {
        assert!(shown.html.contains(text), "{text} in {}", shown.html);
    }

    let id = named(&keys(api, Environment::Live).await, "Shop");
    let edit = format!("{list}/{id}/edit");
    let base = unescaped(ann.get(&edit).await.field("base"));
    let narrower = [
        ("base", base.as_str()),
        ("name", "Shop"),
        ("scopes", "users:read"),
        ("expires_in", "keep"),
        ("ip_allow", "127.0.0.0/8"),
    ];
    ann.fill(&edit, &edit, &narrower).await.leads_to(&list);
    ann.get(&list).await.shows(200, "Key saved");
    let again = ann.get(&list).await;
    assert!(!again.html.contains("Key saved"), "a result is shown once");

    // A form that was filled before undoes nothing.
    let late = ann.fill(&edit, &edit, &narrower).await;
    let late = late.shows(400, "Another operator has changed the key");
    assert!(
        late.html.contains("value=\"users:read\" checked"),
        "{}",
        late.html
    );

    let rotated = submit(&mut ann, &format!("{list}/{id}/rotate"), &[]).await;
    let second = secret(&rotated, "sk_live_");
    assert_ne!(second, key);
    let revoke = format!("{list}/{id}/revoke");
    ann.fill(&revoke, &revoke, &[]).await.leads_to(&list);
    ann.get(&format!("{list}?revoked=1"))
        .await
        .shows(200, "Revoked");
    ann.get(&edit).await.shows(404, "Page not found");
    api.pass(2);
    for (key, status) in [(&key, 401), (&second, 404)] {
        let read = api
            .with_key(key)
            .get("/v1/auth/users/user_3Fno4DCcJNUgxEXYswBqUg5tzib")
            .await;
        assert_eq!(read.status, status);
    }

    // A live key and more access need a second factor that was proved lately; less access does not.
    let third = named(&keys(api, Environment::Live).await, "Shop");
    api.pass(601);
    for page in ["keys/new".to_owned(), format!("keys/{third}/rotate")] {
        let page = path(api, "live", &page);
        let to = format!("/console/step-up?return={}", page.replace('/', "%2F"));
        ann.get(&page).await.leads_to(&to);
        let token = ann.get(&list).await.field("form_token").to_owned();
        let form = [
            ("form_token", token.as_str()),
            ("submission", "a-first-and-only-one"),
            ("preset", "full"),
            ("expires_in", "never"),
        ];
        ann.post(&page, &form).await.leads_to(&to);
    }
}

/// A double click, a reload, and the same form in two windows (CON-15).
async fn a_form_acts_once(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let new = path(api, "test", "keys/new");
    let list = path(api, "test", "keys");
    let before = keys(api, Environment::Test).await.len();
    let shown = ann.get(&new).await;
    let mut form = vec![
        ("form_token", shown.field("form_token")),
        ("submission", shown.field("submission")),
    ];
    form.extend(NEW);
    let first = ann.post(&new, &form).await;
    let key = secret(&first, "sk_test_");
    let second = ann.post(&new, &form).await;
    second.leads_to(&list);
    assert!(!second.html.contains(&key));
    ann.get(&list).await.shows(200, "This form was sent before");
    assert_eq!(keys(api, Environment::Test).await.len(), before + 1);

    // A refused form can be sent again.
    let mut wrong = vec![
        ("form_token", shown.field("form_token")),
        ("submission", "a-second-submission-1"),
    ];
    wrong.extend([
        ("kind", "secret"),
        ("preset", "nonsense"),
        ("expires_in", "90"),
    ]);
    ann.post(&new, &wrong)
        .await
        .shows(400, "The key was not created");
    let mut right = vec![
        ("form_token", shown.field("form_token")),
        ("submission", "a-second-submission-1"),
    ];
    right.extend(NEW);
    secret(&ann.post(&new, &right).await, "sk_test_");
    assert_eq!(keys(api, Environment::Test).await.len(), before + 2);
}

async fn refused_fields_keep_their_input(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let new = path(api, "test", "keys/new");
    for (field, value, message) in [
        ("ip_allow", "127.0.0.0/8\r\n10.20.0.0/33", "Line 2: "),
        (
            "user_ids",
            "user_3Fno4DCcJNUgxEXYswBqUg5tzib nonsense",
            "Value 2: ",
        ),
        ("operations", "getUser flyToTheMoon", "Value 2: "),
        ("expires_in", "100000", "Select one of the times"),
        ("name", &"n".repeat(101), "Name"),
    ] {
        let mut fields: Vec<_> = NEW
            .iter()
            .filter(|(own, _)| *own != field)
            .copied()
            .collect();
        fields.push((field, value));
        let page = submit(&mut ann, &new, &fields).await.shows(400, message);
        for text in [
            "Fix 1 field.",
            "aria-invalid=\"true\"",
            "value=\"read-only\" checked",
        ] {
            assert!(page.html.contains(text), "{field}: {text} in {}", page.html);
        }
        let is_select = field == "expires_in";
        let shown = value.replace("\r\n", "\n");
        let kept = page.html.contains(value) || page.html.contains(&shown);
        assert!(kept || is_select, "{field} in {}", page.html);
    }
}

/// Pages that live environments do not have.
const ONLY_IN_TEST: [&str; 2] = ["/messages", "/clock"];

/// Which roles see a page and may send its form, in test and in live (OPR-1, CON-24).
/// The pages of an environment, whether they have a form, and what each role may do, from owner to viewer: nothing (`-`), read (`r`), write
/// (`w`), or write in test (`t`).
pub(crate) const PAGES: &[(&str, bool, [&str; 4])] = &[
    ("", false, ["r", "r", "r", "r"]),
    ("quick-start", false, ["r", "r", "r", "r"]),
    ("users", false, ["r", "r", "r", "-"]),
    ("users/{user}", false, ["r", "r", "r", "-"]),
    ("users/{user}/edit", true, ["w", "w", "t", "-"]),
    ("users/{user}/disable", true, ["w", "w", "t", "-"]),
    ("users/{user}/enable", true, ["w", "w", "t", "-"]),
    ("users/{user}/unlock", true, ["w", "w", "t", "-"]),
    ("users/{user}/end-sessions", true, ["w", "w", "t", "-"]),
    ("users/{user}/delete", true, ["w", "w", "t", "-"]),
    ("wallets", false, ["r", "r", "r", "-"]),
    ("wallets/{wallet}", false, ["r", "r", "r", "-"]),
    ("wallets/{wallet}/disable", true, ["w", "w", "t", "-"]),
    ("wallets/{wallet}/enable", true, ["w", "w", "t", "-"]),
    ("messages", false, ["t", "t", "t", "-"]),
    ("messages/clear", true, ["t", "t", "t", "-"]),
    ("clock", false, ["t", "t", "t", "-"]),
    ("clock/advance", true, ["t", "t", "t", "-"]),
    ("clock/unfreeze", true, ["t", "t", "t", "-"]),
    ("clock/reset", true, ["t", "t", "t", "-"]),
    ("methods", false, ["r", "r", "r", "r"]),
    ("methods/mail", true, ["w", "w", "r", "r"]),
    ("providers", true, ["w", "w", "-", "-"]),
    ("providers/google", true, ["w", "w", "r", "r"]),
    ("providers/google/remove", true, ["w", "w", "-", "-"]),
    ("redirect-urls", true, ["w", "w", "r", "r"]),
    ("redirect-urls/{url}/remove", true, ["w", "w", "-", "-"]),
    ("settings", false, ["r", "r", "r", "r"]),
    ("keys", false, ["r", "r", "r", "r"]),
    ("keys/new", true, ["w", "w", "t", "-"]),
    ("keys/{key}/edit", true, ["w", "w", "t", "-"]),
    ("keys/{key}/rotate", true, ["w", "w", "t", "-"]),
    ("keys/{key}/revoke", true, ["w", "w", "t", "-"]),
    ("webhooks", false, ["r", "r", "r", "r"]),
    ("webhooks/new", true, ["w", "w", "-", "-"]),
    ("webhooks/{hook}", false, ["r", "r", "r", "r"]),
    ("webhooks/{hook}/edit", true, ["w", "w", "-", "-"]),
    ("webhooks/{hook}/rotate", true, ["w", "w", "-", "-"]),
    ("webhooks/{hook}/test", true, ["w", "w", "t", "-"]),
    ("webhooks/{hook}/replay", true, ["w", "w", "r", "r"]),
    (
        "webhooks/{hook}/deliveries/{delivery}",
        false,
        ["r", "r", "r", "r"],
    ),
    (
        "webhooks/{hook}/deliveries/{delivery}/replay",
        true,
        ["w", "w", "r", "r"],
    ),
    ("webhooks/{hook}/disable", true, ["w", "w", "-", "-"]),
    ("webhooks/{hook}/enable", true, ["w", "w", "-", "-"]),
    ("audit", false, ["r", "r", "-", "-"]),
    ("events", false, ["r", "r", "r", "r"]),
    ("events/{event}", false, ["r", "r", "r", "r"]),
];

/// A form that is complete on any of [`PAGES`] that has one.
pub(crate) fn complete_form(
    shown: &Page,
    token: &str,
    submission: &str,
    issuer: &str,
    user: &str,
) -> Vec<(&'static str, String)> {
    let base = match shown.html.contains("name=\"base\"") {
        true => unescaped(shown.field("base")),
        false => String::new(),
    };
    let url = format!("https://app.example.com/{submission}");
    [
        ("form_token", token),
        ("submission", submission),
        ("base", &base),
        ("provider", issuer),
        ("issuer", "https://id.example.org"),
        ("client_id", "id"),
        ("client_secret", "s3cr3t"),
        ("preset", "full"),
        ("name", "new"),
        ("url", &url),
        ("kind", "login"),
        ("types", "*"),
        ("overlap_minutes", "60"),
        ("what", "failed"),
        ("days", "7"),
        ("typed", user),
        ("scopes", "users:read"),
        ("expires_in", "never"),
        ("advance_seconds", "1"),
    ]
    .map(|(name, value)| (name, value.to_owned()))
    .to_vec()
}

async fn pages_are_for_their_roles(api: &Api) {
    for (column, role) in [Role::Owner, Role::Admin, Role::Developer, Role::Viewer]
        .into_iter()
        .enumerate()
    {
        let app = (role != Role::Owner).then_some(api.app.id);
        let (mut browser, _) =
            operator(api, &format!("{role}@example.com"), grants(role, app)).await;
        for environment in [Environment::Test, Environment::Live] {
            let (hook, delivery) = hook_in(api, environment, role).await;
            for (page, has_form, cells) in PAGES {
                let cell = cells[column];
                let key = key_in(api, environment).await.to_string();
                let url = match page.contains("{url}") {
                    true => url_in(api, environment).await,
                    false => String::new(),
                };
                let user = match page.contains("{user}") || page.contains("{wallet}") {
                    true => user_in(api, environment, json!({})).await,
                    false => String::new(),
                };
                let wallet = match page.contains("{wallet}") {
                    true => wallet_in(api, environment, &user).await,
                    false => String::new(),
                };
                let page = match page.contains("{event}") {
                    true => page.replace("{event}", &event_in(api, environment).await),
                    false => (*page).to_owned(),
                };
                let page = page
                    .replace("{wallet}", &wallet)
                    .replace("{url}", &url)
                    .replace("{user}", &user)
                    .replace("{hook}", &hook)
                    .replace("{delivery}", &delivery)
                    .replace("{key}", &key);
                let page = path(api, environment.as_str(), &page);
                let writes = cell == "w" || cell == "t" && environment == Environment::Test;
                let case = format!("{role} {page} {cell}");
                let shown = browser.get(&page).await;
                let reads = writes || cell == "r";
                // Some pages do not exist in live, for any role.
                let is_absent = environment == Environment::Live
                    && ONLY_IN_TEST.iter().any(|only| page.contains(only));
                let refused = if is_absent { 404 } else { 403 };
                assert_eq!(shown.status, if reads { 200 } else { refused }, "{case}");
                if !has_form {
                    continue;
                }
                let token = browser
                    .get("/console/me")
                    .await
                    .field("form_token")
                    .to_owned();
                let submission = key.replace('_', "-");
                let issuer = format!("issuer-{column}");
                let form = complete_form(&shown, &token, &submission, &issuer, &user);
                let form = form.iter().map(|(name, value)| (*name, value.as_str()));
                let sent = browser.post(&page, &form.collect::<Vec<_>>()).await;
                let expected: &[u16] = if writes { &[200, 303] } else { &[refused] };
                assert!(expected.contains(&sent.status), "{case}: {}", sent.html);
            }
        }
    }
}

/// An App of others, one that never existed, the built-in one, and an environment that is none (CON-6).
async fn other_apps_do_not_exist(api: &Api) {
    let other = api
        .service
        .create_app(Principal::cli(), "Other")
        .await
        .unwrap();
    let (mut ann, _) = operator(
        api,
        "ann@example.com",
        grants(Role::Admin, Some(api.app.id)),
    )
    .await;
    let random = "app_3IXHTS5PI5FC9y3Q6QTT2oM2ttW".to_owned();
    let built_in = AppId::BUILT_IN.to_string();
    let own = api.app.id.to_string();
    for app in [other.id.to_string(), random, built_in, "app_x".to_owned()] {
        for page in ["", "keys", "keys/new"] {
            ann.get(&format!("/console/{app}/live/{page}"))
                .await
                .shows(404, "Page not found");
        }
    }
    ann.get(&format!("/console/{own}/prod/keys"))
        .await
        .shows(404, "Page not found");
    // A key of the other environment, and of another App (CON-19).
    let live = key_in(api, Environment::Live).await;
    let pages =
        ["edit", "rotate", "revoke"].map(|page| path(api, "test", &format!("keys/{live}/{page}")));
    let token = ann.get("/console/me").await.field("form_token").to_owned();
    for page in pages {
        ann.get(&page).await.shows(404, "Page not found");
        let form = [
            ("form_token", token.as_str()),
            ("submission", "one-of-another-world"),
            ("scopes", "users:read"),
            ("expires_in", "keep"),
        ];
        ann.post(&page, &form).await.shows(404, "Page not found");
    }
}

/// Names that would be markup (CON-5).
async fn names_are_shown_as_text(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    for name in [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onmouseover='alert(1)",
        "</title><svg/onload=alert(1)>",
        "{{ 7*7 }}",
        "javascript:alert(1)",
    ] {
        let app = api
            .service
            .create_app(Principal::cli(), name)
            .await
            .unwrap();
        let list = format!("/console/{}/test/keys", app.id);
        let fields = [
            ("kind", "secret"),
            ("name", name),
            ("preset", "full"),
            ("expires_in", "never"),
        ];
        let created = submit(&mut ann, &format!("{list}/new"), &fields).await;
        secret(&created, "sk_test_");
        for page in [created, ann.get(&list).await, ann.get("/console/").await] {
            assert_eq!(page.status, 200);
            let is_markup = name.contains(['<', '"', '\'']);
            assert!(
                !is_markup || !page.html.contains(name),
                "{name} in {}",
                page.html
            );
        }
    }
}

async fn redirect_urls_are_added_checked_and_removed(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let list = path(api, "live", "redirect-urls");
    let url = "https://shop.example.com/signed-in";
    let wrong = [
        ("url", "http://shop.example.com/"),
        ("kind", "login"),
        ("is_default", "on"),
    ];
    let refused = ann.fill(&list, &list, &wrong).await;
    let refused = refused.shows(400, "The redirect URL was not added. Fix 1 field.");
    assert!(
        refused.html.contains("value=\"http://shop.example.com/\""),
        "{}",
        refused.html
    );
    let added = [("url", url), ("kind", "login"), ("is_default", "on")];
    ann.fill(&list, &list, &added).await.leads_to(&list);
    let wild = [("url", "https://*.example.com/invited"), ("kind", "invite")];
    ann.fill(&list, &list, &wild).await.leads_to(&list);
    ann.get(&list)
        .await
        .shows(200, "Redirect URL added")
        .shows(200, url)
        .shows(200, "Default");

    for (check, kind, verdict, reason) in [
        (url, "login", "accepted", "is registered for login"),
        (
            "https://a.example.com/invited",
            "invite",
            "accepted",
            "*.example.com",
        ),
        (
            "https://shop.example.com/signed-in/",
            "login",
            "rejected",
            "the slash at the end",
        ),
        (
            url,
            "invite",
            "rejected",
            "registered for login, not for invite",
        ),
        (
            "https://shop.example.com/other",
            "login",
            "rejected",
            "another scheme, port, path or query",
        ),
        (
            "https://evil.example/",
            "login",
            "rejected",
            "No URL with its host",
        ),
        (
            "javascript:alert(1)",
            "login",
            "rejected",
            "can never be registered",
        ),
    ] {
        let query = encoded(&[("check", check), ("kind", kind)]);
        let page = ann.get(&format!("{list}?{query}")).await;
        page.shows(200, &format!("Would be {verdict}"))
            .shows(200, reason);
    }

    let world = World::new(api.app.id, Environment::Live);
    let urls = api
        .service
        .list_redirect_urls(Principal::cli(), world.into());
    let urls = urls.await.unwrap();
    let [login, invite] = [RedirectKind::Login, RedirectKind::Invite]
        .map(|kind| urls.iter().find(|url| url.kind == kind).unwrap().id);
    let wildcard = format!("{list}/{invite}/default");
    ann.fill(&list, &wildcard, &[]).await.shows(400, "wildcard");
    let remove = format!("{list}/{login}/remove");
    ann.get(&remove).await.shows(200, "It is the default");
    ann.fill(&remove, &remove, &[]).await.leads_to(&list);
    ann.get(&remove).await.shows(404, "Page not found");
    // Its other environment has none (CON-19).
    let other = ann.get(&path(api, "test", "redirect-urls")).await;
    other.shows(200, "No redirect URLs yet");
}

async fn settings_are_reviewed_and_saved(api: &Api) {
    let (mut ann, seed) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let list = path(api, "live", "settings");
    let review = format!("{list}/review");
    let shown = ann.get(&list).await.shows(200, "session_idle_minutes");
    let base = unescaped(shown.field("base"));
    let fill = [
        ("base", base.as_str()),
        ("shown", "session_idle_minutes"),
        ("shown", "sms_countries"),
        ("shown", "end_sessions_on_change"),
        ("session_idle_minutes", "4320"),
        ("sms_countries", "DE, CH"),
    ];
    // A number that is none, and one out of bounds.
    for (value, message) in [
        ("soon", "must be a whole number"),
        ("9999999", "Session_idle_minutes"),
    ] {
        let mut wrong = fill.to_vec();
        wrong[4].1 = value;
        let refused = ann.fill(&list, &review, &wrong).await.shows(400, message);
        assert!(
            refused.html.contains(&format!("value=\"{value}\"")),
            "{}",
            refused.html
        );
        assert!(
            refused.html.contains("value=\"DE, CH\""),
            "{}",
            refused.html
        );
    }
    let page = ann
        .fill(&list, &review, &fill)
        .await
        .shows(200, "Save 3 changes?");
    for text in ["4320", "DE, CH", "end_sessions_on_change"] {
        assert!(page.html.contains(text), "{text} in {}", page.html);
    }
    assert_eq!(
        api.service
            .show_app(Principal::cli(), api.app.id)
            .await
            .unwrap()
            .settings
            .session_idle_minutes,
        0
    );
    let saved = save(&mut ann, &list, &page).await;
    saved.leads_to(&list);
    ann.get(&list)
        .await
        .shows(200, "3 settings saved")
        .shows(200, "value=\"4320\"");

    // To weaken the protection of wallets, the second factor comes first.
    api.pass(601);
    let stale = ann.get(&list).await;
    assert!(
        !stale.html.contains("name=\"wallet_export\""),
        "{}",
        stale.html
    );
    let base = unescaped(stale.field("base"));
    let export = [
        ("base", base.as_str()),
        ("shown", "wallet_export"),
        ("wallet_export", "on"),
    ];
    let to = format!("/console/step-up?return={}", list.replace('/', "%2F"));
    ann.fill(&list, &review, &export).await.leads_to(&to);
    ann.second_factor(&code(api, &seed))
        .await
        .leads_to("/console/me");
    let page = ann
        .fill(&list, &review, &export)
        .await
        .shows(200, "Save 1 change?");
    save(&mut ann, &list, &page).await.leads_to(&list);
    let app = api
        .service
        .show_app(Principal::cli(), api.app.id)
        .await
        .unwrap();
    assert!(app.settings.wallet_export);
}

/// CON-17: the other one sees the new difference. Settings that only one of them changed keep that change.
async fn of_two_saves_one_wins(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let (mut ben, _) = operator(api, "ben@example.com", grants(Role::Owner, None)).await;
    let list = path(api, "live", "settings");
    let review = format!("{list}/review");
    let mut reviewed = Vec::new();
    for (browser, idle, sms) in [(&mut ann, "1440", "300"), (&mut ben, "4320", "")] {
        let base = unescaped(browser.get(&list).await.field("base"));
        let mut fill = vec![
            ("base", base.as_str()),
            ("shown", "session_idle_minutes"),
            ("session_idle_minutes", idle),
        ];
        if !sms.is_empty() {
            fill.extend([("shown", "sms_per_hour"), ("sms_per_hour", sms)]);
        }
        reviewed.push(browser.fill(&list, &review, &fill).await);
    }
    save(&mut ann, &list, &reviewed[0]).await.leads_to(&list);
    let conflict = save(&mut ben, &list, &reviewed[1]).await;
    let conflict = conflict.shows(412, "The settings changed while you were editing");
    for text in [
        "Changed by both",
        "1440",
        "4320",
        "Changed since you opened the page",
        "sms_per_hour",
    ] {
        assert!(conflict.html.contains(text), "{text} in {}", conflict.html);
    }
    let settings = || async {
        api.service
            .show_app(Principal::cli(), api.app.id)
            .await
            .unwrap()
            .settings
    };
    assert_eq!(settings().await.session_idle_minutes, 1440);
    save(&mut ben, &list, &conflict).await.leads_to(&list);
    let now = settings().await;
    assert_eq!((now.session_idle_minutes, now.sms_per_hour), (4320, 300));
}

/// Sends the form of a review.
pub(crate) async fn save(browser: &mut Browser<'_>, list: &str, page: &Page) -> Page {
    let (base, changes) = (
        unescaped(page.field("base")),
        unescaped(page.field("changes")),
    );
    let form = [
        ("form_token", page.field("form_token")),
        ("base", base.as_str()),
        ("changes", changes.as_str()),
    ];
    browser.post(list, &form).await
}

pub(crate) fn unescaped(text: &str) -> String {
    text.replace("&#34;", "\"")
        .replace("&#39;", "'")
        .replace("&#60;", "<")
        .replace("&#62;", ">")
        .replace("&#38;", "&")
}

async fn users_are_found(api: &Api) {
    let (mut ann, _) = operator(
        api,
        "ann@example.com",
        grants(Role::Admin, Some(api.app.id)),
    )
    .await;
    let list = path(api, "test", "users");
    ann.get(&list).await.shows(200, "No users yet");
    let ada = json!({"email": "ada@lovelace.example", "first_name": "Ada", "last_name": "Lovelace", "metadata": {"plan": "pro"}});
    let ada = user_in(api, Environment::Test, ada).await;
    for number in 0..51 {
        user_in(
            api,
            Environment::Test,
            json!({"first_name": format!("Grace {number}")}),
        )
        .await;
    }
    for q in [
        ada.as_str(),
        "ada@lovelace.example",
        "love",
        "metadata.plan=pro",
    ] {
        let query = encoded(&[("q", q)]);
        let page = ann
            .get(&format!("{list}?{query}"))
            .await
            .shows(200, "Ada Lovelace");
        assert!(
            page.html.contains("1 of 1 user that matches"),
            "{}",
            page.html
        );
        assert!(!page.html.contains("Grace"), "{}", page.html);
    }
    let first = ann.get(&format!("{list}?q=grace&status=active")).await;
    let first = first.shows(200, "50 of 51 users that match");
    let (_, rest) = first
        .html
        .split_once("<a class=\"btn small\" href=\"")
        .expect("an older page");
    let older = rest.split_once('"').unwrap().0.replace("&#38;", "&");
    ann.get(&older).await.shows(200, "1 of 51 users that match");
    ann.get(&format!("{list}?q=nowhere@example.com"))
        .await
        .shows(200, "No users match");
    ann.get(&format!("{list}?starting_after=nonsense"))
        .await
        .shows(400, "role=\"alert\"");
    ann.get(&format!("{list}?status=nonsense"))
        .await
        .shows(200, "No users match");
    // Users of the other environment are others (CON-19).
    ann.get(&path(api, "live", &format!("users/{ada}")))
        .await
        .shows(404, "Page not found");
}

async fn support_helps_a_user(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let ada = json!({"email": "ada@lovelace.example", "first_name": "Ada", "metadata": {"plan": "pro", "old": 1}, "create_ethereum_wallet": true});
    let ada = user_in(api, Environment::Live, ada).await;
    let page = path(api, "live", &format!("users/{ada}"));
    let shown = ann.get(&page).await.shows(200, "ada@lovelace.example");
    for text in [
        "<h1>Ada</h1>",
        "Ethereum",
        "&#34;plan&#34;: &#34;pro&#34;",
        "No live sessions",
    ] {
        assert!(shown.html.contains(text), "{text} in {}", shown.html);
    }

    let edit = format!("{page}/edit");
    let broken = [
        ("first_name", "Ada"),
        ("last_name", "King"),
        ("metadata", "{\"plan\": }"),
    ];
    let refused = ann.fill(&edit, &edit, &broken).await.shows(
        400,
        "Metadata must be a JSON object: expected value at line 1",
    );
    assert!(refused.html.contains("value=\"King\""), "{}", refused.html);
    let saved = [
        ("first_name", "Ada"),
        ("last_name", "King"),
        ("metadata", "{\"plan\": \"free\"}"),
    ];
    ann.fill(&edit, &edit, &saved).await.leads_to(&page);
    let read = api.live().get(&format!("/v1/auth/users/{ada}")).await;
    assert_eq!(read.body["metadata"], json!({"plan": "free"}));
    ann.get(&page)
        .await
        .shows(200, "User saved")
        .shows(200, "<h1>Ada King</h1>");

    // The backend has changed the metadata since the form was opened, and only a name is changed in it.
    let base = unescaped(ann.get(&edit).await.field("base"));
    let update = format!("/v1/auth/users/{ada}/update");
    let pro = json!({"metadata": {"plan": "pro"}});
    api.live().send("PUT", &update, Some(pro)).await.ok();
    let late = [
        ("base", base.as_str()),
        ("first_name", "Ada"),
        ("last_name", "Lovelace"),
        ("metadata", "{\r\n  \"plan\": \"free\"\r\n}"),
    ];
    ann.fill(&edit, &edit, &late).await.leads_to(&page);
    let read = api.live().get(&format!("/v1/auth/users/{ada}")).await;
    assert_eq!(read.body["metadata"], json!({"plan": "pro"}));

    for (action, status, result) in [
        ("disable", "disabled", "User disabled"),
        ("enable", "active", "User enabled"),
        ("unlock", "active", "User unlocked"),
        ("end-sessions", "active", "All sessions ended"),
    ] {
        let action = format!("{page}/{action}");
        ann.fill(&action, &action, &[]).await.leads_to(&page);
        ann.get(&page).await.shows(200, result);
        let read = api.live().get(&format!("/v1/auth/users/{ada}")).await;
        assert_eq!(read.body["status"], status, "{action}");
    }

    let email = api.live().get(&format!("/v1/auth/users/{ada}")).await.body["emails"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let other = user_in(api, Environment::Live, json!({"email": "ben@example.com"})).await;
    let foreign = path(api, "live", &format!("users/{other}/remove-email"));
    ann.get(&format!("{foreign}?of={email}"))
        .await
        .shows(404, "Page not found");
    let remove = format!("{page}/remove-email");
    let remove_page = format!("{remove}?of={email}");
    let only = ann.fill(&remove_page, &remove, &[("of", &email)]).await;
    only.shows(400, "the only way in which the user can sign in");
    let second = json!({"emails": [{"email": "ada@king.example"}]});
    let update = format!("/v1/auth/users/{ada}/update");
    api.live().send("PUT", &update, Some(second)).await.ok();
    let removed = ann.fill(&remove_page, &remove, &[("of", &email)]).await;
    removed.leads_to(&page);
    ann.get(&page).await.shows(200, "Email address removed");

    // What cannot be undone needs the id, and a second factor.
    let delete = format!("{page}/delete");
    ann.get(&delete).await.shows(200, "1 wallet will be lost");
    ann.fill(&delete, &delete, &[("typed", &other)])
        .await
        .shows(400, "This is not the id of the user");
    api.pass(601);
    let to = format!("/console/step-up?return={}", delete.replace('/', "%2F"));
    ann.get(&delete).await.leads_to(&to);
    let token = ann.get(&page).await.field("form_token").to_owned();
    ann.post(&delete, &[("form_token", &token), ("typed", &ada)])
        .await
        .leads_to(&to);
    let (mut ben, _) = operator(api, "ben@example.com", grants(Role::Owner, None)).await;
    ben.fill(&delete, &delete, &[("typed", &ada)])
        .await
        .leads_to(&path(api, "live", "users"));
    ben.get(&page).await.shows(404, "Page not found");
    let acts = acts_of_operators(api, &ada).await;
    let expected = [
        "user.view",
        "user.update edit",
        "user.update edit",
        "user.disable",
        "user.enable",
        "user.unlock",
        "user.update end-sessions",
        "user.update remove-email",
        "user.view",
        "user.delete",
    ];
    assert_eq!(acts, expected, "OPR-7");
    ben.get(&path(api, "live", "users/nonsense"))
        .await
        .shows(404, "Page not found");
    ben.get(&path(api, "live", &format!("users/{other}/impersonate")))
        .await
        .shows(404, "Page not found");
}

/// The list and its search, one wallet with its uses, and whether it may sign (CON-6, CON-19, OPR-7).
async fn wallets_are_found_disabled_and_enabled(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let list = path(api, "live", "wallets");
    ann.get(&list).await.shows(200, "No wallets yet");
    let ada = user_in(api, Environment::Live, json!({"first_name": "Ada"})).await;
    let ben = user_in(api, Environment::Live, json!({"first_name": "Ben"})).await;
    let wallet = wallet_in(api, Environment::Live, &ada).await;
    let other = wallet_in(api, Environment::Live, &ben).await;
    let read = api.live().get(&format!("/v1/wallets/{wallet}")).await.ok();
    let address = read.text_at("/public_address");
    let all = ann.get(&list).await.shows(200, "2 of 2 wallets");
    assert!(all.html.contains("About 2 wallets."), "{}", all.html);
    for q in [&wallet, &ada, &address, &address.to_lowercase()] {
        let query = encoded(&[("q", q.as_str())]);
        let found = ann.get(&format!("{list}?{query}")).await;
        let found = found.shows(200, "1 of 1 wallet that matches");
        assert!(found.html.contains(&wallet), "{q}: {}", found.html);
        assert!(!found.html.contains(&other), "{q}: {}", found.html);
    }
    for q in ["0x00", "wallet_3Fno4DCcJNUgxEXYswBqUg5tzib"] {
        let page = ann.get(&format!("{list}?q={q}")).await;
        page.shows(200, "No wallets match");
    }
    for wrong in ["q=wallet_1", "starting_after=nonsense"] {
        let page = ann.get(&format!("{list}?{wrong}")).await;
        page.shows(400, "role=\"alert\"");
    }

    let page = format!("{list}/{wallet}");
    ann.get(&path(api, "live", &format!("users/{ada}")))
        .await
        .shows(200, &format!("href=\"{page}\""));
    let sign = format!("/v1/wallets/{wallet}/sign_message");
    let message = json!({"message": "hello"});
    api.live().post(&sign, message.clone()).await.ok();
    let audit = api.live().get(&format!("/v1/wallets/{wallet}/audit")).await;
    let payload = audit.ok().text_at("/entries/0/payload_sha256");
    let shown = ann.get(&page).await.shows(200, "<h1>Ethereum wallet</h1>");
    for text in [
        address.as_str(),
        &format!("data-copy=\"{payload}\""),
        &format!("/users/{ada}\""),
        "sign_message",
        "App key 1",
        "Active",
        "Disable wallet",
    ] {
        assert!(shown.html.contains(text), "{text} in {}", shown.html);
    }
    ann.get(&format!("{page}?starting_after=nonsense"))
        .await
        .shows(400, "role=\"alert\"");

    let disable = format!("{page}/disable");
    ann.get(&disable).await.shows(200, "wallet_disabled");
    ann.fill(&disable, &disable, &[]).await.leads_to(&page);
    let disabled = ann.get(&page).await.shows(200, "Wallet disabled");
    disabled
        .shows(200, "Enable wallet")
        .shows(200, "on request");
    let refused = api.live().post(&sign, message.clone()).await;
    refused.refuses(403, "wallet_disabled", None);
    let enable = format!("{page}/enable");
    ann.fill(&enable, &enable, &[]).await.leads_to(&page);
    ann.get(&page).await.shows(200, "Wallet enabled");
    api.live().post(&sign, message).await.ok();
    assert_eq!(
        acts_of_operators(api, &ada).await,
        [
            "user.view",
            "user.update disable-wallet",
            "user.update enable-wallet"
        ]
    );

    // A wallet of the other environment, and one that never existed.
    for id in [
        wallet.as_str(),
        "wallet_3Fno4DCcJNUgxEXYswBqUg5tzib",
        "nonsense",
    ] {
        for action in ["", "/disable", "/enable"] {
            let page = path(api, "test", &format!("wallets/{id}{action}"));
            ann.get(&page).await.shows(404, "Page not found");
        }
    }
    ann.get(&format!("{page}/export"))
        .await
        .shows(404, "Page not found");
}

/// CON-13: what a mail contains is text on the page, in each of its parts.
async fn con_13_captured_mail_is_never_rendered(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let hostile = "<script>alert(1)</script><img src=\"https://evil.example/x\" onerror=\"alert(1)\"></code></pre>\
        <iframe srcdoc=\"<b>x</b>\"></iframe><a href=\"javascript:alert(1)\">";
    let part = |name: &str| format!("{name}: {hostile}");
    let captured = CapturedMessage {
        id: MessageId::new(START, [7; 16]),
        world: World::new(api.app.id, Environment::Test),
        message: Message {
            channel: Channel::Email,
            kind: MessageKind::MagicLink,
            to: part("to"),
            subject: part("subject"),
            text: part("text"),
            html: part("html"),
            code: part("code"),
            link: part("link"),
            token: part("token"),
        },
        created_at: START,
    };
    let store = api.store().await;
    let mut tx = store.begin().await.unwrap();
    tx.captured().insert(&captured).await.unwrap();
    tx.commit().await.unwrap();
    let page = ann.get(&path(api, "test", "messages")).await;
    let page = page.shows(200, "HTML part, source");
    for markup in [
        "<script>alert",
        "<img",
        "<iframe",
        "<a href=\"javascript",
        "onerror=\"",
        "srcdoc=\"",
        "evil.example/x\"",
    ] {
        assert!(!page.html.contains(markup), "{markup} in {}", page.html);
    }
    for name in ["to", "subject", "text", "html", "code", "link"] {
        let text = format!("{name}: &#60;script&#62;alert(1)&#60;/script&#62;&#60;img");
        assert!(page.html.contains(&text), "{text} in {}", page.html);
    }
    // The token in a link is part of the link.
    assert!(!page.html.contains("token: "), "{}", page.html);
}

/// Codes and links are on the page of the test environment only, and an operator who clears them is recorded (CON-19, OPR-7).
async fn messages_are_found_and_cleared(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let list = path(api, "test", "messages");
    ann.get(&list).await.shows(200, "No messages yet");
    for email in ["Ada@example.com", "ben@example.com"] {
        let request = json!({"email": email});
        let path = "/v1/auth/otps/email/login_or_create";
        api.test().post(path, request).await.ok();
    }
    api.deliver().await;
    let read = api.test().get("/v1/test/messages?to=ada@example.com").await;
    let code = read.ok().text_at("/messages/0/code");
    let all = ann.get(&list).await.shows(200, "2 messages");
    for text in [
        format!("data-copy=\"{code}\""),
        "&#60;p&#62;Your Demo code is&#60;/p&#62;".to_owned(),
        "Ada@example.com".to_owned(),
    ] {
        assert!(all.html.contains(&text), "{text} in {}", all.html);
    }
    let found = ann
        .get(&format!("{list}?to=ada%40example.com&kind=otp"))
        .await;
    let found = found.shows(200, "1 message");
    assert!(!found.html.contains("ben@example.com"), "{}", found.html);
    let none = ann.get(&format!("{list}?kind=invite")).await;
    none.shows(200, "No messages match");
    let wrong = ann.get(&format!("{list}?kind=nonsense")).await;
    wrong.shows(400, "role=\"alert\"");

    let clear = format!("{list}/clear");
    ann.get(&clear).await.shows(200, "Clear 2 messages?");
    ann.fill(&clear, &clear, &[]).await.leads_to(&list);
    ann.get(&list)
        .await
        .shows(200, "2 messages cleared")
        .shows(200, "No messages yet");
    let world = World::new(api.app.id, Environment::Test);
    let cleared = entries(api, world).await;
    let cleared = cleared.iter().map(|entry| &entry.event);
    let cleared: Vec<_> = cleared
        .filter(|event| event.action == ControlAction::TestMessagesClear)
        .collect();
    assert_eq!(cleared.len(), 1, "{cleared:?}");
    assert!(cleared[0].detail.contains("\"count\":2"), "{cleared:?}");
    assert!(cleared[0].detail.contains("\"ip\":"), "{cleared:?}");

    // Live has neither the pages nor links to them.
    let live = ann.get(&path(api, "live", "keys")).await;
    assert!(!live.html.contains("/messages\""), "{}", live.html);
    for page in ["messages", "messages/clear"] {
        let page = path(api, "live", page);
        ann.get(&page).await.shows(404, "Page not found");
    }
    let token = ann.get(&list).await.field("form_token").to_owned();
    ann.post(
        &path(api, "live", "messages/clear"),
        &[("form_token", &token)],
    )
    .await
    .shows(404, "Page not found");
}

/// CON-15: a form that is sent twice moves the clock once. Live has no test clock (CON-19), and an operator's change is recorded (OPR-7).
async fn the_test_clock_is_moved_once_per_form(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let clock = path(api, "test", "clock");
    let read = async || api.test().get("/v1/test/clock").await.ok().body;
    let machine = || api.service.machine_time().unix();
    let shown = ann.get(&clock).await.shows(200, "Machine time</span>");
    assert!(!shown.html.contains("Reset clock"), "{}", shown.html);
    let advance = format!("{clock}/advance");
    let form = [
        ("form_token", shown.field("form_token")),
        ("base", shown.field("base")),
        ("advance_seconds", "604800"),
    ];
    ann.post(&advance, &form).await.leads_to(&clock);
    let moved = ann.get(&clock).await.shows(200, "Test clock changed");
    moved.shows(200, "7 days ahead");
    ann.post(&advance, &form).await.leads_to(&clock);
    let stale = "The clock has changed since the page was loaded. Nothing was done.";
    ann.get(&clock).await.shows(200, stale);
    assert_eq!(read().await["now"], machine() + 604_800);

    for (action, fields, message) in [
        (
            "advance",
            &[("advance_seconds", "soon")][..],
            "Advance_seconds must be a whole number",
        ),
        ("advance", &[("advance_seconds", "-5")], "must be 0 or more"),
        ("set", &[("now", "1999-01-01T00:00")], "must show Unix"),
        ("set", &[("now", "tomorrow")], "Now must be a date and time"),
    ] {
        let base = ann.get(&clock).await.field("base").to_owned();
        let mut form = vec![("base", base.as_str())];
        form.extend(fields);
        let refused = ann.fill(&clock, &format!("{clock}/{action}"), &form).await;
        let refused = refused.shows(400, message);
        let kept = format!("value=\"{}\"", fields[0].1);
        assert!(refused.html.contains(&kept), "{kept}: {}", refused.html);
    }
    assert_eq!(read().await["now"], machine() + 604_800);

    let base = ann.get(&clock).await.field("base").to_owned();
    let set = [
        ("base", base.as_str()),
        ("now", "2027-03-28T00:59:50"),
        ("frozen", "on"),
    ];
    ann.fill(&clock, &format!("{clock}/set"), &set)
        .await
        .leads_to(&clock);
    let frozen = ann.get(&clock).await.shows(200, "Frozen");
    frozen.shows(200, "<dd>00:59:50</dd>");
    let now = read().await;
    let expected = json!({"now": 1_806_195_590, "frozen": true, "set": true});
    assert_eq!(now, expected);
    let base = ann.get(&clock).await.field("base").to_owned();
    ann.fill(&clock, &format!("{clock}/unfreeze"), &[("base", &base)])
        .await
        .leads_to(&clock);
    ann.get(&clock).await.shows(200, "Running");
    ann.fill(&clock, &format!("{clock}/reset"), &[])
        .await
        .leads_to(&clock);
    ann.get(&clock).await.shows(200, "Test clock reset");
    assert_eq!(read().await["now"], machine());
    let world = World::new(api.app.id, Environment::Test);
    let changes = entries(api, world).await;
    let changes = changes
        .iter()
        .filter(|entry| entry.event.action == ControlAction::TestClockSet);
    assert_eq!(changes.count(), 4);

    let live = ann.get(&path(api, "live", "keys")).await;
    assert!(!live.html.contains("/clock\""), "{}", live.html);
    ann.get(&format!("{clock}/nonsense"))
        .await
        .shows(404, "Page not found");
    for page in ["clock", "clock/advance", "clock/reset"] {
        let page = path(api, "live", page);
        ann.get(&page).await.shows(404, "Page not found");
    }
    let token = ann.get(&clock).await.field("form_token").to_owned();
    let reset = path(api, "live", "clock/reset");
    ann.post(&reset, &[("form_token", &token)])
        .await
        .shows(404, "Page not found");
}

/// The entries about a user that name an operator, oldest first.
async fn acts_of_operators(api: &Api, user: &str) -> Vec<String> {
    let entries = entries(api, World::new(api.app.id, Environment::Live)).await;
    let mut acts = Vec::new();
    for entry in entries.into_iter().map(|entry| entry.event) {
        let detail: Value = serde_json::from_str(&entry.detail).unwrap();
        if entry.subject.id == user && matches!(entry.actor, Actor::Operator(_)) {
            assert!(detail["ip"].is_string(), "{detail}");
            let change = detail["change"].as_str().unwrap_or_default();
            acts.push(format!("{} {change}", entry.action).trim_end().to_owned());
        }
    }
    acts
}

async fn an_app_is_created(api: &Api) {
    let (mut ann, seed) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let new = "/console/apps/new";
    submit(&mut ann, new, &[("name", " ")])
        .await
        .shows(400, "The App was not created. Fix 1 field.");
    let created = submit(&mut ann, new, &[("name", "Harbour Books")]).await;
    let to = created.header("location").to_owned();
    assert!(
        to.starts_with("/console/app_") && to.ends_with("/test/"),
        "{to}"
    );
    ann.get(&to)
        .await
        .shows(200, "App created")
        .shows(200, "<h1>Harbour Books</h1>");
    ann.get("/console/").await.shows(200, "Harbour Books");
    // It needs no second factor, but a role.
    api.pass(601);
    ann.get(new).await.shows(200, "Create App");
    ann.second_factor(&code(api, &seed))
        .await
        .leads_to("/console/me");
    let (mut ben, _) = operator(api, "ben@example.com", grants(Role::Admin, None)).await;
    ben.get(new).await.shows(403, "Not allowed");
}

async fn the_theme_is_kept(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let page = path(api, "test", "keys");
    for (theme, attribute) in [
        ("dark", Some("data-theme=\"dark\"")),
        ("light", Some("data-theme=\"light\"")),
        ("system", None),
    ] {
        let fields = [("theme", theme), ("return", page.as_str())];
        ann.fill(&page, "/console/theme", &fields)
            .await
            .leads_to(&page);
        let shown = ann.get(&page).await;
        let own = shown.html.contains("data-theme=").then_some(());
        assert_eq!(own.is_some(), attribute.is_some());
        assert!(attribute.is_none_or(|attribute| shown.html.contains(attribute)));
    }
    let fields = [("theme", "pink"), ("return", "/console/")];
    ann.fill(&page, "/console/theme", &fields)
        .await
        .shows(404, "Page not found");
    let fields = [("theme", "dark"), ("return", "https://evil.example/")];
    ann.fill(&page, "/console/theme", &fields)
        .await
        .leads_to("/console/");
}
