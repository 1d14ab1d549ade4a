use aws_lc_rs::encoding::AsBigEndian;
use aws_lc_rs::encoding::EcPublicKeyUncompressedBin;
use aws_lc_rs::signature::KeyPair;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;

use super::*;

const NOW: Timestamp = Timestamp::from_unix(1_800_000_000);

#[derive(Debug, Deserialize, PartialEq)]
struct Claims {
    iss: String,
    iat: i64,
    exp: i64,
    aud: String,
    sub: String,
}

fn apple_key() -> AppleKey {
    AppleKey {
        team_id: "TEAM123456".to_owned(),
        key_id: "KEY1234567".to_owned(),
    }
}

fn pem(pkcs8: &[u8]) -> Secret<String> {
    let body = STANDARD.encode(pkcs8);
    let (first, second) = body.split_at(64);
    Secret::new(format!(
        "-----BEGIN PRIVATE KEY-----\n{first}\r\n{second}\n-----END PRIVATE KEY-----\n"
    ))
}

/// Checked with a different library than the one that signs.
#[test]
fn client_secrets_match_apples_documentation() {
    let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
    let pem = pem(pair.to_pkcs8v1().unwrap().as_ref());
    let secret = client_secret(
        &apple_key(),
        &pem,
        "com.example.web",
        "https://appleid.apple.com",
        NOW,
    )
    .unwrap();
    let header = jsonwebtoken::decode_header(secret.expose()).unwrap();
    assert_eq!(
        (header.alg, header.kid.as_deref()),
        (Algorithm::ES256, Some("KEY1234567"))
    );
    let public: EcPublicKeyUncompressedBin<'_> = pair.public_key().as_be_bytes().unwrap();
    let mut rules = Validation::new(Algorithm::ES256);
    rules.set_audience(&["https://appleid.apple.com"]);
    rules.set_issuer(&["TEAM123456"]);
    rules.validate_exp = false;
    let token = jsonwebtoken::decode::<Claims>(
        secret.expose(),
        &DecodingKey::from_ec_der(public.as_ref()),
        &rules,
    )
    .unwrap();
    let expected = Claims {
        iss: "TEAM123456".to_owned(),
        iat: 1_800_000_000,
        exp: 1_800_000_300,
        aud: "https://appleid.apple.com".to_owned(),
        sub: "com.example.web".to_owned(),
    };
    assert_eq!(token.claims, expected);
}

#[test]
fn an_invalid_key_is_reported_without_being_repeated() {
    let rsa_or_rubbish = pem(&[0x30; 100]);
    for text in [
        "",
        "hunter2-hunter2",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n!!!!\n-----END PRIVATE KEY-----",
        rsa_or_rubbish.expose(),
    ] {
        let key = Secret::new(text.to_owned());
        let refused = client_secret(&apple_key(), &key, "c", "i", NOW).unwrap_err();
        assert!(
            refused.contains(".p8") && !refused.contains("hunter2"),
            "{refused}"
        );
    }
}
