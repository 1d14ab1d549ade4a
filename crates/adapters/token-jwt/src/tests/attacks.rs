//! attack-11: algorithm and key confusion. Everything here is refused, and nothing panics.

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::hmac;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};
use proptest::prelude::*;

use super::*;

/// Builds a token from a header text and a signing function.
fn forge(header: &str, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let payload = serde_json::to_vec(&claims()).unwrap();
    let message = format!("{}.{}", encode(header), encode(payload));
    let signature = sign(message.as_bytes());
    format!("{message}.{}", encode(signature))
}

fn header(alg: &str, key: &SigningKey) -> String {
    json!({"alg": alg, "kid": key.id.to_string(), "typ": "JWT"}).to_string()
}

/// Returns the private half of a key, for an attacker who has it and must still fail with a wrong format.
fn half(fixture: &Fixture, key: &SigningKey) -> PrivateHalf {
    PrivateHalf::open(key.algorithm, &fixture.sealer.plaintext(&key.private)).unwrap()
}

/// Returns the public half in every form that a confused verifier might use as an HMAC secret.
fn as_secrets(fixture: &Fixture, key: &SigningKey) -> Vec<Vec<u8>> {
    let der: PublicKeyX509Der<'_> = match half(fixture, key) {
        PrivateHalf::Es256(pair) => {
            use aws_lc_rs::signature::KeyPair;
            pair.public_key().as_der().unwrap()
        }
        PrivateHalf::Rs256(pair) => {
            use aws_lc_rs::signature::KeyPair;
            pair.public_key().as_der().unwrap()
        }
        PrivateHalf::EdDsa(pair) => {
            use aws_lc_rs::signature::KeyPair;
            pair.public_key().as_der().unwrap()
        }
    };
    let der = der.as_ref().to_vec();
    let base64 = STANDARD.encode(&der);
    let lines: Vec<&str> = base64
        .as_bytes()
        .chunks(64)
        .map(|line| std::str::from_utf8(line).unwrap())
        .collect();
    let pem = format!(
        "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----",
        lines.join("\n")
    );
    let jwk = &key.public_jwk;
    let mut secrets = vec![
        der,
        base64.into_bytes(),
        pem.clone().into_bytes(),
        format!("{pem}\n").into_bytes(),
        format!(" {pem}").into_bytes(),
        pem.replace('\n', "\r\n").into_bytes(),
        jwk.to_string().into_bytes(),
        serde_json::to_vec_pretty(jwk).unwrap(),
        Vec::new(),
        key.id.to_string().into_bytes(),
    ];
    let mut raw = Vec::new();
    for member in ["x", "y", "n", "e"] {
        if let Some(text) = jwk.get(member).and_then(Value::as_str) {
            let bytes = URL_SAFE_NO_PAD.decode(text).unwrap();
            raw.extend_from_slice(&bytes);
            secrets.push(bytes);
            secrets.push(text.as_bytes().to_vec());
        }
    }
    secrets.push([&[4], raw.as_slice()].concat());
    secrets.push(raw);
    secrets
}

/// Returns every algorithm name known from attacks on verifiers, in every combination of upper and lower case.
fn algorithm_names() -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for spelling in 0..16_u8 {
        let letters = "none".chars().enumerate().map(|(place, letter)| {
            if spelling >> place & 1 == 1 {
                letter.to_ascii_uppercase()
            } else {
                letter
            }
        });
        names.push(letters.collect());
    }
    for name in [
        "", " ", "null", "HS256", "HS384", "HS512", "hs256", "RS256", "RS384", "RS512", "PS256",
        "PS384", "PS512", "ES256", "ES384", "ES512", "ES256K", "EdDSA", "Ed25519", "Ed448",
        "EDDSA", "es256", "rs256", "ES256 ", " ES256", "ES256\0", "ES256\n", "A128KW", "dir",
        "RSA-OAEP",
    ] {
        names.push(name.to_owned());
    }
    names
}

#[tokio::test]
async fn attack_11_only_the_algorithm_of_the_key_itself_is_accepted() {
    let fixture = Fixture::new().await;
    for key in &fixture.keys {
        let own = half(&fixture, key);
        for name in algorithm_names() {
            let header = header(&name, key);
            // Signed properly, so that only the name matters.
            let signed = forge(&header, |message| own.sign(message).unwrap());
            assert_eq!(
                fixture.accepts(&signed),
                name == key.algorithm.as_str(),
                "{name:?}"
            );
            for signature in [vec![], vec![0], vec![0; 64], vec![0; 256]] {
                assert!(!fixture.accepts(&forge(&header, |_| signature.clone())));
            }
        }
    }
}

#[tokio::test]
async fn attack_11_hmac_with_any_shape_of_the_public_key_is_refused() {
    let fixture = Fixture::new().await;
    let kinds = [
        ("HS256", hmac::HMAC_SHA256),
        ("HS384", hmac::HMAC_SHA384),
        ("HS512", hmac::HMAC_SHA512),
    ];
    let mut tried = 0;
    for key in &fixture.keys {
        for secret in as_secrets(&fixture, key) {
            for (name, algorithm) in kinds {
                let secret = hmac::Key::new(algorithm, &secret);
                // Under its true name, and under the name that the key requires.
                for name in [name, key.algorithm.as_str()] {
                    let token = forge(&header(name, key), |message| {
                        hmac::sign(&secret, message).as_ref().to_vec()
                    });
                    assert!(!fixture.accepts(&token));
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 200);
}

#[tokio::test]
async fn attack_11_a_signature_of_another_key_or_algorithm_is_refused() {
    let mut fixture = Fixture::new().await;
    let world = fixture.keys[0].world;
    let mut strangers = Vec::new();
    for algorithm in ALGORITHMS {
        strangers.push(fixture.generate(world, algorithm).await);
    }
    for key in &fixture.keys {
        for other in fixture
            .keys
            .iter()
            .chain(&strangers)
            .filter(|other| other.id != key.id)
        {
            let foreign = half(&fixture, other);
            for name in [key.algorithm.as_str(), other.algorithm.as_str()] {
                let token = forge(&header(name, key), |message| foreign.sign(message).unwrap());
                assert!(!fixture.accepts(&token));
            }
        }
    }
    // Properly signed, but not with a key that the caller provided; the same token is accepted if its key is provided.
    for stranger in &strangers {
        let token = fixture.token(stranger).await;
        assert!(!fixture.accepts(&token));
        let named = fixture
            .signer
            .authenticate(&token, std::slice::from_ref(stranger));
        assert!(named.is_ok());
        assert!(fixture.signer.authenticate(&token, &[]).is_err());
    }
}

/// S-9: a token that contains, links to or demands anything of its own, although signed with the right key.
#[tokio::test]
async fn s_9_headers_with_any_further_member_are_refused() {
    let fixture = Fixture::new().await;
    for key in &fixture.keys {
        let own = half(&fixture, key);
        let sign = |message: &[u8]| own.sign(message).unwrap();
        let plain = header(key.algorithm.as_str(), key);
        assert!(fixture.accepts(&forge(&plain, sign)));
        let further = [
            json!({"jku": "https://evil.example/jwks.json"}),
            json!({"jwk": key.public_jwk}),
            json!({"x5u": "https://evil.example/cert.pem"}),
            json!({"x5c": ["MIIB"]}),
            json!({"x5t": "AAAA"}),
            json!({"x5t#S256": "AAAA"}),
            json!({"crit": []}),
            json!({"crit": ["exp"]}),
            json!({"crit": ["b64"], "b64": false}),
            json!({"b64": false}),
            json!({"cty": "JWT"}),
            json!({"zip": "DEF"}),
            json!({"enc": "A256GCM"}),
            json!({"nonce": "1"}),
            json!({"ALG": "none"}),
            json!({"jku": null}),
        ];
        for more in further {
            let mut header: Map<String, Value> = serde_json::from_str(&plain).unwrap();
            header.extend(more.as_object().unwrap().clone());
            let header = Value::Object(header).to_string();
            assert!(!fixture.accepts(&forge(&header, sign)), "{header}");
        }
    }
}

#[tokio::test]
async fn attack_11_odd_headers_are_refused() {
    let fixture = Fixture::new().await;
    let key = &fixture.keys[0];
    let own = half(&fixture, key);
    let sign = |message: &[u8]| own.sign(message).unwrap();
    let (alg, kid) = (key.algorithm.as_str(), key.id.to_string());
    let odd = [
        // Missing members and wrong types.
        json!({"kid": kid, "typ": "JWT"}).to_string(),
        json!({"alg": alg, "typ": "JWT"}).to_string(),
        json!({"alg": alg, "kid": kid}).to_string(),
        json!({"alg": [alg], "kid": kid, "typ": "JWT"}).to_string(),
        json!({"alg": null, "kid": kid, "typ": "JWT"}).to_string(),
        json!({"alg": alg, "kid": [kid], "typ": "JWT"}).to_string(),
        json!({"alg": alg, "kid": null, "typ": "JWT"}).to_string(),
        json!({"alg": alg, "kid": 0, "typ": "JWT"}).to_string(),
        json!({"alg": alg, "kid": kid, "typ": true}).to_string(),
        // S-11: another type of token.
        json!({"alg": alg, "kid": kid, "typ": "jwt"}).to_string(),
        json!({"alg": alg, "kid": kid, "typ": "at+jwt"}).to_string(),
        json!({"alg": alg, "kid": kid, "typ": ""}).to_string(),
        // Duplicate members.
        format!(r#"{{"alg":"none","alg":"{alg}","kid":"{kid}","typ":"JWT"}}"#),
        format!(r#"{{"alg":"{alg}","alg":"none","kid":"{kid}","typ":"JWT"}}"#),
        format!(r#"{{"alg":"{alg}","alg":"{alg}","kid":"{kid}","typ":"JWT"}}"#),
        format!(r#"{{"alg":"{alg}","kid":"{kid}","kid":"{kid}","typ":"JWT"}}"#),
        // Not an object, not JSON, or with trailing data.
        format!(r#"["{alg}","{kid}","JWT"]"#),
        format!(r#" {{"alg":"{alg}","kid":"{kid}","typ":"JWT"}}"#),
        format!(r#"{{"alg":"{alg}","kid":"{kid}","typ":"JWT"}} x"#),
        format!(r#"{{"alg":"{alg}","kid":"{kid}","typ":"JWT"}}{{}}"#),
        format!(r#"{{"alg":"{alg}","kid":"{kid}","typ":"JWT",}}"#),
        format!("\u{feff}{{\"alg\":\"{alg}\",\"kid\":\"{kid}\",\"typ\":\"JWT\"}}"),
        "{}".to_owned(),
        "null".to_owned(),
        "\"JWT\"".to_owned(),
        "[".repeat(2000),
        "{\"a\":".repeat(2000),
    ];
    for header in odd {
        assert!(!fixture.accepts(&forge(&header, sign)), "{header}");
    }
}

#[tokio::test]
async fn attack_11_odd_key_ids_are_refused() {
    let fixture = Fixture::new().await;
    let key = &fixture.keys[0];
    let own = half(&fixture, key);
    let kid = key.id.to_string();
    let odd = [
        String::new(),
        "/dev/null".to_owned(),
        "../../../../dev/null".to_owned(),
        "' OR '1'='1".to_owned(),
        "x' UNION SELECT 'key'--".to_owned(),
        "$(id)|id".to_owned(),
        "%00".to_owned(),
        "jwk_".to_owned(),
        kid.to_lowercase(),
        kid.to_uppercase(),
        format!("{kid} "),
        format!(" {kid}"),
        format!("{kid}\0"),
        format!("{kid}{kid}"),
        kid.replacen("jwk_", "", 1),
        kid.replacen("jwk_", "app_", 1),
        kid[..kid.len() - 1].to_owned(),
        format!("jwk_{}", "z".repeat(27)),
        "x".repeat(10_000),
    ];
    for odd in odd {
        let header = json!({"alg": "ES256", "kid": odd, "typ": "JWT"}).to_string();
        let token = forge(&header, |message| own.sign(message).unwrap());
        assert!(!fixture.accepts(&token), "{odd:?}");
    }
}

#[tokio::test]
async fn attack_11_every_altered_bit_and_length_of_a_signature_is_refused() {
    let fixture = Fixture::new().await;
    for key in &fixture.keys {
        let token = fixture.token(key).await;
        let (message, signature) = token.rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let refused = |altered: &[u8]| {
            assert!(!fixture.accepts(&format!("{message}.{}", encode(altered))));
        };
        for bit in 0..signature.len() * 8 {
            let mut altered = signature.clone();
            altered[bit / 8] ^= 1 << (bit % 8);
            refused(&altered);
        }
        for length in 0..signature.len() {
            refused(&signature[..length]);
        }
        for more in [&[0][..], &[0; 32], &[0xff; 64]] {
            refused(&[signature.as_slice(), more].concat());
            refused(&[more, signature.as_slice()].concat());
        }
    }
}

/// The other valid signature, which the standard would accept.
#[tokio::test]
async fn attack_11_a_high_s_is_refused() {
    const ORDER: [u8; 32] = [
        0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc,
        0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
    ];
    let fixture = Fixture::new().await;
    let key = &fixture.keys[0];
    let token = fixture.token(key).await;
    let (message, signature) = token.rsplit_once('.').unwrap();
    let mut signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    let mut borrow = 0;
    for place in (0..32).rev() {
        let difference = i16::from(ORDER[place]) - i16::from(signature[32 + place]) - borrow;
        borrow = i16::from(difference < 0);
        signature[32 + place] = u8::try_from(difference.rem_euclid(256)).unwrap();
    }
    assert!(jwk::verifies(key, message.as_bytes(), &signature));
    assert!(!fixture.accepts(&format!("{message}.{}", encode(&signature))));
}

/// Signatures of zeros and of the group order (CVE-2022-21449 and its kin).
#[tokio::test]
async fn attack_11_zero_and_group_order_signatures_are_refused() {
    let fixture = Fixture::new().await;
    for key in &fixture.keys {
        for signature in [
            vec![0; 64],
            vec![0xff; 64],
            vec![0; 256],
            vec![0xff; 256],
            vec![1; 64],
        ] {
            let token = forge(&header(key.algorithm.as_str(), key), |_| signature.clone());
            assert!(!fixture.accepts(&token));
        }
    }
}

#[tokio::test]
async fn attack_11_empty_missing_and_further_parts_are_refused() {
    let fixture = Fixture::new().await;
    for key in &fixture.keys {
        let token = fixture.token(key).await;
        let parts: Vec<&str> = token.split('.').collect();
        let [header, payload, signature] = parts[..] else {
            panic!("three parts")
        };
        for odd in [
            String::new(),
            ".".to_owned(),
            "..".to_owned(),
            "...".to_owned(),
            header.to_owned(),
            format!("{header}."),
            format!("{header}.."),
            format!("{header}.{payload}"),
            format!("{header}.{payload}."),
            format!("{header}..{signature}"),
            format!(".{payload}.{signature}"),
            format!("..{signature}"),
            format!("{header}.{payload}.{signature}."),
            format!("{header}.{payload}.{signature}.{signature}"),
            format!("{header}.{header}.{payload}.{signature}"),
            format!(".{token}"),
            format!("{payload}.{header}.{signature}"),
            format!("Bearer {token}"),
            token.replace('.', "%2E"),
            token.replace('.', ":"),
        ] {
            assert!(!fixture.accepts(&odd), "{odd}");
        }
    }
}

/// A token has one spelling.
#[tokio::test]
async fn attack_11_other_spellings_of_the_same_bytes_are_refused() {
    let fixture = Fixture::new().await;
    for key in &fixture.keys {
        let token = fixture.token(key).await;
        for space in [" ", "\n", "\t", "\0", "\r\n"] {
            assert!(!fixture.accepts(&format!("{token}{space}")));
            assert!(!fixture.accepts(&format!("{space}{token}")));
            assert!(!fixture.accepts(&token.replacen('.', &format!("{space}."), 1)));
        }
        let parts: Vec<&str> = token.split('.').collect();
        for place in 0..3 {
            let bytes = URL_SAFE_NO_PAD.decode(parts[place]).unwrap();
            let last = parts[place].chars().last().unwrap();
            let mut spellings = vec![
                URL_SAFE.encode(&bytes),
                STANDARD.encode(&bytes),
                STANDARD_NO_PAD.encode(&bytes),
                format!("{}=", parts[place]),
                format!("{}==", parts[place]),
            ];
            // Stray bits after the last byte.
            for other in ('A'..='Z')
                .chain('a'..='z')
                .chain('0'..='9')
                .chain(['-', '_'])
            {
                if other != last {
                    let cut = &parts[place][..parts[place].len() - 1];
                    spellings.push(format!("{cut}{other}"));
                }
            }
            for spelling in spellings {
                let mut altered = parts.clone();
                altered[place] = &spelling;
                let altered = altered.join(".");
                assert_eq!(fixture.accepts(&altered), altered == token);
            }
        }
    }
}

#[tokio::test]
async fn attack_11_altered_claims_are_refused() {
    let fixture = Fixture::new().await;
    for key in &fixture.keys {
        let token = fixture.token(key).await;
        let parts: Vec<&str> = token.split('.').collect();
        let mut claims = claims();
        claims.insert("sub".to_owned(), json!("user_2"));
        let payload = encode(serde_json::to_vec(&claims).unwrap());
        assert!(!fixture.accepts(&[parts[0], &payload, parts[2]].join(".")));
    }
}

/// Properly signed, but the payload is not a set of claims.
#[tokio::test]
async fn a_payload_that_is_not_an_object_is_refused() {
    let fixture = Fixture::new().await;
    for key in &fixture.keys {
        let own = half(&fixture, key);
        let header = encode(header(key.algorithm.as_str(), key));
        for payload in [
            "",
            "null",
            "[]",
            "1",
            "\"{}\"",
            "{",
            "{}{}",
            "{} x",
            "\u{feff}{}",
        ] {
            let message = format!("{header}.{}", encode(payload));
            let signature = encode(own.sign(message.as_bytes()).unwrap());
            assert!(
                !fixture.accepts(&format!("{message}.{signature}")),
                "{payload}"
            );
        }
    }
}

/// A key whose public half contradicts its algorithm works with neither.
#[tokio::test]
async fn attack_11_a_key_row_with_another_algorithm_verifies_nothing() {
    let fixture = Fixture::new().await;
    for key in &fixture.keys {
        for algorithm in ALGORITHMS
            .into_iter()
            .filter(|other| *other != key.algorithm)
        {
            let relabelled = SigningKey {
                algorithm,
                ..key.clone()
            };
            let own = half(&fixture, key);
            for name in [key.algorithm.as_str(), algorithm.as_str()] {
                let token = forge(&header(name, key), |message| own.sign(message).unwrap());
                let outcome = fixture
                    .signer
                    .authenticate(&token, std::slice::from_ref(&relabelled));
                assert!(outcome.is_err());
            }
            assert!(
                fixture
                    .signer
                    .sign(&relabelled, &json!(claims()).to_string())
                    .await
                    .is_err()
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// attack-26: every input gets a result.
    #[test]
    fn attack_26_no_text_makes_it_panic(text in "\\PC{0,200}", parts in proptest::collection::vec("[A-Za-z0-9_=.-]{0,60}", 0..5)) {
        for token in [text, parts.join(".")] {
            prop_assert!(authentic(&token, &[]).is_none());
        }
    }

    #[test]
    fn attack_26_no_header_makes_it_panic(header in proptest::collection::vec(any::<u8>(), 0..200)) {
        let token = format!("{}.e30.AAAA", encode(&header));
        prop_assert!(authentic(&token, &[]).is_none());
    }
}
