//! `passwords/verify`, `passwords/session/update` and `strength_check`: P-1 to P-12, R8, I5 and attacks 1, 13, 22 and 24.

use std::sync::Arc;

use serde_json::json;
use vestry_app::identity::passwords::{
    UpdatePassword, UpdatedPassword, VerifiedPassword, VerifyPassword,
};
use vestry_app::identity::sessions::{IssuedSession, SessionFields};
use vestry_app::identity::users::{Imported, PortableEmail, PortableUser};
use vestry_app::{Caller, Fault, Refusal, Service};
use vestry_contract::race::race;
use vestry_domain::Secret;
use vestry_domain::ids::{Id, SessionId, UserId, WebauthnCredentialId};
use vestry_domain::session::{DeviceFingerprint, Factor, Proof, Session, SignIn};
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_ports::store::Store;

use crate::harness::{Harness, lasting, operator};

const ADA: &str = "ada@example.com";
const FIRST: &str = "correct horse battery";
const SECOND: &str = "staple of another horse";

fn secret(text: &str) -> Secret<String> {
    Secret::new(text.to_owned())
}

pub(crate) fn attempt(user_id: UserId, password: &str) -> VerifyPassword {
    VerifyPassword {
        user_id,
        password: secret(password),
        session_fields: SessionFields::default(),
        device_fingerprint: DeviceFingerprint::default(),
    }
}

pub(crate) fn change(token: &Secret<String>, password: &str) -> UpdatePassword {
    UpdatePassword {
        password: secret(password),
        current_password: None,
        session_token: Some(token.clone()),
        session_jwt: None,
    }
}

pub(crate) async fn verify(
    harness: &Harness,
    caller: &Caller,
    user: UserId,
    password: &str,
) -> Result<VerifiedPassword, Refusal> {
    harness
        .service
        .verify_password(caller, attempt(user, password))
        .await
}

async fn update(
    harness: &Harness,
    caller: &Caller,
    session: &IssuedSession,
    password: &str,
) -> Result<UpdatedPassword, Refusal> {
    let command = change(&session.token, password);
    harness.service.update_password(caller, command).await
}

async fn update_over(
    harness: &Harness,
    caller: &Caller,
    session: &IssuedSession,
    current: &str,
    password: &str,
) -> Result<UpdatedPassword, Refusal> {
    let command = UpdatePassword {
        current_password: Some(secret(current)),
        ..change(&session.token, password)
    };
    harness.service.update_password(caller, command).await
}

/// A user who is signed in and has a password.
pub(crate) async fn with_password(
    harness: &Harness,
    caller: &Caller,
    email: &str,
    password: &str,
) -> IssuedSession {
    let session = harness.sign_in(caller, email, 600).await;
    update(harness, caller, &session, password).await.unwrap();
    // Deliver the notice before a test looks for a code.
    harness.deliver().await;
    session
}

/// A user created by an import.
pub(crate) async fn imported(
    harness: &Harness,
    email: &str,
    hash: Option<&str>,
    verified: bool,
) -> UserId {
    let line = PortableUser {
        emails: vec![PortableEmail {
            email: email.to_owned(),
            verified,
        }],
        password_hash: hash.map(str::to_owned),
        ..PortableUser::default()
    };
    let world = harness.test().await.world;
    let mut import = harness
        .service
        .import_users(&operator(&harness.service, world).await, false)
        .await
        .unwrap();
    match import.take(&[line]).await.unwrap().swap_remove(0) {
        Imported::New(id) => id,
        other => panic!("{other:?}"),
    }
}

fn is_wrong<T>(outcome: &Result<T, Refusal>) -> bool {
    matches!(outcome, Err(Refusal::InvalidCredentials))
}

fn wait<T>(outcome: &Result<T, Refusal>) -> Option<i64> {
    match outcome {
        Err(Refusal::TooMany { retry_after }) => Some(retry_after.0),
        _ => None,
    }
}

/// Why a password is refused.
async fn refusal(
    harness: &Harness,
    caller: &Caller,
    session: &IssuedSession,
    password: &str,
) -> String {
    match update(harness, caller, session, password).await {
        Err(Refusal::Invalid(invalid)) => {
            assert_eq!(invalid.param, "password");
            invalid.message.into_owned()
        }
        other => panic!("{password}: {other:?}"),
    }
}

/// API-17: the first password is set on a session created by a code. The factor is added, other sessions end, the token stays.
#[tokio::test]
async fn a_first_password_is_set_and_signs_in() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let other = harness.sign_in(&test, ADA, 600).await;
    let session = harness.sign_in(&test, ADA, 600).await;
    let user = session.session.user_id;
    assert!(is_wrong(&verify(&harness, &test, user, FIRST).await));
    harness.pass(5);
    let updated = update(&harness, &test, &session, FIRST).await.unwrap();
    assert_eq!(
        (updated.user_id, updated.session.id),
        (user, session.session.id)
    );
    let proofs: Vec<_> = updated
        .session
        .factors
        .iter()
        .map(|factor| &factor.proof)
        .collect();
    assert!(matches!(
        proofs[..],
        [Proof::EmailCode { .. }, Proof::Password]
    ));
    assert!(harness.by_token(&test, &session.token).await.is_ok());
    assert!(
        harness.by_token(&test, &other.token).await.is_err(),
        "other sessions end (S-6)"
    );

    let command = VerifyPassword {
        session_fields: lasting(60),
        ..attempt(user, FIRST)
    };
    let verified = harness
        .service
        .verify_password(&test, command)
        .await
        .unwrap();
    let issued = verified.issued.unwrap();
    assert_eq!((verified.user_id, issued.session.user_id), (user, user));
    assert_eq!(issued.session.factors.len(), 1);
    assert_eq!(
        json!(issued.object)["factors"][0]["method"],
        serde_json::json!({"last_verified_at": harness.now()})
    );
    assert!(harness.by_token(&test, &issued.token).await.is_ok());
    assert!(
        verify(&harness, &test, user, FIRST)
            .await
            .unwrap()
            .issued
            .is_none()
    );
}

/// S-6: verified addresses are notified of every change.
#[tokio::test]
async fn s_6_the_user_is_notified_of_a_change() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    with_password(&harness, &test, ADA, FIRST).await;
    let notice = harness.newest_to(&test, ADA).await;
    assert_eq!(notice.message.kind.as_str(), "security_notice");
    assert!(notice.message.text.contains("password was changed"));
}

/// P-10: one response for every kind of user.
#[tokio::test]
async fn p_10_unknown_foreign_passwordless_wrong_and_empty_get_one_response() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = with_password(&harness, &test, ADA, FIRST).await;
    let user = session.session.user_id;
    let without = harness.walletless(&test, "bob@example.com").await;
    let unknown = UserId::new(harness.now(), [7; 16]);
    for (whose, password) in [
        (user, SECOND),
        (user, ""),
        (user, "correct horse batterz"),
        (without, FIRST),
        (without, ""),
        (unknown, FIRST),
        (unknown, ""),
    ] {
        assert!(
            is_wrong(&verify(&harness, &test, whose, password).await),
            "{password}"
        );
    }
    // The right password with a key of another environment.
    for stranger in [harness.live().await, harness.stranger().await] {
        assert!(is_wrong(&verify(&harness, &stranger, user, FIRST).await));
    }
    assert!(verify(&harness, &test, user, FIRST).await.is_ok());
}

/// P-11 and attack-24: failures delay the password, for known and unknown users alike, and nothing else.
#[tokio::test]
async fn p_11_failures_delay_the_password_and_no_other_method() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = with_password(&harness, &test, ADA, FIRST).await;
    let user = session.session.user_id;
    let unknown = UserId::new(harness.now(), [7; 16]);
    for whose in [user, unknown] {
        for number in 1..=20 {
            let outcome = verify(&harness, &test, whose, SECOND).await;
            assert!(is_wrong(&outcome), "{number}: {outcome:?}");
        }
        assert_eq!(
            wait(&verify(&harness, &test, whose, SECOND).await),
            Some(60)
        );
        // The right password is refused as well.
        assert_eq!(wait(&verify(&harness, &test, whose, FIRST).await), Some(60));
    }
    assert!(harness.by_token(&test, &session.token).await.is_ok());
    harness.sign_in(&test, ADA, 60).await;
    harness.pass(60);
    assert!(is_wrong(&verify(&harness, &test, user, SECOND).await));
    assert_eq!(
        wait(&verify(&harness, &test, user, FIRST).await),
        Some(120),
        "the delay grows"
    );
    harness.pass(120);
    assert!(verify(&harness, &test, user, FIRST).await.is_ok());
    // A success resets them.
    for _ in 0..20 {
        assert!(is_wrong(&verify(&harness, &test, user, SECOND).await));
    }
}

/// An operator can clear the lockout that an attacker's guesses caused, for every sign-in method and for this user alone.
#[tokio::test]
async fn attack_24_an_operator_clears_the_lockouts_of_a_user() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let victim = with_password(&harness, &test, ADA, FIRST).await;
    let victim = victim.session.user_id;
    let other = with_password(&harness, &test, "bob@example.com", FIRST).await;
    let other = other.session.user_id;
    for user in [victim, other] {
        for _ in 0..20 {
            assert!(is_wrong(&verify(&harness, &test, user, SECOND).await));
        }
        assert!(wait(&verify(&harness, &test, user, FIRST).await).is_some());
    }
    let world = test.world;
    harness
        .service
        .unlock_user(&operator(&harness.service, world).await, victim)
        .await
        .unwrap();
    assert!(verify(&harness, &test, victim, FIRST).await.is_ok());
    assert!(wait(&verify(&harness, &test, other, FIRST).await).is_some());
    let nobody = UserId::new(harness.now(), [7; 16]);
    let elsewhere = harness.live().await.world;
    for (world, user) in [(world, nobody), (elsewhere, other)] {
        let refused = harness
            .service
            .unlock_user(&operator(&harness.service, world).await, user)
            .await;
        assert!(matches!(refused, Err(Refusal::NotFound("user"))));
    }
}

/// P-11: an address that tries many users is delayed, whatever it gets right in between; other addresses are not.
#[tokio::test]
async fn p_11_failures_are_counted_per_address_too() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = with_password(&harness, &test, ADA, FIRST).await;
    let own = session.session.user_id;
    let from = |ip: &str, user, password| VerifyPassword {
        device_fingerprint: DeviceFingerprint {
            ip: ip.to_owned(),
            user_agent: String::new(),
        },
        ..attempt(user, password)
    };
    for number in 0..100_u8 {
        let victim = UserId::new(harness.now(), [number; 16]);
        let outcome = harness
            .service
            .verify_password(&test, from("203.0.113.9", victim, FIRST))
            .await;
        assert!(is_wrong(&outcome), "{number}: {outcome:?}");
        if number == 50 {
            let right = harness
                .service
                .verify_password(&test, from("203.0.113.9", own, FIRST))
                .await;
            assert!(right.is_ok());
        }
    }
    let blocked = harness
        .service
        .verify_password(&test, from("203.0.113.9", own, FIRST))
        .await;
    assert_eq!(wait(&blocked), Some(600));
    assert!(
        harness
            .service
            .verify_password(&test, from("203.0.113.10", own, FIRST))
            .await
            .is_ok()
    );
    assert!(verify(&harness, &test, own, FIRST).await.is_ok());
    harness.pass(600);
    assert!(
        harness
            .service
            .verify_password(&test, from("203.0.113.9", own, FIRST))
            .await
            .is_ok()
    );
}

/// P-11: an address is counted as one in every spelling.
#[tokio::test]
async fn p_11_an_address_is_counted_as_one_in_every_spelling() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let from = async |ip: String, number: u8| {
        let command = VerifyPassword {
            device_fingerprint: DeviceFingerprint {
                ip,
                user_agent: String::new(),
            },
            ..attempt(UserId::new(harness.now(), [number; 16]), FIRST)
        };
        harness.service.verify_password(&test, command).await
    };
    for number in 0..100_u8 {
        let wrong = from(format!("2001:db8:1:2::{number:x}"), number).await;
        assert!(is_wrong(&wrong), "{number}");
    }
    let barred = from("2001:db8:1:2:ffff::1".to_owned(), 100).await;
    assert!(wait(&barred).is_some(), "{barred:?}");
    let other = from("2001:db8:1:3::1".to_owned(), 100).await;
    assert!(is_wrong(&other), "{other:?}");
}

/// P-12, S-7: a recently proved factor, or the current password.
#[tokio::test]
async fn p_12_a_change_needs_the_current_password_or_a_fresh_factor() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = with_password(&harness, &test, ADA, FIRST).await;
    let user = session.session.user_id;
    harness.pass(15 * 60 - 1);
    update(&harness, &test, &session, FIRST).await.unwrap();
    harness.pass(15 * 60);
    let stale = update(&harness, &test, &session, SECOND).await;
    assert!(
        matches!(stale, Err(Refusal::InsufficientFactor)),
        "{stale:?}"
    );
    let wrong = update_over(&harness, &test, &session, SECOND, SECOND).await;
    assert!(
        matches!(wrong, Err(Refusal::InvalidCredentials)),
        "{wrong:?}"
    );
    assert!(
        verify(&harness, &test, user, FIRST).await.is_ok(),
        "nothing was changed"
    );
    update_over(&harness, &test, &session, FIRST, SECOND)
        .await
        .unwrap();
    assert!(is_wrong(&verify(&harness, &test, user, FIRST).await));
    assert!(verify(&harness, &test, user, SECOND).await.is_ok());
    // Guessing the current password is counted like any guess.
    for _ in 0..19 {
        let wrong = update_over(&harness, &test, &session, FIRST, SECOND).await;
        assert!(matches!(wrong, Err(Refusal::InvalidCredentials)));
    }
    let wrong = update_over(&harness, &test, &session, FIRST, SECOND).await;
    assert!(matches!(wrong, Err(Refusal::InvalidCredentials)));
    let blocked = update_over(&harness, &test, &session, SECOND, FIRST).await;
    assert!(
        matches!(blocked, Err(Refusal::TooMany { .. })),
        "{blocked:?}"
    );
}

/// A session that rests on this proof alone.
async fn session_with(
    harness: &Harness,
    caller: &Caller,
    user: UserId,
    proof: Proof,
) -> Secret<String> {
    let token = secret(&"t".repeat(64));
    let sign_in = SignIn {
        user_id: user,
        factor: Factor {
            proof,
            last_verified_at: harness.now(),
        },
        device_fingerprint: DeviceFingerprint::default(),
    };
    let limits = caller.settings().session_limits();
    let id = SessionId::new(harness.now(), [9; 16]);
    let session = Session::start(
        id,
        caller.world,
        sign_in,
        Seconds(3600),
        limits,
        harness.now(),
    );
    let mut tx = harness.fake.begin().await.unwrap();
    tx.sessions()
        .insert(&session, &TokenHash::of(token.expose()))
        .await
        .unwrap();
    tx.commit().await.unwrap();
    token
}

/// A passkey alone sets no first password, but it changes one (API-17, P-12).
#[tokio::test]
async fn a_first_password_needs_a_proved_identifier() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.walletless(&test, ADA).await;
    let passkey = Proof::Passkey {
        webauthn_credential_id: WebauthnCredentialId::new(harness.now(), [1; 16]),
    };
    let token = session_with(&harness, &test, user, passkey).await;
    let refused = harness
        .service
        .update_password(&test, change(&token, FIRST))
        .await;
    assert!(
        matches!(refused, Err(Refusal::InsufficientFactor)),
        "{refused:?}"
    );
    let known = imported(&harness, "bob@example.com", Some(BCRYPT), true).await;
    let mut tx = harness.fake.begin().await.unwrap();
    let session = tx
        .sessions()
        .find_by_token(&test.world, &TokenHash::of(token.expose()))
        .await;
    let mine = session.unwrap().unwrap();
    let theirs = Session {
        id: SessionId::new(harness.now(), [8; 16]),
        user_id: known,
        ..mine
    };
    let token = secret(&"u".repeat(64));
    tx.sessions()
        .insert(&theirs, &TokenHash::of(token.expose()))
        .await
        .unwrap();
    tx.commit().await.unwrap();
    harness
        .service
        .update_password(&test, change(&token, FIRST))
        .await
        .unwrap();
    assert!(verify(&harness, &test, known, FIRST).await.is_ok());
}

#[tokio::test]
async fn a_change_needs_a_session() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let nobody = UpdatePassword {
        session_token: None,
        ..change(&secret("x"), FIRST)
    };
    let refused = harness.service.update_password(&test, nobody).await;
    assert!(matches!(refused, Err(Refusal::Invalid(invalid)) if invalid.param == "session_token"));
    let session = harness.sign_in(&test, ADA, 60).await;
    for stranger in [harness.live().await, harness.stranger().await] {
        let refused = update(&harness, &stranger, &session, FIRST).await;
        assert!(
            matches!(refused, Err(Refusal::InvalidSession)),
            "{refused:?}"
        );
    }
    harness.pass(3600);
    let refused = update(&harness, &test, &session, FIRST).await;
    assert!(
        matches!(refused, Err(Refusal::InvalidSession)),
        "{refused:?}"
    );
}

/// P-1, P-8, P-9: the refused passwords, and that the refusal states the reason.
#[tokio::test]
async fn p_8_weak_passwords_are_refused_with_the_reason() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, "ada.lovelace@example.com", 60).await;
    harness.breached.add("a phrase somebody stole");
    for (password, why) in [
        ("", "at least 8 characters"),
        ("sevench", "at least 8 characters"),
        ("password1", "most common"),
        ("ada.lovelace", "a name from the account"),
        ("AdaLovelace1815", "a name from the account"),
        ("a phrase somebody stole", "known data breach"),
    ] {
        let said = refusal(&harness, &test, &session, password).await;
        assert!(said.contains(why), "{password}: {said}");
    }
    let too_long = "x".repeat(1025);
    assert!(
        refusal(&harness, &test, &session, &too_long)
            .await
            .contains("at most 1024 bytes")
    );
    harness.set(&[("password_only_factor", "true")]).await;
    let test = harness.test().await;
    let said = refusal(&harness, &test, &session, "fourteen chars").await;
    assert!(said.contains("at least 15 characters"), "{said}");
    update(&harness, &test, &session, "fifteen letters")
        .await
        .unwrap();
}

/// P-9, attack-19: an unreadable list is an outage, unless the App chose otherwise.
#[tokio::test]
async fn p_9_an_unreadable_list_refuses_unless_the_app_chose_otherwise() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, ADA, 60).await;
    harness.breached.set_unavailable(true);
    let refused = update(&harness, &test, &session, FIRST).await;
    assert!(
        matches!(refused, Err(Refusal::Fault(Fault::Unavailable(_)))),
        "{refused:?}"
    );
    harness.set(&[("breach_check_fail_closed", "false")]).await;
    let test = harness.test().await;
    update(&harness, &test, &session, FIRST).await.unwrap();
}

/// libxcrypt's hash of "correct horse battery staple é".
const BCRYPT: &str = "$2b$04$abcdefghijklmnopqrstuuKAbCf0FrEMqP6uxscx2X5vbhwe2ssIi";
const OF_BCRYPT: &str = "correct horse battery staple é";

async fn stored(
    harness: &Harness,
    caller: &Caller,
    user: UserId,
) -> vestry_domain::password::StoredPassword {
    let mut read = harness.fake.read().await.unwrap();
    read.passwords()
        .find(&caller.world, user)
        .await
        .unwrap()
        .unwrap()
}

/// P-10: an imported pending user proves an identifier first, and until then gets the response to a wrong password.
#[tokio::test]
async fn p_10_a_pending_user_proves_an_identifier_first() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let line = PortableUser {
        emails: vec![PortableEmail {
            email: ADA.to_owned(),
            verified: true,
        }],
        status: Some("pending".to_owned()),
        password_hash: Some(BCRYPT.to_owned()),
        ..PortableUser::default()
    };
    let mut import = harness
        .service
        .import_users(&operator(&harness.service, test.world).await, false)
        .await
        .unwrap();
    let imported = import.take(&[line]).await.unwrap().swap_remove(0);
    let Imported::New(user) = imported else {
        panic!("{imported:?}");
    };
    assert!(is_wrong(&verify(&harness, &test, user, OF_BCRYPT).await));
    harness.sign_in(&test, ADA, 5).await;
    assert!(verify(&harness, &test, user, OF_BCRYPT).await.is_ok());
}

/// P-4: the first right password renews the hash of another service; a wrong one does not.
#[tokio::test]
async fn p_4_an_imported_hash_is_renewed_by_the_first_sign_in() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = imported(&harness, ADA, Some(BCRYPT), true).await;
    let before = stored(&harness, &test, user).await;
    assert!(is_wrong(&verify(&harness, &test, user, FIRST).await));
    assert_eq!(stored(&harness, &test, user).await, before);
    harness.pass(10);
    assert!(verify(&harness, &test, user, OF_BCRYPT).await.is_ok());
    let after = stored(&harness, &test, user).await;
    assert_ne!(after.sealed, before.sealed);
    assert_eq!(after.updated_at, harness.now());
    assert!(verify(&harness, &test, user, OF_BCRYPT).await.is_ok());
    assert_eq!(
        stored(&harness, &test, user).await,
        after,
        "our own hash is unchanged"
    );
    let exported = harness
        .service
        .export_users(
            &operator(&harness.service, test.world).await,
            None,
            10,
            true,
        )
        .await
        .unwrap();
    let hash = exported.users[0].password_hash.clone().unwrap();
    assert!(hash.starts_with("$argon2id$v=19$m=8,t=1,p=1$"), "{hash}");
}

/// P-4 under a race: concurrent first sign-ins all succeed, and one hash is stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p_4_parallel_first_sign_ins_all_succeed() {
    let harness = Arc::new(Harness::new().await);
    let test = harness.test().await;
    let user = imported(&harness, ADA, Some(BCRYPT), true).await;
    let tasks = (0..4).map(|_| {
        let (harness, test) = (Arc::clone(&harness), Arc::clone(&test));
        async move { verify(&harness, &test, user, OF_BCRYPT).await.is_ok() }
    });
    assert_eq!(race(tasks).await, [true; 4]);
}

/// P-5: nothing stored allows offline guessing, and a row copied elsewhere opens nothing.
#[tokio::test]
async fn p_5_a_stored_hash_is_sealed_to_its_user() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = imported(&harness, ADA, Some(BCRYPT), true).await;
    let other = imported(&harness, "bob@example.com", None, true).await;
    let row = stored(&harness, &test, user).await;
    let bytes = &row.sealed.bytes;
    for plain in [&b"$2b$"[..], b"argon2", b"abcdefgh", b"raw:"] {
        assert!(!bytes.windows(plain.len()).any(|window| window == plain));
    }
    let mut tx = harness.fake.begin().await.unwrap();
    let moved = vestry_domain::password::StoredPassword {
        user_id: other,
        ..row
    };
    tx.passwords().put(&moved).await.unwrap();
    tx.commit().await.unwrap();
    let refused = verify(&harness, &test, other, OF_BCRYPT).await;
    assert!(
        matches!(refused, Err(Refusal::Fault(Fault::Tampered(_)))),
        "{refused:?}"
    );
}

/// attack-1: a planted password is dropped when the address's owner proves it.
#[tokio::test]
async fn attack_1_a_planted_password_is_dropped_by_the_first_proof() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = imported(&harness, ADA, Some(BCRYPT), false).await;
    assert!(verify(&harness, &test, user, OF_BCRYPT).await.is_ok());
    let owner = harness.sign_in(&test, ADA, 60).await;
    assert_eq!(owner.session.user_id, user);
    assert!(is_wrong(&verify(&harness, &test, user, OF_BCRYPT).await));
}

/// attack-13: another user's session is never continued.
#[tokio::test]
async fn attack_13_a_planted_session_is_not_adopted() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = with_password(&harness, &test, ADA, FIRST)
        .await
        .session
        .user_id;
    let planted = harness.sign_in(&test, "mallory@example.com", 60).await;
    let command = VerifyPassword {
        session_fields: SessionFields {
            session_token: Some(planted.token.clone()),
            ..SessionFields::default()
        },
        ..attempt(user, FIRST)
    };
    let refused = harness.service.verify_password(&test, command).await;
    assert!(
        matches!(refused, Err(Refusal::InvalidSession)),
        "{refused:?}"
    );
    // The user's own is continued, with a fresh token (S-2).
    let own = harness.sign_in(&test, ADA, 60).await;
    let command = VerifyPassword {
        session_fields: SessionFields {
            session_token: Some(own.token.clone()),
            ..SessionFields::default()
        },
        ..attempt(user, FIRST)
    };
    let issued = harness
        .service
        .verify_password(&test, command)
        .await
        .unwrap()
        .issued
        .unwrap();
    assert_eq!(issued.session.id, own.session.id);
    assert_eq!(issued.session.factors.len(), 2);
    assert!(harness.by_token(&test, &own.token).await.is_err());
}

async fn who_signs_in(
    harness: &Harness,
    caller: &Caller,
    user: UserId,
    passwords: &[String],
) -> usize {
    let mut right = 0;
    for password in passwords {
        // Keeps the failures of this loop from causing a lockout.
        harness.pass(2 * 86_400);
        right += usize::from(verify(harness, caller, user, password).await.is_ok());
    }
    right
}

/// R8: of 50 parallel changes in one session the last one wins, and no other password works.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r8_parallel_changes_leave_one_password() {
    for _ in 0..4 {
        let harness = Arc::new(Harness::new().await);
        let test = harness.test().await;
        let session = Arc::new(with_password(&harness, &test, ADA, FIRST).await);
        let user = session.session.user_id;
        let passwords: Vec<_> = (0..50)
            .map(|n| format!("a password with {n} in it"))
            .collect();
        let tasks = passwords.clone().into_iter().map(|password| {
            let (harness, test, session) = (
                Arc::clone(&harness),
                Arc::clone(&test),
                Arc::clone(&session),
            );
            async move { update(&harness, &test, &session, &password).await.is_ok() }
        });
        let changed = race(tasks).await;
        assert!(changed.iter().all(|changed| *changed), "{changed:?}");
        assert!(harness.by_token(&test, &session.token).await.is_ok());
        assert!(is_wrong(&verify(&harness, &test, user, FIRST).await));
        assert_eq!(who_signs_in(&harness, &test, user, &passwords).await, 1);
    }
}

/// R8: of 50 parallel changes that all present the current password one succeeds; the others are told that it is wrong.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r8_parallel_changes_over_one_password_succeed_once() {
    let harness = Arc::new(Harness::new().await);
    let test = harness.test().await;
    let session = Arc::new(with_password(&harness, &test, ADA, FIRST).await);
    let user = session.session.user_id;
    let passwords: Vec<_> = (0..50)
        .map(|n| format!("a password with {n} in it"))
        .collect();
    let tasks = passwords.clone().into_iter().map(|password| {
        let (harness, test, session) = (
            Arc::clone(&harness),
            Arc::clone(&test),
            Arc::clone(&session),
        );
        async move {
            update_over(&harness, &test, &session, FIRST, &password)
                .await
                .is_ok()
        }
    });
    let changed = race(tasks).await;
    assert_eq!(changed.iter().filter(|changed| **changed).count(), 1);
    let winner = changed.iter().position(|changed| *changed).unwrap();
    harness.pass(2 * 86_400);
    assert!(
        verify(&harness, &test, user, &passwords[winner])
            .await
            .is_ok()
    );
}

/// I5: no session created with the old password outlives an acknowledged change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i5_a_sign_in_that_races_a_change_does_not_outlive_it() {
    for _ in 0..20 {
        let harness = Arc::new(Harness::new().await);
        let test = harness.test().await;
        let session = with_password(&harness, &test, ADA, FIRST).await;
        let user = session.session.user_id;
        let sign_in = |service: Arc<Service>, test: Arc<Caller>| async move {
            let command = VerifyPassword {
                session_fields: lasting(60),
                ..attempt(user, FIRST)
            };
            let verified = service.verify_password(&test, command).await.ok();
            verified
                .and_then(|verified| verified.issued)
                .map(|issued| issued.token)
        };
        let changing = {
            let (harness, test) = (Arc::clone(&harness), Arc::clone(&test));
            tokio::spawn(async move {
                update(&harness, &test, &session, SECOND).await.unwrap();
            })
        };
        let tasks = (0..5).map(|_| sign_in(Arc::clone(&harness.service), Arc::clone(&test)));
        let tokens = race(tasks).await;
        changing.await.unwrap();
        for token in tokens.into_iter().flatten() {
            assert!(
                harness.by_token(&test, &token).await.is_err(),
                "it was created with the old password"
            );
        }
        assert!(is_wrong(&verify(&harness, &test, user, FIRST).await));
        assert!(verify(&harness, &test, user, SECOND).await.is_ok());
    }
}

#[tokio::test]
async fn strength_is_assessed() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let judge = async |text: &str| {
        harness
            .service
            .password_strength(&test, secret(text))
            .await
            .unwrap()
    };
    let weak = judge("password").await;
    assert_eq!(
        (weak.score, &*weak.crack_time_display),
        (0, "less than a second")
    );
    let strong = judge("ask the unusual kettle for directions").await;
    assert_eq!(
        (strong.score, &*strong.crack_time_display),
        (4, "centuries")
    );
    assert!(strong.crack_time > weak.crack_time);
    assert_eq!(judge("").await.score, 0);
}
