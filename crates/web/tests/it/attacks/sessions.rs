//! Attacks 11 to 14: forged tokens, planted tokens, and sessions that must stay ended.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use vestry_app::Principal;
use vestry_contract::fakes::SeededEntropy;
use vestry_custody::Custody;
use vestry_domain::{Environment, World};
use vestry_ports::entropy::Entropy;
use vestry_ports::store::Store;
use vestry_ports::tokens::TokenSigner;
use vestry_ports::vault::Vaults;
use vestry_store_sql::SqlStore;
use vestry_token_jwt::JwtSigner;

use crate::flows::{sent, signed_in, verified};
use crate::harness::{Api, on_both};

on_both! {
    attack_11_forged_tokens_are_refused
    attack_12_every_claim_has_its_type
    attack_13_no_presented_session_is_adopted
    attack_14_an_ended_session_stays_ended
}

const VERIFY: &str = "/v1/auth/sessions/verify";

/// base64url without padding (RFC 4648, section 5), for headers made here.
fn base64url(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut group = [0_u8; 3];
        group[..chunk.len()].copy_from_slice(chunk);
        let number = u32::from_be_bytes([0, group[0], group[1], group[2]]);
        for place in 0..=chunk.len() {
            let index = (number >> (18 - 6 * place)) & 63;
            text.push(char::from(ALPHABET[usize::try_from(index).unwrap()]));
        }
    }
    text
}

/// The adapter has its own test matrix for the signature checks; this test covers what a client can send.
async fn attack_11_forged_tokens_are_refused(api: &Api) {
    let jwt = signed_in(api, "ada@example.com")
        .await
        .text_at("/session_jwt");
    let set = api.test().get("/v1/auth/jwks/default").await.ok();
    let key = set.body["keys"][0].clone();
    let kid = key["kid"].as_str().unwrap();
    let parts: Vec<&str> = jwt.split('.').collect();
    let [head, claims, signature] = parts[..] else {
        panic!("three parts");
    };
    let with_head = |header: Value| {
        format!(
            "{}.{claims}.{signature}",
            base64url(header.to_string().as_bytes())
        )
    };
    let mut forged = Vec::new();
    for alg in [
        "none", "None", "NONE", "nOnE", "", "HS256", "HS384", "HS512", "RS256", "PS256", "ES384",
        "ES512", "EdDSA", "ES256K",
    ] {
        forged.push(with_head(json!({"alg": alg, "kid": kid, "typ": "JWT"})));
        let header = base64url(
            json!({"alg": alg, "kid": kid, "typ": "JWT"})
                .to_string()
                .as_bytes(),
        );
        forged.push(format!("{header}.{claims}."));
    }
    for (name, value) in [
        ("jwk", key.clone()),
        ("jku", json!("https://evil.example/keys")),
        ("x5u", json!("https://evil.example/cert")),
        ("x5c", json!(["AAAA"])),
        ("crit", json!(["exp"])),
        ("b64", json!(false)),
        ("zip", json!("DEF")),
    ] {
        let mut header = json!({"alg": "ES256", "kid": kid, "typ": "JWT"});
        header[name] = value;
        forged.push(with_head(header));
    }
    for kid in [
        "",
        "../../etc/passwd",
        "' OR 1=1 --",
        "jwk_000000000000000000000000000",
        "\u{0}",
    ] {
        forged.push(with_head(json!({"alg": "ES256", "kid": kid, "typ": "JWT"})));
    }
    for typ in ["at+jwt", "jwt", "", "JWE"] {
        forged.push(with_head(json!({"alg": "ES256", "kid": kid, "typ": typ})));
    }
    forged.extend([
        format!("{head}.{claims}"),
        format!("{head}.{claims}.{}", &signature[..signature.len() - 2]),
        format!("{head}.{claims}.{signature}A"),
        format!("{head}.{claims}.{signature}=="),
        format!("{head}..{signature}"),
        format!(".{claims}.{signature}"),
        format!("{head}.{claims}.{signature}.{signature}"),
        format!("{head}.{}.{signature}", base64url(b"{}")),
        format!(" {jwt}"),
        "..".to_owned(),
        String::new(),
        "x".repeat(10_000),
    ]);
    for token in &forged {
        let refused = api.test().post(VERIFY, json!({"session_jwt": token})).await;
        assert!(
            refused.status == 401 || token.is_empty() && refused.status == 400,
            "{token}: {}",
            refused.text
        );
    }
    api.test()
        .post(VERIFY, json!({"session_jwt": jwt}))
        .await
        .ok();
}

/// Signed with the App's own key by an attacker who has it: a claim of another type, out of range, or missing is refused.
async fn attack_12_every_claim_has_its_type(api: &Api) {
    let session = signed_in(api, "ada@example.com").await;
    let jwt = session.text_at("/session_jwt");
    let claims = jwt.split('.').nth(1).unwrap();
    let claims = data_encoding::BASE64URL_NOPAD.decode(claims.as_bytes());
    let good: Map<String, Value> = serde_json::from_slice(&claims.unwrap()).unwrap();
    let store: Arc<dyn Store> = Arc::new(SqlStore::connect(&api.place.settings).await.unwrap());
    let entropy: Arc<dyn Entropy> = Arc::new(SeededEntropy::fresh());
    let vaults = Vaults {
        wallets: api.vault.clone(),
        secrets: api.sign_in_key.clone(),
    };
    let custody = Custody::new(vaults, store, entropy).unwrap();
    let signer = JwtSigner::new(Arc::new(custody));
    let world = World::new(api.app.id, Environment::Test);
    let key = api
        .service
        .list_signing_keys(Principal::cli(), world)
        .await
        .unwrap()
        .remove(0);
    let verify = async |claims: &Map<String, Value>| {
        let signed = signer.sign(&key, &json!(claims).to_string()).await.unwrap();
        let request = json!({"session_jwt": signed});
        api.test().post(VERIFY, request).await
    };
    verify(&good).await.ok();
    let mut forged = Vec::new();
    for claim in ["iss", "aud", "sub", "jti", "iat", "nbf", "exp"] {
        let mut without = good.clone();
        without.remove(claim);
        forged.push(without);
        let own = match &good[claim] {
            Value::String(text) => json!([text]),
            number => json!(number.to_string()),
        };
        for value in [
            own,
            json!(null),
            json!(true),
            json!(""),
            json!([]),
            json!({}),
            json!(-1),
            json!(1.5),
            json!(1e300),
            json!("9999999999"),
        ] {
            let mut altered = good.clone();
            altered.insert(claim.to_owned(), value);
            forged.push(altered);
        }
    }
    for claims in &forged {
        let refused = verify(claims).await;
        assert_eq!(refused.status, 401, "{claims:?}: {}", refused.text);
    }
    assert!(forged.len() > 70, "{}", forged.len());
    verify(&good).await.ok();
}

/// A presented session that is not a live one of the proving user is refused, costs no code, and is never taken over (S-2).
async fn attack_13_no_presented_session_is_adopted(api: &Api) {
    let attacker = signed_in(api, "attacker@example.com").await;
    let ended = signed_in(api, "victim@example.com").await;
    let end = json!({"session_token": ended.text_at("/session_token")});
    api.test()
        .delete("/v1/auth/sessions/delete", Some(end))
        .await
        .ok();
    let other_app = api.other_app().await;
    let foreign = sent(api, &other_app, "victim@example.com").await;
    let foreign = verified(&other_app, &foreign, json!({"session_expires_in": 60}))
        .await
        .ok();
    let code = sent(api, &api.test(), "victim@example.com").await;
    for planted in [&attacker, &ended, &foreign] {
        for field in ["session_token", "session_jwt"] {
            let session =
                json!({field: planted.text_at(&format!("/{field}")), "session_expires_in": 60});
            verified(&api.test(), &code, session)
                .await
                .refuses(401, "invalid_session", None);
        }
    }
    let invented = json!({"session_token": "x".repeat(64), "session_expires_in": 60});
    verified(&api.test(), &code, invented)
        .await
        .refuses(401, "invalid_session", None);
    let own = verified(&api.test(), &code, json!({"session_expires_in": 60}))
        .await
        .ok();
    let tokens: Vec<_> = [&attacker, &ended, &foreign]
        .map(|response| response.text_at("/session_token"))
        .to_vec();
    assert!(!tokens.contains(&own.text_at("/session_token")));
    let theirs = json!({"session_token": attacker.text_at("/session_token")});
    let still = api.test().post(VERIFY, theirs).await.ok();
    assert_eq!(
        still.text_at("/session/user_id"),
        attacker.text_at("/user_id")
    );
}

/// Neither its tokens nor an extension revive a session; `deleted_at` is set once (S-4). The server's own tests cover a kill and a restart.
async fn attack_14_an_ended_session_stays_ended(api: &Api) {
    let session = signed_in(api, "ada@example.com").await;
    let (token, jwt) = (
        session.text_at("/session_token"),
        session.text_at("/session_jwt"),
    );
    let verified = api
        .test()
        .post(VERIFY, json!({"session_jwt": jwt}))
        .await
        .ok();
    let fresh = verified.text_at("/session_jwt");
    api.test()
        .delete(
            "/v1/auth/sessions/delete",
            Some(json!({"session_token": token})),
        )
        .await
        .ok();
    for session_fields in [
        json!({"session_token": token}),
        json!({"session_jwt": jwt}),
        json!({"session_jwt": fresh, "session_expires_in": 525_600}),
        json!({"session_token": token, "session_expires_in": 5}),
    ] {
        api.test()
            .post(VERIFY, session_fields)
            .await
            .refuses(401, "invalid_session", None);
    }
    api.pass(100);
    api.test()
        .delete(
            "/v1/auth/sessions/delete",
            Some(json!({"session_token": token})),
        )
        .await
        .refuses(401, "invalid_session", None);
}
