//! M-6: guesses that are spread over many accounts, or come from many addresses.

use vestry_app::identity::codes::{VerifyCode, VerifyCodeError};
use vestry_app::identity::passwords::VerifyPassword;
use vestry_app::identity::sessions::SessionFields;
use vestry_app::identity::totps::{VerifyTotp, VerifyTotpError};
use vestry_app::{Caller, Refusal};
use vestry_domain::Secret;
use vestry_domain::code::{DIGITS, LONG_DIGITS, MAX_TRIES};
use vestry_domain::ids::{Id, UserId};
use vestry_domain::limits::codes::SENDS_PER_APP;
use vestry_domain::limits::failures;
use vestry_domain::session::DeviceFingerprint;

use crate::harness::{Harness, proof, wrong};
use crate::totps::{code, recovery, shown_at};

fn device(ip: &str) -> DeviceFingerprint {
    DeviceFingerprint::new(Some(ip.to_owned()), None).unwrap()
}

/// Tries a password of a nonexistent user.
async fn guess_password(
    harness: &Harness,
    caller: &Caller,
    number: u32,
    ip: &str,
) -> Result<(), Refusal> {
    let mut random = [0; 16];
    random[..4].copy_from_slice(&number.to_be_bytes());
    let command = VerifyPassword {
        user_id: UserId::new(harness.now(), random),
        password: Secret::new("a wrong password".to_owned()),
        session_fields: SessionFields::default(),
        device_fingerprint: device(ip),
    };
    let tried = harness.service.verify_password(caller, command).await;
    tried.map(drop)
}

/// After a hundred failures from one address, of any kind and on any accounts, everything from there is refused, right or wrong, until the
/// ten minutes are over.
///
/// Other addresses, and calls without one, are not affected.
#[tokio::test]
async fn m_6_an_address_is_blocked_after_a_hundred_failures_of_any_kind() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    // For IPv6 the network is counted.
    let from = |number: u32| format!("2001:db8:0:1::{number:x}");
    let user = harness.user(&test, "ada@example.com").await.profile.user.id;
    let totp = harness.verified_totp(&test, user).await;
    let (sent, right) = harness.fresh_code(&test, "bob@example.com").await;
    let mut failed = 0;
    for account in 0..8 {
        let email = format!("user{account}@example.com");
        let (sent, right) = harness.fresh_code(&test, &email).await;
        for _ in 0..MAX_TRIES {
            failed += 1;
            let command = VerifyCode {
                device_fingerprint: device(&from(failed)),
                ..proof(sent.email.id, wrong(&right))
            };
            let tried = harness.service.verify_code(&test, command).await;
            assert!(matches!(tried, Err(VerifyCodeError::InvalidCode)));
        }
    }
    for _ in 0..40 {
        failed += 1;
        let tried = guess_password(&harness, &test, failed, &from(failed)).await;
        assert!(matches!(tried, Err(Refusal::InvalidCredentials)));
    }
    for _ in 0..10 {
        for guess in [code(user, "000000"), recovery(user, "aaaaa-aaaaa")] {
            failed += 1;
            let command = VerifyTotp {
                device_fingerprint: device(&from(failed)),
                ..guess
            };
            let tried = harness.service.verify_totp(&test, command).await;
            assert!(matches!(tried, Err(VerifyTotpError::InvalidCode)));
        }
    }
    assert_eq!(failed, failures::PER_ADDRESS.most);

    let here = device(&from(0xffff));
    let held_up = async || {
        let command = VerifyCode {
            device_fingerprint: here.clone(),
            ..proof(sent.email.id, &right)
        };
        let tried = harness.service.verify_code(&test, command).await;
        let by_code = matches!(tried, Err(VerifyCodeError::Common(Refusal::TooMany { .. })));
        let command = VerifyTotp {
            device_fingerprint: here.clone(),
            ..code(user, &shown_at(&totp, harness.now()))
        };
        let tried = harness.service.verify_totp(&test, command).await;
        let by_totp = matches!(tried, Err(VerifyTotpError::Common(Refusal::TooMany { .. })));
        let tried = guess_password(&harness, &test, 0, &here.ip).await;
        let by_password = matches!(tried, Err(Refusal::TooMany { .. }));
        assert_eq!((by_code, by_totp), (by_password, by_password));
        by_password
    };
    assert!(held_up().await);
    let tried = guess_password(&harness, &test, 1_000, "2001:db8:0:2::1").await;
    assert!(matches!(tried, Err(Refusal::InvalidCredentials)));
    let tried = guess_password(&harness, &test, 1_001, "").await;
    assert!(matches!(tried, Err(Refusal::InvalidCredentials)));
    harness.pass(failures::PER_ADDRESS.window.0);
    assert!(!held_up().await, "the window is over");
}

/// Makes failed attempts across an App, each with another account and address.
async fn spray(harness: &Harness, caller: &Caller, from: u32, most: u32) {
    for number in from..from + most {
        let ip = format!("10.{}.{}.{}", number >> 16, number >> 8 & 255, number & 255);
        let tried = guess_password(harness, caller, number, &ip).await;
        assert!(matches!(tried, Err(Refusal::InvalidCredentials)));
    }
}

/// Above a thousand failures an hour, and ten per success, new codes have eight digits and work as usual. They stay long until an hour has
/// passed without an attack.
#[tokio::test]
async fn m_6_codes_are_long_during_a_spraying_attack() {
    let harness = Harness::new().await;
    let (test, live) = (harness.test().await, harness.live().await);
    spray(&harness, &test, 0, 950).await;
    let (_, short) = harness.fresh_code(&test, "ada@example.com").await;
    assert_eq!(short.len(), DIGITS);
    harness.pass(600);
    spray(&harness, &test, 950, 250).await;
    let (sent, long) = harness.fresh_code(&test, "bob@example.com").await;
    assert_eq!(long.len(), LONG_DIGITS);
    let spaced = format!("{} {}", &long[..4], &long[4..]);
    harness.verify(&test, sent.email.id, &spaced).await.unwrap();
    let text = harness.fresh_text(&test, "+442071838750").await.1;
    assert_eq!(text.len(), LONG_DIGITS);
    harness.login(&live, "ada@example.com").await;
    harness.deliver().await;
    let (_, mail) = harness.mailer.sent().pop().unwrap();
    assert_eq!(mail.code.len(), DIGITS, "another environment");

    harness.pass(3_000);
    let (_, long) = harness.fresh_code(&test, "eve@example.com").await;
    assert_eq!(long.len(), LONG_DIGITS);
    harness.pass(700);
    let (_, short) = harness.fresh_code(&test, "eve@example.com").await;
    assert_eq!(short.len(), DIGITS);
}

/// Where users sign in often, the same number of failures is their own.
#[tokio::test]
async fn m_6_failures_of_a_busy_app_are_not_an_attack() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    for number in 0..130 {
        let email = format!("user{number}@example.com");
        let (sent, right) = harness.fresh_code(&test, &email).await;
        harness.verify(&test, sent.email.id, &right).await.unwrap();
    }
    spray(&harness, &test, 0, 1_250).await;
    let (_, short) = harness.fresh_code(&test, "ada@example.com").await;
    assert_eq!(short.len(), DIGITS);
    spray(&harness, &test, 1_250, 250).await;
    let (_, long) = harness.fresh_code(&test, "bob@example.com").await;
    assert_eq!(long.len(), LONG_DIGITS);
}

/// An account counts as one success an hour: 130 sign-ins to the attacker's own account hide no attack. After an hour it counts again.
#[tokio::test]
async fn m_6_sign_ins_to_one_account_hide_no_attack() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let own = harness.with_password(&test, "mallory@example.com").await;
    for _ in 0..130 {
        harness.verify_password(&test, own).await.unwrap();
    }
    spray(&harness, &test, 0, 1_250).await;
    let (_, long) = harness.fresh_code(&test, "ada@example.com").await;
    assert_eq!(long.len(), LONG_DIGITS);
}

/// What a million addresses win from a million accounts in a day by guessing every code that the App can be made to send.
///
/// Only the first 400 accounts are really attacked; from then on nothing changes. After each of them the attacker signs in to an account of
/// their own, so they succeed once for every five failures.
#[tokio::test]
async fn m_6_attack_3_what_a_million_addresses_win() {
    const ATTACKED: u32 = 400;
    let harness = Harness::new().await;
    let test = harness.test().await;
    let own = harness.with_password(&test, "mallory@example.com").await;
    let (mut at_short, mut at_long) = (0_u32, 0_u32);
    for account in 0..ATTACKED {
        harness.verify_password(&test, own).await.unwrap();
        let email = format!("user{account}@example.com");
        let (sent, right) = harness.fresh_code(&test, &email).await;
        for _ in 0..MAX_TRIES {
            let ip = format!("10.0.{}.{}", account >> 8, account & 255);
            let guess = if right.len() == DIGITS {
                wrong(&right).to_owned()
            } else {
                format!("00{}", wrong(&right[2..]))
            };
            let command = VerifyCode {
                device_fingerprint: device(&ip),
                ..proof(sent.email.id, &guess)
            };
            let tried = harness.service.verify_code(&test, command).await;
            assert!(matches!(tried, Err(VerifyCodeError::InvalidCode)));
            match right.len() {
                DIGITS => at_short += 1,
                _ => at_long += 1,
            }
        }
    }
    // The codes that the App's mail limit allows in a day, five guesses each. A million accounts and addresses could try more than that, so
    // they add nothing.
    let codes = 24.0 * f64::from(SENDS_PER_APP.most);
    let guesses = codes * 5.0;
    let before = guesses / 1e6;
    let short = f64::from(at_short);
    let after = short / 1e6 + (guesses - short) / 1e8;
    println!(
        "attack 3: of {} guesses at {ATTACKED} accounts, and {ATTACKED} sign-ins to an account of the attacker's own between them, {at_short} were at codes of {DIGITS} digits and {at_long} at codes of {LONG_DIGITS}; a day of {codes} codes and {guesses} guesses from 10^6 addresses at 10^6 accounts wins {before:.3} accounts with {DIGITS} digits always, {after:.3} as it is",
        at_short + at_long
    );
    assert!(
        f64::from(at_short) <= 1.2 * 1e3,
        "{at_short} guesses were made at short codes"
    );
    assert!(after < before / 50.0, "{before} {after}");
}
