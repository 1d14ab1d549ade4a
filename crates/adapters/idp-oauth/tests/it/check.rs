//! The check of a connection calls everything that a sign-in needs, and reports the first fault of each part.

use serde_json::json;
use vestry_contract::provider::{ProviderServer, Reply, Shape};
use vestry_domain::provider::{ConnectionSettings, code_challenge};
use vestry_idp_oauth::{OauthProviders, Settings};
use vestry_ports::identity_providers::{
    AuthorizationRequest, IdentityProviders, ProviderFault, ProviderPart,
};

use crate::app::{Flow, REDIRECT_URI, adapter, connection, settings};

async fn checked(
    providers: &OauthProviders,
    name: &str,
    settings: ConnectionSettings,
) -> Vec<(ProviderPart, &'static str)> {
    let flow = Flow::new(1);
    let connection = connection(name, settings);
    let request = AuthorizationRequest {
        redirect_uri: REDIRECT_URI,
        state: &flow.state,
        nonce: &flow.nonce,
        code_challenge: &code_challenge(&flow.verifier),
    };
    let checked = providers.check(&connection, request).await.into_iter();
    let outcome = |outcome: Result<(), ProviderFault>| match outcome {
        Ok(()) => "ok",
        Err(ProviderFault::Unavailable(_)) => "unavailable",
        Err(ProviderFault::Invalid(fault) | ProviderFault::Misconfigured(fault)) => fault,
        Err(ProviderFault::Refused) => "refused",
    };
    checked
        .map(|checked| (checked.part, outcome(checked.outcome)))
        .collect()
}

const REFUSED: &str = "its sign-in page refused the client id or the callback URL";

#[tokio::test]
async fn each_part_of_a_provider_is_checked() {
    use ProviderPart::{Discovery, KeySet, SignInPage};
    let says = |status| Reply::Says(status, String::new(), "hunter2".to_owned());
    let page = ("/authorize", Reply::redirect(302, "https://login.example/"));
    let (discovery, keys) = ("/.well-known/openid-configuration", "/jwks");
    let foreign = json!({"issuer": "https://other.example"});
    for (path, reply, expected) in [
        (
            keys,
            None,
            vec![(Discovery, "ok"), (KeySet, "ok"), (SignInPage, "ok")],
        ),
        (
            discovery,
            Some(says(404)),
            vec![(Discovery, "the issuer has no discovery document")],
        ),
        (
            discovery,
            Some(says(200)),
            vec![(Discovery, "its discovery document is malformed")],
        ),
        (discovery, Some(says(503)), vec![(Discovery, "unavailable")]),
        (
            discovery,
            Some(Reply::json(200, &foreign)),
            vec![(
                Discovery,
                "its discovery document belongs to another issuer",
            )],
        ),
        (
            keys,
            Some(says(404)),
            vec![
                (Discovery, "ok"),
                (KeySet, "the issuer's key set was not found at its URL"),
                (SignInPage, "ok"),
            ],
        ),
        (
            keys,
            Some(Reply::json(200, &json!({"keys": []}))),
            vec![
                (Discovery, "ok"),
                (KeySet, "its key set is empty"),
                (SignInPage, "ok"),
            ],
        ),
        (
            page.0,
            Some(says(400)),
            vec![(Discovery, "ok"), (KeySet, "ok"), (SignInPage, REFUSED)],
        ),
        (
            page.0,
            Some(says(500)),
            vec![
                (Discovery, "ok"),
                (KeySet, "ok"),
                (SignInPage, "unavailable"),
            ],
        ),
    ] {
        let server = ProviderServer::start(Shape::OpenId).await;
        server.replies(page.0, Some(Reply::redirect(302, "https://login.example/")));
        if let Some(reply) = reply {
            server.replies(path, Some(reply));
        }
        let providers = adapter(&settings());
        for _ in 0..2 {
            let found = checked(&providers, "example", server.settings()).await;
            assert_eq!(found, expected);
        }
        assert_eq!(server.asked(discovery), 2, "nothing is cached");
        assert!(
            server
                .requests()
                .iter()
                .all(|request| request.method == "GET")
        );
    }
}

#[tokio::test]
async fn a_provider_without_discovery_has_a_sign_in_page_only() {
    let server = ProviderServer::start(Shape::GitHub).await;
    let page = Reply::redirect(302, "/login");
    server.replies("/login/oauth/authorize", Some(page));
    let providers = adapter(&settings());
    let found = checked(&providers, "github", server.settings()).await;
    assert_eq!(found, [(ProviderPart::SignInPage, "ok")]);
}

/// Attack 23: neither the issuer nor a sign-in page leads into the internal network.
#[tokio::test]
async fn attack_23_a_check_does_not_call_internal_addresses() {
    let server = ProviderServer::start(Shape::OpenId).await;
    let (_, port) = server.url().rsplit_once(':').unwrap();
    let at = |path: &str| Some(format!("https://localhost:{port}{path}"));
    let inner = ConnectionSettings {
        issuer: at(""),
        ..ConnectionSettings::default()
    };
    let all_set = ConnectionSettings {
        authorization_endpoint: at("/authorize"),
        token_endpoint: at("/token"),
        jwks_uri: at("/jwks"),
        ..inner.clone()
    };
    let kept_out = "an endpoint resolves to a network that is not allowed";
    let providers = adapter(&Settings::default());
    for (settings, parts) in [
        (inner, vec![ProviderPart::Discovery]),
        (
            all_set,
            vec![ProviderPart::KeySet, ProviderPart::SignInPage],
        ),
    ] {
        let found = checked(&providers, "example", settings).await;
        let expected: Vec<_> = parts.into_iter().map(|part| (part, kept_out)).collect();
        assert_eq!(found, expected);
    }
    assert_eq!(server.requests().len(), 0);
}
