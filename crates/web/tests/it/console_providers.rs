//! Pages of the console about sign-in methods and identity providers, with a provider played by the test (CON-5, CON-7, CON-15, CON-16,
//! CON-19, CON-24).

use vestry_app::Principal;
use vestry_app::platform::ListedConnection;
use vestry_contract::provider::{CLIENT_ID, ProviderServer, Reply, Shape};
use vestry_domain::operator::Role;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::{Environment, Secret, World};

use crate::console::{Browser, Page, grants, operator};
use crate::console_pages::path;
use crate::harness::{Api, Lane, Options, on_both, on_with};
use crate::oauth::setup::provider_options;

on_both! {
    provider_options;
    a_provider_is_set_and_removed
    a_provider_changes_only_as_it_was_seen
    an_issuer_is_added
    a_provider_is_checked
    methods_show_what_they_lack
}

const SECRET: &str = "s3cr3t-value-of-google-x7Qd";

/// Opens the page of a form, and sends the form.
async fn submit(browser: &mut Browser<'_>, page: &str, fields: &[(&str, &str)]) -> Page {
    let shown = browser.get(page).await;
    assert_eq!(shown.status, 200, "{page}: {}", shown.html);
    send(browser, page, &shown, fields).await
}

/// Sends the form of a page.
async fn send(browser: &mut Browser<'_>, path: &str, page: &Page, fields: &[(&str, &str)]) -> Page {
    let mut form: Vec<_> = ["form_token", "submission", "base"]
        .map(|name| (name, page.field(name)))
        .to_vec();
    form.extend(fields);
    browser.post(path, &form).await
}

async fn stored(api: &Api, environment: Environment, name: &str) -> ListedConnection {
    let world = World::new(api.app.id, environment);
    let name = name.parse().unwrap();
    let shown = api.service.show_provider(Principal::cli(), world, &name);
    shown.await.unwrap()
}

/// CON-7: the secret is on no page, also after the form was refused.
async fn a_provider_is_set_and_removed(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let page = path(api, "live", "providers/google");
    let methods = path(api, "live", "methods");
    ann.get(&methods)
        .await
        .shows(200, "Missing: client id and secret");
    ann.get(&page).await.shows(200, "Off");

    let lacking = [("client_id", "\"><b>id"), ("scopes", "a b")];
    let refused = submit(&mut ann, &page, &lacking).await;
    let refused = refused
        .shows(400, "The provider was not saved. Fix 1 field.")
        .shows(400, "Client_secret is required");
    for text in ["value=\"&#34;&#62;&#60;b&#62;id\"", "value=\"a b\""] {
        assert!(refused.html.contains(text), "{text} in {}", refused.html);
    }
    let wrong = [
        ("client_id", "id"),
        ("client_secret", SECRET),
        ("token_endpoint", "http://id.example.com/"),
    ];
    let refused = submit(&mut ann, &page, &wrong).await;
    let refused = refused
        .shows(400, "Token_endpoint must use https")
        .shows(400, "Enter it again");
    assert!(!refused.html.contains(SECRET), "{}", refused.html);

    let right = [
        ("client_id", "id"),
        ("client_secret", SECRET),
        ("store_tokens", "on"),
    ];
    let form = ann.get(&page).await;
    let saved = send(&mut ann, &page, &form, &right).await;
    saved.leads_to(&page);
    let shown = ann.get(&page).await.shows(200, "Identity provider saved");
    let known = stored(api, Environment::Live, "google").await;
    for text in [
        known.callback_url.as_str(),
        "Ends in <code>x7Qd</code>",
        "name=\"store_tokens\" checked",
        // CON-16
        "href=\"https://console.cloud.google.com/auth/clients\" target=\"_blank\" rel=\"noopener noreferrer\"",
        "<title>Live · Google ·",
    ] {
        assert!(shown.html.contains(text), "{text} in {}", shown.html);
    }
    assert!(!shown.html.contains(SECRET), "{}", shown.html);
    ann.get(&methods)
        .await
        .shows(200, "Client id and secret set");

    // CON-15: the same form does nothing again.
    send(&mut ann, &page, &form, &right).await.leads_to(&page);
    ann.get(&page).await.shows(200, "This form was sent before");
    let again = stored(api, Environment::Live, "google").await;
    assert_eq!(again.connection, known.connection);

    // CON-19: the test environment has no such connection.
    let test = path(api, "test", "providers/google");
    ann.get(&test).await.shows(200, "Off");
    let nothing = format!("{test}/remove");
    ann.get(&nothing).await.shows(404, "Page not found");

    let remove = format!("{page}/remove");
    ann.get(&remove).await.shows(200, "Remove Google?");
    ann.fill(&remove, &remove, &[]).await.leads_to(&methods);
    ann.get(&methods)
        .await
        .shows(200, "Identity provider removed");
    ann.get(&remove).await.shows(404, "Page not found");
    ann.get(&page).await.shows(200, "Off");
}

/// An empty field keeps the secret, unless it would be sent elsewhere. A form that was filled before a change undoes nothing.
async fn a_provider_changes_only_as_it_was_seen(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let page = path(api, "test", "providers/github");
    let first = [("client_id", "id"), ("client_secret", SECRET)];
    submit(&mut ann, &page, &first).await.leads_to(&page);
    let before = stored(api, Environment::Test, "github").await;
    let late = ann.get(&page).await;

    let scopes = [("client_id", "id"), ("scopes", "read:org, repo")];
    submit(&mut ann, &page, &scopes).await.leads_to(&page);
    let now = stored(api, Environment::Test, "github").await;
    assert_eq!(now.secret, before.secret);
    assert_eq!(now.callback_url, before.callback_url);
    assert_eq!(now.connection.settings.scopes, ["read:org", "repo"]);

    let other = [("client_id", "other"), ("scopes", "read:org repo")];
    submit(&mut ann, &page, &other)
        .await
        .shows(400, "Enter the client secret again")
        .shows(400, "value=\"other\"");

    let refused = send(&mut ann, &page, &late, &first).await;
    let refused = refused
        .shows(400, "Another operator has changed the provider")
        .shows(400, "value=\"read:org repo\"");
    assert!(!refused.html.contains(SECRET), "{}", refused.html);
    let kept = stored(api, Environment::Test, "github").await;
    assert_eq!(kept.connection, now.connection);
    // Sent from the page that shows the change, the form is accepted.
    send(&mut ann, &page, &refused, &first)
        .await
        .leads_to(&page);
    let now = stored(api, Environment::Test, "github").await;
    assert!(now.connection.settings.scopes.is_empty());
}

async fn an_issuer_is_added(api: &Api) {
    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let list = path(api, "test", "providers");
    let fields = [
        ("provider", "acme"),
        ("issuer", "https://id.acme.example"),
        ("client_id", "vestry"),
        ("client_secret", SECRET),
        ("trust_email_verified", "on"),
        ("token_endpoint_auth_method", "client_secret_post"),
    ];
    for (name, message) in [
        ("", "Provider name must be"),
        ("Acme", "Provider name must be"),
        ("google", "This name is reserved"),
        ("test", "This name is reserved"),
        ("id", "Provider name must not be"),
    ] {
        let mut wrong = fields;
        wrong[0].1 = name;
        let refused = submit(&mut ann, &list, &wrong).await.shows(400, message);
        let kept = "value=\"https://id.acme.example\"";
        assert!(refused.html.contains(kept), "{}", refused.html);
        assert!(!refused.html.contains(SECRET), "{}", refused.html);
    }
    let lacking = [fields[0], fields[2], fields[3]];
    submit(&mut ann, &list, &lacking)
        .await
        .shows(400, "Issuer is required");
    let page = path(api, "test", "providers/acme");
    ann.get(&page).await.shows(404, "Page not found");
    submit(&mut ann, &list, &fields).await.leads_to(&page);
    submit(&mut ann, &list, &fields)
        .await
        .shows(400, "An identity provider with this name exists already");
    ann.get(&page)
        .await
        .shows(200, "<h1>acme</h1>")
        .shows(200, "<option selected>client_secret_post</option>")
        .shows(200, "name=\"trust_email_verified\" checked");
    ann.get(&path(api, "test", "methods"))
        .await
        .shows(200, "acme · OpenID Connect, custom issuer");

    // Apple's secret is a private key in several lines, of which nothing is shown.
    let apple = path(api, "test", "providers/apple");
    let key =
        "-----BEGIN PRIVATE KEY-----\r\nMIGTAgEAMBMGByqGSM49\r\n-----END PRIVATE KEY-----\r\n";
    let fields = [
        ("client_id", "com.example.web"),
        ("client_secret", key),
        ("apple_team_id", "TEAM123456"),
        ("apple_key_id", "ABC1234567"),
    ];
    submit(&mut ann, &apple, &fields[..2])
        .await
        .shows(400, "Apple_team_id must be 1 to 1024");
    submit(&mut ann, &apple, &fields).await.leads_to(&apple);
    let shown = ann.get(&apple).await.shows(200, "value=\"TEAM123456\"");
    assert!(!shown.html.contains("PRIVATE KEY---"), "{}", shown.html);
    for name in ["test", "id", "nowhere", "No_Name"] {
        let page = path(api, "test", &format!("providers/{name}"));
        ann.get(&page).await.shows(404, "Page not found");
        let remove = format!("{page}/remove");
        ann.fill(&list, &remove, &[])
            .await
            .shows(404, "Page not found");
    }
}

async fn a_provider_is_checked(api: &Api) {
    let server = ProviderServer::start(Shape::OpenId).await;
    let to_login = Reply::redirect(302, "https://login.example/");
    server.replies("/authorize", Some(to_login));
    let world = World::new(api.app.id, Environment::Test);
    let (secret, settings) = (Secret::new(SECRET.to_owned()), server.settings());
    let name = "acme".parse().unwrap();
    let set = api
        .service
        .set_provider(Principal::cli(), world, name, CLIENT_ID, &secret, settings);
    set.await.unwrap();
    let page = path(api, "test", "providers/acme");
    let check = format!("{page}/check");

    // CON-24
    let role = grants(Role::Developer, Some(api.app.id));
    let (mut dev, _) = operator(api, "dev@example.com", role).await;
    let shown = dev.get(&page).await.shows(200, CLIENT_ID);
    for text in ["Check connection", "name=\"client_id\"", "/remove"] {
        assert!(!shown.html.contains(text), "{text} in {}", shown.html);
    }
    let refused = dev.fill(&page, &check, &[]).await;
    refused.shows(403, "Your role does not include this");
    assert!(server.requests().is_empty());

    let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
    let found = ann.fill(&page, &check, &[]).await;
    let found = found.shows(200, "Discovery document");
    assert_eq!(found.html.matches("Passed:").count(), 3, "{}", found.html);
    let refusal = Reply::Says(400, String::new(), "hunter2".to_owned());
    server.replies("/authorize", Some(refusal));
    let found = ann.fill(&page, &check, &[]).await.shows(200, "Failed:");
    assert_eq!(found.html.matches("Passed:").count(), 2, "{}", found.html);
    assert!(!found.html.contains("hunter2"), "{}", found.html);
    for _ in 0..3 {
        ann.fill(&page, &check, &[]).await.shows(200, "Failed:");
    }
    ann.fill(&page, &check, &[])
        .await
        .shows(429, "Too many attempts");
    // Opened as a page, the path checks nothing.
    let before = server.requests().len();
    ann.get(&check).await.shows(200, "Check connection");
    assert_eq!(server.requests().len(), before);
}

async fn methods_show_what_they_lack(api: &Api) {
    let role = grants(Role::Viewer, Some(api.app.id));
    let (mut vic, _) = operator(api, "vic@example.com", role).await;
    let [test, live] = ["test", "live"].map(|environment| path(api, environment, "methods"));
    let shown = vic.get(&live).await;
    for text in [
        "The deployment has a mail transport",
        "Missing: webauthn_domains",
        "Missing: siwe_domains",
        "Missing: a redirect URL",
        "2000 per hour, all countries",
        "Missing: client id and secret",
    ] {
        assert!(shown.html.contains(text), "{text} in {}", shown.html);
    }
    // CON-24
    for text in ["Test provider", "Configure<span", "/providers\""] {
        assert!(!shown.html.contains(text), "{text} in {}", shown.html);
    }
    let shown = vic.get(&test).await;
    for text in [
        "Messages are captured, not sent",
        "localhost only; webauthn_domains is empty",
        "Test provider",
    ] {
        assert!(shown.html.contains(text), "{text} in {}", shown.html);
    }

    let world = World::new(api.app.id, Environment::Live);
    let (kind, url) = (RedirectKind::Login, "https://app.example.com/in");
    let cli = Principal::cli();
    let added = api.service.add_redirect_url(cli, world, kind, url, true);
    added.await.unwrap();
    let change = [
        (
            "webauthn_domains",
            r#"["app.example.com", "login.example.com"]"#,
        ),
        ("sms_countries", r#"["DE"]"#),
    ];
    let change = change.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let changed = api.service.set_app(cli, api.app.id, &change);
    changed.await.unwrap();
    let shown = vic.get(&live).await;
    for text in [
        "1 redirect URL, defaults: login",
        "app.example.com, login.example.com",
        "1 country",
    ] {
        assert!(shown.html.contains(text), "{text} in {}", shown.html);
    }
    // CON-19: URLs are those of the environment.
    vic.get(&test).await.shows(200, "Missing: a redirect URL");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_transports_live_messages_are_off() {
    let options = Options {
        has_mailer: false,
        has_sms: false,
        ..Options::default()
    };
    on_with(Lane::Sqlite, options, async |api: &Api| {
        let (mut ann, _) = operator(api, "ann@example.com", grants(Role::Owner, None)).await;
        let shown = ann.get(&path(api, "live", "methods")).await;
        for text in [
            "Missing: a mail transport of the deployment",
            "Missing: an SMS transport of the deployment",
        ] {
            assert!(shown.html.contains(text), "{text} in {}", shown.html);
        }
        let shown = ann.get(&path(api, "test", "methods")).await;
        let text = "Messages are captured, not sent";
        assert_eq!(shown.html.matches(text).count(), 2, "{}", shown.html);
    })
    .await;
}
