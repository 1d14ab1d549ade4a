//! The session rule shared by all verify calls (API-4, API-5), tested on `otps/verify`.

use std::sync::Arc;

use vestry_app::identity::codes::{VerifiedCode, VerifyCode, VerifyCodeError};
use vestry_app::identity::sessions::{IssuedSession, SessionFields, VerifySession};
use vestry_app::{Caller, Refusal};
use vestry_domain::Secret;
use vestry_domain::email::Email;
use vestry_domain::ids::{EmailId, Id};
use vestry_domain::session::{DeviceFingerprint, Factor, Proof, SessionSelector};
use vestry_domain::timestamp::Seconds;
use vestry_domain::user::UserEmail;
use vestry_ports::store::{Store, StoreError};

use crate::harness::{Harness, START, lasting, login, proof};

const ADA: &str = "ada@example.com";

fn with_token(token: &Secret<String>) -> SessionFields {
    SessionFields {
        session_token: Some(token.clone()),
        ..SessionFields::default()
    }
}

fn with_jwt(jwt: &Secret<String>) -> SessionFields {
    SessionFields {
        session_jwt: Some(jwt.clone()),
        ..SessionFields::default()
    }
}

/// Proves an address once more, with this `session_fields`.
async fn prove(
    harness: &Harness,
    caller: &Caller,
    email: &str,
    session_fields: SessionFields,
) -> Result<VerifiedCode, VerifyCodeError> {
    let (sent, digits) = harness.fresh_code(caller, email).await;
    let command = VerifyCode {
        session_fields,
        ..proof(sent.email.id, &digits)
    };
    harness.service.verify_code(caller, command).await
}

async fn continued(
    harness: &Harness,
    caller: &Caller,
    session_fields: SessionFields,
) -> IssuedSession {
    prove(harness, caller, ADA, session_fields)
        .await
        .unwrap()
        .issued
        .unwrap()
}

#[tokio::test]
async fn no_session_unless_requested() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let verified = prove(&harness, &test, ADA, SessionFields::default())
        .await
        .unwrap();
    assert!(verified.issued.is_none());
    assert!(
        harness
            .list_sessions(&test, verified.user_id)
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn session_expires_in_starts_a_session() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    for (number, minutes) in [5, 60, 525_600].into_iter().enumerate() {
        let email = format!("u{number}@example.com");
        let (sent, digits) = harness.fresh_code(&test, &email).await;
        let device =
            DeviceFingerprint::new(Some("192.0.2.1".into()), Some("Browser/1".into())).unwrap();
        let command = VerifyCode {
            session_fields: lasting(minutes),
            device_fingerprint: device.clone(),
            ..proof(sent.email.id, &digits)
        };
        let verified = harness.service.verify_code(&test, command).await.unwrap();
        let IssuedSession {
            session,
            object: _,
            token,
            jwt,
        } = verified.issued.unwrap();
        assert_eq!(session.user_id, sent.email.user_id);
        assert_eq!(session.world, test.world);
        assert_eq!(session.expires_at, START + Seconds::from_minutes(minutes));
        let times = [
            session.started_at,
            session.last_active_at,
            session.created_at,
            session.updated_at,
        ];
        assert_eq!(times, [START; 4]);
        assert_eq!(session.id.timestamp(), START);
        let factor = Factor {
            proof: Proof::EmailCode {
                email_id: sent.email.id,
                email: email.clone(),
            },
            last_verified_at: START,
        };
        assert_eq!(session.factors, [factor]);
        assert_eq!(session.device_fingerprint, device);
        assert!(session.permissions.is_empty() && session.deleted_at.is_none());
        assert_eq!(token.expose().len(), 64);
        assert!(
            token
                .expose()
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric())
        );

        let by_token = harness.by_token(&test, &token).await.unwrap();
        let by_jwt = harness.by_jwt(&test, &jwt).await.unwrap();
        assert_eq!((&by_token.session, &by_jwt.session), (&session, &session));
        assert_eq!(by_token.token.unwrap().expose(), token.expose());
        assert!(by_jwt.token.is_none(), "a JWT does not know the token");
    }
}

/// S-2: the session continues under a fresh token. Only the presented token becomes invalid.
#[tokio::test]
async fn s_2_a_further_proof_renews_the_token_of_the_same_session() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    for named_by_jwt in [false, true] {
        let email = format!("{named_by_jwt}@example.com");
        let first = harness.sign_in(&test, &email, 60).await;
        harness.pass(90);
        let session_fields = if named_by_jwt {
            with_jwt(&first.jwt)
        } else {
            with_token(&first.token)
        };
        let second = prove(&harness, &test, &email, session_fields)
            .await
            .unwrap()
            .issued
            .unwrap();
        let (before, after) = (&first.session, &second.session);
        assert_eq!(
            (after.id, after.started_at, after.created_at),
            (before.id, before.started_at, before.created_at)
        );
        assert_eq!(
            after.expires_at, before.expires_at,
            "no length was requested"
        );
        assert_eq!(
            (after.last_active_at, after.updated_at),
            (harness.now(), harness.now())
        );
        assert_eq!(
            after.factors.len(),
            1,
            "the same proof refreshes its factor"
        );
        assert_eq!(after.factors[0].last_verified_at, harness.now());
        assert_ne!(first.token.expose(), second.token.expose());
        let old = harness.by_token(&test, &first.token).await;
        assert!(matches!(old, Err(Refusal::InvalidSession)), "{old:?}");
        assert_eq!(
            harness
                .by_token(&test, &second.token)
                .await
                .unwrap()
                .session,
            second.session
        );
        let sessions = harness.list_sessions(&test, after.user_id).await.unwrap();
        assert_eq!(sessions, std::slice::from_ref(after));
    }
}

/// A second kind of proof is added next to the first.
#[tokio::test]
async fn another_factor_is_added() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let first = harness.sign_in(&test, ADA, 60).await;
    // Attached directly, as a later release will do: this one has no call for it.
    let second_address = "ada@work.example";
    let mut tx = harness.fake.begin().await.unwrap();
    let email = UserEmail {
        id: EmailId::new(harness.now(), [7; 16]),
        user_id: first.session.user_id,
        email: Email::parse(second_address).unwrap(),
        verified: false,
        created_at: harness.now(),
        updated_at: harness.now(),
        pending_owner: None,
        of_owned: false,
    };
    tx.identifiers()
        .attach_email(&test.world, &email)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let second = prove(&harness, &test, second_address, with_token(&first.token))
        .await
        .unwrap()
        .issued
        .unwrap();
    let proved: Vec<_> = second
        .session
        .factors
        .iter()
        .map(|factor| match &factor.proof {
            Proof::EmailCode { email, .. } => &**email,
            other => panic!("{other:?} was not proved"),
        })
        .collect();
    assert_eq!(proved, [ADA, second_address]);
}

/// With a length, the session ends N minutes from now, whether that is later or earlier.
#[tokio::test]
async fn a_length_moves_the_end_of_a_presented_session() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let mut session = harness.sign_in(&test, ADA, 60).await;
    for minutes in [120, 5, 525_000] {
        harness.pass(200);
        let session_fields = SessionFields {
            session_expires_in: Some(minutes),
            ..with_token(&session.token)
        };
        session = continued(&harness, &test, session_fields).await;
        assert_eq!(
            session.session.expires_at,
            harness.now() + Seconds::from_minutes(minutes)
        );
        assert_eq!(session.session.started_at, START);
        assert_eq!(
            harness
                .by_token(&test, &session.token)
                .await
                .unwrap()
                .session,
            session.session
        );
    }
}

#[tokio::test]
async fn token_and_jwt_of_one_session_are_one_session() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let first = harness.sign_in(&test, ADA, 60).await;
    let session_fields = SessionFields {
        session_jwt: Some(first.jwt.clone()),
        ..with_token(&first.token)
    };
    let second = continued(&harness, &test, session_fields).await;
    assert_eq!(second.session.id, first.session.id);
}

/// Of two sessions: 400, and the code stays valid.
#[tokio::test]
async fn token_and_jwt_of_two_sessions_are_refused() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (one, two) = (
        harness.sign_in(&test, ADA, 60).await,
        harness.sign_in(&test, ADA, 60).await,
    );
    let session_fields = SessionFields {
        session_jwt: Some(two.jwt.clone()),
        ..with_token(&one.token)
    };
    let (sent, digits) = harness.fresh_code(&test, ADA).await;
    let command = VerifyCode {
        session_fields,
        ..proof(sent.email.id, &digits)
    };
    let refused = harness.service.verify_code(&test, command).await;
    assert!(
        matches!(&refused, Err(VerifyCodeError::Common(Refusal::Invalid(invalid))) if invalid.param == "session_jwt"),
        "{refused:?}"
    );
    let both = VerifySession {
        session_token: Some(one.token.clone()),
        session_jwt: Some(two.jwt.clone()),
        ..VerifySession::default()
    };
    let refused = harness.service.verify_session(&test, both).await;
    assert!(matches!(refused, Err(Refusal::Invalid(_))), "{refused:?}");
    harness.verify(&test, sent.email.id, &digits).await.unwrap();
}

/// Attack 13: a session that is not this user's, or not live, is refused and never continued; the code is not used up.
#[tokio::test]
async fn attack_13_a_foreign_or_dead_session_is_refused_and_the_code_kept() {
    let harness = Harness::new().await;
    let (test, live, stranger) = (
        harness.test().await,
        harness.live().await,
        harness.stranger().await,
    );
    let of_bob = harness.sign_in(&test, "bob@example.com", 60).await;
    let elsewhere = harness.sign_in(&stranger, ADA, 60).await;
    let in_live = {
        let sent = harness.login(&live, ADA).await;
        harness.deliver().await;
        let (_, mail) = harness.mailer.sent().remove(0);
        let command = VerifyCode {
            session_fields: lasting(60),
            ..proof(sent.email.id, &mail.code)
        };
        harness
            .service
            .verify_code(&live, command)
            .await
            .unwrap()
            .issued
            .unwrap()
    };
    let deleted = harness.sign_in(&test, ADA, 60).await;
    harness
        .service
        .delete_session(&test, SessionSelector::Id(deleted.session.id))
        .await
        .unwrap();
    let expired = harness.sign_in(&test, ADA, 5).await;
    let replaced = harness.sign_in(&test, ADA, 60).await;
    continued(&harness, &test, with_token(&replaced.token)).await;
    harness.pass(600);

    let (sent, digits) = harness.fresh_code(&test, ADA).await;
    let garbage = Secret::new("x".repeat(64));
    let mut bad = vec![
        ("garbage token", with_token(&garbage)),
        ("garbage jwt", with_jwt(&garbage)),
        ("empty token", with_token(&Secret::new(String::new()))),
        ("a token for a jwt", with_jwt(&replaced.token)),
        ("replaced token", with_token(&replaced.token)),
    ];
    for (name, session) in [
        ("another user's", &of_bob),
        ("another App's", &elsewhere),
        ("the live environment's", &in_live),
        ("deleted", &deleted),
        ("expired", &expired),
    ] {
        bad.push((name, with_token(&session.token)));
        bad.push((name, with_jwt(&session.jwt)));
    }
    let sessions = harness
        .list_sessions(&test, sent.email.user_id)
        .await
        .unwrap();
    for (name, session_fields) in bad {
        for length in [None, Some(60)] {
            let command = VerifyCode {
                session_fields: SessionFields {
                    session_expires_in: length,
                    ..session_fields.clone()
                },
                ..proof(sent.email.id, &digits)
            };
            let refused = harness.service.verify_code(&test, command).await;
            assert!(
                matches!(
                    refused,
                    Err(VerifyCodeError::Common(Refusal::InvalidSession))
                ),
                "{name}: {refused:?}"
            );
        }
    }
    assert_eq!(
        harness
            .list_sessions(&test, sent.email.user_id)
            .await
            .unwrap(),
        sessions
    );
    harness.verify(&test, sent.email.id, &digits).await.unwrap();
    // Bob's session is unchanged.
    assert_eq!(
        harness
            .by_token(&test, &of_bob.token)
            .await
            .unwrap()
            .session
            .factors,
        of_bob.session.factors
    );
}

/// R7: revoked between the check of the session and the use of the code.
#[tokio::test]
async fn r7_a_session_revoked_in_between_is_not_continued() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let first = harness.sign_in(&test, ADA, 60).await;
    let (sent, digits) = harness.fresh_code(&test, ADA).await;
    let command = VerifyCode {
        session_fields: with_token(&first.token),
        ..proof(sent.email.id, &digits)
    };
    let (other, caller, id) = (harness.other_process(), Arc::clone(&test), first.session.id);
    harness.store.before_next_begin(async move {
        other
            .delete_session(&caller, SessionSelector::Id(id))
            .await
            .unwrap();
    });
    let refused = harness.service.verify_code(&test, command).await;
    assert!(
        matches!(
            refused,
            Err(VerifyCodeError::Common(Refusal::InvalidSession))
        ),
        "{refused:?}"
    );
    harness.verify(&test, sent.email.id, &digits).await.unwrap();
}

/// R7: the session expires between the two.
#[tokio::test]
async fn r7_a_session_expired_in_between_is_not_continued() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let first = harness.sign_in(&test, ADA, 5).await;
    harness.pass(299);
    let (sent, digits) = harness.fresh_code(&test, ADA).await;
    let session_fields = SessionFields {
        session_expires_in: Some(60),
        ..with_token(&first.token)
    };
    let command = VerifyCode {
        session_fields,
        ..proof(sent.email.id, &digits)
    };
    // The transaction loses once, and by the second attempt the session has expired.
    let clock = Arc::clone(&harness.clock);
    harness
        .store
        .before_next_begin(async move { clock.advance(Seconds(1)) });
    harness.store.refuse([StoreError::Retry]);
    let refused = harness.service.verify_code(&test, command).await;
    assert!(
        matches!(
            refused,
            Err(VerifyCodeError::Common(Refusal::InvalidSession))
        ),
        "{refused:?}"
    );
    harness.verify(&test, sent.email.id, &digits).await.unwrap();
}

/// Extending a session does not overwrite changes made since it was read.
#[tokio::test]
async fn an_extension_keeps_a_factor_added_in_between() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let first = harness.sign_in(&test, ADA, 60).await;
    harness.pass(60);
    let (sent, digits) = harness.fresh_code(&test, ADA).await;
    let proved = VerifyCode {
        session_fields: with_jwt(&first.jwt),
        ..proof(sent.email.id, &digits)
    };
    let (other, caller) = (harness.other_process(), Arc::clone(&test));
    harness.store.before_next_begin(async move {
        other.verify_code(&caller, proved).await.unwrap();
    });
    let extend = VerifySession {
        session_token: Some(first.token.clone()),
        session_expires_in: Some(120),
        ..VerifySession::default()
    };
    let session = harness
        .service
        .verify_session(&test, extend)
        .await
        .unwrap()
        .session;
    assert_eq!(
        session.expires_at,
        harness.now() + Seconds::from_minutes(120)
    );
    assert_eq!(session.factors[0].last_verified_at, harness.now());
    assert_eq!(
        harness.list_sessions(&test, session.user_id).await.unwrap(),
        [session]
    );
}

/// And a proof that joins a session keeps an end that was moved in between.
#[tokio::test]
async fn a_further_proof_keeps_an_end_moved_in_between() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let first = harness.sign_in(&test, ADA, 60).await;
    let (sent, digits) = harness.fresh_code(&test, ADA).await;
    let command = VerifyCode {
        session_fields: with_jwt(&first.jwt),
        ..proof(sent.email.id, &digits)
    };
    let (other, caller, token) = (
        harness.other_process(),
        Arc::clone(&test),
        first.token.clone(),
    );
    harness.store.before_next_begin(async move {
        let extend = VerifySession {
            session_token: Some(token),
            session_expires_in: Some(500),
            ..VerifySession::default()
        };
        other.verify_session(&caller, extend).await.unwrap();
    });
    let session = harness
        .service
        .verify_code(&test, command)
        .await
        .unwrap()
        .issued
        .unwrap()
        .session;
    assert_eq!(
        session.expires_at,
        harness.now() + Seconds::from_minutes(500)
    );
}

/// Of two proofs that present the same token, one continues the session; the other finds the token used.
///
/// The address is a reserved one, whose code is always the same, so the code does not decide.
#[tokio::test]
async fn s_2_one_token_is_renewed_once() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let email = "ok@vestry.test";
    let first = harness.sign_in(&test, email, 60).await;
    let sent = harness.login(&test, email).await;
    let with_first = || VerifyCode {
        session_fields: with_token(&first.token),
        ..proof(sent.email.id, "000000")
    };
    let (other, caller, faster) = (harness.other_process(), Arc::clone(&test), with_first());
    harness.store.before_next_begin(async move {
        other.verify_code(&caller, faster).await.unwrap();
        other
            .login_or_create_by_email(&caller, login(email))
            .await
            .unwrap();
    });
    let refused = harness.service.verify_code(&test, with_first()).await;
    assert!(
        matches!(
            refused,
            Err(VerifyCodeError::Common(Refusal::InvalidSession))
        ),
        "{refused:?}"
    );
    harness
        .verify(&test, sent.email.id, "000000")
        .await
        .unwrap();
    let sessions = harness
        .list_sessions(&test, sent.email.user_id)
        .await
        .unwrap();
    assert_eq!(
        sessions
            .iter()
            .map(|session| session.id)
            .collect::<Vec<_>>(),
        [first.session.id]
    );
}

fn carrying(permissions: &[&str]) -> Option<Vec<String>> {
    Some(permissions.iter().map(ToString::to_string).collect())
}

/// Permissions are empty until the App sets them, stay until it changes them, and are included in the JWT.
#[tokio::test]
async fn permissions_are_those_the_app_set_last() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session_fields = SessionFields {
        permissions: carrying(&["read", "write", "read"]),
        ..lasting(60)
    };
    let first = continued(&harness, &test, session_fields).await;
    assert_eq!(first.session.permissions, ["read", "write"]);
    let kept = continued(&harness, &test, with_token(&first.token)).await;
    assert_eq!(kept.session.permissions, ["read", "write"]);
    let session_fields = SessionFields {
        permissions: carrying(&[]),
        ..with_token(&kept.token)
    };
    let emptied = continued(&harness, &test, session_fields).await;
    assert_eq!(emptied.session.permissions, [""; 0]);
    let verify = VerifySession {
        session_token: Some(emptied.token.clone()),
        permissions: carrying(&["admin"]),
        ..VerifySession::default()
    };
    let verified = harness.service.verify_session(&test, verify).await.unwrap();
    assert_eq!(verified.session.permissions, ["admin"]);
    assert_eq!(verified.session.expires_at, emptied.session.expires_at);
    let again = harness.by_jwt(&test, &verified.jwt).await.unwrap();
    assert_eq!(again.session.permissions, ["admin"]);
}

/// A refused permission costs no code.
#[tokio::test]
async fn permissions_have_bounds() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (sent, code) = harness.fresh_code(&test, ADA).await;
    let many: Vec<String> = (0..51).map(|number| number.to_string()).collect();
    let refused = [
        vec![String::new()],
        vec!["x".repeat(101)],
        vec!["a\nb".to_owned()],
        many.clone(),
    ];
    let verify = async |permissions: Vec<String>| {
        let command = VerifyCode {
            session_fields: SessionFields {
                permissions: Some(permissions),
                ..lasting(60)
            },
            ..proof(sent.email.id, &code)
        };
        harness.service.verify_code(&test, command).await
    };
    for permissions in refused {
        match verify(permissions).await {
            Err(VerifyCodeError::Common(Refusal::Invalid(invalid))) => {
                assert_eq!(invalid.param, "permissions")
            }
            other => panic!("{other:?}"),
        }
    }
    let session = verify(many[1..].to_vec()).await.unwrap().issued.unwrap();
    assert_eq!(session.session.permissions.len(), 50);
}

/// A granted session can always be signed: the largest possible one is, and one more byte is refused without using up the code (R6).
#[tokio::test]
async fn a_session_that_could_not_be_signed_is_refused_before_anything_is_decided() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (sent, code) = harness.fresh_code(&test, ADA).await;
    let wide = |count: usize| -> Vec<String> {
        let one = |number| format!("{number:02}{}", "\u{1F511}".repeat(98));
        (0..count).map(one).collect()
    };
    let device = || {
        let text = "\u{1F511}".repeat(1024);
        DeviceFingerprint::new(Some(text.clone()), Some(text)).unwrap()
    };
    let verify = async |permissions: Vec<String>| {
        let command = VerifyCode {
            session_fields: SessionFields {
                permissions: Some(permissions),
                ..lasting(60)
            },
            device_fingerprint: device(),
            ..proof(sent.email.id, &code)
        };
        harness.service.verify_code(&test, command).await
    };
    match verify(wide(50)).await {
        Err(VerifyCodeError::Common(Refusal::Invalid(invalid))) => {
            assert_eq!(invalid.param, "permissions")
        }
        other => panic!("{other:?}"),
    }
    let session = verify(wide(10)).await.unwrap().issued.unwrap();
    harness.by_token(&test, &session.token).await.unwrap();
    harness.by_jwt(&test, &session.jwt).await.unwrap();
    // Factors fill it up. The one that does not fit is refused, and the session is unchanged.
    let (mut token, mut refused) = (session.token, None);
    for number in 0..30 {
        let address = format!("ada@{}.{number}.example", "long-label".repeat(6));
        let mut id = [0; 16];
        id[15] = number;
        let mut tx = harness.fake.begin().await.unwrap();
        let email = UserEmail {
            id: EmailId::new(harness.now(), id),
            user_id: session.session.user_id,
            email: Email::parse(&address).unwrap(),
            verified: false,
            created_at: harness.now(),
            updated_at: harness.now(),
            pending_owner: None,
            of_owned: false,
        };
        tx.identifiers()
            .attach_email(&test.world, &email)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        match prove(&harness, &test, &address, with_token(&token)).await {
            Ok(verified) => token = verified.issued.unwrap().token,
            Err(error) => {
                refused = Some(error);
                break;
            }
        }
    }
    match refused {
        Some(VerifyCodeError::Common(Refusal::Invalid(invalid))) => {
            assert_eq!(invalid.param, "session_token")
        }
        other => panic!("{other:?}"),
    }
    let kept = harness.by_token(&test, &token).await.unwrap();
    assert!(kept.session.factors.len() > 1);
}
