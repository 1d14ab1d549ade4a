//! Rotation of signing keys with overlap (S-13).

use std::collections::HashSet;

use serde_json::Value;
use vestry_app::identity::sessions::{IssuedSession, VerifySession};
use vestry_app::{Principal, Refusal};
use vestry_domain::ids::{AppId, Id};
use vestry_domain::session::SessionSelector;
use vestry_domain::{Environment, Secret, World};
use vestry_ports::store::Store;

use crate::harness::{Harness, START};
use crate::jwt::header;

const ADA: &str = "ada@example.com";

fn kids(keys: &[Value]) -> Vec<&str> {
    keys.iter()
        .map(|key| key["kid"].as_str().unwrap())
        .collect()
}

fn kid(jwt: &Secret<String>) -> String {
    header(jwt)["kid"].as_str().unwrap().to_owned()
}

async fn key_set(harness: &Harness) -> Vec<Value> {
    harness
        .service
        .key_set(&*harness.test().await)
        .await
        .unwrap()
}

/// A fresh JWT of a session.
async fn fresh(harness: &Harness, session: &IssuedSession) -> Secret<String> {
    harness
        .by_token(&*harness.test().await, &session.token)
        .await
        .unwrap()
        .jwt
}

/// S-13: the next key is published before it signs, and the old one until its last token has expired.
#[tokio::test]
async fn s_13_rotation_overlaps_on_both_sides() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, ADA, 525_600).await;
    let old = kid(&session.jwt);
    assert_eq!(kids(&key_set(&harness).await), [&*old]);

    let new = harness
        .service
        .rotate_signing_key(Principal::cli(), test.world)
        .await
        .unwrap();
    let new_kid = new.id.to_string();
    harness.pass(60);
    assert_eq!(
        HashSet::from_iter(kids(&key_set(&harness).await)),
        HashSet::from([&*old, &*new_kid])
    );
    assert_eq!(
        kid(&fresh(&harness, &session).await),
        old,
        "published, not signing yet"
    );
    harness.pass(239);
    let last_of_old = fresh(&harness, &session).await;
    assert_eq!(kid(&last_of_old), old);
    harness.pass(1);
    let first_of_new = fresh(&harness, &session).await;
    assert_eq!(
        kid(&first_of_new),
        new_kid,
        "five minutes after it was published"
    );

    // The last token of the old key is issued at 299 s and lives 300 s; verifiers find its key all that time.
    for _ in 0..6 {
        harness.pass(50);
        assert_eq!(key_set(&harness).await.len(), 2);
        harness.by_jwt(&test, &last_of_old).await.unwrap();
        harness.by_jwt(&test, &first_of_new).await.unwrap();
    }
    harness.pass(360);
    assert_eq!(
        kids(&key_set(&harness).await),
        [&*new_kid],
        "and then it is withdrawn"
    );
    // Vestry itself still accepts the token to identify a session: the row is still there.
    harness.by_jwt(&test, &last_of_old).await.unwrap();
}

#[tokio::test]
async fn a_published_key_is_public_and_complete() {
    let harness = Harness::new().await;
    for (algorithm, members) in [
        ("ES256", ["kty", "crv", "x", "y"].as_slice()),
        ("EdDSA", &["kty", "crv", "x"]),
        ("RS256", &["kty", "n", "e"]),
    ] {
        harness.set(&[("jwt_algorithm", algorithm)]).await;
        let test = harness.test().await;
        let made = harness
            .service
            .rotate_signing_key(Principal::cli(), test.world)
            .await
            .unwrap();
        harness.pass(300);
        let test = harness.test().await;
        let session = harness
            .sign_in(&test, &format!("{algorithm}@example.com"), 60)
            .await;
        assert_eq!(header(&session.jwt)["alg"], algorithm);
        assert_eq!(kid(&session.jwt), made.id.to_string());
        harness.by_jwt(&test, &session.jwt).await.unwrap();
        let keys = key_set(&harness).await;
        let published = keys
            .iter()
            .find(|key| key["kid"] == made.id.to_string())
            .unwrap();
        let mut expected = HashSet::from(["kid", "alg", "use"]);
        expected.extend(members);
        let found: HashSet<_> = published
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(
            found, expected,
            "{algorithm}: nothing private, nothing missing"
        );
        assert_eq!(
            (&published["alg"], &published["use"]),
            (&algorithm.into(), &"sig".into())
        );
    }
}

/// S-14: environments share no key; an App's public keys are available without authentication.
#[tokio::test]
async fn s_14_environments_share_no_key() {
    let harness = Harness::new().await;
    let (test, live, stranger) = (
        harness.test().await,
        harness.live().await,
        harness.stranger().await,
    );
    let mut seen = HashSet::new();
    for caller in [&test, &live, &stranger] {
        let keys = harness.service.key_set(caller).await.unwrap();
        assert_eq!(keys.len(), 1);
        assert!(seen.insert(kids(&keys)[0].to_owned()));
    }
    for (environment, count) in [
        (None, 2),
        (Some(Environment::Test), 1),
        (Some(Environment::Live), 1),
    ] {
        let keys = harness
            .service
            .public_key_set(harness.app.id, environment)
            .await
            .unwrap();
        assert_eq!(keys.len(), count);
        assert!(kids(&keys).into_iter().all(|kid| seen.contains(kid)));
    }
    let nobody = AppId::new(START, [7; 16]);
    assert!(matches!(
        harness.service.public_key_set(nobody, None).await,
        Err(Refusal::NotFound("app"))
    ));
}

/// The first key of an environment signs at once, because there is nothing to overlap with.
#[tokio::test]
async fn the_first_key_signs_at_once() {
    let harness = Harness::new().await;
    for environment in Environment::ALL {
        let keys = harness
            .service
            .list_signing_keys(Principal::cli(), harness.world(environment))
            .await
            .unwrap();
        assert_eq!(keys.len(), 1);
        assert_eq!((keys[0].created_at, keys[0].active_from), (START, START));
    }
    harness
        .service
        .rotate_signing_key(Principal::cli(), harness.world(Environment::Test))
        .await
        .unwrap();
    let keys = harness
        .service
        .list_signing_keys(Principal::cli(), harness.world(Environment::Test))
        .await
        .unwrap();
    let mut active_from: Vec<_> = keys.iter().map(|key| key.active_from.unix()).collect();
    active_from.sort_unstable();
    assert_eq!(active_from, [START.unix(), START.unix() + 300]);
    assert_eq!(
        harness
            .service
            .list_signing_keys(Principal::cli(), harness.world(Environment::Live))
            .await
            .unwrap()
            .len(),
        1
    );

    let nobody = World::new(AppId::new(START, [7; 16]), Environment::Test);
    assert!(matches!(
        harness
            .service
            .rotate_signing_key(Principal::cli(), nobody)
            .await,
        Err(Refusal::NotFound("app"))
    ));
    assert!(matches!(
        harness
            .service
            .list_signing_keys(Principal::cli(), nobody)
            .await,
        Err(Refusal::NotFound("app"))
    ));
}

/// A token under a key that this process has not loaded yet, because another one has just created it.
#[tokio::test]
async fn a_key_of_another_process_is_looked_up() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, ADA, 60).await;
    harness.pass(2);
    let key = harness
        .ports
        .tokens
        .generate(
            vestry_domain::ids::Id::new(harness.now(), [7; 16]),
            test.world,
            Default::default(),
            harness.now(),
            harness.now(),
        )
        .await
        .unwrap();
    let mut tx = harness.fake.begin().await.unwrap();
    tx.signing_keys().insert(&key).await.unwrap();
    tx.commit().await.unwrap();
    let command = VerifySession {
        session_token: Some(session.token.clone()),
        ..VerifySession::default()
    };
    let theirs = harness
        .other_process()
        .verify_session(&test, command)
        .await
        .unwrap()
        .jwt;
    assert_eq!(kid(&theirs), key.id.to_string());
    harness.by_jwt(&test, &theirs).await.unwrap();
}

/// A process that has just loaded the keys returns the new one a second after its creation.
///
/// A client that caches the response for a minute (`Cache-Control` of the endpoint) still has nearly four until the key signs.
#[tokio::test]
async fn m_19_a_new_key_is_in_every_key_set_a_second_after_its_creation() {
    let harness = Harness::new().await;
    let world = harness.test().await.world;
    let other = harness.other_process();
    let set = async || {
        let set = other.public_key_set(world.app_id, Some(Environment::Test));
        set.await.unwrap()
    };
    assert_eq!(set().await.len(), 1);
    let new = harness
        .service
        .rotate_signing_key(Principal::cli(), world)
        .await
        .unwrap();
    harness.pass(1);
    let published = set().await;
    assert!(
        kids(&published).contains(&&*new.id.to_string()),
        "{published:?}"
    );
    assert_eq!(new.active_from.unix() - harness.now().unix(), 299);
}

/// M-23, S-13: a withdrawn key is invalid immediately, on the process that withdrew it and on one that still has it cached. It is no longer
/// published, and another one signs.
#[tokio::test]
async fn m_23_a_withdrawn_key_is_invalid_on_every_process() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, ADA, 525_600).await;
    let leaked = kid(&session.jwt);
    let other = harness.other_process();
    let command = |jwt: &Secret<String>| VerifySession {
        session_jwt: Some(jwt.clone()),
        ..VerifySession::default()
    };
    other
        .verify_session(&test, command(&session.jwt))
        .await
        .unwrap();

    let id = leaked.parse().unwrap();
    let next = harness
        .service
        .revoke_signing_key(Principal::cli(), harness.app.id.into(), id)
        .await
        .unwrap();
    let next = next.expect("it was the signing key");
    assert_eq!(next.world, test.world);
    // Both have loaded the keys within this second.
    for process in [&harness.service, &other] {
        let refused = process.verify_session(&test, command(&session.jwt)).await;
        assert!(matches!(refused, Err(Refusal::InvalidSession)));
        let selector = SessionSelector::Jwt(session.jwt.clone());
        let refused = process.delete_session(&test, selector).await;
        assert!(matches!(refused, Err(Refusal::InvalidSession)));
    }
    harness.pass(1);
    for process in [&harness.service, &other] {
        let set = process.key_set(&*harness.test().await).await.unwrap();
        assert_eq!(kids(&set), [next.id.to_string()]);
        let public = process.public_key_set(harness.app.id, Some(Environment::Test));
        assert_eq!(kids(&public.await.unwrap()), [next.id.to_string()]);
        // The session lives, and its next JWT is under the new key.
        let by_token = VerifySession {
            session_token: Some(session.token.clone()),
            ..VerifySession::default()
        };
        let fresh = process.verify_session(&test, by_token).await.unwrap().jwt;
        assert_eq!(kid(&fresh), next.id.to_string());
        process
            .verify_session(&test, command(&fresh))
            .await
            .unwrap();
        let refused = process.verify_session(&test, command(&session.jwt)).await;
        assert!(matches!(refused, Err(Refusal::InvalidSession)));
    }
    let again = harness
        .service
        .revoke_signing_key(Principal::cli(), harness.app.id.into(), id)
        .await;
    assert!(matches!(again, Err(Refusal::NotFound("signing key"))));
}

/// M-23: a key that is not the signing one is withdrawn without a replacement, and tokens of other keys stay valid.
#[tokio::test]
async fn m_23_keys_that_do_not_sign_are_withdrawn_alone() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, ADA, 525_600).await;
    let first = kid(&session.jwt).parse().unwrap();
    let coming = harness
        .service
        .rotate_signing_key(Principal::cli(), test.world)
        .await
        .unwrap();
    let revoked = harness
        .service
        .revoke_signing_key(Principal::cli(), harness.app.id.into(), coming.id)
        .await;
    assert_eq!(revoked.unwrap(), None);
    harness.pass(301);
    let second = harness
        .service
        .rotate_signing_key(Principal::cli(), test.world)
        .await
        .unwrap();
    harness.by_jwt(&test, &session.jwt).await.unwrap();
    harness.pass(301);
    assert_eq!(kid(&fresh(&harness, &session).await), second.id.to_string());
    let revoked = harness
        .service
        .revoke_signing_key(Principal::cli(), harness.app.id.into(), first)
        .await;
    assert_eq!(revoked.unwrap(), None);
    assert!(harness.by_jwt(&test, &session.jwt).await.is_err());
    let current = fresh(&harness, &session).await;
    harness.by_jwt(&test, &current).await.unwrap();

    // The live key is of the same App, but of its own environment.
    let live = harness
        .service
        .list_signing_keys(Principal::cli(), harness.world(Environment::Live));
    let live = live.await.unwrap().remove(0);
    let next = harness
        .service
        .revoke_signing_key(Principal::cli(), harness.app.id.into(), live.id)
        .await;
    assert_eq!(next.unwrap().unwrap().world, live.world);
    harness.by_jwt(&test, &current).await.unwrap();
    let stranger = harness.stranger().await;
    let foreign =
        harness
            .service
            .revoke_signing_key(Principal::cli(), stranger.app.id.into(), second.id);
    assert!(matches!(
        foreign.await,
        Err(Refusal::NotFound("signing key"))
    ));
}

/// Tokens with made-up key ids cost one lookup a second, not one each.
#[tokio::test]
async fn unknown_keys_are_looked_up_once_a_second() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.sign_in(&test, ADA, 60).await;
    harness.pass(2);
    harness.store.count();
    for _ in 0..50 {
        assert!(
            harness
                .by_jwt(&test, &Secret::new("a.b.c".to_owned()))
                .await
                .is_err()
        );
    }
    assert_eq!(harness.store.count(), (1, 0));
}
