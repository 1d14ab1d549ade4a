//! OTP-10: send limits for codes, identical for all addresses.

use vestry_app::identity::codes::{LoginOrCreate, SendCode, SentCode};
use vestry_app::{Caller, Refusal};
use vestry_domain::limits::codes::{SENDS_PER_APP, SENDS_PER_IP};
use vestry_domain::session::DeviceFingerprint;
use vestry_ports::store::Store;

use crate::harness::{Harness, login};
use crate::send::send;

/// What a caller can see of a send: the retry delay, or that the send passed the limits.
fn seen(outcome: Result<SentCode, Refusal>) -> Option<i64> {
    match outcome {
        Ok(_) | Err(Refusal::NotFound(_)) => None,
        Err(Refusal::TooMany { retry_after }) => Some(retry_after.0),
        Err(other) => panic!("{other:?}"),
    }
}

async fn ask(harness: &Harness, caller: &Caller, email: &str) -> Option<i64> {
    seen(
        harness
            .service
            .send_code_by_email(caller, send(email))
            .await,
    )
}

/// Attack 9: the sequence of responses does not distinguish a known address from an unknown one.
#[tokio::test]
async fn otp_10_known_and_unknown_addresses_meet_the_same_limits() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.user(&test, "known@example.com").await;
    for step in 0..20 {
        let known = ask(&harness, &test, "known@Example.com").await;
        let unknown = ask(&harness, &test, "unknown@Example.com").await;
        assert_eq!(known, unknown, "step {step}");
        assert_eq!(
            known.is_some(),
            step >= 6,
            "step {step}: five in ten minutes, and one beyond the limit"
        );
        // The same holds for calls that only repeat the one before (M-5).
        for repeat in [7, 12] {
            harness.pass(repeat);
            let known = ask(&harness, &test, "known@example.com").await;
            let unknown = ask(&harness, &test, "unknown@example.com").await;
            assert_eq!(known, unknown, "step {step}, {repeat}");
        }
        harness.pass(1);
    }
    assert!(!harness.is_known(&test, "unknown@example.com").await);
}

/// Attack 9: nor do alternative spellings, which might be two mailboxes and so do not count as repeats. Tested for a verified, a claimed
/// and an unknown address.
#[tokio::test]
async fn otp_10_spellings_meet_the_same_limits_for_all_addresses() {
    for enumeration_safe in ["true", "false"] {
        let harness = Harness::new().await;
        harness.set(&[("enumeration_safe", enumeration_safe)]).await;
        let test = harness.test().await;
        harness.user(&test, "claimed@example.com").await;
        harness.sign_in(&test, "verified@example.com", 60).await;
        // The limits of the address reset.
        harness.pass(601);
        for step in 0..12 {
            let mut answers = Vec::new();
            for name in ["claimed", "verified", "unknown"] {
                let spelled = match step % 4 {
                    0 | 1 => format!("{name}@example.com"),
                    2 => format!("{name}@EXAMPLE.com"),
                    _ => format!("{}@example.com", name.to_uppercase()),
                };
                answers.push(ask(&harness, &test, &spelled).await);
            }
            let first = answers[0];
            assert_eq!(answers, [first; 3], "step {step}, {enumeration_safe}");
            harness.pass(7);
        }
    }
}

#[tokio::test]
async fn otp_10_an_address_may_get_five_in_ten_minutes_in_any_spelling() {
    let harness = Harness::new().await;
    let (test, live) = (harness.test().await, harness.live().await);
    let spellings = [
        "ada@example.com",
        "Ada@example.com",
        "ADA@EXAMPLE.COM",
        "aDA@example.com",
        "ada@example.com",
    ];
    for email in spellings {
        harness.login(&test, email).await;
        harness.pass(20);
    }
    for (expected, why) in [
        (None, "one beyond the limit (M-5)"),
        (Some(480), "the window opened two minutes ago"),
    ] {
        let over = harness
            .service
            .login_or_create_by_email(&test, login("aDa@example.com"))
            .await;
        assert_eq!(seen(over), expected, "{why}");
        harness.pass(20);
    }
    assert_eq!(
        harness.waiting().await,
        6,
        "a refused send puts nothing into the outbox"
    );
    // Another address, another environment, another window.
    harness.login(&test, "bob@example.com").await;
    harness.login(&live, "ada@example.com").await;
    harness.pass(459);
    assert_eq!(ask(&harness, &test, "ada@example.com").await, Some(1));
    harness.pass(1);
    assert_eq!(ask(&harness, &test, "ada@example.com").await, None);
}

#[tokio::test]
async fn otp_10_thirty_a_day_for_an_address() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    for _ in 0..6 {
        for _ in 0..5 {
            assert_eq!(ask(&harness, &test, "ada@example.com").await, None);
            harness.pass(20);
        }
        harness.pass(500);
    }
    let mut now = 3_600;
    // After the daily limit, one every quarter of an hour (M-5).
    while now < 86_400 {
        assert_eq!(ask(&harness, &test, "ada@example.com").await, None);
        harness.pass(20);
        let left = (86_400 - now).min(900) - 20;
        assert_eq!(ask(&harness, &test, "ada@example.com").await, Some(left));
        harness.pass(left);
        now += 900;
    }
    harness.pass(20);
    assert_eq!(ask(&harness, &test, "ada@example.com").await, None);
}

/// Counted by the device address that the caller passes. Calls without one are not counted here.
#[tokio::test]
async fn otp_10_thirty_in_ten_minutes_from_a_device() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let device = |ip: &str| Some(DeviceFingerprint::new(Some(ip.into()), None).unwrap());
    let from = async |ip: Option<&str>, number: u32| {
        let device_fingerprint = ip.and_then(device);
        let email = format!("u{number}@example.com");
        // Half of them go to unknown addresses.
        if number.is_multiple_of(2) {
            let command = LoginOrCreate {
                device_fingerprint,
                ..login(&email)
            };
            seen(
                harness
                    .service
                    .login_or_create_by_email(&test, command)
                    .await,
            )
        } else {
            let command = SendCode {
                device_fingerprint,
                ..send(&email)
            };
            seen(harness.service.send_code_by_email(&test, command).await)
        }
    };
    for number in 0..SENDS_PER_IP.most {
        assert_eq!(from(Some("192.0.2.1"), number).await, None);
    }
    assert_eq!(from(Some("192.0.2.1"), 100).await, Some(600));
    assert!(
        !harness.is_known(&test, "u100@example.com").await,
        "a refused call creates no user"
    );
    assert_eq!(from(Some("192.0.2.1"), 101).await, Some(600));
    assert_eq!(from(Some("192.0.2.2"), 102).await, None);
    assert_eq!(from(Some(""), 104).await, None);
    assert_eq!(from(None, 106).await, None);
    harness.pass(600);
    assert_eq!(from(Some("192.0.2.1"), 108).await, None);
}

#[tokio::test]
async fn otp_10_a_limit_for_the_app() {
    let harness = Harness::new().await;
    let (test, live) = (harness.test().await, harness.live().await);
    // Most of the hour's twenty thousand sends have already happened, in the sixteen counters that share them.
    let mut tx = harness.fake.begin().await.unwrap();
    for shard in 0..16 {
        for _ in 1..SENDS_PER_APP.most / 16 {
            let spent = tx
                .quotas()
                .consume(
                    &test.world,
                    "otp_send_app",
                    &shard.to_string(),
                    SENDS_PER_APP,
                    harness.now(),
                )
                .await;
            assert!(spent.unwrap().admitted);
        }
    }
    tx.commit().await.unwrap();
    let (mut sent, mut refused) = (0, 0);
    for number in 0..200 {
        match seen(
            harness
                .service
                .login_or_create_by_email(&test, login(&format!("u{number}@example.com")))
                .await,
        ) {
            None => sent += 1,
            Some(wait) => {
                assert_eq!(wait, 3_600);
                refused += 1;
            }
        }
    }
    assert_eq!((sent, refused), (16, 184), "one more per counter");
    assert_eq!(harness.waiting().await, 16);
    harness.login(&live, "ada@example.com").await;
    harness.pass(3_600);
    harness.login(&test, "ada@example.com").await;
}

/// Reserved identities have no limits (OPS-12).
#[tokio::test]
async fn reserved_addresses_are_not_counted() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    for _ in 0..40 {
        harness.login(&test, "ok@vestry.test").await;
        assert_eq!(ask(&harness, &test, "wrong@vestry.test").await, None);
    }
}

/// OTP-10: one machine has one quota, however its address is written and whichever address of its network it uses.
#[tokio::test]
async fn otp_10_an_address_has_one_quota_however_it_is_written() {
    let mut number = 0;
    let spellings: [fn(u32) -> String; 3] = [
        |n| format!("2001:db8:1:2::{n:x}"),
        |n| match n % 3 {
            0 => "203.0.113.7".to_owned(),
            1 => "::ffff:203.0.113.7".to_owned(),
            _ => format!("203.0.113.7:{n}"),
        },
        |n| format!("machine {n}"),
    ];
    for spell in spellings {
        let harness = Harness::new().await;
        let test = harness.test().await;
        let mut admitted = 0;
        for n in 1..=SENDS_PER_IP.most + 5 {
            number += 1;
            let device = DeviceFingerprint::new(Some(spell(n)), None).unwrap();
            let command = LoginOrCreate {
                device_fingerprint: Some(device),
                ..login(&format!("u{number}@example.com"))
            };
            let sent = harness
                .service
                .login_or_create_by_email(&test, command)
                .await;
            admitted += u32::from(seen(sent).is_none());
        }
        assert_eq!(admitted, SENDS_PER_IP.most);
    }
}
