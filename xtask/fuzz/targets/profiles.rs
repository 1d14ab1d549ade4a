//! Responses of a provider's API to an access token: the profile and the list of addresses, separated by a zero byte.
//!
//! A response of an issuer must be about the subject of the id token. At a provider without id tokens, the subject is a number. An
//! address is verified only if the provider says so of that address. The first byte selects the provider and the status of the profile,
//! the second that of the list.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};
use vestry_domain::provider::{Connection, ConnectionSettings, ProvenIdentity};
use vestry_fuzz::id_tokens::{ISSUER, SUBJECT, SignsBy, claims, json_of};
use vestry_fuzz::input::{choice, part, pick};
use vestry_fuzz::provider::{Provider, connection, status};

struct Fixture {
    provider: Provider,
    connections: Vec<Connection>,
}

static FIXTURE: LazyLock<Fixture> = LazyLock::new(|| {
    let provider = Provider::start();
    let keys = SignsBy::ALL.map(SignsBy::published);
    provider.answers("keys", 200, json!({ "keys": keys }).to_string());
    let by = SignsBy::EdDsa;
    // Claims with nothing but the subject.
    let mut claims = claims();
    claims.retain(|name, _| !matches!(&**name, "email" | "email_verified" | "name" | "given_name"));
    let token = by.token(&json_of(&by.header()), &json_of(&claims));
    let answer = json!({"access_token": "access", "token_type": "bearer", "id_token": token});
    provider.answers("token", 200, answer.to_string());
    let connections = ["google", "github", "discord"].map(|name| {
        let has_id_tokens = name == "google";
        let settings = ConnectionSettings {
            issuer: has_id_tokens.then(|| ISSUER.to_owned()),
            authorization_endpoint: Some(provider.at("authorize")),
            token_endpoint: Some(provider.at("token")),
            userinfo_endpoint: Some(provider.at("user")),
            jwks_uri: has_id_tokens.then(|| provider.at("keys")),
            ..ConnectionSettings::default()
        };
        connection(name, settings)
    });
    Fixture {
        provider,
        connections: connections.into(),
    }
});

/// The person that the responses identify, if any.
fn expected(name: &str, profile: (u16, &[u8]), list: (u16, &[u8])) -> Option<ProvenIdentity> {
    let (200, profile) = profile else {
        return None;
    };
    let profile: Map<String, Value> = serde_json::from_slice(profile).ok()?;
    let of = |object: &Map<String, Value>, name: &str| Some(object.get(name)?.as_str()?.to_owned());
    let has_id_tokens = name == "google";
    let subject = if has_id_tokens {
        of(&profile, "sub").filter(|subject| subject == SUBJECT)?
    } else {
        match profile.get("id")? {
            Value::String(text) => text.clone(),
            other => other.as_u64()?.to_string(),
        }
    };
    let is_number = subject.chars().all(|c| c.is_ascii_digit());
    if !is_number || !(1..=32).contains(&subject.len()) {
        return None;
    }
    // GitHub's addresses are in the list; if the App may not read it, there are none.
    let address = match (name, list) {
        ("github", (200, list)) => {
            let list: Vec<Map<String, Value>> = serde_json::from_slice(list).ok()?;
            let is_primary =
                |entry: &Map<String, Value>| entry.get("primary") == Some(&json!(true));
            list.into_iter().find(is_primary).unwrap_or_default()
        }
        ("github", (403 | 404, _)) => Map::new(),
        ("github", _) => return None,
        _ => profile.clone(),
    };
    let (claim, full) = match name {
        "google" => ("email_verified", "name"),
        "github" => ("verified", "name"),
        _ => ("verified", "global_name"),
    };
    let email = of(&address, "email");
    Some(ProvenIdentity {
        issuer: if has_id_tokens { ISSUER } else { name }.to_owned(),
        subject,
        email_verified: email.is_some() && address.get(claim) == Some(&json!(true)),
        email,
        name: of(&profile, full),
        given_name: of(&profile, "given_name").filter(|_| has_id_tokens),
        family_name: has_id_tokens.then(|| "Lovelace".to_owned()),
    })
}

fuzz_target!(|data: &[u8]| {
    let Some((options, rest)) = choice(data) else {
        return;
    };
    let Some((of_list, rest)) = choice(rest) else {
        return;
    };
    let connection = pick(&FIXTURE.connections, options);
    let of_profile = status(options / 3);
    let of_list = status(of_list);
    let (profile, list) = part(rest);
    FIXTURE.provider.answers("user", of_profile, profile);
    FIXTURE.provider.answers("user/emails", of_list, list);
    let exchanged = FIXTURE.provider.exchange(connection, None, None);
    let name = connection.name.as_str();
    let expected = expected(name, (of_profile, profile), (of_list, list));
    let proven = exchanged.ok().map(|exchanged| exchanged.identity);
    assert_eq!(proven, expected);
});
