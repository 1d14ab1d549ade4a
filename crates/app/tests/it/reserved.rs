//! The reserved addresses of the test environment (OPS-12).

use vestry_app::delivery::test_messages::FindMessages;
use vestry_app::identity::codes::VerifyCodeError;
use vestry_domain::user::UserStatus;

use crate::harness::{Harness, wrong};

async fn captured(harness: &Harness, email: &str) -> usize {
    harness.deliver().await;
    let query = FindMessages {
        to: Some(email.to_owned()),
        ..FindMessages::default()
    };
    harness
        .service
        .captured_messages(&*harness.test().await, query)
        .await
        .unwrap()
        .len()
}

#[tokio::test]
async fn ok_always_accepts_six_zeros() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    for email in ["ok@vestry.test", "OK@Vestry.Test", "ok+tag@vestry.test"] {
        let (sent, digits) = harness.fresh_code(&test, email).await;
        assert_eq!(digits, "000000", "the mail says so too");
        let wrong = harness.verify(&test, sent.email.id, "000001").await;
        assert!(matches!(wrong, Err(VerifyCodeError::InvalidCode)));
        harness
            .verify(&test, sent.email.id, "000000")
            .await
            .unwrap();
        let user = harness
            .service
            .get_user(&test, sent.email.user_id)
            .await
            .unwrap();
        assert_eq!(user.profile.user.status, UserStatus::Active);
    }
}

/// OPS-12: no limits apply, not even that of wrong attempts.
#[tokio::test]
async fn ok_survives_any_number_of_wrong_attempts() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let sent = harness.login(&test, "ok@vestry.test").await;
    for _ in 0..50 {
        let wrong = harness.verify(&test, sent.email.id, "000001").await;
        assert!(matches!(wrong, Err(VerifyCodeError::InvalidCode)));
    }
    harness
        .verify(&test, sent.email.id, "000000")
        .await
        .unwrap();
}

#[tokio::test]
async fn expired_has_always_expired() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (sent, digits) = harness.fresh_code(&test, "expired@vestry.test").await;
    let outcome = harness.verify(&test, sent.email.id, &digits).await;
    assert!(
        matches!(outcome, Err(VerifyCodeError::InvalidCode)),
        "{outcome:?}"
    );
}

/// Neither the mailed digits nor any others are accepted, and the lockout of an ordinary address never occurs.
#[tokio::test]
async fn wrong_is_never_right_and_never_locked_out() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    for _ in 0..6 {
        let (sent, digits) = harness.fresh_code(&test, "wrong@vestry.test").await;
        for tried in [&*digits, wrong(&digits), "000000", "000001"] {
            let outcome = harness.verify(&test, sent.email.id, tried).await;
            assert!(
                matches!(outcome, Err(VerifyCodeError::InvalidCode)),
                "{outcome:?}"
            );
        }
    }
}

#[tokio::test]
async fn bounce_is_refused_by_the_transport() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.login(&test, "bounce@vestry.test").await;
    assert_eq!(captured(&harness, "bounce@vestry.test").await, 0);
    assert_eq!(harness.waiting().await, 0, "for good");
}

#[tokio::test]
async fn slow_arrives_after_five_seconds() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let sent = harness.login(&test, "slow@vestry.test").await;
    assert_eq!(captured(&harness, "slow@vestry.test").await, 0);
    harness.pass(4);
    assert_eq!(captured(&harness, "slow@vestry.test").await, 0);
    harness.pass(1);
    let digits = harness
        .newest_to(&test, "slow@vestry.test")
        .await
        .message
        .code;
    harness.verify(&test, sent.email.id, &digits).await.unwrap();
}

/// S-17: in live they are ordinary addresses.
#[tokio::test]
async fn live_has_no_reserved_addresses() {
    let harness = Harness::new().await;
    let live = harness.live().await;
    for email in [
        "ok@vestry.test",
        "expired@vestry.test",
        "wrong@vestry.test",
        "bounce@vestry.test",
        "slow@vestry.test",
    ] {
        let sent = harness.login(&live, email).await;
        harness.deliver().await;
        let (_, mail) = harness.mailer.sent().pop().unwrap();
        assert_eq!(mail.to, email);
        // Once in a million runs that is the code.
        if mail.code != "000000" {
            let zeros = harness.verify(&live, sent.email.id, "000000").await;
            assert!(
                matches!(zeros, Err(VerifyCodeError::InvalidCode)),
                "{zeros:?}"
            );
        }
        harness
            .verify(&live, sent.email.id, &mail.code)
            .await
            .unwrap();
    }
    assert!(
        harness
            .service
            .captured_messages(&*harness.test().await, FindMessages::default())
            .await
            .unwrap()
            .is_empty()
    );
}
