//! `sessions/verify`, `list`, `delete`, `delete_all`: how long a session is valid.

use std::sync::Arc;

use futures_util::future::join_all;
use vestry_app::Refusal;
use vestry_app::identity::sessions::{IssuedSession, VerifySession};
use vestry_contract::race::race;
use vestry_domain::Secret;
use vestry_domain::ids::{Id, SessionId, UserId};
use vestry_domain::session::{Session, SessionSelector};
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_ports::store::Store;

use crate::harness::{Harness, START};

const ADA: &str = "ada@example.com";

fn is_invalid<T>(outcome: &Result<T, Refusal>) -> bool {
    matches!(outcome, Err(Refusal::InvalidSession))
}

fn extension(session: &IssuedSession, minutes: i64) -> VerifySession {
    VerifySession {
        session_token: Some(session.token.clone()),
        session_expires_in: Some(minutes),
        ..VerifySession::default()
    }
}

#[tokio::test]
async fn a_session_expires_to_the_second() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, ADA, 5).await;
    harness.pass(299);
    harness.by_token(&test, &session.token).await.unwrap();
    harness.by_jwt(&test, &session.jwt).await.unwrap();
    assert_eq!(
        harness
            .list_sessions(&test, session.session.user_id)
            .await
            .unwrap()
            .len(),
        1
    );
    harness.pass(1);
    assert!(is_invalid(&harness.by_token(&test, &session.token).await));
    assert!(is_invalid(&harness.by_jwt(&test, &session.jwt).await));
    let revival = harness
        .service
        .verify_session(&test, extension(&session, 60))
        .await;
    assert!(is_invalid(&revival), "an expired session is not extended");
    assert!(
        harness
            .list_sessions(&test, session.session.user_id)
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn a_verify_extends_on_request() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, ADA, 5).await;
    harness.pass(10);
    let extended = harness
        .service
        .verify_session(&test, extension(&session, 60))
        .await
        .unwrap();
    assert_eq!(extended.session.expires_at, harness.now() + Seconds(3_600));
    assert_eq!(
        (extended.session.last_active_at, extended.session.updated_at),
        (harness.now(), harness.now())
    );
    assert_eq!(
        extended.token.unwrap().expose(),
        session.token.expose(),
        "verifying is not a sign-in: the token stays"
    );
    harness.pass(3_599);
    harness.by_token(&test, &session.token).await.unwrap();
    harness.pass(1);
    assert!(is_invalid(&harness.by_token(&test, &session.token).await));
}

#[tokio::test]
async fn bad_input_names_the_field_and_changes_nothing() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, ADA, 60).await;
    let mut cases = vec![("session_token", VerifySession::default())];
    cases.extend(
        [i64::MIN, 0, 4, 525_601, i64::MAX]
            .map(|minutes| ("session_expires_in", extension(&session, minutes))),
    );
    for (param, command) in cases {
        let refused = harness.service.verify_session(&test, command).await;
        assert!(
            matches!(&refused, Err(Refusal::Invalid(invalid)) if invalid.param == param),
            "{refused:?}"
        );
    }
    assert_eq!(
        harness
            .by_token(&test, &session.token)
            .await
            .unwrap()
            .session,
        session.session
    );
}

/// S-3: an App's absolute limit holds whatever is requested, and the response shows the effective end.
#[tokio::test]
async fn s_3_the_absolute_limit_is_never_exceeded() {
    let harness = Harness::new().await;
    harness.set(&[("session_absolute_minutes", "60")]).await;
    let test = harness.test().await;
    let start = harness.now();
    let session = harness.sign_in(&test, ADA, 525_600).await;
    assert_eq!(session.session.expires_at, start + Seconds(3_600));
    harness.pass(3_000);
    let extended = harness
        .service
        .verify_session(&test, extension(&session, 525_600))
        .await
        .unwrap();
    assert_eq!(extended.session.expires_at, start + Seconds(3_600));
    harness.pass(599);
    harness.by_token(&test, &session.token).await.unwrap();
    harness.pass(1);
    assert!(is_invalid(&harness.by_token(&test, &session.token).await));
}

/// S-3: a limit that is lowered later applies to existing sessions.
#[tokio::test]
async fn s_3_a_lowered_limit_applies_at_once() {
    let harness = Harness::new().await;
    let session = harness.sign_in(&*harness.test().await, ADA, 525_600).await;
    harness.pass(400);
    harness
        .by_token(&*harness.test().await, &session.token)
        .await
        .unwrap();
    harness.set(&[("session_absolute_minutes", "5")]).await;
    assert!(is_invalid(
        &harness
            .by_token(&*harness.test().await, &session.token)
            .await
    ));
}

/// S-3: a session that is not verified ends after the idle limit; one that is verified does not. Tested for every possible limit.
#[tokio::test]
async fn s_3_the_idle_limit_counts_from_the_last_verify() {
    for minutes in [1, 2, 10, 30] {
        let harness = Harness::new().await;
        harness
            .set(&[("session_idle_minutes", &minutes.to_string())])
            .await;
        let test = harness.test().await;
        let session = harness.sign_in(&test, ADA, 525_600).await;
        let limit = minutes * 60;
        // In use for a long time, at two thirds of the limit each time.
        for _ in 0..10 {
            harness.pass(limit * 2 / 3);
            harness.by_token(&test, &session.token).await.unwrap();
        }
        harness.pass(limit);
        assert!(
            is_invalid(&harness.by_token(&test, &session.token).await),
            "{minutes} minutes"
        );
        assert!(is_invalid(&harness.by_jwt(&test, &session.jwt).await));
        assert!(
            harness
                .list_sessions(&test, session.session.user_id)
                .await
                .unwrap()
                .is_empty()
        );
    }
}

/// A verify is one indexed read; `last_active_at` is written at most once a minute (API-7).
#[tokio::test]
async fn a_verify_is_one_read_and_at_most_one_write_a_minute() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, ADA, 60).await;
    harness.by_token(&test, &session.token).await.unwrap();
    harness.store.count();
    for second in 1..=180 {
        harness.pass(1);
        let verified = harness
            .by_token(&test, &session.token)
            .await
            .unwrap()
            .session;
        let (reads, writes) = harness.store.count();
        let wrote = second % 60 == 0;
        assert_eq!(writes, usize::from(wrote), "second {second}");
        // The signing keys are also read once a minute.
        assert!((1..=2).contains(&reads), "second {second}: {reads} reads");
        assert_eq!(
            verified.last_active_at,
            START + Seconds(second - second % 60)
        );
        assert_eq!(verified.updated_at, START, "activity is not a change");
    }
    let (mut reads, mut signing_key_reads) = (0, 0);
    for _ in 0..100 {
        harness.by_token(&test, &session.token).await.unwrap();
        let (now, writes) = harness.store.count();
        assert_eq!(writes, 0);
        reads += now;
        signing_key_reads += now - 1;
    }
    assert_eq!((reads, signing_key_reads), (100, 0));
}

/// PR-103: the activity of concurrently used sessions is recorded in one transaction. Whichever step fails, an answered verify is recorded.
#[tokio::test]
async fn pr_103_activity_is_recorded_in_batches() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let mut tokens = Vec::new();
    for number in 0..10 {
        let email = format!("u{number}@example.com");
        tokens.push(harness.sign_in(&test, &email, 600).await.token);
    }
    let verify_all = || join_all(tokens.iter().map(|token| harness.by_token(&test, token)));
    verify_all().await;
    for operations in 0.. {
        harness.pass(60);
        harness.store.count();
        harness.fake.fail_after(operations);
        let answers = verify_all().await;
        let was_reached = !harness.fake.has_yet_to_fail();
        harness.fake.fail_after(None);
        for (answer, token) in answers.into_iter().zip(&tokens) {
            let Ok(verified) = answer else {
                assert!(was_reached);
                continue;
            };
            let hash = TokenHash::of(token.expose());
            let mut read = harness.store.read().await.unwrap();
            let stored = read.sessions().find_by_token(&test.world, &hash).await;
            assert_eq!(
                stored.unwrap().unwrap().last_active_at,
                verified.session.last_active_at
            );
        }
        if !was_reached {
            let (_, writes) = harness.store.count();
            assert_eq!(writes, 1, "ten sessions are recorded in one transaction");
            return;
        }
    }
}

/// S-4: at once, on every process, by every kind of reference; and `deleted_at` is set once.
#[tokio::test]
async fn s_4_a_deleted_session_is_dead_at_once() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let other = harness.other_process();
    for (number, name) in ["token", "jwt", "id"].into_iter().enumerate() {
        let session = harness.sign_in(&test, ADA, 60).await;
        // The other process has seen it live.
        let by_token = || VerifySession {
            session_token: Some(session.token.clone()),
            ..VerifySession::default()
        };
        other.verify_session(&test, by_token()).await.unwrap();
        let selector = || match number {
            0 => SessionSelector::Token(session.token.clone()),
            1 => SessionSelector::Jwt(session.jwt.clone()),
            _ => SessionSelector::Id(session.session.id),
        };
        harness
            .service
            .delete_session(&test, selector())
            .await
            .unwrap();
        assert!(
            is_invalid(&harness.by_token(&test, &session.token).await),
            "{name}"
        );
        assert!(
            is_invalid(&harness.by_jwt(&test, &session.jwt).await),
            "{name}"
        );
        assert!(
            is_invalid(&other.verify_session(&test, by_token()).await),
            "{name}"
        );
        assert!(is_invalid(
            &harness
                .service
                .verify_session(&test, extension(&session, 60))
                .await
        ));
        assert!(
            harness
                .list_sessions(&test, session.session.user_id)
                .await
                .unwrap()
                .is_empty()
        );
        harness.pass(5);
        let again = harness.service.delete_session(&test, selector()).await;
        match again {
            Err(Refusal::NotFound("session")) if name == "id" => {}
            Err(Refusal::InvalidSession) if name != "id" => {}
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// No caller can end a session of another environment, or one that never existed.
#[tokio::test]
async fn delete_stays_in_its_environment() {
    let harness = Harness::new().await;
    let (test, live, stranger) = (
        harness.test().await,
        harness.live().await,
        harness.stranger().await,
    );
    let session = harness.sign_in(&test, ADA, 60).await;
    for caller in [&live, &stranger] {
        let by_id = harness
            .service
            .delete_session(caller, SessionSelector::Id(session.session.id))
            .await;
        assert!(matches!(by_id, Err(Refusal::NotFound("session"))));
        let by_token = harness
            .service
            .delete_session(caller, SessionSelector::Token(session.token.clone()))
            .await;
        assert!(matches!(by_token, Err(Refusal::InvalidSession)));
        let by_jwt = harness
            .service
            .delete_session(caller, SessionSelector::Jwt(session.jwt.clone()))
            .await;
        assert!(matches!(by_jwt, Err(Refusal::InvalidSession)));
        let all = harness
            .service
            .delete_all_sessions(caller, session.session.user_id)
            .await;
        assert!(matches!(all, Err(Refusal::NotFound("user"))));
        let listed = harness.list_sessions(caller, session.session.user_id).await;
        assert!(matches!(listed, Err(Refusal::NotFound("user"))));
        assert!(is_invalid(&harness.by_token(caller, &session.token).await));
        assert!(is_invalid(&harness.by_jwt(caller, &session.jwt).await));
    }
    let nobody = SessionSelector::Id(SessionId::new(START, [7; 16]));
    assert!(matches!(
        harness.service.delete_session(&test, nobody).await,
        Err(Refusal::NotFound("session"))
    ));
    for selector in [
        SessionSelector::Token(Secret::new("x".repeat(64))),
        SessionSelector::Jwt(Secret::new("a.b.c".into())),
    ] {
        let refused = harness.service.delete_session(&test, selector).await;
        assert!(matches!(refused, Err(Refusal::InvalidSession)));
    }
    let nobody = UserId::new(START, [7; 16]);
    assert!(matches!(
        harness.service.delete_all_sessions(&test, nobody).await,
        Err(Refusal::NotFound("user"))
    ));
    harness.by_token(&test, &session.token).await.unwrap();
}

#[tokio::test]
async fn delete_all_ends_every_session_of_the_user() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let mut sessions = Vec::new();
    for _ in 0..3 {
        sessions.push(harness.sign_in(&test, ADA, 60).await);
        harness.pass(1);
    }
    let of_bob = harness.sign_in(&test, "bob@example.com", 60).await;
    let user = sessions[0].session.user_id;
    let listed = harness.list_sessions(&test, user).await.unwrap();
    let newest_first: Vec<_> = sessions
        .iter()
        .rev()
        .map(|session| session.session.id)
        .collect();
    assert_eq!(
        listed.iter().map(|session| session.id).collect::<Vec<_>>(),
        newest_first
    );
    assert_eq!(
        harness
            .service
            .delete_all_sessions(&test, user)
            .await
            .unwrap(),
        3
    );
    for session in &sessions {
        assert!(is_invalid(&harness.by_token(&test, &session.token).await));
        assert!(is_invalid(&harness.by_jwt(&test, &session.jwt).await));
    }
    assert_eq!(
        harness
            .service
            .delete_all_sessions(&test, user)
            .await
            .unwrap(),
        0
    );
    harness.by_token(&test, &of_bob.token).await.unwrap();
}

/// S-4: of many calls that end one session concurrently, one did it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s_4_a_session_ends_once() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, ADA, 60).await;
    let tasks = (0..20).map(|_| {
        let (service, test, id) = (
            Arc::clone(&harness.service),
            Arc::clone(&test),
            session.session.id,
        );
        async move {
            service
                .delete_session(&test, SessionSelector::Id(id))
                .await
                .is_ok()
        }
    });
    let ended = race(tasks).await;
    assert_eq!(ended.iter().filter(|ended| **ended).count(), 1);
}

/// M-22: more sessions than one step ends; those of other environments stay.
#[tokio::test]
async fn m_22_all_sessions_end_step_by_step() {
    const MANY: usize = 1_100;
    let harness = Harness::new().await;
    let test = harness.test().await;
    let own = harness.sign_in(&test, ADA, 60).await;
    let stranger = harness.stranger().await;
    let foreign = harness.sign_in(&stranger, ADA, 60).await;
    let mut tx = harness.fake.begin().await.unwrap();
    for number in 0..MANY {
        let mut random = [0; 16];
        random[..8].copy_from_slice(&number.to_be_bytes());
        let session = Session {
            id: SessionId::new(harness.now(), random),
            ..own.session.clone()
        };
        let token = TokenHash::of(&number.to_string());
        tx.sessions().insert(&session, &token).await.unwrap();
    }
    tx.commit().await.unwrap();
    let user = own.session.user_id;
    let living = harness.list_sessions(&test, user).await.unwrap();
    assert_eq!(living.len(), MANY + 1);
    let ended = harness.service.delete_every_session(&test).await.unwrap();
    assert_eq!(ended, u64::try_from(MANY + 1).unwrap());
    assert!(is_invalid(&harness.by_token(&test, &own.token).await));
    assert_eq!(harness.list_sessions(&test, user).await.unwrap(), []);
    let stored = harness.list_sessions_with_ended(&test, user).await;
    assert_eq!(stored.unwrap().len(), MANY + 1);
    harness.by_token(&stranger, &foreign.token).await.unwrap();
    assert_eq!(
        harness.service.delete_every_session(&test).await.unwrap(),
        0
    );
}
