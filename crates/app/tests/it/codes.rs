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
use vestry_domain::message::{Channel, OutboxQueue};
use vestry_domain::session::DeviceFingerprint;
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::user::UserStatus;
use vestry_ports::store::Store;

use crate::harness::{Harness, START, lasting, login, proof, wrong};

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
async fn failures(harness: &Harness, caller: &vestry_app::Caller, email: EmailId) -> i64 {
    let mut tx = harness.fake.begin().await.unwrap();
    // Counts one more failure and rolls it back.
    tx.lockouts()
        .fail(&caller.world, &email.to_string(), harness.now())
        .await
        .unwrap()
        - 1
}

/// The whole flow: pending, verified, active.
#[tokio::test]
async fn a_right_code_verifies_the_address_and_signs_its_owner_in() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (sent, digits) = harness.fresh_code(&test, "ada@example.com").await;
    assert_eq!(sent.status, UserStatus::Pending);
    harness.pass(30);
    let verified = harness.verify(&test, sent.email.id, &digits).await.unwrap();
    assert_eq!(verified.method_id, MethodId::Email(sent.email.id));
    assert_eq!(verified.user_id, sent.email.user_id);
    assert!(verified.issued.is_none(), "no session was asked for");
    let profile = harness
        .service
        .get_user(&test, sent.email.user_id)
        .await
        .unwrap()
        .profile;
    assert_eq!(
        (profile.user.status, profile.user.updated_at),
        (UserStatus::Active, harness.now())
    );
    assert_eq!(
        (profile.emails[0].verified, profile.emails[0].updated_at),
        (true, harness.now())
    );
    assert_eq!(
        harness.login(&test, "ada@example.com").await.status,
        UserStatus::Active
    );
}

#[tokio::test]
async fn otp_1_codes_have_six_digits_and_keep_leading_zeros() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let mut codes = HashSet::new();
    for number in 0..200 {
        let (_, digits) = harness
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
    let harness = Harness::new().await;
    for (expires_in, seconds) in [(None, 60), (Some(1), 60), (Some(10), 600)] {
        for (age, is_alive) in [
            (0, true),
            (seconds - 1, true),
            (seconds, false),
            (seconds + 1, false),
        ] {
            let test = harness.test().await;
            let email = format!("{expires_in:?}.{age}@example.com").replace(['(', ')'], "-");
            let command = LoginOrCreate {
                expires_in,
                ..login(&email)
            };
            let sent = harness
                .service
                .login_or_create_by_email(&test, command)
                .await
                .unwrap();
            let digits = harness.newest_to(&test, &email).await.message.code;
            harness.pass(age);
            let outcome = harness.verify(&test, sent.email.id, &digits).await;
            assert_eq!(outcome.is_ok(), is_alive, "{expires_in:?} after {age} s");
            assert!(is_alive || is_invalid(&outcome));
        }
    }
}

/// Wrong, expired, used and unknown codes get the same response (API-16).
#[tokio::test]
async fn otp_3_a_code_works_once() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (sent, digits) = harness.fresh_code(&test, "ada@example.com").await;
    harness.verify(&test, sent.email.id, &digits).await.unwrap();
    let used = harness.verify(&test, sent.email.id, &digits).await;
    let unknown = harness
        .verify(&test, EmailId::new(START, [7; 16]), &digits)
        .await;
    let phone = VerifyCode {
        method_id: MethodId::Phone(PhoneNumberId::new(START, [7; 16])),
        ..proof(sent.email.id, &digits)
    };
    let elsewhere = harness.service.verify_code(&test, phone).await;
    for outcome in [used, unknown, elsewhere] {
        assert!(is_invalid(&outcome), "{outcome:?}");
    }
}

/// OTP-3, R3: fifty concurrent uses of the right code yield one success and one session.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn otp_3_r3_parallel_right_codes_have_one_winner() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (sent, digits) = harness.fresh_code(&test, "ada@example.com").await;
    let tasks = (0..50).map(|_| {
        let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
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
    let sessions = harness
        .list_sessions(&test, sent.email.user_id)
        .await
        .unwrap();
    assert_eq!(sessions.len(), 1);
}

#[tokio::test]
async fn otp_4_a_code_is_void_after_five_wrong_attempts() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    for (tries, is_alive) in [(4, true), (5, false)] {
        let (sent, digits) = harness
            .fresh_code(&test, &format!("u{tries}@example.com"))
            .await;
        for _ in 0..tries {
            assert!(is_invalid(
                &harness.verify(&test, sent.email.id, wrong(&digits)).await
            ));
        }
        let outcome = harness.verify(&test, sent.email.id, &digits).await;
        assert_eq!(outcome.is_ok(), is_alive, "after {tries} wrong attempts");
        assert!(is_alive || is_invalid(&outcome));
    }
}

/// Anything other than six digits is a wrong attempt like any other.
#[tokio::test]
async fn m_17_odd_codes_are_wrong_and_no_guesses() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (sent, digits) = harness.fresh_code(&test, "ada@example.com").await;
    for _ in 0..10 {
        for odd in ["", " ", &digits[..5], &format!("{digits}\0")] {
            assert!(
                is_invalid(&harness.verify(&test, sent.email.id, odd).await),
                "{odd:?}"
            );
        }
    }
    // None of them counted as a guess (M-17).
    let spaced = format!(" {digits}");
    harness.verify(&test, sent.email.id, &spaced).await.unwrap();
}

/// OTP-4, R4: the counter is exact under concurrency.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn otp_4_r4_parallel_wrong_codes_count_five() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (sent, digits) = harness.fresh_code(&test, "ada@example.com").await;
    let tasks = (0..50).map(|number| {
        let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
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
    let counted = failures(&harness, &test, sent.email.id).await;
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
    let harness = Harness::new().await;
    let test = harness.test().await;
    let email = "ada@example.com";
    for round in 1..=4 {
        let (sent, digits) = harness.fresh_code(&test, email).await;
        for _ in 0..5 {
            assert!(is_invalid(
                &harness.verify(&test, sent.email.id, wrong(&digits)).await
            ));
        }
        assert_eq!(failures(&harness, &test, sent.email.id).await, round * 5);
    }
    let (sent, digits) = harness.fresh_code(&test, email).await;
    let id = sent.email.id;
    assert_eq!(wait(&harness.verify(&test, id, &digits).await), Some(60));
    harness.pass(59);
    assert_eq!(wait(&harness.verify(&test, id, &digits).await), Some(1));
    harness.pass(1);
    assert!(
        is_invalid(&harness.verify(&test, id, wrong(&digits)).await),
        "the lockout is over, the count is not"
    );
    assert_eq!(wait(&harness.verify(&test, id, &digits).await), Some(120));
    harness.pass(120);
    assert!(is_invalid(&harness.verify(&test, id, wrong(&digits)).await));
    assert_eq!(wait(&harness.verify(&test, id, &digits).await), Some(240));
    harness.pass(240);
    harness.verify(&test, id, &digits).await.unwrap();
    assert_eq!(failures(&harness, &test, id).await, 0);

    harness.pass(600);
    let (sent, digits) = harness.fresh_code(&test, email).await;
    assert!(is_invalid(
        &harness.verify(&test, sent.email.id, wrong(&digits)).await
    ));
    harness.verify(&test, sent.email.id, &digits).await.unwrap();
}

/// OTP-5, attack 24: one identifier is locked out, its neighbours are not.
#[tokio::test]
async fn otp_5_the_lockout_applies_to_one_identifier() {
    let harness = Harness::new().await;
    let (test, live) = (harness.test().await, harness.live().await);
    let sent = harness.login(&test, "ada@example.com").await;
    let mut tx = harness.fake.begin().await.unwrap();
    let until = harness.now() + Seconds(60);
    tx.lockouts()
        .block(&test.world, &sent.email.id.to_string(), until)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let digits = harness
        .newest_to(&test, "ada@example.com")
        .await
        .message
        .code;
    assert_eq!(
        wait(&harness.verify(&test, sent.email.id, &digits).await),
        Some(60)
    );
    let (other, digits) = harness.fresh_code(&test, "bob@example.com").await;
    harness
        .verify(&test, other.email.id, &digits)
        .await
        .unwrap();
    // The same id in another environment is another identifier.
    assert!(is_invalid(
        &harness.verify(&live, sent.email.id, &digits).await
    ));
}

#[tokio::test]
async fn otp_6_a_new_code_replaces_the_old_one() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (sent, old) = harness.fresh_code(&test, "ada@example.com").await;
    let mut new = old.clone();
    // Once in a million draws the two are equal.
    while new == old {
        harness.pass(20);
        new = harness.fresh_code(&test, "ada@example.com").await.1;
    }
    assert!(is_invalid(
        &harness.verify(&test, sent.email.id, &old).await
    ));
    harness.verify(&test, sent.email.id, &new).await.unwrap();
}

/// OTP-7: App, environment and identifier.
#[tokio::test]
async fn otp_7_a_code_is_bound_to_its_environment_and_identifier() {
    let harness = Harness::new().await;
    let (test, live, stranger) = (
        harness.test().await,
        harness.live().await,
        harness.stranger().await,
    );
    let (ada, digits) = harness.fresh_code(&test, "ada@example.com").await;
    let bob = harness.login(&test, "bob@example.com").await;
    assert!(is_invalid(
        &harness.verify(&test, bob.email.id, &digits).await
    ));
    for caller in [&live, &stranger] {
        let there = harness.login(caller, "ada@example.com").await;
        assert!(
            is_invalid(&harness.verify(caller, there.email.id, &digits).await),
            "its own address there"
        );
        assert!(
            is_invalid(&harness.verify(caller, ada.email.id, &digits).await),
            "the address here"
        );
        assert!(is_invalid(
            &harness.verify(&test, there.email.id, &digits).await
        ));
    }
    harness.verify(&test, ada.email.id, &digits).await.unwrap();
}

/// OTP-7: the hash covers the whole tuple; a change to any part gives another hash.
#[tokio::test]
async fn otp_7_the_hash_covers_the_tuple() {
    let harness = Harness::new().await;
    let (test, live, stranger) = (
        harness.test().await,
        harness.live().await,
        harness.stranger().await,
    );
    let hash = async |world, method: &str, digits: &str| {
        let parts = code::bound_parts(CodePurpose::SignIn, method, digits);
        harness
            .ports
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
    let harness = Harness::new().await;
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
        harness.set(&[("device_fingerprint_match", setting)]).await;
        let test = harness.test().await;
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
                let sent = harness
                    .service
                    .login_or_create_by_email(&test, command)
                    .await
                    .unwrap();
                let digits = harness.newest_to(&test, &email).await.message.code;
                let command = VerifyCode {
                    device_fingerprint: device.clone(),
                    ..proof(sent.email.id, &digits)
                };
                let outcome = harness.service.verify_code(&test, command).await;
                assert_eq!(
                    outcome.is_ok(),
                    passes || !sent_one,
                    "{setting}, device {number}, sent {sent_one}"
                );
                if outcome.is_err() {
                    assert!(is_invalid(&outcome));
                    assert_eq!(
                        failures(&harness, &test, sent.email.id).await,
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
    let harness = Harness::new().await;
    let test = harness.test().await;
    let sent = harness.login(&test, "ada@example.com").await;
    let method = MethodId::Email(sent.email.id);
    let mut tx = harness.fake.begin().await.unwrap();
    let code = tx
        .codes()
        .attempt(&test.world, method, CodePurpose::SignIn, 5, harness.now())
        .await
        .unwrap()
        .unwrap()
        .code;
    let queue = OutboxQueue::new(test.world.environment, Channel::Email);
    let jobs = tx
        .outbox()
        .claim(
            queue,
            "thief",
            harness.now(),
            harness.now() + Seconds(1),
            10,
        )
        .await
        .unwrap();
    drop(tx);
    assert_eq!(jobs.len(), 1);
    let digits = harness
        .newest_to(&test, "ada@example.com")
        .await
        .message
        .code;

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
        format!("{:?}", harness.fake),
    ] {
        assert!(!debug.contains(&digits), "{debug}");
    }
    // Another App's key, or the key of the same App's other environment, gives another hash of the same input. Without the key it cannot be
    // computed.
    let text = method.to_string();
    let parts = code::bound_parts(CodePurpose::SignIn, &text, &digits);
    let ours = harness
        .ports
        .sealer
        .mac(&test.world, SecretKind::Code, &parts)
        .await
        .unwrap();
    assert!(ours.matches(&code.mac));
    let elsewhere = Harness::new().await;
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
    let harness = Harness::new().await;
    let live = harness.live().await;
    harness.login(&live, "ada@example.com").await;
    harness.deliver().await;
    assert_eq!(harness.mailer.sent().len(), 1);
    assert_eq!(harness.waiting().await, 0);
    let mut tx = harness.fake.begin().await.unwrap();
    let later = harness.now() + Seconds(86_400);
    let queue = OutboxQueue::new(live.world.environment, Channel::Email);
    assert!(
        tx.outbox()
            .claim(queue, "thief", later, later, 10)
            .await
            .unwrap()
            .is_empty()
    );
}

/// A verify call with invalid session fields costs no attempt.
#[tokio::test]
async fn a_refused_request_leaves_the_code_alone() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (sent, digits) = harness.fresh_code(&test, "ada@example.com").await;
    for minutes in [i64::MIN, 0, 4, 525_601, i64::MAX] {
        for tried in [&*digits, wrong(&digits)] {
            let command = VerifyCode {
                session_fields: lasting(minutes),
                ..proof(sent.email.id, tried)
            };
            let refused = harness.service.verify_code(&test, command).await;
            assert!(
                matches!(&refused, Err(VerifyCodeError::Common(Refusal::Invalid(invalid))) if invalid.param == "session_expires_in"),
                "{minutes}: {refused:?}"
            );
        }
    }
    assert_eq!(failures(&harness, &test, sent.email.id).await, 0);
    harness.verify(&test, sent.email.id, &digits).await.unwrap();
}

/// A refused send changes nothing: the existing code stays valid.
#[tokio::test]
async fn a_refused_send_keeps_the_old_code_valid() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let mut last = None;
    // Five, and one beyond the limit (M-5).
    for _ in 0..6 {
        harness.pass(20);
        last = Some(harness.fresh_code(&test, "ada@example.com").await);
    }
    harness.pass(20);
    let refused = harness
        .service
        .login_or_create_by_email(&test, login("ada@example.com"))
        .await;
    assert!(
        matches!(refused, Err(Refusal::TooMany { .. })),
        "{refused:?}"
    );
    harness.deliver().await;
    let mails = harness
        .service
        .captured_messages(&test, FindMessages::default())
        .await
        .unwrap();
    assert_eq!(mails.len(), 6);
    let (sent, digits) = last.unwrap();
    harness.verify(&test, sent.email.id, &digits).await.unwrap();
}

/// OTP-5: consecutive failures are kept for thirty days without an attempt, and no longer. An older count locks no one out.
#[tokio::test]
async fn otp_5_failures_are_remembered_for_thirty_days() {
    const DAY: i64 = 86_400;
    for (days, waits) in [(29, true), (31, false)] {
        let harness = Harness::new().await;
        let test = harness.test().await;
        let mut email = None;
        for _ in 0..4 {
            let (sent, code) = harness.fresh_code(&test, "ada@example.com").await;
            for _ in 0..5 {
                harness
                    .verify(&test, sent.email.id, wrong(&code))
                    .await
                    .unwrap_err();
            }
            email = Some(sent.email.id);
        }
        let blocked = harness.verify(&test, email.unwrap(), "000000").await;
        assert!(
            matches!(
                blocked,
                Err(VerifyCodeError::Common(Refusal::TooMany { .. }))
            ),
            "{blocked:?}"
        );
        harness.pass(days * DAY);
        harness.sweep().await;
        let test = harness.test().await;
        let (sent, code) = harness.fresh_code(&test, "ada@example.com").await;
        harness
            .verify(&test, sent.email.id, wrong(&code))
            .await
            .unwrap_err();
        let next = harness.verify(&test, sent.email.id, &code).await;
        assert_eq!(next.is_err(), waits, "after {days} days: {next:?}");
    }
}
