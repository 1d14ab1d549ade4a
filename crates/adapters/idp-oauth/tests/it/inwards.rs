//! Attack 23, B12, O-7: the choice of an issuer, an endpoint or a document cannot make the service call its internal network. Address
//! notations and rebinding are tested with the HTTP client (`outbound`); this covers every path to it.

use serde_json::json;
use vestry_contract::provider::{ProviderServer, Reply, Shape};
use vestry_domain::provider::ConnectionSettings;
use vestry_idp_oauth::Settings;
use vestry_ports::identity_providers::ProviderFault;

use crate::app::{App, Flow, adapter, connection, settings};

/// Hosts that must not be connected to, in notations that a URL allows.
const INNER: [&str; 20] = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "017700000001",
    "localhost",
    "0.0.0.0",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "2852039166",
    "100.100.100.200",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:169.254.169.254]",
    "[fe80::1]",
    "[fd00:ec2::254]",
    "[64:ff9b::a9fe:a9fe]",
];

fn is_kept_out<T: std::fmt::Debug>(outcome: Result<T, ProviderFault>) -> bool {
    matches!(&outcome, Err(ProviderFault::Misconfigured(_)))
}

/// An internal issuer of an App: no connection is made, not even by its name.
#[tokio::test]
async fn attack_23_an_internal_issuer_is_not_contacted() {
    let server = ProviderServer::start(Shape::OpenId).await;
    let (_, port) = server.url().rsplit_once(':').unwrap();
    let providers = adapter(&Settings::default());
    for host in INNER {
        let inner = ConnectionSettings {
            issuer: Some(format!("https://{host}:{port}")),
            ..ConnectionSettings::default()
        };
        let app = App::at(&providers, &server, connection("example", inner));
        let outcome = app.address(&Flow::new(1)).await;
        assert!(is_kept_out(outcome), "{host}");
    }
    assert_eq!(server.requests().len(), 0);
}

fn is_this_machine(host: &str) -> bool {
    let url = url::Url::parse(&format!("https://{host}/")).unwrap();
    match url.host().unwrap() {
        url::Host::Domain(name) => name == "localhost",
        url::Host::Ipv4(address) => address.is_loopback(),
        url::Host::Ipv6(address) => address.to_canonical().is_loopback(),
    }
}

/// A public issuer whose document names internal addresses: neither the App nor the operator typed those.
#[tokio::test]
async fn attack_23_internal_addresses_in_a_document_are_not_contacted() {
    let providers = adapter(&settings());
    for member in ["token_endpoint", "jwks_uri", "userinfo_endpoint"] {
        // The evil provider itself is on this machine, whose network is allowed here.
        for host in INNER.into_iter().filter(|host| !is_this_machine(host)) {
            let evil = ProviderServer::start(Shape::OpenId).await;
            let inner = json!(format!("https://{host}/latest/meta-data"));
            evil.says_in_its_document(member, inner);
            evil.spoils(|draft| {
                draft.claims.remove("email");
            });
            let app = App::beside(&providers, &evil, "example");
            let flow = Flow::new(1);
            let callback = evil.answer(&app.address(&flow).await.unwrap());
            let outcome = app.exchange(&flow, &callback).await;
            assert!(is_kept_out(outcome), "{member} {host}");
        }
    }
}

/// A browser is sent only to HTTPS pages.
#[tokio::test]
async fn attack_17_a_document_cannot_send_a_browser_anywhere() {
    let providers = adapter(&settings());
    for page in [
        "javascript:alert(document.domain)",
        "data:text/html,x",
        "http://evil.example.com/authorize",
        "ftp://evil.example.com/",
        "//evil.example.com/",
        "/authorize",
        "",
    ] {
        let evil = ProviderServer::start(Shape::OpenId).await;
        evil.says_in_its_document("authorization_endpoint", json!(page));
        let outcome = App::beside(&providers, &evil, "example")
            .address(&Flow::new(1))
            .await;
        assert!(
            matches!(outcome, Err(ProviderFault::Invalid(_))),
            "{page}: {outcome:?}"
        );
    }
}

/// Redirects are not followed: codes, secrets and tokens go only to the intended endpoint.
#[tokio::test]
async fn attack_23_redirects_are_not_followed() {
    let elsewhere = ProviderServer::start(Shape::OpenId).await;
    let providers = adapter(&settings());
    for path in [
        ProviderServer::discovery_path,
        ProviderServer::keys_path,
        ProviderServer::token_path,
        ProviderServer::userinfo_path,
    ] {
        for status in [301, 302, 303, 307, 308] {
            let server = ProviderServer::start(Shape::OpenId).await;
            server.spoils(|draft| drop(draft.claims.remove("email")));
            let path = path(&server);
            let to = format!("{}{path}", elsewhere.url());
            server.replies(path, Some(Reply::redirect(status, &to)));
            let app = App::beside(&providers, &server, "example");
            let outcome = app.sign_in(&server, 1).await;
            assert!(
                matches!(outcome, Err(ProviderFault::Invalid(_))),
                "{path} {status}: {outcome:?}"
            );
        }
    }
    assert_eq!(elsewhere.requests().len(), 0);
}
