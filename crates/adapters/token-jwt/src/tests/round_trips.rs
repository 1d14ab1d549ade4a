//! Tokens that are created, and accepted.

use super::*;

fn parts(token: &str) -> [&str; 3] {
    let parts: Vec<&str> = token.split('.').collect();
    parts.try_into().unwrap()
}

#[tokio::test]
async fn signed_tokens_are_accepted_and_return_their_claims() {
    let fixture = Fixture::new().await;
    for key in &fixture.keys {
        let token = fixture.token(key).await;
        let back = fixture.signer.authenticate(&token, &fixture.keys).unwrap();
        assert_eq!((back.key, back.claims), (key.id, claims()));
    }
}

/// API-6: `{alg, kid: "jwk_…", typ: "JWT"}`.
#[tokio::test]
async fn the_header_has_alg_kid_and_typ_and_nothing_else() {
    let fixture = Fixture::new().await;
    for key in &fixture.keys {
        let token = fixture.token(key).await;
        let [header, payload, _] = parts(&token);
        assert_eq!(
            decoded(header),
            json!({"alg": key.algorithm.as_str(), "kid": key.id.to_string(), "typ": "JWT"})
        );
        assert_eq!(decoded(payload), Value::Object(claims()));
        assert!(key.id.to_string().starts_with("jwk_"));
    }
}

#[tokio::test]
async fn public_halves_are_complete_and_contain_nothing_private() {
    let fixture = Fixture::new().await;
    for key in &fixture.keys {
        let jwk = key.public_jwk.as_object().unwrap();
        let mut members: Vec<&str> = jwk.keys().map(String::as_str).collect();
        members.sort_unstable();
        let (expected, lengths): (Vec<&str>, Vec<(&str, usize)>) = match key.algorithm {
            Algorithm::ES256 => (
                vec!["alg", "crv", "kid", "kty", "use", "x", "y"],
                vec![("x", 32), ("y", 32)],
            ),
            Algorithm::RS256 => (
                vec!["alg", "e", "kid", "kty", "n", "use"],
                vec![("n", 256), ("e", 3)],
            ),
            Algorithm::EdDSA => (
                vec!["alg", "crv", "kid", "kty", "use", "x"],
                vec![("x", 32)],
            ),
        };
        assert_eq!(members, expected);
        for (member, length) in lengths {
            let bytes = URL_SAFE_NO_PAD
                .decode(jwk[member].as_str().unwrap())
                .unwrap();
            assert_eq!(bytes.len(), length, "{member}");
        }
        assert_eq!(jwk["kid"], json!(key.id.to_string()));
        assert_eq!(jwk["alg"], json!(key.algorithm.as_str()));
        assert_eq!(jwk["use"], json!("sig"));
        // It parses as a JWK with the library's own types, and is the key that the library would use.
        let known: jsonwebtoken::jwk::Jwk = serde_json::from_value(key.public_jwk.clone()).unwrap();
        assert!(jsonwebtoken::DecodingKey::from_jwk(&known).is_ok());
    }
}

/// The complete check by the JWT library, with its own parsing of header, claims and times.
#[tokio::test]
async fn the_jwt_library_accepts_our_tokens() {
    let fixture = Fixture::new().await;
    for key in &fixture.keys {
        let mut current = claims();
        current.insert("exp".to_owned(), json!(4_000_000_000_u64));
        let token = fixture.sign(key, &current).await;
        let jwk = serde_json::from_value(key.public_jwk.clone()).unwrap();
        let public = jsonwebtoken::DecodingKey::from_jwk(&jwk).unwrap();
        let algorithm = match key.algorithm {
            Algorithm::ES256 => jsonwebtoken::Algorithm::ES256,
            Algorithm::RS256 => jsonwebtoken::Algorithm::RS256,
            Algorithm::EdDSA => jsonwebtoken::Algorithm::EdDSA,
        };
        let validation = jsonwebtoken::Validation::new(algorithm);
        let read =
            jsonwebtoken::decode::<Map<String, Value>>(&token, &public, &validation).unwrap();
        assert_eq!(read.claims, current);
    }
}

/// ECDSA uses a random nonce for each signature, so two equal ones are the same signature.
#[tokio::test]
async fn identical_claims_are_signed_only_once() {
    let fixture = Fixture::new().await;
    let key = &fixture.keys[0];
    assert_eq!(key.algorithm, Algorithm::ES256);
    let first = fixture.token(key).await;
    assert_eq!(fixture.token(key).await, first);
    let mut other = claims();
    other.insert("iat".to_owned(), json!(2));
    let other = fixture.sign(key, &other).await;
    assert_ne!(parts(&other)[2], parts(&first)[2]);
    assert!(fixture.accepts(&first) && fixture.accepts(&other));
}

#[tokio::test]
async fn every_es256_signature_has_a_low_s() {
    let fixture = Fixture::new().await;
    let key = &fixture.keys[0];
    for number in 0..64 {
        let mut claims = claims();
        claims.insert("iat".to_owned(), json!(number));
        let token = fixture.sign(key, &claims).await;
        let signature = URL_SAFE_NO_PAD.decode(parts(&token)[2]).unwrap();
        assert!(low_s::is_low(&signature));
    }
}

/// Claims are not validated: an expired token, one of tomorrow and one with odd types still name their session.
#[tokio::test]
async fn claims_are_returned_without_validation() {
    let fixture = Fixture::new().await;
    let key = &fixture.keys[0];
    for odd in [
        json!({}),
        json!({"exp": 0}),
        json!({"exp": "9999999999"}),
        json!({"exp": null, "nbf": 4_000_000_000_u64, "aud": [1], "iss": {}}),
        json!({"exp": -1, "iat": 1.5, "sub": ""}),
    ] {
        let odd = odd.as_object().unwrap();
        let token = fixture.sign(key, odd).await;
        assert_eq!(
            &fixture
                .signer
                .authenticate(&token, &fixture.keys)
                .unwrap()
                .claims,
            odd
        );
    }
}

#[tokio::test]
async fn overlong_tokens_are_neither_created_nor_parsed() {
    let fixture = Fixture::new().await;
    let key = &fixture.keys[0];
    let long = |length: usize| json!({ "x": "x".repeat(length) }).to_string();
    // The largest stored session, twice, and more than all other claims.
    let session = long(2 * vestry_domain::session::SESSION_BYTES + 1024);
    for key in &fixture.keys {
        let token = fixture.signer.sign(key, &session).await.unwrap();
        assert!(token.len() <= MAX_TOKEN);
        assert!(fixture.accepts(&token));
    }
    let too_long = fixture.signer.sign(key, &long(MAX_TOKEN)).await;
    assert!(matches!(too_long, Err(CustodyError::Failed(_))));

    // Properly signed with the private half itself, and refused only for its length.
    let half = PrivateHalf::open(key.algorithm, &fixture.sealer.plaintext(&key.private)).unwrap();
    for (length, accepted) in [(MAX_TOKEN / 2, true), (MAX_TOKEN, false)] {
        let message = format!("{}.{}", Header::of(key).encoded(), encode(long(length)));
        let signature = encode(half.sign(message.as_bytes()).unwrap());
        assert_eq!(fixture.accepts(&format!("{message}.{signature}")), accepted);
    }
}

#[tokio::test]
async fn a_private_half_is_unsealed_once_and_then_kept() {
    let mut fixture = Fixture::new().await;
    for key in &fixture.keys {
        let before = fixture.sealer.opens();
        for _ in 0..5 {
            fixture.token(key).await;
        }
        assert_eq!(fixture.sealer.opens() - before, 1);
    }
    // A key that does not decrypt signs nothing, and leaves no cache entry.
    let world = fixture.keys[0].world;
    let mut key = fixture.generate(world, Algorithm::ES256).await;
    let sealed = key.private.clone();
    key.private.bytes.push(0);
    assert!(matches!(
        fixture
            .signer
            .sign(&key, &json!(claims()).to_string())
            .await,
        Err(CustodyError::Tampered { .. })
    ));
    key.private = sealed;
    fixture.token(&key).await;
}

/// The private half is bound to the place of its own key.
#[tokio::test]
async fn a_private_half_moved_to_another_row_or_world_is_refused() {
    let fixture = Fixture::new().await;
    let fresh = JwtSigner::new(fixture.sealer.clone());
    let [es256, _, eddsa] = &fixture.keys[..] else {
        panic!("three keys")
    };
    let swapped = SigningKey {
        private: eddsa.private.clone(),
        ..es256.clone()
    };
    let elsewhere = SigningKey {
        world: World::new(es256.world.app_id, Environment::Test),
        ..es256.clone()
    };
    for altered in [swapped, elsewhere] {
        assert!(matches!(
            fresh.sign(&altered, &json!(claims()).to_string()).await,
            Err(CustodyError::Tampered { .. })
        ));
    }
}

/// The published key must verify signatures: a public half replaced in the database is detected.
#[tokio::test]
async fn a_public_half_that_does_not_fit_its_private_half_is_refused() {
    let mut fixture = Fixture::new().await;
    let world = fixture.keys[0].world;
    for (place, algorithm) in ALGORITHMS.into_iter().enumerate() {
        let other = fixture.generate(world, algorithm).await;
        let own = fixture.keys[place].clone();
        let fresh = JwtSigner::new(fixture.sealer.clone());
        let mut jwk = other.public_jwk.clone();
        jwk["kid"] = json!(own.id.to_string());
        for public_jwk in [jwk, other.public_jwk, json!({}), Value::Null] {
            let altered = SigningKey {
                public_jwk,
                ..own.clone()
            };
            assert!(matches!(
                fresh.sign(&altered, &json!(claims()).to_string()).await,
                Err(CustodyError::Tampered {
                    place: "signing key"
                })
            ));
        }
        fresh
            .sign(&own, &json!(claims()).to_string())
            .await
            .unwrap();
    }
}
