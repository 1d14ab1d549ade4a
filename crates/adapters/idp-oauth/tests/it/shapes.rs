//! Whole sign-ins at providers modelled on real ones.

use serde_json::{Value, json};
use url::Url;
use vestry_contract::provider::{Person, ProviderServer, Reply, Shape, SignsBy};
use vestry_domain::provider::{ConnectionSettings, ProvenIdentity, TokenEndpointAuth};
use vestry_ports::identity_providers::ProviderFault;

use crate::app::{App, Flow, adapter, connection, settings};

async fn identity(app: &App, server: &ProviderServer) -> ProvenIdentity {
    app.sign_in(server, 1).await.unwrap().identity
}

/// Whether the address counts as verified, given what the provider says about it.
async fn counts(app: &App, server: &ProviderServer, person: Person) -> bool {
    let email = person.email.clone();
    server.signs_in(Some(person));
    let identity = identity(app, server).await;
    assert_eq!(identity.email, email);
    identity.email_verified
}

/// Returns the query parameters of a URL.
fn query(address: &str) -> Vec<(String, String)> {
    Url::parse(address)
        .unwrap()
        .query_pairs()
        .into_owned()
        .collect()
}

fn value(address: &str, name: &str) -> Option<String> {
    let found = query(address).into_iter().find(|(key, _)| key == name);
    found.map(|(_, value)| value)
}

#[tokio::test]
async fn an_issuer_of_the_app_by_discovery() {
    let server = ProviderServer::start(Shape::OpenId).await;
    for by in [
        SignsBy::Es256,
        SignsBy::Rs256,
        SignsBy::Ps256,
        SignsBy::EdDsa,
    ] {
        server.signs_by(by);
        // A new one each time: its cache does not contain the RSA key.
        let app = App::of(&server, "example");
        let exchanged = app.sign_in(&server, 7).await.unwrap();
        let expected = ProvenIdentity {
            issuer: server.url().to_owned(),
            subject: "1001".to_owned(),
            email: Some("ada@example.com".to_owned()),
            email_verified: false,
            name: Some("Ada Lovelace".to_owned()),
            given_name: Some("Ada".to_owned()),
            family_name: Some("Lovelace".to_owned()),
        };
        assert_eq!(exchanged.identity, expected, "{by:?}");
        assert!(
            exchanged
                .tokens
                .access_token
                .expose()
                .starts_with("access-token-")
        );
        let refresh = exchanged.tokens.refresh_token.unwrap();
        assert!(refresh.expose().starts_with("refresh-access-token-"));
    }
}

/// O-3, O-4, O-14: the parameters of every authorization URL, each once.
#[tokio::test]
async fn the_authorization_url_is_that_of_the_code_flow() {
    let server = ProviderServer::start(Shape::OpenId).await;
    let mut app = App::of(&server, "example");
    app.connection.settings.scopes = vec!["groups".to_owned(), "email".to_owned()];
    let flow = Flow::new(3);
    let address = app.address(&flow).await.unwrap();
    let challenge = vestry_domain::provider::code_challenge(&flow.verifier);
    let expected = [
        ("response_type", "code"),
        ("client_id", "client-of-tests"),
        ("state", flow.state.expose()),
        ("redirect_uri", crate::app::REDIRECT_URI),
        ("scope", "openid email profile groups"),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
        ("nonce", flow.nonce.expose()),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(query(&address), expected);
    assert!(
        !address.contains(flow.verifier.expose()),
        "the verifier stays here"
    );
}

/// O-9b: an App's own issuer is trusted only if the App says so, and then only for a boolean `true` (nOAuth, attack 2).
#[tokio::test]
async fn attack_2_which_verified_claims_count() {
    let server = ProviderServer::start(Shape::OpenId).await;
    let trusting = ConnectionSettings {
        trust_email_verified: true,
        ..server.settings()
    };
    let own = App::of(&server, "example");
    let trusted = App::with(&settings(), &server, connection("example", trusting));
    let google = App::of(&server, "google");
    for (said, is_true) in [
        (json!(true), true),
        (json!(false), false),
        (Value::Null, false),
        (json!("true"), false),
        (json!(1), false),
        (json!([true]), false),
    ] {
        let person = || Person::new("1001", "victim@example.com").with_verified(said.clone());
        assert!(!counts(&own, &server, person()).await, "{said}");
        assert_eq!(counts(&trusted, &server, person()).await, is_true, "{said}");
        assert_eq!(counts(&google, &server, person()).await, is_true, "{said}");
    }
}

/// Issuers can leave the address out of the id token; then userinfo is requested, and must be about the same user.
#[tokio::test]
async fn an_address_missing_from_the_id_token_is_requested() {
    let server = ProviderServer::start(Shape::OpenId).await;
    let app = App::of(&server, "google");
    server.spoils(|draft| {
        for claim in ["email", "email_verified", "name"] {
            draft.claims.remove(claim);
        }
    });
    let proven = identity(&app, &server).await;
    assert_eq!(proven.email.as_deref(), Some("ada@example.com"));
    assert!(proven.email_verified);
    assert_eq!(proven.name.as_deref(), Some("Ada Lovelace"));
    assert_eq!(server.asked(server.userinfo_path()), 1);
    let elsewhere = json!({"sub": "1002", "email": "victim@example.com", "email_verified": true});
    server.replies(server.userinfo_path(), Some(Reply::json(200, &elsewhere)));
    let refused = app.sign_in(&server, 2).await;
    assert!(
        matches!(refused, Err(ProviderFault::Invalid(_))),
        "{refused:?}"
    );
    // A user without an address.
    server.replies(
        server.userinfo_path(),
        Some(Reply::json(200, &json!({"sub": "1001"}))),
    );
    let proven = identity(&app, &server).await;
    assert_eq!((proven.email, proven.email_verified), (None, false));
}

#[tokio::test]
async fn google_is_asked_for_a_refresh_token_if_the_app_stores_tokens() {
    let server = ProviderServer::start(Shape::OpenId).await;
    let mut app = App::of(&server, "google");
    let address = app.address(&Flow::new(1)).await.unwrap();
    assert_eq!(value(&address, "access_type"), None);
    app.connection.settings.store_tokens = true;
    let address = app.address(&Flow::new(1)).await.unwrap();
    assert_eq!(value(&address, "access_type").as_deref(), Some("offline"));
}

/// A form post, a client secret signed with the team's key (the server checks it with another library), and the name in the form at the
/// first sign-in only.
#[tokio::test]
async fn apple() {
    let server = ProviderServer::start(Shape::Apple).await;
    server.signs_by(SignsBy::Rs256);
    let app = App::of(&server, "apple");
    let flow = Flow::new(1);
    let address = app.address(&flow).await.unwrap();
    assert_eq!(
        value(&address, "response_mode").as_deref(),
        Some("form_post")
    );
    assert_eq!(
        value(&address, "scope").as_deref(),
        Some("openid email name")
    );
    let person = Person::new("001234.a1b2c3.0638", "x7k@privaterelay.appleid.com");
    server.signs_in(Some(person.clone().with_verified(json!("true"))));
    let callback = server.answer(&address);
    assert!(callback.user.is_some());
    let first = app.exchange(&flow, &callback).await.unwrap().identity;
    assert_eq!(first.subject, "001234.a1b2c3.0638");
    assert_eq!(first.email.as_deref(), Some("x7k@privaterelay.appleid.com"));
    assert!(first.email_verified, "Apple sends it as text");
    assert_eq!(
        (first.given_name.as_deref(), first.family_name.as_deref()),
        (Some("Ada"), Some("Lovelace"))
    );
    let second = identity(&app, &server).await;
    assert_eq!((second.given_name, second.family_name), (None, None));
    assert!(counts(&app, &server, person.clone()).await);
    assert!(!counts(&app, &server, person.with_verified(json!("false"))).await);
}

/// The browser posts the form, unsigned: it provides a name, and proves nothing.
#[tokio::test]
async fn apples_form_proves_nothing() {
    let server = ProviderServer::start(Shape::Apple).await;
    server.signs_in(Some(Person::new(
        "001234.a1b2c3.0638",
        "x7k@privaterelay.appleid.com",
    )));
    let app = App::of(&server, "apple");
    for user in [
        r#"{"name": {"firstName": "Eve"}, "email": "victim@example.com", "sub": "1", "email_verified": true}"#,
        r#"{"email": "victim@example.com"}"#,
        "{",
        "null",
        "[]",
        r#"{"name": 1}"#,
        r#"{"name": {"firstName": 1, "lastName": ""}}"#,
    ] {
        let flow = Flow::new(1);
        let address = app.address(&flow).await.unwrap();
        let mut callback = server.answer(&address);
        callback.user = Some(user.to_owned());
        let proven = app.exchange(&flow, &callback).await.unwrap().identity;
        assert_eq!(proven.subject, "001234.a1b2c3.0638");
        assert_eq!(
            proven.email.as_deref(),
            Some("x7k@privaterelay.appleid.com")
        );
        assert_eq!(proven.family_name, None);
    }
}

#[tokio::test]
async fn microsoft_has_an_issuer_for_each_tenant() {
    const TENANT: &str = "9188040d-6c67-4c5b-b112-36a304b66dad";
    const OTHER: &str = "72f988bf-86f1-41af-91ab-2d7cd011db47";
    let server = ProviderServer::start(Shape::Microsoft).await;
    server.signs_by(SignsBy::Rs256);
    let app = App::of(&server, "microsoft");
    let proven = identity(&app, &server).await;
    assert_eq!(proven.issuer, format!("{}/{TENANT}/v2.0", server.url()));
    assert_eq!(proven.name.as_deref(), Some("Ada Lovelace"));
    // The same subject in another tenant is another account (O-8).
    let mut elsewhere = Person::new("1001", "ada@example.com");
    OTHER.clone_into(&mut elsewhere.tenant);
    server.signs_in(Some(elsewhere));
    let proven = identity(&app, &server).await;
    assert_eq!(proven.issuer, format!("{}/{OTHER}/v2.0", server.url()));
}

/// O-9b: Microsoft's address counts only if its domain is known to be the tenant's, or the App knows the tenant.
#[tokio::test]
async fn attack_2_microsoft_addresses_invented_by_a_tenant_do_not_count() {
    let server = ProviderServer::start(Shape::Microsoft).await;
    let person = || Person::new("1001", "victim@example.com");
    let any = App::of(&server, "microsoft");
    assert!(!counts(&any, &server, person()).await);
    for said in [
        json!(false),
        json!("0"),
        json!(0),
        json!("false"),
        Value::Null,
        json!([1]),
    ] {
        assert!(!counts(&any, &server, person().with("xms_edov", said)).await);
    }
    assert!(!counts(&any, &server, person().with("email_verified", json!(true))).await);
    assert!(counts(&any, &server, person().with("xms_edov", json!(true))).await);
    let known = |tenant: &str| {
        let tenants = vec![tenant.to_owned()];
        let known = ConnectionSettings {
            tenants,
            ..server.settings()
        };
        App::with(&settings(), &server, connection("microsoft", known))
    };
    let own = known("9188040d-6c67-4c5b-b112-36a304b66dad");
    assert!(counts(&own, &server, person()).await);
    let other = known("72f988bf-86f1-41af-91ab-2d7cd011db47");
    assert!(!counts(&other, &server, person()).await);
}

#[tokio::test]
async fn github() {
    let server = ProviderServer::start(Shape::GitHub).await;
    server.signs_in(Some(Person::new("583231", "octocat@github.com")));
    let app = App::of(&server, "github");
    let address = app.address(&Flow::new(1)).await.unwrap();
    assert_eq!(
        value(&address, "scope").as_deref(),
        Some("read:user user:email")
    );
    assert_eq!(
        value(&address, "nonce"),
        None,
        "there is no id token that would repeat it"
    );
    let proven = identity(&app, &server).await;
    let expected = ProvenIdentity {
        issuer: "github".to_owned(),
        subject: "583231".to_owned(),
        // The primary address of the list, not the one in the profile.
        email: Some("octocat@github.com".to_owned()),
        email_verified: true,
        name: Some("Ada Lovelace".to_owned()),
        given_name: None,
        family_name: None,
    };
    assert_eq!(proven, expected);
    let requests = server.requests();
    let profile = requests.iter().find(|request| request.path == "/user");
    let agent = profile.unwrap().header("user-agent").unwrap();
    assert!(agent.starts_with("vestry/"), "{agent}");
    for said in [json!(false), json!("true"), Value::Null] {
        let unproved = Person::new("583231", "victim@example.com").with_verified(said);
        assert!(!counts(&app, &server, unproved).await);
    }
    // Without permission to read the list there is no address, whatever the profile shows.
    for status in [403, 404] {
        server.replies(
            "/user/emails",
            Some(Reply::json(status, &json!({"message": "Not Found"}))),
        );
        let proven = identity(&app, &server).await;
        assert_eq!((proven.email, proven.email_verified), (None, false));
    }
    server.replies("/user/emails", Some(Reply::json(200, &json!([]))));
    assert_eq!(identity(&app, &server).await.email, None);
    // An address given as an array of its members is ignored.
    let nameless = json!([["octocat@github.com", true, true]]);
    server.replies("/user/emails", Some(Reply::json(200, &nameless)));
    let refused = app.sign_in(&server, 1).await;
    assert!(
        matches!(refused, Err(ProviderFault::Invalid(_))),
        "{refused:?}"
    );
    server.replies("/user/emails", Some(Reply::json(500, &json!([]))));
    let failed = app.sign_in(&server, 1).await;
    assert!(
        matches!(failed, Err(ProviderFault::Unavailable(_))),
        "{failed:?}"
    );
}

/// GitHub returns 200 for everything and has its own error codes.
#[tokio::test]
async fn githubs_errors_are_distinguished() {
    let server = ProviderServer::start(Shape::GitHub).await;
    let app = App::of(&server, "github");
    let flow = Flow::new(1);
    let callback = server.answer(&app.address(&flow).await.unwrap());
    app.exchange(&flow, &callback).await.unwrap();
    for (code, is_refused) in [
        ("bad_verification_code", true),
        ("incorrect_client_credentials", false),
        ("redirect_uri_mismatch", false),
    ] {
        let body = json!({"error": code, "error_description": "hunter2"});
        server.replies(server.token_path(), Some(Reply::json(200, &body)));
        let fault = app.exchange(&flow, &callback).await.unwrap_err();
        let expected = if is_refused {
            matches!(fault, ProviderFault::Refused)
        } else {
            matches!(fault, ProviderFault::Misconfigured(_))
        };
        assert!(expected, "{code}: {fault:?}");
    }
}

#[tokio::test]
async fn discord() {
    let server = ProviderServer::start(Shape::Discord).await;
    let app = App::of(&server, "discord");
    let person = || Person::new("80351110224678912", "nelly@discord.com");
    server.signs_in(Some(person()));
    let exchanged = app.sign_in(&server, 1).await.unwrap();
    let expected = ProvenIdentity {
        issuer: "discord".to_owned(),
        subject: "80351110224678912".to_owned(),
        email: Some("nelly@discord.com".to_owned()),
        email_verified: true,
        name: Some("Ada Lovelace".to_owned()),
        given_name: None,
        family_name: None,
    };
    assert_eq!(exchanged.identity, expected);
    assert!(exchanged.tokens.refresh_token.is_some());
    for said in [json!(false), json!("true"), Value::Null] {
        assert!(!counts(&app, &server, person().with_verified(said)).await);
    }
    // An account without an id is refused.
    for id in [
        Value::Null,
        json!(""),
        json!("../1"),
        json!(-1),
        json!(1.5),
        json!({}),
    ] {
        server.replies(
            server.userinfo_path(),
            Some(Reply::json(200, &json!({"id": id}))),
        );
        let refused = app.sign_in(&server, 1).await;
        assert!(
            matches!(refused, Err(ProviderFault::Invalid(_))),
            "{id}: {refused:?}"
        );
    }
}

/// If the App has set everything, no document is fetched.
#[tokio::test]
async fn endpoints_can_be_set_without_discovery() {
    let server = ProviderServer::start(Shape::OpenId).await;
    let at = |path: &str| Some(format!("{}{path}", server.url()));
    let all = ConnectionSettings {
        authorization_endpoint: at("/authorize"),
        token_endpoint: at(server.token_path()),
        jwks_uri: at(server.keys_path()),
        ..server.settings()
    };
    for name in ["example", "google"] {
        let app = App::with(&settings(), &server, connection(name, all.clone()));
        assert_eq!(identity(&app, &server).await.subject, "1001");
    }
    assert_eq!(server.asked(server.discovery_path()), 0);
    // The built-in provider is never called.
    let mut test = App::of(&server, "example");
    test.connection.name = "test".parse().unwrap();
    let refused = test.address(&Flow::new(1)).await;
    assert!(
        matches!(refused, Err(ProviderFault::Misconfigured(_))),
        "{refused:?}"
    );
}

/// An issuer whose client is registered for the form, with all settings made by the App: nothing is fetched and nothing is guessed. Without
/// the setting the secret goes into the header, the default of client registration.
#[tokio::test]
async fn m_19_the_secret_goes_where_the_app_says() {
    use TokenEndpointAuth::{ClientSecretBasic, ClientSecretPost};
    let server = ProviderServer::start(Shape::OpenId).await;
    let at = |path: &str| Some(format!("{}{path}", server.url()));
    let by_hand = ConnectionSettings {
        authorization_endpoint: at("/authorize"),
        token_endpoint: at(server.token_path()),
        jwks_uri: at(server.keys_path()),
        ..server.settings()
    };
    let providers = adapter(&settings());
    // Set by hand, and in contradiction to the document.
    for settings_of_app in [by_hand, server.settings()] {
        for (registered, set, is_right) in [
            (ClientSecretBasic, None, true),
            (ClientSecretBasic, Some(ClientSecretBasic), true),
            (ClientSecretBasic, Some(ClientSecretPost), false),
            (ClientSecretPost, None, false),
            (ClientSecretPost, Some(ClientSecretBasic), false),
            (ClientSecretPost, Some(ClientSecretPost), true),
        ] {
            server.takes_the_secret_by(registered);
            let set = ConnectionSettings {
                token_endpoint_auth_method: set,
                ..settings_of_app.clone()
            };
            let app = App::at(&providers, &server, connection("example", set.clone()));
            let signed_in = app.sign_in(&server, 3).await;
            let found = match &signed_in {
                Ok(_) => true,
                Err(ProviderFault::Misconfigured(_)) => false,
                Err(other) => panic!("{other:?}"),
            };
            assert_eq!(found, is_right, "{registered:?} {set:?}");
        }
    }
    for request in server.requests() {
        let in_header = request
            .header("authorization")
            .is_some_and(|login| login.starts_with("Basic "));
        let in_form = request.body.contains("client_secret=");
        assert!(!(in_header && in_form), "the secret is sent twice");
    }
}
