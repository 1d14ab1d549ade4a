//! Binding of mailed links to their requester (M-2).

use vestry_app::identity::links::{LoginByLink, VerifiedLink, VerifyLink, VerifyLinkError};
use vestry_app::{Caller, Refusal, SignInBinding};
use vestry_domain::Secret;
use vestry_domain::message::Message;
use vestry_domain::pkce::CodeChallenge;
use vestry_domain::redirect::RedirectKind;

use crate::harness::Harness;
use crate::links::{device, invitation, is_invalid, link_for, opened, url_of};

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const ADA: &str = "ada@example.com";

fn secret(text: &str) -> Secret<String> {
    Secret::new(text.to_owned())
}

fn with_challenge() -> SignInBinding {
    SignInBinding {
        code_challenge: Some(CodeChallenge::of(&secret(VERIFIER)).to_string()),
        ..SignInBinding::default()
    }
}

fn asked_by(started_by: SignInBinding) -> LoginByLink {
    LoginByLink {
        started_by,
        ..link_for(ADA)
    }
}

async fn mailed(harness: &Harness, caller: &Caller, started_by: SignInBinding) -> Message {
    let command = asked_by(started_by);
    let sent = harness.service.login_or_create_by_link(caller, command);
    sent.await.unwrap();
    harness.newest_to(caller, ADA).await.message
}

async fn open_with(
    harness: &Harness,
    caller: &Caller,
    token: &str,
    verifier: Option<&str>,
) -> Result<VerifiedLink, VerifyLinkError> {
    let command = VerifyLink {
        code_verifier: verifier.map(secret),
        ..opened(token)
    };
    harness.service.verify_link(caller, command).await
}

/// M-2: the attacker requests a link to an address of their own and hands it to a victim, whose browser has no verifier or another one.
#[tokio::test]
async fn m_2_a_link_belongs_to_its_requester() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    for others in [None, Some(""), Some(&*"v".repeat(43))] {
        let mail = mailed(&harness, &test, with_challenge()).await;
        let refused = open_with(&harness, &test, &mail.token, others).await;
        assert!(is_invalid(&refused));
        let right = || open_with(&harness, &test, &mail.token, Some(VERIFIER));
        right().await.unwrap();
        assert!(is_invalid(&right().await));
    }
}

/// M-2, RFC 9700, section 2.1.1: if an App sends a verifier, a link that was requested without a challenge is rejected as foreign.
#[tokio::test]
async fn m_2_a_verifier_is_refused_if_the_link_has_no_challenge() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let mail = mailed(&harness, &test, SignInBinding::default()).await;
    for verifier in ["", VERIFIER] {
        let refused = open_with(&harness, &test, &mail.token, Some(verifier)).await;
        assert!(is_invalid(&refused), "{verifier}");
    }
    harness.open(&test, &mail.token).await.unwrap();
}

/// M-2: the fifth wrong verifier voids the link and nothing else. The mailed code still works where it is entered, and a new link starts
/// afresh.
#[tokio::test]
async fn m_2_five_wrong_verifiers_use_a_link_up() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    for wrong in [4, 5] {
        let mail = mailed(&harness, &test, with_challenge()).await;
        for _ in 0..wrong {
            let refused = open_with(&harness, &test, &mail.token, Some("x")).await;
            assert!(is_invalid(&refused));
        }
        let outcome = open_with(&harness, &test, &mail.token, Some(VERIFIER)).await;
        assert_eq!(outcome.is_ok(), wrong == 4, "after {wrong}");
    }
    let sent = harness
        .service
        .login_or_create_by_link(&test, asked_by(with_challenge()))
        .await
        .unwrap();
    let mail = harness.newest_to(&test, ADA).await.message;
    for _ in 0..5 {
        let refused = open_with(&harness, &test, &mail.token, None).await;
        assert!(is_invalid(&refused));
    }
    let code = harness.verify(&test, sent.email_id, &mail.code).await;
    code.unwrap();
}

/// M-2: with the right verifier other failures are as unlimited as before, and a wrong verifier locks out no address.
#[tokio::test]
async fn m_2_a_right_verifier_is_not_an_attempt() {
    let harness = Harness::with_urls().await;
    harness.set(&[("device_fingerprint_match", "ip")]).await;
    let test = harness.test().await;
    let command = LoginByLink {
        device_fingerprint: Some(device("192.0.2.1", "")),
        ..asked_by(with_challenge())
    };
    let sent = harness
        .service
        .login_or_create_by_link(&test, command)
        .await;
    sent.unwrap();
    let mail = harness.newest_to(&test, ADA).await.message;
    let from = |ip: &str| VerifyLink {
        code_verifier: Some(secret(VERIFIER)),
        device_fingerprint: device(ip, ""),
        ..opened(&mail.token)
    };
    for _ in 0..6 {
        let elsewhere = harness.service.verify_link(&test, from("192.0.2.2")).await;
        assert!(is_invalid(&elsewhere));
    }
    let here = harness.service.verify_link(&test, from("192.0.2.1")).await;
    here.unwrap();
    for _ in 0..5 {
        let mail = mailed(&harness, &test, with_challenge()).await;
        harness.pass(700);
        for _ in 0..6 {
            let refused = open_with(&harness, &test, &mail.token, Some("x")).await;
            assert!(is_invalid(&refused), "and never a lockout");
        }
    }
}

/// M-2: after a hundred concurrent wrong verifiers the right one is too late; of a hundred concurrent right ones a single one wins.
#[tokio::test]
async fn m_2_parallel_verifiers_of_a_link_are_counted_one_by_one() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    for (verifier, winners) in [("x", 0), (VERIFIER, 1)] {
        let mail = mailed(&harness, &test, with_challenge()).await;
        let all = (0..100).map(|_| open_with(&harness, &test, &mail.token, Some(verifier)));
        let outcomes = futures_util::future::join_all(all).await;
        let won = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        assert_eq!(won, winners);
        let late = open_with(&harness, &test, &mail.token, Some(VERIFIER)).await;
        assert!(is_invalid(&late));
    }
}

/// M-2: the link carries the state that its caller sent, after the token, and its destination is unchanged.
#[tokio::test]
async fn m_2_a_link_carries_its_callers_state() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let started_by = SignInBinding {
        state: Some("a b&c".to_owned()),
        ..SignInBinding::default()
    };
    let mail = mailed(&harness, &test, started_by).await;
    let expected = format!(
        "{}?token={}&state=a%20b%26c",
        url_of(RedirectKind::Registration),
        mail.token
    );
    assert_eq!(mail.link, expected);
    assert!(mail.text.contains(&expected), "{}", mail.text);
}

/// M-2: what an App can require of link requests. Invitations are exempt, because their recipient did not request them.
#[tokio::test]
async fn m_2_an_app_may_require_a_challenge_for_links() {
    let harness = Harness::with_urls().await;
    harness.set(&[("require_code_challenge", "true")]).await;
    let test = harness.test().await;
    let service = &harness.service;
    let refused = service
        .login_or_create_by_link(&test, asked_by(SignInBinding::default()))
        .await;
    assert!(matches!(
        refused,
        Err(Refusal::Invalid(invalid)) if invalid.param == "code_challenge"
    ));
    assert!(!harness.is_known(&test, ADA).await, "no user was created");
    let mail = mailed(&harness, &test, with_challenge()).await;
    let verified = open_with(&harness, &test, &mail.token, Some(VERIFIER)).await;
    verified.unwrap();
    let invited = service.invite_by_link(&test, invitation("bob@example.com"));
    invited.await.unwrap();
    let mail = harness.newest_to(&test, "bob@example.com").await.message;
    harness.open(&test, &mail.token).await.unwrap();
}
