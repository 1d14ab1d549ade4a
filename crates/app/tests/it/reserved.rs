//! The reserved addresses of the test environment (OPS-12).

use vestry_app::delivery::test_messages::FindMessages;
use vestry_app::identity::codes::VerifyCodeError;
use vestry_domain::user::UserStatus;

use crate::rig::{Rig, wrong};

async fn captured(rig: &Rig, email: &str) -> usize {
    rig.deliver().await;
    let query = FindMessages {
        to: Some(email.to_owned()),
        ..FindMessages::default()
    };
    rig.service
        .captured_messages(&*rig.test().await, query)
        .await
        .unwrap()
        .len()
}

#[tokio::test]
async fn ok_always_accepts_six_zeros() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    for email in ["ok@vestry.test", "OK@Vestry.Test", "ok+tag@vestry.test"] {
        let (sent, digits) = rig.fresh_code(&test, email).await;
        assert_eq!(digits, "000000", "the mail says so too");
        let wrong = rig.verify(&test, sent.email.id, "000001").await;
        assert!(matches!(wrong, Err(VerifyCodeError::InvalidCode)));
        rig.verify(&test, sent.email.id, "000000").await.unwrap();
        let user = rig
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
    let rig = Rig::new().await;
    let test = rig.test().await;
    let sent = rig.login(&test, "ok@vestry.test").await;
    for _ in 0..50 {
        let wrong = rig.verify(&test, sent.email.id, "000001").await;
        assert!(matches!(wrong, Err(VerifyCodeError::InvalidCode)));
    }
    rig.verify(&test, sent.email.id, "000000").await.unwrap();
}

#[tokio::test]
async fn expired_has_always_expired() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let (sent, digits) = rig.fresh_code(&test, "expired@vestry.test").await;
    let outcome = rig.verify(&test, sent.email.id, &digits).await;
    assert!(
        matches!(outcome, Err(VerifyCodeError::InvalidCode)),
        "{outcome:?}"
    );
}

/// Neither the mailed digits nor any others are accepted, and the lockout of an ordinary address never occurs.
#[tokio::test]
async fn wrong_is_never_right_and_never_locked_out() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    for _ in 0..6 {
        let (sent, digits) = rig.fresh_code(&test, "wrong@vestry.test").await;
        for tried in [&*digits, wrong(&digits), "000000", "000001"] {
            let outcome = rig.verify(&test, sent.email.id, tried).await;
            assert!(
                matches!(outcome, Err(VerifyCodeError::InvalidCode)),
                "{outcome:?}"
            );
        }
    }
}

#[tokio::test]
async fn bounce_is_refused_by_the_transport() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    rig.login(&test, "bounce@vestry.test").await;
    assert_eq!(captured(&rig, "bounce@vestry.test").await, 0);
    assert_eq!(rig.waiting().await, 0, "for good");
}

#[tokio::test]
async fn slow_arrives_after_five_seconds() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let sent = rig.login(&test, "slow@vestry.test").await;
    assert_eq!(captured(&rig, "slow@vestry.test").await, 0);
    rig.pass(4);
    assert_eq!(captured(&rig, "slow@vestry.test").await, 0);
    rig.pass(1);
    let digits = rig.newest_to(&test, "slow@vestry.test").await.message.code;
    rig.verify(&test, sent.email.id, &digits).await.unwrap();
}

/// S-17: in live they are ordinary addresses.
#[tokio::test]
async fn live_has_no_reserved_addresses() {
    let rig = Rig::new().await;
    let live = rig.live().await;
    for email in [
        "ok@vestry.test",
        "expired@vestry.test",
        "wrong@vestry.test",
        "bounce@vestry.test",
        "slow@vestry.test",
    ] {
        let sent = rig.login(&live, email).await;
        rig.deliver().await;
        let (_, mail) = rig.mailer.sent().pop().unwrap();
        assert_eq!(mail.to, email);
        // Once in a million runs that is the code.
        if mail.code != "000000" {
            let zeros = rig.verify(&live, sent.email.id, "000000").await;
            assert!(
                matches!(zeros, Err(VerifyCodeError::InvalidCode)),
                "{zeros:?}"
            );
        }
        rig.verify(&live, sent.email.id, &mail.code).await.unwrap();
    }
    assert!(
        rig.service
            .captured_messages(&*rig.test().await, FindMessages::default())
            .await
            .unwrap()
            .is_empty()
    );
}
