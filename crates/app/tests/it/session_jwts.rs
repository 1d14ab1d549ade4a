//! When a verify call returns a cached JWT (S-12), and that nothing but JWTs is cached (S-4).

use vestry_app::identity::sessions::VerifySession;
use vestry_app::{Caller, Principal, Refusal};
use vestry_domain::Secret;
use vestry_domain::session::SessionSelector;
use vestry_domain::test_clock::ClockChange;

use crate::harness::{Harness, verify};

const ADA: &str = "ada@example.com";

async fn jwt(harness: &Harness, token: &Secret<String>) -> String {
    let verified = harness
        .by_token(&*harness.test().await, token)
        .await
        .unwrap();
    verified.jwt.expose().clone()
}

/// For half a minute, or a tenth of the App's JWT lifetime.
#[tokio::test]
async fn s_12_a_jwt_is_reused_for_a_tenth_of_its_lifetime() {
    for (lifetime, again_for) in [("300", 30), ("100", 10), ("60", 6)] {
        let harness = Harness::new().await;
        harness.set(&[("jwt_lifetime_seconds", lifetime)]).await;
        let session = harness.sign_in(&*harness.test().await, ADA, 60).await;
        let first = session.jwt.expose();
        assert_eq!(jwt(&harness, &session.token).await, *first);
        harness.pass(again_for - 1);
        assert_eq!(jwt(&harness, &session.token).await, *first, "{lifetime}");
        harness.pass(1);
        assert_ne!(jwt(&harness, &session.token).await, *first, "{lifetime}");
    }
}

/// If the JWT's content or its signing key changes, a new JWT is issued, in the same second or the next.
#[tokio::test]
async fn s_12_a_jwt_is_reused_only_for_an_unchanged_session() {
    let harness = Harness::new().await;
    let session = harness.sign_in(&*harness.test().await, ADA, 60).await;
    let token = || Some(session.token.clone());
    let mut before = jwt(&harness, &session.token).await;
    let mut is_new = async |what: &str| {
        let now = jwt(&harness, &session.token).await;
        assert_ne!(now, before, "{what}");
        assert_eq!(jwt(&harness, &session.token).await, now, "{what}: again");
        before = now;
    };

    let permissions = VerifySession {
        session_token: token(),
        permissions: Some(vec!["read".to_owned()]),
        ..VerifySession::default()
    };
    let test = harness.test().await;
    harness
        .service
        .verify_session(&test, permissions)
        .await
        .unwrap();
    is_new("permissions").await;

    let longer = VerifySession {
        session_token: token(),
        session_expires_in: Some(120),
        ..VerifySession::default()
    };
    harness.service.verify_session(&test, longer).await.unwrap();
    is_new("a later end").await;

    let keys = harness
        .service
        .list_signing_keys(Principal::cli(), test.world)
        .await
        .unwrap();
    let [key] = &*keys else {
        panic!("{} keys", keys.len());
    };
    let revoked = harness
        .service
        .revoke_signing_key(Principal::cli(), harness.app.id.into(), key.id)
        .await;
    revoked.unwrap();
    harness.pass(1);
    is_new("another key").await;

    harness.set(&[("jwt_lifetime_seconds", "200")]).await;
    is_new("another lifetime").await;
}

/// After a test clock was set back, JWTs are issued for its new time.
#[tokio::test]
async fn s_12_a_jwt_of_the_future_is_not_reused() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, ADA, 60).await;
    let back = ClockChange {
        now: Some(harness.now().unix() - 10),
        advance_seconds: None,
        frozen: Some(true),
    };
    harness.service.set_test_clock(&test, back).await.unwrap();
    assert_ne!(jwt(&harness, &session.token).await, *session.jwt.expose());
}

/// A signature may be cached. Whether the session is live is read each time, on the web worker and on the service's own threads.
#[tokio::test]
async fn s_4_a_cached_signature_does_not_outlive_its_session() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let other = harness.other_process();
    let session = harness.sign_in(&test, ADA, 60).await;
    let named = || VerifySession {
        session_token: Some(session.token.clone()),
        ..VerifySession::default()
    };
    let on_the_worker =
        async |caller: &Caller| other.verify_session_at_once(caller, &named()).await;
    // The first call reads the signing keys, on the service's own threads.
    assert!(on_the_worker(&test).await.is_none());
    let first = verify(&other, &test, named()).await.unwrap().jwt;
    let again = on_the_worker(&test).await.unwrap().unwrap().jwt;
    assert_eq!(first.expose(), again.expose());
    let selector = SessionSelector::Id(session.session.id);
    harness
        .service
        .delete_session(&test, selector)
        .await
        .unwrap();
    assert!(matches!(
        on_the_worker(&test).await,
        Some(Err(Refusal::InvalidSession))
    ));
    let refused = other.verify_session(&test, named()).await;
    assert!(matches!(refused, Err(Refusal::InvalidSession)));
}
