//! Id tokens: made-up text, tokens with altered text, parts or signature, and signed tokens with header or claims from the input.
//!
//! A token is accepted exactly if a key of the set signed it with the algorithm it names and every claim is valid. This file has a second
//! implementation of these rules. The identity is that of the claims. The first byte selects the provider, the key and the use of the rest.

#![no_main]

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};
use vestry_domain::provider::{Connection, ConnectionSettings, ProvenIdentity};
use vestry_fuzz::custody::NOW;
use vestry_fuzz::id_tokens::{
    ISSUER, SignsBy, TENANTS, claims, claims_of_tenant, encoded, json_of,
};
use vestry_fuzz::input::{altered, choice, edited, part, pick};
use vestry_fuzz::provider::{CLIENT_ID, NONCE, Provider, TENANT, connection};

/// A provider as configured by an App.
struct Place {
    connection: Connection,
    /// The configured issuer.
    issuer: &'static str,
    /// The claims of a valid token.
    claims: Map<String, Value>,
}

struct Fixture {
    provider: Provider,
    places: Vec<Place>,
}

static FIXTURE: LazyLock<Fixture> = LazyLock::new(|| {
    let provider = Provider::start();
    let keys = SignsBy::ALL.map(SignsBy::published);
    provider.answers("keys", 200, json!({ "keys": keys }).to_string());
    // One key is for all tenants, one for a single tenant, one does not say.
    let mut keys = keys;
    let of_one = TENANTS.replace("{tenantid}", TENANT);
    keys[0].insert("issuer".to_owned(), json!(TENANTS));
    keys[1].insert("issuer".to_owned(), json!(of_one));
    provider.answers("tenants", 200, json!({ "keys": keys }).to_string());
    let place = |name: &str, trust_email_verified| {
        let is_microsoft = name == "microsoft";
        let (issuer, keys, claims) = if is_microsoft {
            (TENANTS, "tenants", claims_of_tenant())
        } else {
            (ISSUER, "keys", claims())
        };
        let settings = ConnectionSettings {
            issuer: Some(issuer.to_owned()),
            authorization_endpoint: Some(provider.at("authorize")),
            token_endpoint: Some(provider.at("token")),
            jwks_uri: Some(provider.at(keys)),
            trust_email_verified,
            ..ConnectionSettings::default()
        };
        Place {
            connection: connection(name, settings),
            issuer,
            claims,
        }
    };
    let places = vec![
        place("example", false),
        place("trusted", true),
        place("google", false),
        place("microsoft", false),
        place("apple", false),
    ];
    Fixture { provider, places }
});

/// The claims in a part of a token, if it is valid JSON.
fn object(bytes: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(bytes).ok()
}

/// Whether the header is valid for a token signed by this key. A member that is null counts as absent.
fn names(header: &Map<String, Value>, by: SignsBy) -> bool {
    let text = |name: &str| header.get(name).and_then(Value::as_str);
    let has = |name: &str| header.get(name).is_some_and(|value| !value.is_null());
    text("alg") == Some(by.name())
        && (!has("kid") || text("kid") == Some(by.name()))
        && (!has("typ")
            || text("typ").is_some_and(|typ| {
                ["jwt", "application/jwt"].contains(&&*typ.to_ascii_lowercase())
            }))
        && !has("crit")
}

/// OpenID Connect Core 3.1.3.7, with one minute of clock skew and ten minutes for a token to arrive.
fn holds(place: &Place, by: SignsBy, claims: &Map<String, Value>, named: Option<&str>) -> bool {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    let number = |name: &str| {
        let number = claims.get(name)?.as_number()?;
        let whole = number.as_i64().map(i128::from);
        // Seconds can have a fraction or an exponent, too. The range is far beyond 64 bits on both sides.
        whole.or_else(|| {
            format!("{:.0}", number.as_f64()?.clamp(-1e30, 1e30).floor())
                .parse()
                .ok()
        })
    };
    let now = i128::from(NOW.unix());
    let issuer = match text("tid") {
        _ if place.issuer == ISSUER => Some(ISSUER.to_owned()),
        Some(tenant) => {
            let is_id =
                tenant.len() == 36 && tenant.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
            let is_of_key = by != SignsBy::EdDsa || tenant == TENANT;
            (is_id && is_of_key).then(|| TENANTS.replace("{tenantid}", tenant))
        }
        None => None,
    };
    let issuer = issuer.as_deref();
    let is_from = issuer.is_some() && text("iss") == issuer && (named.is_none() || named == issuer);
    let audiences = match claims.get("aud") {
        Some(Value::Array(all)) => all.clone(),
        Some(one) => vec![one.clone()],
        None => Vec::new(),
    };
    let is_for = audiences.iter().all(Value::is_string)
        && audiences.iter().any(|audience| audience == CLIENT_ID)
        && match claims.get("azp") {
            Some(party) => party == CLIENT_ID,
            None => audiences.len() == 1,
        };
    let is_now = number("exp").is_some_and(|exp| now < exp + 60)
        && number("iat").is_some_and(|iat| (now - 660..=now + 60).contains(&iat))
        && (!claims.contains_key("nbf") || number("nbf").is_some_and(|nbf| nbf <= now + 60));
    let subject = text("sub").unwrap_or_default();
    let is_somebody =
        (1..=255).contains(&subject.len()) && !subject.contains(|c: char| c.is_control());
    is_from && is_for && is_now && is_somebody && text("nonce") == Some(NONCE)
}

/// The identity in the claims.
fn proven(place: &Place, claims: &Map<String, Value>) -> ProvenIdentity {
    let text = |name: &str| Some(claims.get(name)?.as_str()?.to_owned());
    let claim = |name: &str| claims.get(name).cloned().unwrap_or_default();
    let is_verified = claim("email_verified") == true;
    let is_proof = match place.connection.name.as_str() {
        "trusted" | "google" => is_verified,
        "apple" => is_verified || claim("email_verified") == "true",
        "microsoft" => {
            let of_domain = claim("xms_edov");
            let yes = [json!(true), json!(1), json!("1"), json!("true")];
            yes.contains(&of_domain) || claim("tid") == TENANT
        }
        _ => false,
    };
    let email = text("email");
    ProvenIdentity {
        issuer: text("iss").expect("an issuer"),
        subject: text("sub").expect("a subject"),
        email_verified: is_proof && email.is_some(),
        email,
        name: text("name"),
        given_name: text("given_name"),
        family_name: text("family_name"),
    }
}

/// Exchanges a code for the token.
fn exchanged(place: &Place, token: &str, named: Option<&str>) -> Option<ProvenIdentity> {
    let answer = json!({"access_token": "access", "token_type": "Bearer", "id_token": token});
    FIXTURE.provider.answers("token", 200, answer.to_string());
    let exchanged = FIXTURE.provider.exchange(&place.connection, named, None);
    exchanged.ok().map(|exchanged| exchanged.identity)
}

fuzz_target!(|data: &[u8]| {
    let Some((options, rest)) = choice(data) else {
        return;
    };
    let place = pick(&FIXTURE.places, options);
    let by = *pick(&SignsBy::ALL, options / 5);
    let header = json_of(&by.header());
    let right = by.token(&header, &json_of(&place.claims));
    let (message, signature) = right.rsplit_once('.').expect("a signature");
    // Tokens signed here are valid if these parts are.
    let mut parts = None;
    let token = match options / 15 % 8 {
        0 => String::from_utf8_lossy(rest).into_owned(),
        1 => String::from_utf8_lossy(&altered(right.as_bytes(), rest)).into_owned(),
        // A header and claims from the input, with a valid token's signature.
        2 => {
            let (head, body) = part(rest);
            format!("{}.{}.{signature}", encoded(head), encoded(body))
        }
        // Only the signature from the input, as bytes.
        3 => {
            let signature = URL_SAFE_NO_PAD.decode(signature).expect("base64url");
            format!("{message}.{}", encoded(&altered(&signature, rest)))
        }
        // Signed claims or header, edited by the input.
        4 => {
            let claims = edited(&place.claims, rest);
            let token = by.token(&header, &json_of(&claims));
            parts = Some((Some(by.header()), Some(claims)));
            token
        }
        5 => {
            let header = edited(&by.header(), rest);
            let token = by.token(&json_of(&header), &json_of(&place.claims));
            parts = Some((Some(header), Some(place.claims.clone())));
            token
        }
        // Signed bytes of the input.
        6 => {
            parts = Some((Some(by.header()), object(rest)));
            by.token(&header, rest)
        }
        _ => {
            parts = Some((object(rest), Some(place.claims.clone())));
            by.token(rest, &json_of(&place.claims))
        }
    };
    let iss = place.claims["iss"].as_str();
    let named = iss.filter(|_| options % 2 == 0);
    let accepted = exchanged(place, &token, named);
    let expected = match parts {
        Some((Some(header), Some(claims))) => {
            let is_right = names(&header, by) && holds(place, by, &claims, named);
            is_right.then(|| proven(place, &claims))
        }
        Some(_) => None,
        None => {
            let is_one = SignsBy::ALL
                .iter()
                .any(|by| token == by.token(&json_of(&by.header()), &json_of(&place.claims)));
            is_one.then(|| proven(place, &place.claims))
        }
    };
    assert_eq!(accepted, expected, "{options}: {token}");
});
