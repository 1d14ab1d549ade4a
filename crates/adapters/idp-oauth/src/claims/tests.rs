use serde_json::json;

use super::*;

const NOW: i64 = 1_800_000_000;

fn good() -> Value {
    json!({
        "iss": "https://id.example.com", "sub": "248289761001", "aud": "client", "nonce": "n-0S6_WzA2Mj",
        "exp": NOW + 300, "iat": NOW,
    })
}

fn expected() -> Expected<'static> {
    Expected {
        issuer: Issuer("https://id.example.com"),
        client_id: "client",
        nonce: "n-0S6_WzA2Mj",
        issuer_of_callback: None,
        issuer_of_key: None,
        now: Timestamp::from_unix(NOW),
    }
}

fn claims(value: Value) -> Claims {
    Claims(value.as_object().unwrap().clone())
}

fn with(name: &str, value: Value) -> Result<(), &'static str> {
    let mut changed = good();
    changed[name] = value;
    claims(changed).check(&expected())
}

fn without(name: &str) -> Result<(), &'static str> {
    let mut changed = good();
    changed.as_object_mut().unwrap().remove(name);
    claims(changed).check(&expected())
}

#[test]
fn o_5_every_required_claim_is_required_and_typed() {
    claims(good()).check(&expected()).unwrap();
    for name in ["iss", "sub", "aud", "nonce", "exp", "iat"] {
        assert_eq!(without(name), Err(name));
        for wrong in [
            Value::Null,
            json!(true),
            json!(1.5),
            json!(-1e300),
            json!({}),
            json!([[]]),
            json!([1]),
            json!(""),
        ] {
            assert_eq!(with(name, wrong.clone()), Err(name), "{name}: {wrong}");
        }
    }
    // A text instead of a number is an error, not an absent claim (attack 12).
    for (name, text) in [("exp", "9999999999"), ("iat", "1800000000"), ("nbf", "1")] {
        assert_eq!(with(name, json!(text)), Err(name));
    }
    assert_eq!(with("nbf", Value::Null), Err("nbf"));
}

#[test]
fn o_5_times_have_a_minute_of_tolerance() {
    for (name, moment, holds) in [
        ("exp", NOW - 59, true),
        ("exp", NOW - 60, false),
        ("exp", i64::MIN, false),
        ("exp", i64::MAX, true),
        ("iat", NOW + 60, true),
        ("iat", NOW + 61, false),
        ("iat", NOW - 660, true),
        ("iat", NOW - 661, false),
        ("iat", i64::MIN, false),
        ("nbf", NOW + 60, true),
        ("nbf", NOW + 61, false),
    ] {
        let outcome = with(name, json!(moment));
        assert_eq!(outcome.is_ok(), holds, "{name} {moment}: {outcome:?}");
    }
}

/// RFC 7519, section 2: a NumericDate can have a fraction, and JSON allows exponents.
#[test]
fn o_15_times_are_numbers_in_any_notation() {
    for (name, moment, holds) in [
        ("exp", "1800000300.9", true),
        ("exp", "1.8000003e9", true),
        ("exp", "1e300", true),
        ("exp", "1799999940.9", false),
        ("exp", "-1e300", false),
        ("exp", "18446744073709551615", true),
        ("iat", "1800000000.0", true),
        ("iat", "1.8e9", true),
        ("iat", "1800000060.9", true),
        ("iat", "1800000061.1", false),
        ("iat", "1e300", false),
        ("nbf", "1799999999.5", true),
        ("nbf", "1.9e9", false),
    ] {
        let outcome = with(name, serde_json::from_str(moment).unwrap());
        assert_eq!(outcome.is_ok(), holds, "{name} {moment}: {outcome:?}");
    }
}

#[test]
fn o_5_a_token_for_others_names_this_client_as_its_party() {
    let check = |aud: Value, azp: Option<Value>| {
        let mut changed = good();
        changed["aud"] = aud;
        if let Some(azp) = azp {
            changed["azp"] = azp;
        }
        claims(changed).check(&expected())
    };
    assert_eq!(check(json!("client"), None), Ok(()));
    assert_eq!(check(json!(["client"]), None), Ok(()));
    assert_eq!(check(json!("client"), Some(json!("client"))), Ok(()));
    assert_eq!(
        check(json!(["other", "client"]), Some(json!("client"))),
        Ok(())
    );
    assert_eq!(check(json!(["other", "client"]), None), Err("azp"));
    assert_eq!(
        check(json!(["other", "client"]), Some(json!("other"))),
        Err("azp")
    );
    assert_eq!(check(json!("client"), Some(json!("other"))), Err("azp"));
    assert_eq!(check(json!("client"), Some(Value::Null)), Err("azp"));
    assert_eq!(check(json!("other"), Some(json!("client"))), Err("aud"));
    assert_eq!(check(json!(["other"]), Some(json!("client"))), Err("aud"));
    assert_eq!(
        check(json!(["client", 1]), Some(json!("client"))),
        Err("aud")
    );
    assert_eq!(check(json!("client "), None), Err("aud"));
    assert_eq!(check(json!("CLIENT"), None), Err("aud"));
}

#[test]
fn o_6_the_callback_and_the_key_are_of_the_same_issuer() {
    let check = |callback: Option<&'static str>, key: Option<&'static str>| {
        claims(good()).check(&Expected {
            issuer_of_callback: callback,
            issuer_of_key: key,
            ..expected()
        })
    };
    let (own, other) = (
        Some("https://id.example.com"),
        Some("https://evil.example.com"),
    );
    assert_eq!(check(own, own), Ok(()));
    assert_eq!(check(other, None), Err("iss of the callback"));
    assert_eq!(check(None, other), Err("issuer of the key"));
}

#[test]
fn o_8_a_subject_is_text_of_bounded_length() {
    assert_eq!(with("sub", json!("x".repeat(255))), Ok(()));
    assert_eq!(with("sub", json!("x".repeat(256))), Err("sub"));
    assert_eq!(with("sub", json!("a\u{0}b")), Err("sub"));
    assert_eq!(with("sub", json!(248_289_761_001_i64)), Err("sub"));
}
