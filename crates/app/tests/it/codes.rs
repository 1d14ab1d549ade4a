//! `otps/verify`: the requirements OTP-1 to OTP-8.

use std::collections::HashSet;
use std::sync::Arc;

use vestry_app::Refusal;
use vestry_app::delivery::test_messages::FindMessages;
use vestry_app::identity::codes::{LoginOrCreate, VerifyCode, VerifyCodeError};
use vestry_contract::race::race;
use vestry_domain::code::{self, CodePurpose, MethodId};
use vestry_domain::envelope::SecretKind;
use vestry_domain::ids::{EmailId, Id, PhoneNumberId};
use vestry_domain::session::DeviceFingerprint;
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::user::UserStatus;
use vestry_ports::store::Store;

use crate::rig::{Rig, START, lasting, login, proof, wrong};

fn is_invalid<T>(outcome: &Result<T, VerifyCodeError>) -> bool {
    matches!(outcome, Err(VerifyCodeError::InvalidCode))
}

/// The retry delay in the outcome, if there is one.
fn wait<T>(outcome: &Result<T, VerifyCodeError>) -> Option<i64> {
    match outcome {
        Err(VerifyCodeError::Common(Refusal::TooMany { retry_after })) => Some(retry_after.0),
        _ => None,
    }
}

/// Consecutive failures on record for an address.
async fn failures(rig: &Rig, caller: &vestry_app::Caller, email: EmailId) -> i64 {
    let mut tx = rig.fake.begin().await.unwrap();
    // Counts one more failure and rolls it back.
    tx.lockouts()
        .fail(&caller.world, &email.to_string(), rig.now())
        .await
        .unwrap()
        - 1
}

/// The whole flow: pending, verified, active.
#[tokio::test]
async fn a_right_code_verifies_the_address_and_signs_its_owner_in() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let (sent, digits) = rig.fresh_code(&test, "ada@example.com").await;
    assert_eq!(sent.status, UserStatus::Pending);
    rig.pass(30);
    let verified = rig.verify(&test, sent.email.id, &digits).await.unwrap();
    assert_eq!(verified.method_id, MethodId::Email(sent.email.id));
    assert_eq!(verified.user_id, sent.email.user_id);
    assert!(verified.issued.is_none(), "no session was asked for");
    let profile = rig
        .service
        .get_user(&test, sent.email.user_id)
        .await
        .unwrap()
        .profile;
    assert_eq!(
        (profile.user.status, profile.user.updated_at),
        (UserStatus::Active, rig.now())
    );
    assert_eq!(
        (profile.emails[0].verified, profile.emails[0].updated_at),
        (true, rig.now())
    );
    assert_eq!(
        rig.login(&test, "ada@example.com").await.status,
        UserStatus::Active
    );
}

#[tokio::test]
async fn otp_1_codes_have_six_digits_and_keep_leading_zeros() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let mut codes = HashSet::new();
    for number in 0..200 {
        let (_, digits) = rig
            .fresh_code(&test, &format!("u{number}@example.com"))
            .await;
        assert_eq!(digits.len(), 6);
        assert!(digits.bytes().all(|byte| byte.is_ascii_digit()));
        codes.insert(digits);
    }
    assert!(
        codes.len() > 190,
        "200 draws out of a million hardly ever collide"
    );
    assert!(codes.iter().any(|digits| digits.starts_with('0')));
}

#[tokio::test]
async fn otp_2_codes_expire_to_the_second() {
    let rig = Rig::new().await;
    for (expires_in, seconds) in [(None, 60), (Some(1), 60), (Some(10), 600)] {
        for (age, is_alive) in [
            (0, true),
            (seconds - 1, true),
            (seconds, false),
            (seconds + 1, false),
        ] {
            let test = rig.test().await;
            let email = format!("{expires_in:?}.{age}@example.com").replace(['(', ')'], "-");
            let command = LoginOrCreate {
                expires_in,
                ..login(&email)
            };
            let sent = rig
                .service
                .login_or_create_by_email(&test, command)
                .await
                .unwrap();
            let digits = rig.newest_to(&test, &email).await.message.code;
            rig.pass(age);
            let outcome = rig.verify(&test, sent.email.id, &digits).await;
            assert_eq!(outcome.is_ok(), is_alive, "{expires_in:?} after {age} s");
            assert!(is_alive || is_invalid(&outcome));
        }
    }
}

/// Wrong, expired, used and unknown codes get the same response (API-16).
#[tokio::test]
async fn otp_3_a_code_works_once() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let (sent, digits) = rig.fresh_code(&test, "ada@example.com").await;
    rig.verify(&test, sent.email.id, &digits).await.unwrap();
    let used = rig.verify(&test, sent.email.id, &digits).await;
    let unknown = rig
        .verify(&test, EmailId::new(START, [7; 16]), &digits)
        .await;
    let phone = VerifyCode {
        method_id: MethodId::Phone(PhoneNumberId::new(START, [7; 16])),
        ..proof(sent.email.id, &digits)
    };
    let elsewhere = rig.service.verify_code(&test, phone).await;
    for outcome in [used, unknown, elsewhere] {
        assert!(is_invalid(&outcome), "{outcome:?}");
    }
}

/// OTP-3, R3: fifty concurrent uses of the right code yield one success and one session.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn otp_3_r3_parallel_right_codes_have_one_winner() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let (sent, digits) = rig.fresh_code(&test, "ada@example.com").await;
    let tasks = (0..50).map(|_| {
        let (service, test) = (Arc::clone(&rig.service), Arc::clone(&test));
        let command = VerifyCode {
            session_fields: lasting(60),
            ..proof(sent.email.id, &digits)
        };
        async move { service.verify_code(&test, command).await }
    });
    let outcomes = race(tasks).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    assert!(
        outcomes
            .iter()
            .all(|outcome| outcome.is_ok() || is_invalid(outcome))
    );
    let sessions = rig.list_sessions(&test, sent.email.user_id).await.unwrap();
    assert_eq!(sessions.len(), 1);
}

#[tokio::test]
async fn otp_4_a_code_is_void_after_five_wrong_attempts() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    for (tries, is_alive) in [(4, true), (5, false)] {
        let (sent, digits) = rig
            .fresh_code(&test, &format!("u{tries}@example.com"))
            .await;
        for _ in 0..tries {
            assert!(is_invalid(
                &rig.verify(&test, sent.email.id, wrong(&digits)).await
            ));
        }
        let outcome = rig.verify(&test, sent.email.id, &digits).await;
        assert_eq!(outcome.is_ok(), is_alive, "after {tries} wrong attempts");
        assert!(is_alive || is_invalid(&outcome));
    }
}

/// Anything other than six digits is a wrong attempt like any other.
#[tokio::test]
async fn m_17_odd_codes_are_wrong_and_no_guesses() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let (sent, digits) = rig.fresh_code(&test, "ada@example.com").await;
    for _ in 0..10 {
        for odd in ["", " ", &digits[..5], &format!("{digits}\0")] {
            assert!(
                is_invalid(&rig.verify(&test, sent.email.id, odd).await),
                "{odd:?}"
            );
        }
    }
    // None of them counted as a guess (M-17).
    let spaced = format!(" {digits}");
    rig.verify(&test, sent.email.id, &spaced).await.unwrap();
}

/// OTP-4, R4: the counter is exact under concurrency.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn otp_4_r4_parallel_wrong_codes_count_five() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let (sent, digits) = rig.fresh_code(&test, "ada@example.com").await;
    let tasks = (0..50).map(|number| {
        let (service, test) = (Arc::clone(&rig.service), Arc::clone(&test));
        let tried = if number == 30 {
            &*digits
        } else {
            wrong(&digits)
        };
        let command = proof(sent.email.id, tried);
        async move { service.verify_code(&test, command).await }
    });
    let outcomes = race(tasks).await;
    let successes = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert!(
        outcomes
            .iter()
            .all(|outcome| outcome.is_ok() || is_invalid(outcome))
    );
    let counted = failures(&rig, &test, sent.email.id).await;
    match successes {
        0 => assert_eq!(counted, 5),
        1 => assert_eq!(
            counted, 0,
            "a success resets the earlier failures, and nothing is compared after it"
        ),
        _ => panic!("{successes} successes"),
    }
}

/// OTP-5: a new code does not reset the count. From the twentieth failure each further one adds a growing lockout, even for the right code.
/// A success ends it.
#[tokio::test]
async fn otp_5_failures_outlive_the_code() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let email = "ada@example.com";
    for round in 1..=4 {
        let (sent, digits) = rig.fresh_code(&test, email).await;
        for _ in 0..5 {
            assert!(is_invalid(
                &rig.verify(&test, sent.email.id, wrong(&digits)).await
            ));
        }
        assert_eq!(failures(&rig, &test, sent.email.id).await, round * 5);
    }
    let (sent, digits) = rig.fresh_code(&test, email).await;
    let id = sent.email.id;
    assert_eq!(wait(&rig.verify(&test, id, &digits).await), Some(60));
    rig.pass(59);
    assert_eq!(wait(&rig.verify(&test, id, &digits).await), Some(1));
    rig.pass(1);
    assert!(
        is_invalid(&rig.verify(&test, id, wrong(&digits)).await),
        "the lockout is over, the count is not"
    );
    assert_eq!(wait(&rig.verify(&test, id, &digits).await), Some(120));
    rig.pass(120);
    assert!(is_invalid(&rig.verify(&test, id, wrong(&digits)).await));
    assert_eq!(wait(&rig.verify(&test, id, &digits).await), Some(240));
    rig.pass(240);
    rig.verify(&test, id, &digits).await.unwrap();
    assert_eq!(failures(&rig, &test, id).await, 0);

    rig.pass(600);
    let (sent, digits) = rig.fresh_code(&test, email).await;
    assert!(is_invalid(
        &rig.verify(&test, sent.email.id, wrong(&digits)).await
    ));
    rig.verify(&test, sent.email.id, &digits).await.unwrap();
}

/// OTP-5, attack 24: one identifier is locked out, its neighbours are not.
#[tokio::test]
async fn otp_5_the_lockout_applies_to_one_identifier() {
    let rig = Rig::new().await;
    let (test, live) = (rig.test().await, rig.live().await);
    let sent = rig.login(&test, "ada@example.com").await;
    let mut tx = rig.fake.begin().await.unwrap();
    let until = rig.now() + Seconds(60);
    tx.lockouts()
        .block(&test.world, &sent.email.id.to_string(), until)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let digits = rig.newest_to(&test, "ada@example.com").await.message.code;
    assert_eq!(
        wait(&rig.verify(&test, sent.email.id, &digits).await),
        Some(60)
    );
    let (other, digits) = rig.fresh_code(&test, "bob@example.com").await;
    rig.verify(&test, other.email.id, &digits).await.unwrap();
    // The same id in another environment is another identifier.
    assert!(is_invalid(&rig.verify(&live, sent.email.id, &digits).await));
}

#[tokio::test]
async fn otp_6_a_new_code_replaces_the_old_one() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let (sent, old) = rig.fresh_code(&test, "ada@example.com").await;
    let mut new = old.clone();
    // Once in a million draws the two are equal.
    while new == old {
        rig.pass(20);
        new = rig.fresh_code(&test, "ada@example.com").await.1;
    }
    assert!(is_invalid(&rig.verify(&test, sent.email.id, &old).await));
    rig.verify(&test, sent.email.id, &new).await.unwrap();
}

/// OTP-7: App, environment and identifier.
#[tokio::test]
async fn otp_7_a_code_is_bound_to_its_environment_and_identifier() {
    let rig = Rig::new().await;
    let (test, live, stranger) = (rig.test().await, rig.live().await, rig.stranger().await);
    let (ada, digits) = rig.fresh_code(&test, "ada@example.com").await;
    let bob = rig.login(&test, "bob@example.com").await;
    assert!(is_invalid(&rig.verify(&test, bob.email.id, &digits).await));
    for caller in [&live, &stranger] {
        let there = rig.login(caller, "ada@example.com").await;
        assert!(
            is_invalid(&rig.verify(caller, there.email.id, &digits).await),
            "its own address there"
        );
        assert!(
            is_invalid(&rig.verify(caller, ada.email.id, &digits).await),
            "the address here"
        );
        assert!(is_invalid(
            &rig.verify(&test, there.email.id, &digits).await
        ));
    }
    rig.verify(&test, ada.email.id, &digits).await.unwrap();
}

/// OTP-7: the hash covers the whole tuple; a change to any part gives another hash.
#[tokio::test]
async fn otp_7_the_hash_covers_the_tuple() {
    let rig = Rig::new().await;
    let (test, live, stranger) = (rig.test().await, rig.live().await, rig.stranger().await);
    let hash = async |world, method: &str, digits: &str| {
        let parts = code::bound_parts(CodePurpose::SignIn, method, digits);
        rig.ports
            .sealer
            .mac(&world, SecretKind::Code, &parts)
            .await
            .unwrap()
            .tag
    };
    let tags = [
        hash(test.world, "email_a", "123456").await,
        hash(live.world, "email_a", "123456").await,
        hash(stranger.world, "email_a", "123456").await,
        hash(test.world, "email_b", "123456").await,
        hash(test.world, "email_a", "123457").await,
        hash(test.world, "email_a1", "23456").await,
    ];
    assert_eq!(tags[0], hash(test.world, "email_a", "123456").await);
    assert_eq!(HashSet::from(tags).len(), 6);
}

/// OTP-7: the device is checked as far as the App's setting requires. It is off by default, and skipped when no device was sent.
#[tokio::test]
async fn otp_7_the_device_of_the_send_step() {
    let rig = Rig::new().await;
    let device = |ip: &str, agent: &str| {
        DeviceFingerprint::new(Some(ip.into()), Some(agent.into())).unwrap()
    };
    let (home, roaming, other_browser, stranger) = (
        device("10.0.0.1", "A"),
        device("10.0.0.2", "A"),
        device("10.0.0.1", "B"),
        device("10.9.9.9", "Z"),
    );
    // For each setting: whether the devices roaming, other browser and stranger pass.
    for (setting, passes) in [
        ("off", [true, true, true]),
        ("ip", [false, true, false]),
        ("user_agent", [true, false, false]),
        ("ip_and_user_agent", [false, false, false]),
    ] {
        rig.set(&[("device_fingerprint_match", setting)]).await;
        let test = rig.test().await;
        let devices = [
            (&roaming, passes[0]),
            (&other_browser, passes[1]),
            (&stranger, passes[2]),
            (&home, true),
        ];
        for (number, (device, passes)) in devices.into_iter().enumerate() {
            for sent_one in [true, false] {
                let email = format!("{setting}{number}{sent_one}@example.com");
                let command = LoginOrCreate {
                    device_fingerprint: sent_one.then(|| home.clone()),
                    ..login(&email)
                };
                let sent = rig
                    .service
                    .login_or_create_by_email(&test, command)
                    .await
                    .unwrap();
                let digits = rig.newest_to(&test, &email).await.message.code;
                let command = VerifyCode {
                    device_fingerprint: device.clone(),
                    ..proof(sent.email.id, &digits)
                };
                let outcome = rig.service.verify_code(&test, command).await;
                assert_eq!(
                    outcome.is_ok(),
                    passes || !sent_one,
                    "{setting}, device {number}, sent {sent_one}"
                );
                if outcome.is_err() {
                    assert!(is_invalid(&outcome));
                    assert_eq!(
                        failures(&rig, &test, sent.email.id).await,
                        1,
                        "it counts like a wrong code"
                    );
                }
            }
        }
    }
}

/// OTP-8: nothing stored holds the digits, or a hash that a million guesses would reverse.
#[tokio::test]
async fn otp_8_only_a_keyed_hash_is_stored() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let sent = rig.login(&test, "ada@example.com").await;
    let method = MethodId::Email(sent.email.id);
    let mut tx = rig.fake.begin().await.unwrap();
    let code = tx
        .codes()
        .attempt(&test.world, method, CodePurpose::SignIn, 5, rig.now())
        .await
        .unwrap()
        .unwrap()
        .code;
    let jobs = tx
        .outbox()
        .claim("thief", rig.now(), rig.now() + Seconds(1), 10)
        .await
        .unwrap();
    drop(tx);
    assert_eq!(jobs.len(), 1);
    let digits = rig.newest_to(&test, "ada@example.com").await.message.code;

    let plain_hashes = [
        digits.clone(),
        format!("{method}{digits}"),
        format!("{digits}{method}"),
    ];
    assert_eq!(code.mac.tag.len(), 32);
    for plain in plain_hashes {
        assert_ne!(code.mac.tag, TokenHash::of(&plain).0);
    }
    for (what, bytes) in [("code", &code.mac.tag), ("outbox", &jobs[0].payload.bytes)] {
        for needle in [digits.as_bytes(), b"ada@example.com", b"Demo"] {
            assert!(
                !bytes.windows(needle.len()).any(|window| window == needle),
                "{what}"
            );
        }
    }
    for debug in [
        format!("{code:?}"),
        format!("{jobs:?}"),
        format!("{:?}", rig.fake),
    ] {
        assert!(!debug.contains(&digits), "{debug}");
    }
    // Another App's key, or the key of the same App's other environment, gives another hash of the same input. Without the key it cannot be
    // computed.
    let text = method.to_string();
    let parts = code::bound_parts(CodePurpose::SignIn, &text, &digits);
    let ours = rig
        .ports
        .sealer
        .mac(&test.world, SecretKind::Code, &parts)
        .await
        .unwrap();
    assert!(ours.matches(&code.mac));
    let elsewhere = Rig::new().await;
    let theirs = elsewhere
        .ports
        .sealer
        .mac(&elsewhere.test().await.world, SecretKind::Code, &parts)
        .await
        .unwrap();
    assert!(!theirs.matches(&code.mac));
}

/// The payload of a delivered mail is deleted from the outbox.
#[tokio::test]
async fn otp_8_the_outbox_deletes_delivered_payloads() {
    let rig = Rig::new().await;
    let live = rig.live().await;
    rig.login(&live, "ada@example.com").await;
    rig.deliver().await;
    assert_eq!(rig.mailer.sent().len(), 1);
    assert_eq!(rig.waiting().await, 0);
    let mut tx = rig.fake.begin().await.unwrap();
    let later = rig.now() + Seconds(86_400);
    assert!(
        tx.outbox()
            .claim("thief", later, later, 10)
            .await
            .unwrap()
            .is_empty()
    );
}

/// A verify call with invalid session fields costs no attempt.
#[tokio::test]
async fn a_refused_request_leaves_the_code_alone() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let (sent, digits) = rig.fresh_code(&test, "ada@example.com").await;
    for minutes in [i64::MIN, 0, 4, 525_601, i64::MAX] {
        for tried in [&*digits, wrong(&digits)] {
            let command = VerifyCode {
                session_fields: lasting(minutes),
                ..proof(sent.email.id, tried)
            };
            let refused = rig.service.verify_code(&test, command).await;
            assert!(
                matches!(&refused, Err(VerifyCodeError::Common(Refusal::Invalid(invalid))) if invalid.param == "session_expires_in"),
                "{minutes}: {refused:?}"
            );
        }
    }
    assert_eq!(failures(&rig, &test, sent.email.id).await, 0);
    rig.verify(&test, sent.email.id, &digits).await.unwrap();
}

/// A refused send changes nothing: the existing code stays valid.
#[tokio::test]
async fn a_refused_send_keeps_the_old_code_valid() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let mut last = None;
    // Five, and one beyond the limit (M-5).
    for _ in 0..6 {
        rig.pass(20);
        last = Some(rig.fresh_code(&test, "ada@example.com").await);
    }
    rig.pass(20);
    let refused = rig
        .service
        .login_or_create_by_email(&test, login("ada@example.com"))
        .await;
    assert!(
        matches!(refused, Err(Refusal::TooMany { .. })),
        "{refused:?}"
    );
    rig.deliver().await;
    let mails = rig
        .service
        .captured_messages(&test, FindMessages::default())
        .await
        .unwrap();
    assert_eq!(mails.len(), 6);
    let (sent, digits) = last.unwrap();
    rig.verify(&test, sent.email.id, &digits).await.unwrap();
}

/// OTP-5: consecutive failures are kept for thirty days without an attempt, and no longer. An older count locks no one out.
#[tokio::test]
async fn otp_5_failures_are_remembered_for_thirty_days() {
    const DAY: i64 = 86_400;
    for (days, waits) in [(29, true), (31, false)] {
        let rig = Rig::new().await;
        let test = rig.test().await;
        let mut email = None;
        for _ in 0..4 {
            let (sent, code) = rig.fresh_code(&test, "ada@example.com").await;
            for _ in 0..5 {
                rig.verify(&test, sent.email.id, wrong(&code))
                    .await
                    .unwrap_err();
            }
            email = Some(sent.email.id);
        }
        let blocked = rig.verify(&test, email.unwrap(), "000000").await;
        assert!(
            matches!(
                blocked,
                Err(VerifyCodeError::Common(Refusal::TooMany { .. }))
            ),
            "{blocked:?}"
        );
        rig.pass(days * DAY);
        rig.sweep().await;
        let test = rig.test().await;
        let (sent, code) = rig.fresh_code(&test, "ada@example.com").await;
        rig.verify(&test, sent.email.id, wrong(&code))
            .await
            .unwrap_err();
        let next = rig.verify(&test, sent.email.id, &code).await;
        assert_eq!(next.is_err(), waits, "after {days} days: {next:?}");
    }
}
