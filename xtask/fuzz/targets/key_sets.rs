//! Key sets of an issuer: made-up text, and the issuer's own set with another key or with edited keys.
//!
//! A token of the issuer is accepted only with a set that has the signing key, published for this use, and always with a set that has
//! that key unchanged. The first byte selects the key, whether the token names it, and the use of the rest.

#![no_main]

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};
use vestry_domain::provider::ConnectionSettings;
use vestry_fuzz::id_tokens::{ISSUER, SUBJECT, SignsBy, claims, json_of};
use vestry_fuzz::input::{choice, edited, pick};
use vestry_fuzz::provider::{Provider, connection};

static PROVIDER: LazyLock<Provider> = LazyLock::new(Provider::start);

/// The bytes of the numbers in a key.
fn material(key: &Map<String, Value>, by: SignsBy) -> Option<Vec<u8>> {
    let text = |name: &str| key.get(name).and_then(Value::as_str);
    let number = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?).ok();
    let numbers = match by {
        SignsBy::Es256 if text("kty") == Some("EC") && text("crv") == Some("P-256") => {
            [number("x")?, number("y")?].concat()
        }
        SignsBy::EdDsa if text("kty") == Some("OKP") && text("crv") == Some("Ed25519") => {
            number("x")?
        }
        SignsBy::Rs256 if text("kty") == Some("RSA") => {
            let plain = |number: Vec<u8>| number.into_iter().skip_while(|byte| *byte == 0);
            plain(number("n")?).chain(plain(number("e")?)).collect()
        }
        SignsBy::Es256 | SignsBy::EdDsa | SignsBy::Rs256 => return None,
    };
    Some(numbers)
}

/// Whether a key is the signing key, published for signing with this algorithm by this issuer.
fn is_signer(key: &Value, by: SignsBy, kid: Option<&str>) -> bool {
    let Some(key) = key.as_object() else {
        return false;
    };
    let says = |name: &str, right: &str| key.get(name).is_none_or(|value| value == right);
    let verifies = match key.get("key_ops") {
        Some(ops) => ops
            .as_array()
            .is_some_and(|ops| ops.contains(&json!("verify"))),
        None => true,
    };
    // A key issuer that is not a string names no one.
    let is_of_issuer = key
        .get("issuer")
        .is_none_or(|issuer| issuer == ISSUER || !issuer.is_string());
    material(key, by) == material(&by.published(), by)
        && says("use", "sig")
        && says("alg", by.name())
        && kid.is_none_or(|kid| key.get("kid").is_some_and(|value| value == kid))
        && verifies
        && is_of_issuer
}

fuzz_target!(|data: &[u8]| {
    let Some((options, rest)) = choice(data) else {
        return;
    };
    let by = *pick(&SignsBy::ALL, options);
    let mut header = by.header();
    if options / 3 % 2 == 1 {
        header.remove("kid");
    }
    let kid = header.get("kid").and_then(Value::as_str);
    let own = by.published();
    let set = |keys: &[&Map<String, Value>]| json!({ "keys": keys }).to_string().into_bytes();
    let (set, must_hold) = match options / 6 % 4 {
        0 => (rest.to_vec(), false),
        // The key with other members.
        1 => (set(&[&edited(&own, rest)]), rest.is_empty()),
        // The edited key before the original: of two matching keys, the first counts.
        2 => {
            let other = edited(&own, rest);
            let is_other = material(&other, by) != material(&own, by);
            (set(&[&other, &own]), is_other)
        }
        // A key from the input along with all others.
        _ => {
            let Ok(key) = serde_json::from_slice::<Map<String, Value>>(rest) else {
                return;
            };
            let is_other = material(&key, by) != material(&own, by);
            let [a, b, c] = SignsBy::ALL.map(SignsBy::published);
            (set(&[&key, &a, &b, &c]), is_other)
        }
    };
    let keys = serde_json::from_slice::<Value>(&set).unwrap_or_default();
    let keys = keys.get("keys").and_then(Value::as_array);
    let has_signer = keys.is_some_and(|keys| keys.iter().any(|key| is_signer(key, by, kid)));
    let token = by.token(&json_of(&header), &json_of(&claims()));
    let answer = json!({"access_token": "access", "token_type": "Bearer", "id_token": token});
    PROVIDER.answers("token", 200, answer.to_string());
    PROVIDER.answers("keys", 200, set);
    let settings = ConnectionSettings {
        issuer: Some(ISSUER.to_owned()),
        authorization_endpoint: Some(PROVIDER.at("authorize")),
        token_endpoint: Some(PROVIDER.at("token")),
        jwks_uri: Some(PROVIDER.fresh("keys")),
        ..ConnectionSettings::default()
    };
    let exchanged = PROVIDER.exchange(&connection("example", settings), None, None);
    match exchanged {
        Ok(exchanged) => {
            assert!(has_signer, "a key that did not sign");
            assert_eq!(exchanged.identity.subject, SUBJECT);
        }
        Err(fault) => assert!(!must_hold, "{fault}"),
    }
});
