//! Company sign-in at a provider played by the test: who gets in, and how the way back is protected (OPR-2, OPR-5, OPR-8, OPR-10, OPR-12).

use std::time::Duration;

use serde_json::json;
use vestry_contract::provider::{CLIENT_ID, Callback, Person, ProviderServer, Shape};
use vestry_domain::audit::control::{ControlAction, Outcome};
use vestry_domain::email::Email;
use vestry_domain::provider::ProviderName;
use vestry_ports::clock::Clock;

use super::*;
use crate::oauth::setup::provider_options;

on_both! { provider_options;
    the_company_replaces_the_password
    an_authenticator_app_and_the_company_are_enough
    only_operators_are_let_in
    an_operator_has_one_account_of_the_company
    a_way_back_works_once_in_its_browser_and_time
    a_way_back_belongs_to_the_console
    without_a_provider_there_is_no_company_sign_in
    the_way_out_leaves_the_policy_of_forms_strict
    the_client_secret_moves_to_new_keys
    unfinished_sign_ins_are_limited
}

const BUTTON: &str = "Sign in with your company account";
const REFUSED: &str = "You could not be signed in with your company account.";
const BACK: &str = "/console/sign-in/company/callback";

/// The company's provider. The person who is signed in at it has this address and the subject `1001`.
async fn company(api: &Api, email: &str) -> ProviderServer {
    let server = ProviderServer::start(Shape::OpenId).await;
    server.signs_in(Some(Person::new("1001", email)));
    connect(api, &server).await;
    server
}

async fn connect(api: &Api, server: &ProviderServer) {
    let issuer = server.settings().issuer.unwrap();
    let secret = server.client_secret();
    let set = api
        .service
        .set_company_sign_in(Principal::cli(), &issuer, CLIENT_ID, &secret);
    assert_eq!(set.await.unwrap().callback_url, format!("{CONSOLE}{BACK}"));
}

/// Sends the browser to the provider; returns what it comes back with.
async fn leave(browser: &mut Browser<'_>, server: &ProviderServer) -> Callback {
    let form = [("return", "/console/me")];
    let page = browser
        .fill("/console/sign-in", "/console/sign-in/company", &form)
        .await
        .shows(200, "Company sign-in");
    let (_, rest) = page.html.split_once("content=\"0; url=").unwrap();
    let url = rest.split_once('"').unwrap().0.replace("&#38;", "&");
    server.sets_its_clock(browser.api.clock.machine());
    let callback = server.answer(&url);
    assert_eq!(callback.redirect_uri, format!("{CONSOLE}{BACK}"));
    callback
}

async fn come_back(browser: &mut Browser<'_>, callback: &Callback) -> Page {
    // The browser comes from another site.
    browser.site = "cross-site";
    let page = browser.get(&format!("{BACK}?{}", callback.form())).await;
    browser.site = "same-origin";
    page
}

async fn sign_in(browser: &mut Browser<'_>, server: &ProviderServer) -> Page {
    let callback = leave(browser, server).await;
    come_back(browser, &callback).await
}

/// The sign-ins in the audit log: outcome, subject and detail.
async fn sign_ins(api: &Api) -> Vec<(Outcome, String, String)> {
    let entries = entries(api, World::DEPLOYMENT).await.into_iter();
    let entries = entries.map(|entry| entry.event);
    let entries = entries.filter(|event| event.action == ControlAction::OperatorSignIn);
    entries
        .map(|event| (event.outcome, event.subject.id, event.detail))
        .collect()
}

/// OPR-5: it is the first factor. From the second time on, only the linked account counts.
async fn the_company_replaces_the_password(api: &Api) {
    let (mut browser, seed) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let ann = id_of(api, "ann@example.com").await;
    browser.fill("/console/", "/console/sign-out", &[]).await;
    let server = company(api, "Ann@Example.com").await;
    for (round, person) in [
        Person::new("1001", "Ann@Example.com"),
        Person::new("1001", "married@example.com").with_verified(json!(false)),
    ]
    .into_iter()
    .enumerate()
    {
        server.signs_in(Some(person));
        let mut browser = Browser::new(api);
        let page = sign_in(&mut browser, &server).await;
        page.leads_to("/console/me");
        let token = Secret::new(browser.session().unwrap().clone());
        let half = api.service.operator_session(&request(), &token).await;
        assert!(half.unwrap().principal().is_none());
        let page = browser.get("/console/me").await;
        page.leads_to("/console/step-up?return=%2Fconsole%2Fme");
        let page = browser.get("/console/").await;
        page.leads_to("/console/step-up?return=%2Fconsole%2F");
        let code = code(api, &seed);
        browser.second_factor(&code).await.leads_to("/console/me");
        browser.get("/console/").await.shows(200, "Apps");
        let recorded = sign_ins(api).await;
        assert_eq!(recorded.len(), round + 1);
        let (outcome, subject, detail) = recorded.last().unwrap();
        assert_eq!((*outcome, subject), (Outcome::Done, &ann.to_string()));
        assert!(detail.contains("\"ip\":"), "{detail}");
    }
    let listed = api.service.list_operators(Principal::cli()).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].email, "ann@example.com");
}

/// An operator who joins needs no password then. Without a second factor, the company opens nothing.
async fn an_authenticator_app_and_the_company_are_enough(api: &Api) {
    let server = company(api, "ann@example.com").await;
    let url = link(api, "ann@example.com", grants(Role::Viewer, None)).await;
    let mut browser = Browser::new(api);
    browser.join(&url).await.leads_to("/console/");
    let mut early = Browser::new(api);
    let page = sign_in(&mut early, &server).await;
    page.leads_to("/console/me");
    let page = early.get("/console/step-up").await;
    let page = page.shows(200, "Ask an owner to reset");
    let form = [("form_token", page.field("form_token"))];
    let refused = early.post("/console/me/totp", &form).await;
    refused.leads_to("/console/step-up?return=%2Fconsole%2Fme");

    // Linking an account ended the session that began with the link.
    let user = id_of(api, "ann@example.com").await;
    let reset = api
        .service
        .reset_operator(Principal::cli(), user, Handover::Shown);
    let reset = reset.await.unwrap();
    let mut browser = Browser::new(api);
    browser.join(reset.url.expose()).await.leads_to("/console/");
    let shown = browser.fill("/console/me", "/console/me/totp", &[]).await;
    let (_, rest) = shown.html.split_once("<code>").unwrap();
    let secret = rest.split_once("</code>").unwrap().0;
    let seed = data_encoding::BASE32_NOPAD
        .decode(secret.as_bytes())
        .unwrap();
    let first = code(api, &seed);
    let form = [("form_token", shown.field("form_token")), ("code", &first)];
    let page = browser.post("/console/me/totp/verify", &form).await;
    page.leads_to("/console/");

    let mut browser = Browser::new(api);
    let page = sign_in(&mut browser, &server).await;
    page.leads_to("/console/me");
    let code = code(api, &seed);
    browser.second_factor(&code).await.leads_to("/console/me");
    browser.get("/console/").await.shows(200, "Apps");
}

/// OPR-8, OPR-12: everyone who is not an operator sees the same page. The audit log has the reason.
async fn only_operators_are_let_in(api: &Api) {
    let (_owner, _) = operator(api, "owner@example.com", grants(Role::Owner, None)).await;
    for (email, change) in [
        ("off@example.com", OperatorChange::Disable),
        ("gone@example.com", OperatorChange::Remove),
    ] {
        operator(api, email, grants(Role::Viewer, None)).await;
        let user = id_of(api, email).await;
        let changed = api.service.change_operator(Principal::cli(), user, change);
        changed.await.unwrap();
    }
    link(api, "invited@example.com", grants(Role::Viewer, None)).await;
    let user = json!({"email": "customer@example.com"});
    api.live().post("/v1/auth/users/create", user).await.ok();
    let server = company(api, "").await;
    let unverified = |email| Person::new("7", email).with_verified(json!(false));
    let nameless = Person {
        email: None,
        ..Person::new("7", "")
    };
    let off = id_of(api, "off@example.com").await.to_string();
    let mut pages = Vec::new();
    for (person, subject, reason) in [
        (
            Person::new("1", "nobody@example.com"),
            "company",
            "not_an_operator",
        ),
        (
            Person::new("2", "invited@example.com"),
            "company",
            "not_an_operator",
        ),
        (
            Person::new("3", "gone@example.com"),
            "company",
            "not_an_operator",
        ),
        (
            Person::new("4", "customer@example.com"),
            "company",
            "not_an_operator",
        ),
        (
            Person::new("5", "off@example.com"),
            off.as_str(),
            "user_disabled",
        ),
        (
            unverified("owner@example.com"),
            "company",
            "email_unverified",
        ),
        (
            Person::new("8", "owner@example.com").with_verified(json!("true")),
            "company",
            "email_unverified",
        ),
        (nameless, "company", "email_unverified"),
    ] {
        let before = sign_ins(api).await.len();
        server.signs_in(Some(person));
        let mut browser = Browser::new(api);
        let page = sign_in(&mut browser, &server).await;
        let page = page.shows(400, REFUSED);
        assert_eq!(browser.session(), None);
        pages.push((page.status, page.normalised()));
        let recorded = sign_ins(api).await;
        assert_eq!(recorded.len(), before + 1, "{reason}");
        let (outcome, about, detail) = recorded.last().unwrap();
        assert_eq!((*outcome, about.as_str()), (Outcome::Refused, subject));
        assert!(
            detail.contains(&format!("\"reason\":\"{reason}\"")),
            "{detail}"
        );
        assert!(detail.contains("\"ip\":"), "{detail}");
        assert!(!detail.contains("example.com"), "{detail}");
    }
    for page in &pages {
        assert_eq!(page, &pages[0]);
    }
    // No user was created, and none was linked.
    let store = api.store().await;
    let mut read = store.read().await.unwrap();
    for email in ["nobody", "invited", "gone", "customer"] {
        let email = Email::parse(&format!("{email}@example.com")).unwrap();
        let identity = email.identity();
        let found = read
            .identifiers()
            .email_by_identity(&World::DEPLOYMENT, identity);
        assert!(found.await.unwrap().is_none(), "{email:?}");
    }
    for email in ["owner@example.com", "off@example.com"] {
        let user = id_of(api, email).await;
        let links = read.provider_links().of_user(&World::DEPLOYMENT, user);
        assert_eq!(links.await.unwrap(), [], "{email}");
    }
}

/// OPR-12: if the company gives an address to another person, that person is not the operator. A new issuer begins with addresses again.
async fn an_operator_has_one_account_of_the_company(api: &Api) {
    operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    operator(api, "ben@example.com", grants(Role::Owner, None)).await;
    let server = company(api, "ann@example.com").await;
    let page = sign_in(&mut Browser::new(api), &server).await;
    page.leads_to("/console/me");
    server.signs_in(Some(Person::new("2002", "ann@example.com")));
    let page = sign_in(&mut Browser::new(api), &server).await;
    page.shows(400, REFUSED);
    let (_, subject, detail) = sign_ins(api).await.pop().unwrap();
    assert_eq!(subject, id_of(api, "ann@example.com").await.to_string());
    assert!(detail.contains("other_account"), "{detail}");

    // Of two people who come back at once with the same address, one is linked.
    let (mut first, mut second) = (Browser::new(api), Browser::new(api));
    server.signs_in(Some(Person::new("3003", "ben@example.com")));
    let one = leave(&mut first, &server).await;
    server.signs_in(Some(Person::new("4004", "ben@example.com")));
    let other = leave(&mut second, &server).await;
    let (one, other) = tokio::join!(come_back(&mut first, &one), come_back(&mut second, &other));
    let mut statuses = [one.status, other.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 400]);

    let other = company(api, "ann@example.com").await;
    let page = sign_in(&mut Browser::new(api), &other).await;
    page.leads_to("/console/me");

    // New factors include a new account.
    let user = id_of(api, "ann@example.com").await;
    let reset = api
        .service
        .reset_operator(Principal::cli(), user, Handover::Shown);
    reset.await.unwrap();
    other.signs_in(Some(Person::new("2002", "ann@example.com")));
    let page = sign_in(&mut Browser::new(api), &other).await;
    page.leads_to("/console/me");
}

/// OPR-10, CON-4, attack 18: a callback signs no other browser in, and works neither twice nor late.
async fn a_way_back_works_once_in_its_browser_and_time(api: &Api) {
    operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let server = company(api, "ann@example.com").await;
    let mut browser = Browser::new(api);
    let callback = leave(&mut browser, &server).await;
    let mut victim = Browser::new(api);
    come_back(&mut victim, &callback).await.shows(400, REFUSED);
    // With a form of its own.
    come_back(&mut victim, &callback).await.shows(400, REFUSED);
    assert_eq!(victim.session(), None);
    // The sign-in stays valid in the browser that began it.
    let cookies = browser.cookies.clone();
    let page = come_back(&mut browser, &callback).await;
    page.leads_to("/console/me");
    browser.cookies = cookies;
    come_back(&mut browser, &callback).await.shows(400, REFUSED);
    assert_eq!(browser.session(), None);

    let late = leave(&mut browser, &server).await;
    api.pass(10 * 60);
    come_back(&mut browser, &late).await.shows(400, REFUSED);

    let mut forged = leave(&mut browser, &server).await;
    forged.code = Some("another-code".to_owned());
    come_back(&mut browser, &forged).await.shows(400, REFUSED);

    server.signs_in(None);
    let declined = leave(&mut browser, &server).await;
    assert!(declined.error.is_some());
    come_back(&mut browser, &declined).await.shows(400, REFUSED);

    for query in ["", "?code=x", "?state=x&code=y", "?state=x"] {
        let page = browser.get(&format!("{BACK}{query}")).await;
        page.shows(400, REFUSED);
    }
    assert_eq!(browser.session(), None);
    let done = sign_ins(api).await;
    assert_eq!(done.len(), 1, "{done:?}");
}

/// OPR-2: no address of the API and no key finishes a sign-in of an operator.
async fn a_way_back_belongs_to_the_console(api: &Api) {
    operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let server = company(api, "ann@example.com").await;
    let store = api.store().await;
    let mut read = store.read().await.unwrap();
    let name = ProviderName::parse("company").unwrap();
    let stored = read.provider_connections().find(&World::DEPLOYMENT, &name);
    let id = stored.await.unwrap().unwrap().connection.callback_id;
    drop(read);
    let mut browser = Browser::new(api);
    let callback = leave(&mut browser, &server).await;
    let path = format!("/v1/auth/oauth/callback/{id}?{}", callback.form());
    let page = api.anonymous().unlimited().get(&path).await;
    assert_eq!(page.status, 404);
    let request = json!({
        "code": callback.code, "state": callback.state, "session_expires_in": 60,
    });
    let refused = api.live().post("/v1/auth/oauth/verify", request).await;
    assert_eq!(refused.status, 400);
    let page = come_back(&mut browser, &callback).await;
    page.leads_to("/console/me");
}

async fn without_a_provider_there_is_no_company_sign_in(api: &Api) {
    let missing = async || {
        let mut browser = Browser::new(api);
        let page = browser.get("/console/sign-in").await.shows(200, "Sign in");
        assert!(!page.html.contains(BUTTON));
        let form = [("form_token", page.field("form_token"))];
        let page = browser.post("/console/sign-in/company", &form).await;
        page.shows(404, "Page not found");
        let page = browser.get(&format!("{BACK}?state=x&code=y")).await;
        page.shows(404, "Page not found");
    };
    missing().await;
    operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let server = company(api, "ann@example.com").await;
    let mut browser = Browser::new(api);
    browser.get("/console/sign-in").await.shows(200, BUTTON);
    let begun = leave(&mut browser, &server).await;
    let removed = api.service.remove_company_sign_in(Principal::cli());
    removed.await.unwrap();
    let page = come_back(&mut browser, &begun).await;
    page.shows(404, "Page not found");
    missing().await;
    let again = api.service.remove_company_sign_in(Principal::cli()).await;
    assert!(matches!(again, Err(Refusal::NotFound("company sign-in"))));
    let secret = server.client_secret();
    let entries = entries(api, World::DEPLOYMENT).await;
    let changes = entries.iter().map(|entry| &entry.event);
    let changes = changes.filter(|event| event.subject.id == "company");
    let actions: Vec<_> = changes
        .map(|event| {
            assert!(!event.detail.contains(secret.expose()), "{event:?}");
            event.action.as_str()
        })
        .collect();
    assert_eq!(actions, ["provider.set", "provider.remove"]);
}

/// CON-2: browsers apply `form-action` to redirects of a form too, so the form leads to a page of the console, and that page to the provider.
async fn the_way_out_leaves_the_policy_of_forms_strict(api: &Api) {
    let server = company(api, "ann@example.com").await;
    let mut browser = Browser::new(api);
    let shown = browser.get("/console/sign-in").await;
    let form = [
        ("form_token", shown.field("form_token")),
        ("return", "https://evil.example/"),
    ];
    let page = browser.post("/console/sign-in/company", &form).await;
    assert_eq!((page.status, page.header("location")), (200, ""));
    for page in [&shown, &page] {
        let policy = page.header("content-security-policy");
        assert!(policy.contains("form-action 'self';"), "{policy}");
        assert!(!policy.contains(server.url()), "{policy}");
    }
    assert_eq!(page.header("referrer-policy"), "no-referrer");
    let refresh = format!(
        "<meta http-equiv=\"refresh\" content=\"0; url={}/",
        server.url()
    );
    assert!(page.html.contains(&refresh), "{}", page.html);
    let link = format!("href=\"{}/", server.url());
    assert!(page.html.contains(&link), "{}", page.html);
    assert!(page.html.contains("rel=\"noopener noreferrer\""));
    for sent in ["client_id=", "code_challenge=", "nonce=", "state="] {
        assert!(page.html.contains(sent), "{sent}");
    }
}

/// Rotating App keys reaches the secret, and old keys can go.
async fn the_client_secret_moves_to_new_keys(api: &Api) {
    operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let server = company(api, "ann@example.com").await;
    let rotated = api
        .service
        .vault_rotate_apps(Principal::cli(), &|_, _| {})
        .await
        .unwrap();
    assert_eq!(rotated.failed_secrets, []);
    let name = ProviderName::parse("company").unwrap();
    let store = api.store().await;
    let mut read = store.read().await.unwrap();
    let stored = read.provider_connections().find(&World::DEPLOYMENT, &name);
    assert_eq!(stored.await.unwrap().unwrap().secret.key_version, 2);
    drop(read);
    // Codes of that time have expired.
    api.pass(3_601);
    let retired = (api.service)
        .vault_retire_apps(Principal::cli(), Duration::ZERO, &|_, _| {})
        .await;
    retired.unwrap();
    let page = sign_in(&mut Browser::new(api), &server).await;
    page.leads_to("/console/me");
}

/// OPR-10: the sign-ins that a client address begins and does not finish are limited.
async fn unfinished_sign_ins_are_limited(api: &Api) {
    operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let server = company(api, "ann@example.com").await;
    // Finished ones do not count.
    for _ in 0..2 {
        let page = sign_in(&mut Browser::new(api), &server).await;
        page.leads_to("/console/me");
    }
    let mut browser = Browser::new(api);
    let begun = leave(&mut browser, &server).await;
    let request = ConsoleRequest {
        client: Some("127.0.0.1".parse().unwrap()),
        ..request()
    };
    for _ in 1..600 {
        let value = api.service.new_browser_value();
        let begun = (api.service).begin_company_sign_in(&request, value, "/console/");
        begun.await.unwrap();
    }
    let shown = browser.get("/console/sign-in").await;
    let form = [("form_token", shown.field("form_token"))];
    let page = browser.post("/console/sign-in/company", &form).await;
    page.shows(429, "Please wait");
    let page = come_back(&mut browser, &begun).await;
    page.leads_to("/console/me");
    leave(&mut Browser::new(api), &server).await;
}
