//! Session JWTs: their claims, and which of them are accepted.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};
use vestry_app::identity::codes::{VerifyCode, VerifyCodeError};
use vestry_app::identity::sessions::{IssuedSession, SessionFields};
use vestry_app::{Principal, Refusal};
use vestry_domain::session::SessionSelector;
use vestry_domain::signing_key::SigningKey;
use vestry_domain::{Environment, Secret};

use crate::harness::{Harness, ISSUER_HOST, START, proof};

const ADA: &str = "ada@example.com";

/// A part of a token as JSON. Nothing is verified here: these tests check what verifiers will find.
fn part(jwt: &Secret<String>, number: usize) -> Value {
    let encoded = jwt.expose().split('.').nth(number).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(encoded).unwrap()).unwrap()
}

pub(crate) fn header(jwt: &Secret<String>) -> Value {
    part(jwt, 0)
}

pub(crate) fn claims(jwt: &Secret<String>) -> Value {
    part(jwt, 1)
}

async fn signing_key(harness: &Harness, environment: Environment) -> SigningKey {
    harness
        .service
        .list_signing_keys(Principal::cli(), harness.world(environment))
        .await
        .unwrap()
        .remove(0)
}

/// Exactly these claims (API-6, S-10).
#[tokio::test]
async fn s_10_s_19_the_claims_are_exactly_these() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let IssuedSession { session, jwt, .. } = harness.sign_in(&test, ADA, 60).await;
    let key = signing_key(&harness, Environment::Test).await;
    assert_eq!(
        header(&jwt),
        json!({ "alg": "ES256", "kid": key.id, "typ": "JWT" })
    );
    assert!(key.id.to_string().starts_with("jwk_"));
    let now = START.unix();
    let email_id = harness
        .service
        .get_user(&test, session.user_id)
        .await
        .unwrap()
        .profile
        .emails[0]
        .id;
    let wire = json!({
        "id": session.id,
        "user_id": session.user_id,
        "started_at": now,
        "expires_at": now + 3_600,
        "last_active_at": now,
        "created_at": now,
        "updated_at": now,
        "factors": [{
            "delivery_channel": "email",
            "type": "otp",
            "method": {
                "method_id": email_id,
                "method_type": "email",
                "email_id": email_id,
                "email": ADA,
                "last_verified_at": now,
            },
        }],
        "device_fingerprint": { "user_agent": "", "ip": "" },
        "permissions": [],
        "deleted": false,
        "deleted_at": 0,
    });
    let expected = json!({
        "iss": format!("https://{ISSUER_HOST}/{}", harness.app.id),
        "aud": format!("{}/test", harness.app.id),
        "sub": session.user_id,
        "jti": session.id,
        "iat": now,
        "nbf": now - 60,
        "exp": now + 300,
        "session": wire,
        "https://streambird.io/jwt/session": wire,
    });
    assert_eq!(claims(&jwt), expected);
}

/// S-12: valid for five minutes or as the App sets, and never past the session's own end.
#[tokio::test]
async fn s_12_a_jwt_is_short_lived() {
    for (setting, lifetime) in [(None, 300), (Some("60"), 60), (Some("299"), 299)] {
        let harness = Harness::new().await;
        if let Some(setting) = setting {
            harness.set(&[("jwt_lifetime_seconds", setting)]).await;
        }
        let test = harness.test().await;
        let session = harness.sign_in(&test, ADA, 10).await;
        let start = harness.now().unix();
        assert_eq!(claims(&session.jwt)["exp"], start + lifetime);
        harness.pass(550);
        let verified = harness.by_token(&test, &session.token).await.unwrap();
        let claims = claims(&verified.jwt);
        assert_eq!(
            (&claims["iat"], &claims["exp"]),
            (&json!(start + 550), &json!(start + 600))
        );
    }
}

/// A JWT past its `exp` still identifies its session while that is live.
#[tokio::test]
async fn an_expired_jwt_identifies_a_live_session() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, ADA, 60).await;
    harness.pass(3_000);
    let verified = harness.by_jwt(&test, &session.jwt).await.unwrap();
    assert_eq!(verified.session.id, session.session.id);
    assert_eq!(claims(&verified.jwt)["exp"], harness.now().unix() + 300);
    let (sent, digits) = harness.fresh_code(&test, ADA).await;
    let command = VerifyCode {
        session_fields: SessionFields {
            session_jwt: Some(session.jwt.clone()),
            ..SessionFields::default()
        },
        ..proof(sent.email.id, &digits)
    };
    let issued = harness
        .service
        .verify_code(&test, command)
        .await
        .unwrap()
        .issued
        .unwrap();
    assert_eq!(issued.session.id, session.session.id);
    harness.pass(600);
    assert!(matches!(
        harness.by_jwt(&test, &session.jwt).await,
        Err(Refusal::InvalidSession)
    ));
    assert!(matches!(
        harness.by_jwt(&test, &issued.jwt).await,
        Err(Refusal::InvalidSession)
    ));
}

async fn is_refused(harness: &Harness, jwt: String, what: &str) {
    let test = harness.test().await;
    let outcome = harness.by_jwt(&test, &Secret::new(jwt)).await;
    assert!(
        matches!(outcome, Err(Refusal::InvalidSession)),
        "{what}: {outcome:?}"
    );
}

/// S-8, S-9, S-14, attack 11: an altered or foreign-signed token is handled like no token at all.
#[tokio::test]
async fn attack_11_altered_and_foreign_tokens_are_refused() {
    let harness = Harness::new().await;
    let (test, stranger) = (harness.test().await, harness.stranger().await);
    let jwt = harness.sign_in(&test, ADA, 60).await.jwt;
    let parts: Vec<&str> = jwt.expose().split('.').collect();
    let [head, body, signature] = parts[..] else {
        panic!("three parts");
    };
    let encode = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let with_head = |value: Value| format!("{}.{body}.{signature}", encode(value));
    let kid = header(&jwt)["kid"].clone();
    let live_kid = signing_key(&harness, Environment::Live).await.id;
    let mut longer = claims(&jwt);
    longer["exp"] = json!(START.unix() + 100_000);
    let other_user = harness.sign_in(&test, "bob@example.com", 60).await;
    let other_body = other_user.jwt.expose().split('.').nth(1).unwrap();
    let theirs = harness.sign_in(&stranger, ADA, 60).await.jwt;
    for (what, token) in [
        ("empty", String::new()),
        ("dots", "..".to_owned()),
        ("without signature", format!("{head}.{body}.")),
        ("without its dot", format!("{head}.{body}")),
        ("four parts", format!("{}.x", jwt.expose())),
        ("padded", format!("{}=", jwt.expose())),
        ("leading blank", format!(" {}", jwt.expose())),
        (
            "alg none",
            format!(
                "{}.{body}.",
                encode(json!({ "alg": "none", "kid": kid, "typ": "JWT" }))
            ),
        ),
        (
            "alg HS256",
            with_head(json!({ "alg": "HS256", "kid": kid, "typ": "JWT" })),
        ),
        (
            "another typ",
            with_head(json!({ "alg": "ES256", "kid": kid, "typ": "at+jwt" })),
        ),
        (
            "unknown kid",
            with_head(json!({ "alg": "ES256", "kid": "jwk_none", "typ": "JWT" })),
        ),
        (
            "the kid of live",
            with_head(json!({ "alg": "ES256", "kid": live_kid, "typ": "JWT" })),
        ),
        (
            "signed with a foreign key",
            with_head(json!({ "alg": "ES256", "kid": kid, "typ": "JWT", "jwk": {} })),
        ),
        (
            "another end",
            format!("{head}.{}.{signature}", encode(longer)),
        ),
        ("another user", format!("{head}.{other_body}.{signature}")),
        ("another App's", theirs.expose().clone()),
        ("long", "a".repeat(1_000_000)),
    ] {
        is_refused(&harness, token, what).await;
    }
    for position in (0..jwt.expose().len()).step_by(37) {
        let mut bytes = jwt.expose().clone().into_bytes();
        bytes[position] = if bytes[position] == b'A' { b'B' } else { b'A' };
        is_refused(
            &harness,
            String::from_utf8(bytes).unwrap(),
            &format!("byte {position}"),
        )
        .await;
    }
    harness.by_jwt(&test, &jwt).await.unwrap();
}

/// S-10, attack 12: signed by the right key, with a claim that is missing, has the wrong type or names another environment.
#[tokio::test]
async fn attack_12_every_claim_must_be_present_and_of_its_type() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, ADA, 60).await;
    let bob = harness.sign_in(&test, "bob@example.com", 60).await;
    let key = signing_key(&harness, Environment::Test).await;
    let good = claims(&session.jwt).as_object().unwrap().clone();
    let signed = async |claims: &Map<String, Value>| {
        harness
            .ports
            .tokens
            .sign(&key, &json!(claims).to_string())
            .await
            .unwrap()
    };
    harness
        .by_jwt(&test, &Secret::new(signed(&good).await))
        .await
        .unwrap();

    let odd = [
        json!(null),
        json!(""),
        json!([]),
        json!({}),
        json!(true),
        json!(-1.5),
        json!(1e300),
    ];
    for claim in ["iss", "aud", "sub", "jti", "iat", "nbf", "exp"] {
        let mut without = good.clone();
        without.remove(claim);
        is_refused(
            &harness,
            signed(&without).await,
            &format!("without {claim}"),
        )
        .await;
        let mut values = odd.to_vec();
        values.push(match &good[claim] {
            Value::String(text) => json!([text]),
            number => json!(number.to_string()),
        });
        for value in values {
            let mut altered = good.clone();
            altered.insert(claim.to_owned(), value.clone());
            is_refused(
                &harness,
                signed(&altered).await,
                &format!("{claim} = {value}"),
            )
            .await;
        }
    }
    for (claim, value) in [
        ("iss", json!(format!("evil.example/{}", harness.app.id))),
        ("iss", json!(ISSUER_HOST)),
        ("iss", json!(format!("{ISSUER_HOST}/{}", harness.app.id))),
        (
            "iss",
            json!(format!("http://{ISSUER_HOST}/{}", harness.app.id)),
        ),
        ("aud", json!(format!("{}/live", harness.app.id))),
        ("sub", json!(bob.session.user_id)),
        ("jti", json!(bob.session.id)),
        ("jti", json!(session.session.user_id)),
        ("exp", json!(START.unix() - 1)),
    ] {
        let mut altered = good.clone();
        altered.insert(claim.to_owned(), value.clone());
        is_refused(
            &harness,
            signed(&altered).await,
            &format!("{claim} = {value}"),
        )
        .await;
    }
    // Claim for claim it is bob's, and as valid as his own.
    let mut of_bob = good.clone();
    of_bob.insert("sub".into(), json!(bob.session.user_id));
    of_bob.insert("jti".into(), json!(bob.session.id));
    let verified = harness
        .by_jwt(&test, &Secret::new(signed(&of_bob).await))
        .await
        .unwrap();
    assert_eq!(verified.session.id, bob.session.id);
}

/// The JWT of an ended session proves nothing, however fresh it is.
#[tokio::test]
async fn a_fresh_jwt_of_an_ended_session_is_refused() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, ADA, 60).await;
    harness
        .service
        .delete_all_sessions(&test, session.session.user_id)
        .await
        .unwrap();
    is_refused(&harness, session.jwt.expose().clone(), "ended").await;
    let (sent, digits) = harness.fresh_code(&test, ADA).await;
    let command = VerifyCode {
        session_fields: SessionFields {
            session_jwt: Some(session.jwt.clone()),
            ..SessionFields::default()
        },
        ..proof(sent.email.id, &digits)
    };
    let refused = harness.service.verify_code(&test, command).await;
    assert!(matches!(
        refused,
        Err(VerifyCodeError::Common(Refusal::InvalidSession))
    ));
}

/// M-7: past its own end a JWT identifies its session for as long as the App sets and no longer, although the session lives. This holds for
/// every endpoint that accepts it.
#[tokio::test]
async fn m_7_a_jwt_does_not_renew_itself_for_ever() {
    for (setting, minutes) in [(None, 1_440), (Some("0"), 0), (Some("7"), 7)] {
        let harness = Harness::new().await;
        if let Some(setting) = setting {
            harness.set(&[("jwt_renewal_window", setting)]).await;
        }
        let test = harness.test().await;
        let session = harness.sign_in(&test, ADA, 525_600).await;
        // Up to the last accepted second.
        harness.pass(300 + minutes * 60);
        let test = harness.test().await;
        harness.by_jwt(&test, &session.jwt).await.unwrap();
        harness.pass(1);
        let test = harness.test().await;
        let refused = harness.by_jwt(&test, &session.jwt).await;
        assert!(
            matches!(refused, Err(Refusal::InvalidSession)),
            "{setting:?}"
        );
        let selector = SessionSelector::Jwt(session.jwt.clone());
        let refused = harness.service.delete_session(&test, selector).await;
        assert!(
            matches!(refused, Err(Refusal::InvalidSession)),
            "{setting:?}"
        );
        let (sent, code) = harness.fresh_code(&test, ADA).await;
        let continued = VerifyCode {
            session_fields: SessionFields {
                session_jwt: Some(session.jwt.clone()),
                ..SessionFields::default()
            },
            ..proof(sent.email.id, &code)
        };
        let refused = harness.service.verify_code(&test, continued).await;
        assert!(
            matches!(
                refused,
                Err(VerifyCodeError::Common(Refusal::InvalidSession))
            ),
            "{setting:?}"
        );
        // The session itself is live and yields a valid JWT.
        let verified = harness.by_token(&test, &session.token).await.unwrap();
        harness.by_jwt(&test, &verified.jwt).await.unwrap();
    }
}

/// M-7: the current setting applies.
#[tokio::test]
async fn m_7_a_shorter_window_applies_at_once() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, ADA, 525_600).await;
    harness.pass(3_600);
    harness
        .by_jwt(&*harness.test().await, &session.jwt)
        .await
        .unwrap();
    harness.set(&[("jwt_renewal_window", "5")]).await;
    let refused = harness.by_jwt(&*harness.test().await, &session.jwt).await;
    assert!(matches!(refused, Err(Refusal::InvalidSession)));
    harness.set(&[("jwt_renewal_window", "525600")]).await;
    harness
        .by_jwt(&*harness.test().await, &session.jwt)
        .await
        .unwrap();
}
