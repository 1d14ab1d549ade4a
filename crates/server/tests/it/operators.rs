//! Operators as an administrator makes them: on the command line, joining in a browser; and where the console is served (CON-14).

use std::fs;

use serde_json::{Value, json};
use tokio::task::block_in_place;
use vestry_contract::provider::{CLIENT_ID, ProviderServer, Shape};

use crate::on_both_databases;
use crate::support::client;
use crate::support::installation::{Installation, text};
use crate::support::poll::until;

on_both_databases! {
    /// From `vestry operator create` to the removal of the operator.
    an_operator_joins_and_leaves => super::an_operator_joins_and_leaves;
}

const CONSOLE: &str = "https://console.example.com";

fn with_console(mut installation: Installation) -> Installation {
    installation.set("console.enabled", "true");
    installation.set("console.base_url", CONSOLE);
    installation
}

fn admin(installation: &Installation, arguments: &[&str]) -> Value {
    block_in_place(|| installation.admin(arguments))
}

async fn an_operator_joins_and_leaves(installation: Installation) {
    let installation = with_console(installation);
    let app = block_in_place(|| installation.set_up()).app;
    let made = admin(
        &installation,
        &["operator", "create", "ann@example.com", "--owner"],
    );
    let url = text(&made, "url");
    let path = url.strip_prefix(CONSOLE).expect("a link to the console");
    let listed = admin(&installation, &["operator", "list"]);
    assert_eq!(listed["operators"], json!([]));
    assert_eq!(listed["invitations"][0]["roles"], json!({"all": "owner"}));
    assert_eq!(listed["invitations"][0].get("url"), None);

    let server = installation.serve().await;
    let browser = client::http(&[]);
    let at = |path: &str| format!("{}{path}", server.base_url);
    let page = browser.get(at(path)).send().await.unwrap();
    assert_eq!(page.status(), 200);
    let cookie = page.headers()["set-cookie"].to_str().unwrap();
    let cookie = cookie.split_once(';').unwrap().0.to_owned();
    let page = page.text().await.unwrap();
    let (_, rest) = page.split_once("name=\"form_token\" value=\"").unwrap();
    let token = rest.split_once('"').unwrap().0;
    let link = path.split_once("token=").unwrap().1;
    let joined = browser
        .post(at("/console/join"))
        .header("Cookie", cookie)
        .header("Origin", CONSOLE)
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body(format!("form_token={token}&link={link}"))
        .send()
        .await
        .unwrap();
    assert_eq!(joined.status(), 303);
    let session = joined.headers()["set-cookie"].to_str().unwrap();
    let session = session.split_once(';').unwrap().0.to_owned();
    let page = browser
        .get(at("/console/me"))
        .header("Cookie", &session)
        .send();
    let page = page.await.unwrap().text().await.unwrap();
    assert!(page.contains("Set up sign-in"), "{page}");

    let listed = admin(&installation, &["operator", "list"]);
    assert_eq!(listed["invitations"], json!([]));
    assert_eq!(listed["operators"][0]["email"], "ann@example.com");
    assert_eq!(listed["operators"][0]["second_factor"], false);
    for arguments in [
        &["operator", "disable", "ann@example.com"][..],
        &["operator", "remove", "ann@example.com"],
        &[
            "operator",
            "set",
            "ann@example.com",
            "--role",
            "viewer",
            "--app",
            &app,
        ],
    ] {
        let refused = block_in_place(|| installation.run(arguments));
        assert_ne!(refused.code, 0);
        assert!(refused.stderr.contains("last"), "{}", refused.stderr);
    }
    admin(
        &installation,
        &["operator", "create", "ben@example.com", "--owner"],
    );
    let owner = ["operator", "create", "cid@example.com", "--role", "owner"];
    let refused = block_in_place(|| installation.run(&owner));
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("use --owner"), "{refused:?}");
    let known = block_in_place(|| {
        installation.run(&[
            "operator",
            "create",
            "ann@example.com",
            "--role",
            "viewer",
            "--app",
            &app,
        ])
    });
    assert!(known.stderr.contains("already exists"), "{}", known.stderr);
    let reset = admin(&installation, &["operator", "reset", "ann@example.com"]);
    assert!(text(&reset, "url").starts_with(CONSOLE));
    let page = browser
        .get(at("/console/me"))
        .header("Cookie", &session)
        .send();
    assert_eq!(page.await.unwrap().status(), 303, "the session has ended");
    admin(&installation, &["operator", "unlock", "ann@example.com"]);

    // E-1: the running service has written the events into the log.
    let events = ["operator", "events", "--types", "operator.*"];
    let mut log = json!(null);
    until(async || {
        log = admin(&installation, &events);
        log["events"].as_array().unwrap().len() == 3
    })
    .await;
    let found: Vec<_> = log["events"].as_array().unwrap().iter().collect();
    let types: Vec<_> = found.iter().map(|event| text(event, "type")).collect();
    let expected = ["operator.invited", "operator.joined", "operator.invited"];
    assert_eq!(types, expected);
    assert_eq!(found[1]["actor"]["type"], "operator");
    assert_eq!(found[2]["actor"]["type"], "cli");
    let page = block_in_place(|| installation.run(&events)).done().stdout;
    assert!(page.contains("operator.joined"), "{page}");
    server.process.stop().await;
}

/// OPR-12: from `vestry operator sign-in set` to the provider, and away again. The secret is never shown.
#[tokio::test(flavor = "multi_thread")]
async fn operators_sign_in_with_a_provider() {
    let mut installation = with_console(Installation::sqlite());
    installation.set("outbound.allowed_networks", "127.0.0.0/8");
    block_in_place(|| installation.set_up());
    let company = ProviderServer::start(Shape::OpenId).await;
    let secret = company.client_secret();
    fs::write(installation.file("acme.secret"), secret.expose()).unwrap();
    let issuer = company.settings().issuer.unwrap();
    let set = |client: &str| {
        let arguments = [
            &["operator", "sign-in", "set", "--issuer", &issuer][..],
            &["--client-id", client, "--client-secret-file", "acme.secret"],
        ];
        block_in_place(|| installation.run(&arguments.concat()))
    };
    let show = || block_in_place(|| installation.run(&["operator", "sign-in", "show"]));
    let missing = show();
    assert_ne!(missing.code, 0);
    assert!(missing.stderr.contains("company sign-in"), "{missing:?}");
    let callback = format!("{CONSOLE}/console/sign-in/company/callback");
    for client in ["another", CLIENT_ID] {
        let shown = set(client).done().stdout;
        assert_eq!(shown, show().done().stdout);
        for (text, is_shown) in [
            (callback.as_str(), true),
            (&issuer, true),
            (client, true),
            (secret.expose(), false),
        ] {
            assert_eq!(shown.contains(text), is_shown, "{text} in {shown}");
        }
    }
    let shown = admin(&installation, &["operator", "sign-in", "show"]);
    assert_eq!(shown["callback_url"], json!(callback));
    assert!(!shown.to_string().contains(secret.expose()));

    let server = installation.serve().await;
    let browser = client::http(&[]);
    let at = |path: &str| format!("{}{path}", server.base_url);
    let page = browser.get(at("/console/sign-in")).send().await.unwrap();
    let cookie = page.headers()["set-cookie"].to_str().unwrap();
    let cookie = cookie.split_once(';').unwrap().0.to_owned();
    let page = page.text().await.unwrap();
    let (_, rest) = page.split_once("name=\"form_token\" value=\"").unwrap();
    let token = rest.split_once('"').unwrap().0;
    let away = browser
        .post(at("/console/sign-in/company"))
        .header("Cookie", &cookie)
        .header("Origin", CONSOLE)
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body(format!("form_token={token}"))
        .send();
    let away = away.await.unwrap().text().await.unwrap();
    let (_, rest) = away.split_once("content=\"0; url=").expect("a way out");
    let url = rest.split_once('"').unwrap().0.replace("&#38;", "&");
    let back = company.answer(&url);
    assert_eq!(back.redirect_uri, callback);
    let back = browser
        .get(at(&format!(
            "/console/sign-in/company/callback?{}",
            back.form()
        )))
        .header("Cookie", &cookie)
        .send();
    // The person is no operator.
    let back = back.await.unwrap();
    assert_eq!(back.status(), 400);
    assert!(
        back.text()
            .await
            .unwrap()
            .contains("could not be signed in")
    );

    admin(&installation, &["operator", "sign-in", "remove"]);
    let page = browser.get(at("/console/sign-in")).send().await.unwrap();
    assert!(!page.text().await.unwrap().contains("company account"));
    assert_ne!(show().code, 0);
    server.process.stop().await;
}

/// A typing error makes no operator, and the message names the mistake.
#[test]
fn an_operator_needs_good_options() {
    let installation = with_console(Installation::sqlite());
    let app = installation.set_up().app;
    for (arguments, words) in [
        (&["ann@example.com"][..], "--role"),
        (&["ann@example.com", "--role", "viewer"], "--app"),
        (
            &["ann@example.com", "--role", "king", "--app", &app],
            "role must be",
        ),
        (
            &["ann@example.com", "--role", "owner", "--app", &app],
            "--owner",
        ),
        (
            &["ann@example.com", "--role", "viewer", "--app", "all,app_x"],
            "app_",
        ),
        (&["ann", "--owner"], "email must be an address"),
        (
            &[
                "ann@example.com",
                "--role",
                "viewer",
                "--app",
                "app_3Mn9PNR3LQoWYO7VKGiApjOImmI",
            ],
            "no such app",
        ),
    ] {
        let ran = installation.run(&[&["operator", "create"], arguments].concat());
        assert_ne!(ran.code, 0, "{words}");
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
    let listed = installation.run(&["operator", "list"]).done().stdout;
    assert!(listed.contains("vestry operator create --help"), "{listed}");
}

/// Without `console.base_url` there is nowhere for a link to lead.
#[test]
fn a_link_needs_the_address_of_the_console() {
    let installation = Installation::sqlite();
    installation.set_up();
    let ran = installation.run(&["operator", "create", "ann@example.com", "--owner"]);
    assert_ne!(ran.code, 0);
    assert!(ran.stderr.contains("console.base_url"), "{}", ran.stderr);
    fs::write(installation.file("acme.secret"), "the-client-secret").unwrap();
    let ran = installation.run(&[
        "operator",
        "sign-in",
        "set",
        "--issuer",
        "https://id.acme.example",
        "--client-id",
        "vestry",
        "--client-secret-file",
        "acme.secret",
    ]);
    assert_ne!(ran.code, 0);
    assert!(ran.stderr.contains("console.base_url"), "{}", ran.stderr);
    let mut installation = installation;
    installation.set("console.enabled", "true");
    let ran = installation.run(&["operator", "list"]);
    assert_ne!(ran.code, 0);
    assert!(ran.stderr.contains("console.base_url"), "{}", ran.stderr);
}

/// CON-14: a disabled console looks like an unknown path.
#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_console_does_not_exist() {
    let mut installation = Installation::sqlite();
    installation.set("console.base_url", CONSOLE);
    block_in_place(|| installation.set_up());
    let server = installation.serve().await;
    let browser = client::http(&[]);
    let mut answers = Vec::new();
    for path in ["/nowhere", "/console", "/console/", "/console/sign-in"] {
        let answer = browser
            .get(format!("{}{path}", server.base_url))
            .send()
            .await
            .unwrap();
        let status = answer.status();
        let mut body: Value = answer.json().await.unwrap();
        body["request_id"] = json!(null);
        answers.push((status, body));
    }
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{answers:?}"
    );
    server.process.stop().await;
}

/// OPR-13: without `http.trusted_proxies`, all operators behind a proxy are one client.
#[tokio::test(flavor = "multi_thread")]
async fn a_console_behind_an_unknown_proxy_warns() {
    let mut installation = with_console(Installation::sqlite());
    block_in_place(|| installation.set_up());
    let warning = "all operators share the address and the limits of the proxy";
    for (proxies, warns) in [("", true), ("127.0.0.1/32", false)] {
        installation.set("http.trusted_proxies", proxies);
        let server = installation.serve().await;
        let output = server.process.stop().await;
        assert_eq!(output.contains(warning), warns, "{output}");
    }
}
