//! Responses of a provider's token endpoint, and the form with the name that a browser posts at Apple. The input is the form and the
//! response, separated by a zero byte; `ID_TOKEN` in the response stands for a valid id token.
//!
//! A sign-in requires status 200, a bearer access token and, at providers with id tokens, a valid one. The tokens are returned unchanged,
//! and the form provides only names. The first byte selects the provider and the status.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};
use vestry_domain::provider::{Connection, ConnectionSettings};
use vestry_fuzz::id_tokens::{ISSUER, SUBJECT, SignsBy, claims, json_of};
use vestry_fuzz::input::{choice, part, pick};
use vestry_fuzz::provider::{Provider, connection, status};

/// One that holds at every provider.
const RIGHT: &str = r#"{"access_token":"a","token_type":"Bearer","id_token":"ID_TOKEN"}"#;

struct Fixture {
    provider: Provider,
    connections: Vec<Connection>,
    id_token: String,
}

static FIXTURE: LazyLock<Fixture> = LazyLock::new(|| {
    let provider = Provider::start();
    let keys = SignsBy::ALL.map(SignsBy::published);
    provider.answers("keys", 200, json!({ "keys": keys }).to_string());
    provider.answers("user", 200, json!({"id": 1001}).to_string());
    provider.answers("user/emails", 200, "[]");
    let connections = ["apple", "example", "github", "discord"].map(|name| {
        let has_id_tokens = matches!(name, "apple" | "example");
        let settings = ConnectionSettings {
            issuer: has_id_tokens.then(|| ISSUER.to_owned()),
            authorization_endpoint: Some(provider.at("authorize")),
            token_endpoint: Some(provider.at("token")),
            userinfo_endpoint: (!has_id_tokens).then(|| provider.at("user")),
            jwks_uri: has_id_tokens.then(|| provider.at("keys")),
            ..ConnectionSettings::default()
        };
        connection(name, settings)
    });
    let by = SignsBy::EdDsa;
    let mut claims = claims();
    claims.remove("given_name");
    claims.remove("family_name");
    Fixture {
        provider,
        connections: connections.into(),
        id_token: by.token(&json_of(&by.header()), &json_of(&claims)),
    }
});

fuzz_target!(|data: &[u8]| {
    let Some((options, rest)) = choice(data) else {
        return;
    };
    let connection = pick(&FIXTURE.connections, options);
    let has_id_tokens = connection.settings.issuer.is_some();
    let (form, answer) = part(rest);
    let form = String::from_utf8_lossy(form);
    let status = status(options / 4);
    let must_hold = status == 200 && answer == RIGHT.as_bytes();
    let answer = String::from_utf8_lossy(answer).replace("ID_TOKEN", &FIXTURE.id_token);
    FIXTURE.provider.answers("token", status, answer.as_bytes());
    let user = Some(&*form).filter(|form| !form.is_empty());
    let exchanged = match FIXTURE.provider.exchange(connection, None, user) {
        Ok(exchanged) => exchanged,
        Err(fault) => {
            assert!(!must_hold, "{fault}");
            return;
        }
    };
    assert_eq!(status, 200);
    let answer: Map<String, Value> = serde_json::from_str(&answer).expect("an object");
    let text = |name: &str| answer.get(name).and_then(Value::as_str);
    let tokens = &exchanged.tokens;
    assert_eq!(text("access_token"), Some(&**tokens.access_token.expose()));
    let refresh = tokens.refresh_token.as_ref();
    assert_eq!(
        text("refresh_token"),
        refresh.map(|token| &**token.expose())
    );
    let kind = text("token_type").expect("a type");
    assert!(kind.eq_ignore_ascii_case("bearer"), "{kind}");
    let identity = &exchanged.identity;
    assert_eq!(identity.subject, SUBJECT);
    if !has_id_tokens {
        assert_eq!(identity.issuer, connection.name.as_str());
        assert_eq!((&identity.email, &identity.given_name), (&None, &None));
        return;
    }
    assert_eq!(text("id_token"), Some(&*FIXTURE.id_token));
    assert_eq!(identity.issuer, ISSUER);
    assert_eq!(identity.email.as_deref(), Some("ada@example.com"));
    assert_eq!(identity.name.as_deref(), Some("Ada Lovelace"));
    let form = serde_json::from_str::<Value>(&form).unwrap_or_default();
    let name = |part: &str| form["name"][part].as_str().filter(|name| !name.is_empty());
    assert_eq!(identity.given_name.as_deref(), name("firstName"));
    assert_eq!(identity.family_name.as_deref(), name("lastName"));
});
