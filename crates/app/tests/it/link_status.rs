//! `magic_links/email/login_status`: what the browser that requested a link learns and receives.

use std::sync::Arc;

use vestry_app::Caller;
use vestry_app::identity::links::{
    CreateLink, CreatedLink, LoginStatus, LoginStatusError, LoginStatusQuery, VerifyLink,
};
use vestry_app::identity::sessions::SessionFields;
use vestry_contract::race::race;
use vestry_domain::Secret;
use vestry_domain::ids::{EmailId, Id};
use vestry_domain::session::{Proof, SessionSelector};
use vestry_domain::user::UserStatus;

use crate::harness::{Harness, START, lasting};
use crate::links::{device, opened};

async fn ask(
    harness: &Harness,
    caller: &Caller,
    made: &CreatedLink,
) -> Result<LoginStatus, LoginStatusError> {
    ask_for(harness, caller, made.email.id, made.origin_token.expose()).await
}

async fn ask_for(
    harness: &Harness,
    caller: &Caller,
    email_id: EmailId,
    origin: &str,
) -> Result<LoginStatus, LoginStatusError> {
    let query = LoginStatusQuery {
        email_id,
        origin_token: Secret::new(origin.to_owned()),
    };
    harness.service.login_status(caller, query).await
}

fn is_spent<T>(outcome: &Result<T, LoginStatusError>) -> bool {
    matches!(outcome, Err(LoginStatusError::InvalidOrigin))
}

fn is_expired<T>(outcome: &Result<T, LoginStatusError>) -> bool {
    matches!(outcome, Err(LoginStatusError::Expired))
}

/// The whole flow, also if the link is the account's first proof: two sessions, one for each browser.
#[tokio::test]
async fn the_origin_gets_a_session_of_its_own() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.walletless(&test, "ada@example.com").await;
    let command = CreateLink {
        email: Some("ada@example.com".into()),
        device_fingerprint: Some(device("203.0.113.7", "Desktop")),
        ..CreateLink::default()
    };
    let made = harness.service.create_link(&test, command).await.unwrap();
    for _ in 0..3 {
        let waiting = ask(&harness, &test, &made).await;
        assert!(
            matches!(waiting, Err(LoginStatusError::NotVerified)),
            "{waiting:?}"
        );
    }
    harness.pass(10);
    let command = VerifyLink {
        session_fields: lasting(60),
        device_fingerprint: device("198.51.100.7", "Phone"),
        ..opened(made.token.expose())
    };
    let verified = harness.service.verify_link(&test, command).await.unwrap();
    let first = verified.issued.unwrap();
    harness.pass(5);
    let status = ask(&harness, &test, &made).await.unwrap();
    assert_eq!(
        (status.user_id, status.status),
        (verified.user_id, UserStatus::Active)
    );
    let own = status.issued.unwrap();
    assert_ne!(own.session.id, first.session.id);
    assert_ne!(own.token.expose(), first.token.expose());
    assert_eq!(
        own.session.device_fingerprint,
        device("203.0.113.7", "Desktop")
    );
    assert_eq!(own.session.expires_at, first.session.expires_at);
    assert_eq!(own.session.factors, first.session.factors);
    assert!(matches!(
        own.session.factors[0].proof,
        Proof::EmailLink { .. }
    ));
    for issued in [&first, &own] {
        harness.by_token(&test, &issued.token).await.unwrap();
        harness.by_jwt(&test, &issued.jwt).await.unwrap();
    }
    assert!(is_spent(&ask(&harness, &test, &made).await), "once");
    // Each ends independently.
    let end = SessionSelector::Token(first.token.clone());
    harness.service.delete_session(&test, end).await.unwrap();
    harness.by_token(&test, &own.token).await.unwrap();
}

/// Without a session there is nothing to hand over, and the response is the same each time.
#[tokio::test]
async fn without_a_session_the_origin_learns_that_the_link_was_used() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, "ada@example.com", 60).await;
    let made = harness.created_link(&test, "ada@example.com").await;
    harness.open(&test, made.token.expose()).await.unwrap();
    for _ in 0..3 {
        let status = ask(&harness, &test, &made).await.unwrap();
        assert_eq!(status.user_id, session.session.user_id);
        assert!(status.issued.is_none());
    }
    // An existing session may rest on more than the link, so it is not handed over either.
    let made = harness.created_link(&test, "ada@example.com").await;
    let command = VerifyLink {
        session_fields: SessionFields {
            session_token: Some(session.token.clone()),
            ..lasting(60)
        },
        ..opened(made.token.expose())
    };
    let continued = harness.service.verify_link(&test, command).await.unwrap();
    assert!(continued.issued.is_some());
    assert!(ask(&harness, &test, &made).await.unwrap().issued.is_none());
}

/// Wrong tokens, addresses and environments, and replaced links, get the same response.
#[tokio::test]
async fn only_the_requesting_browser_is_answered() {
    let harness = Harness::with_urls().await;
    let (test, live, stranger) = (
        harness.test().await,
        harness.live().await,
        harness.stranger().await,
    );
    harness.walletless(&test, "ada@example.com").await;
    harness.walletless(&test, "eve@example.com").await;
    let (adas, eves) = (
        harness.created_link(&test, "ada@example.com").await,
        harness.created_link(&test, "eve@example.com").await,
    );
    let (ada, nobody) = (adas.email.id, EmailId::new(START, [7; 16]));
    let others = [eves.origin_token.expose(), adas.token.expose()];
    for origin in others.into_iter().map(String::as_str).chain(["", "x"]) {
        assert!(is_spent(&ask_for(&harness, &test, ada, origin).await));
    }
    assert!(is_spent(
        &ask_for(&harness, &test, nobody, adas.origin_token.expose()).await
    ));
    assert!(is_spent(
        &ask_for(&harness, &test, eves.email.id, adas.origin_token.expose()).await
    ));
    harness.open_for(&test, adas.token.expose(), 60).await;
    for caller in [&live, &stranger] {
        assert!(is_spent(&ask(&harness, caller, &adas).await), "I11");
    }
    // A link that Vestry mailed has no origin.
    let (sent, mail) = harness.fresh_link(&test, "eve@example.com").await;
    assert!(is_spent(
        &ask_for(&harness, &test, sent.email_id, &mail.token).await
    ));
    let newer = harness.created_link(&test, "ada@example.com").await;
    assert!(is_spent(&ask(&harness, &test, &adas).await), "replaced");
    assert!(matches!(
        ask(&harness, &test, &newer).await,
        Err(LoginStatusError::NotVerified)
    ));
}

/// Unused until it expires, or not polled for ten minutes.
#[tokio::test]
async fn a_link_can_be_polled_for_a_while() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.walletless(&test, "ada@example.com").await;
    let made = harness.created_link(&test, "ada@example.com").await;
    harness.pass(3_599);
    let test = harness.test().await;
    assert!(matches!(
        ask(&harness, &test, &made).await,
        Err(LoginStatusError::NotVerified)
    ));
    harness.pass(1);
    assert!(is_expired(
        &ask(&harness, &*harness.test().await, &made).await
    ));
    for (later, is_answered) in [(599, true), (600, false)] {
        let test = harness.test().await;
        let made = harness.created_link(&test, "ada@example.com").await;
        harness.pass(3_599);
        harness
            .open_for(&*harness.test().await, made.token.expose(), 60)
            .await;
        harness.pass(later);
        let outcome = ask(&harness, &*harness.test().await, &made).await;
        assert_eq!(outcome.is_ok(), is_answered, "{later}");
        assert!(is_answered || is_expired(&outcome));
    }
    let test = harness.test().await;
    harness.walletless(&test, "expired@vestry.test").await;
    let made = harness.created_link(&test, "expired@vestry.test").await;
    assert!(is_expired(&ask(&harness, &test, &made).await));
}

/// Attack 14: signing out everywhere also covers the browser that has not polled yet.
#[tokio::test]
async fn attack_14_an_ended_session_is_not_handed_over() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.walletless(&test, "ada@example.com").await;
    for step in 0..3 {
        let made = harness.created_link(&test, "ada@example.com").await;
        let verified = harness.open_for(&test, made.token.expose(), 5).await;
        let session = verified.issued.unwrap().session.id;
        match step {
            0 => drop(
                harness
                    .service
                    .delete_all_sessions(&test, user)
                    .await
                    .unwrap(),
            ),
            1 => {
                let end = SessionSelector::Id(session);
                harness.service.delete_session(&test, end).await.unwrap();
            }
            _ => harness.pass(300),
        }
        let test = harness.test().await;
        for _ in 0..2 {
            assert!(
                is_expired(&ask(&harness, &test, &made).await),
                "step {step}"
            );
        }
        assert!(
            harness
                .list_sessions(&test, user)
                .await
                .unwrap()
                .iter()
                .all(|session| { session.expires_at <= harness.now() })
        );
    }
}

/// S-3: a session that ended by inactivity is not revived by handing it over, and handing it over does not count as activity.
#[tokio::test]
async fn s_3_an_idle_session_is_not_handed_over() {
    for (idle, is_answered) in [(119, true), (120, false)] {
        let harness = Harness::new().await;
        harness.set(&[("session_idle_minutes", "2")]).await;
        let test = harness.test().await;
        harness.walletless(&test, "ada@example.com").await;
        let made = harness.created_link(&test, "ada@example.com").await;
        let verified = harness.open_for(&test, made.token.expose(), 60).await;
        let first = verified.issued.unwrap();
        harness.pass(idle);
        for _ in 0..2 {
            let outcome = ask(&harness, &test, &made).await;
            match outcome {
                Ok(status) => assert!(is_answered && status.issued.is_some()),
                Err(LoginStatusError::InvalidOrigin) => assert!(is_answered, "once"),
                Err(LoginStatusError::Expired) => assert!(!is_answered),
                other => panic!("{other:?}"),
            }
        }
        harness.pass(1);
        let still = harness.by_token(&test, &first.token).await.is_ok();
        assert!(!still, "after {idle} seconds and one more");
    }
}

/// Fifty concurrent browsers with the same token get one session in total.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_origins_have_one_winner() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.walletless(&test, "ada@example.com").await;
    let made = harness.created_link(&test, "ada@example.com").await;
    harness.open_for(&test, made.token.expose(), 60).await;
    let tasks = (0..50).map(|_| {
        let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
        let query = LoginStatusQuery {
            email_id: made.email.id,
            origin_token: made.origin_token.clone(),
        };
        async move { service.login_status(&test, query).await }
    });
    let outcomes = race(tasks).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    assert!(
        outcomes
            .iter()
            .all(|outcome| outcome.is_ok() || is_spent(outcome))
    );
    let sessions = harness.list_sessions(&test, user).await.unwrap();
    assert_eq!(sessions.len(), 2);
}
