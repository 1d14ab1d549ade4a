//! Attacks 7, 8 and 9: how many messages bots can trigger, and what they learn from it.

use vestry_app::delivery::test_messages::FindMessages;
use vestry_app::identity::codes::{LoginOrCreate, LoginOrCreateByText, VerifyCodeError};
use vestry_app::identity::passwords::BeginReset;
use vestry_app::identity::sessions::SessionNamed;
use vestry_app::{Caller, Refusal};
use vestry_domain::limits::texts::{
    SENDS_PER_NUMBER_AND_DAY, UNVERIFIED_PER_COUNTRY, UNVERIFIED_PER_PREFIX,
};
use vestry_domain::session::DeviceFingerprint;
use vestry_domain::user::UserStatus;

use crate::harness::{Harness, login, proof, text, text_proof};
use crate::links::{invitation, link_for};
use crate::texts::send;

/// The retry delay of a send, if there was one.
fn wait<T: std::fmt::Debug>(outcome: Result<T, Refusal>) -> Option<i64> {
    match outcome {
        Ok(_) | Err(Refusal::NotFound(_)) => None,
        Err(Refusal::TooMany { retry_after }) => Some(retry_after.0),
        Err(other) => panic!("{other:?}"),
    }
}

async fn ask(harness: &Harness, caller: &Caller, number: &str) -> Option<i64> {
    let outcome = harness
        .service
        .login_or_create_by_text(caller, text(number))
        .await;
    wait(outcome)
}

/// A London mobile number with these last digits.
fn london(number: u32) -> String {
    format!("+44207{:07}", 1_830_000 + number)
}

/// A San Francisco number with this exchange and line.
fn us(exchange: u32, line: u32) -> String {
    format!("+1415{exchange:03}{line:04}")
}

/// Attack 7: bots request texts to 10,000 adjacent numbers and never answer one, while honest users with other prefixes sign in.
///
/// The breakers bound the texts sent to the bots, and the honest users are not affected.
#[tokio::test]
async fn attack_7_pumping_adjacent_numbers_is_stopped() {
    const NUMBERS: u32 = 10_000;
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (mut admitted, mut honest) = (0_u32, 0_u32);
    for number in 0..NUMBERS {
        // Five exchanges of two thousand lines.
        let pumped = us(200 + number / 2_000, number % 2_000);
        admitted += u32::from(ask(&harness, &test, &pumped).await.is_none());
        if number % 500 == 0 {
            let person = us(700 + honest, 2_000 + honest);
            let (sent, code) = harness.fresh_text(&test, &person).await;
            harness
                .service
                .verify_code(&test, text_proof(sent.phone.id, &code))
                .await
                .unwrap();
            honest += 1;
        }
    }
    println!(
        "attack 7: {admitted} of {NUMBERS} pumped texts went out in one hour to 5 prefixes; {honest} of 20 honest sign-ins worked"
    );
    assert_eq!(honest, 20);
    assert_eq!(
        admitted,
        5 * UNVERIFIED_PER_PREFIX.most,
        "each prefix is stopped exactly at its breaker"
    );
}

/// Attack 7: the breaker of a prefix opens after exactly its limit of unanswered sends, stays open for the rest of the hour, and then
/// closes. Other prefixes are not affected.
#[tokio::test]
async fn attack_7_a_prefix_breaker_opens_and_closes() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    for line in 0..UNVERIFIED_PER_PREFIX.most {
        assert_eq!(ask(&harness, &test, &us(555, 2_000 + line)).await, None);
    }
    harness.pass(600);
    assert_eq!(ask(&harness, &test, &us(555, 3_000)).await, Some(3_000));
    assert_eq!(ask(&harness, &test, &us(556, 3_000)).await, None);
    harness.pass(3_000);
    assert_eq!(ask(&harness, &test, &us(555, 3_000)).await, None);
}

/// Attack 7: if one text in ten is answered, no breaker opens and only the caps apply.
#[tokio::test]
async fn attack_7_answered_texts_keep_the_breaker_closed() {
    let harness = Harness::new().await;
    harness
        .set(&[
            ("sms_prefix_per_hour", "95"),
            ("sms_country_per_hour", "97"),
            ("sms_per_hour", "98"),
        ])
        .await;
    let test = harness.test().await;
    for line in 0..95 {
        let (sent, code) = harness.fresh_text(&test, &us(555, 2_000 + line)).await;
        if line % 10 == 9 {
            harness
                .service
                .verify_code(&test, text_proof(sent.phone.id, &code))
                .await
                .unwrap();
        }
    }
    // OTP-10: the caps of prefix, country and App, one after the other.
    assert_eq!(ask(&harness, &test, &us(555, 9_000)).await, Some(3_600));
    for exchange in [556, 557] {
        assert_eq!(ask(&harness, &test, &us(exchange, 9_000)).await, None);
    }
    assert_eq!(ask(&harness, &test, &us(558, 9_000)).await, Some(3_600));
    assert_eq!(ask(&harness, &test, &london(1)).await, None);
    assert_eq!(ask(&harness, &test, "+4915123456789").await, Some(3_600));
    // Another environment has its own caps, and mail does not count as text.
    assert_eq!(
        ask(&harness, &*harness.live().await, &us(555, 9_000)).await,
        None
    );
    harness.login(&test, "ada@example.com").await;
    harness.pass(3_600);
    assert_eq!(ask(&harness, &test, &us(555, 9_000)).await, None);
}

/// Attack 7: bots that spread over the prefixes of a country trip the country's breaker.
#[tokio::test]
async fn attack_7_a_country_breaker_stops_spread_pumping() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let mut admitted = 0;
    for number in 0..1_000 {
        let pumped = us(200 + number % 100, 1_000 + number);
        admitted += u32::from(ask(&harness, &test, &pumped).await.is_none());
    }
    println!("attack 7: {admitted} of 1000 texts went out to 100 prefixes of one country");
    assert_eq!(admitted, UNVERIFIED_PER_COUNTRY.most);
    assert_eq!(ask(&harness, &test, &london(1)).await, None);
}

/// OTP-10 for numbers: five in ten minutes and ten a day; the device limit is the same as for mail.
#[tokio::test]
async fn otp_10_limits_of_a_number_and_of_a_device() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let number = us(555, 2_671);
    for _ in 0..SENDS_PER_NUMBER_AND_DAY.most / 5 {
        for _ in 0..5 {
            assert_eq!(ask(&harness, &test, &number).await, None);
            harness.pass(20);
        }
        harness.pass(500);
    }
    assert_eq!(ask(&harness, &test, &number).await, None, "beyond it (M-5)");
    harness.pass(20);
    assert_eq!(ask(&harness, &test, &number).await, Some(880));
    let device = DeviceFingerprint::new(Some("192.0.2.1".into()), None).ok();
    let mut admitted = 0;
    for line in 0..40 {
        let command = LoginOrCreateByText {
            device_fingerprint: device.clone(),
            ..text(&us(300 + line, 2_000))
        };
        let outcome = harness
            .service
            .login_or_create_by_text(&test, command)
            .await;
        admitted += u32::from(wait(outcome).is_none());
    }
    assert_eq!(admitted, 30);
}

/// Attack 8: users created by login-or-create are capped for each App; existing users sign in as before.
#[tokio::test]
async fn attack_8_new_users_are_capped() {
    let harness = Harness::new().await;
    harness.set(&[("new_users_per_hour", "20")]).await;
    let test = harness.test().await;
    let mut admitted = 0;
    for number in 0..50 {
        let mail = harness
            .service
            .login_or_create_by_email(&test, login(&format!("u{number}@example.com")))
            .await;
        admitted += u32::from(wait(mail).is_none());
        admitted += u32::from(
            ask(&harness, &test, &us(300 + number, 2_000))
                .await
                .is_none(),
        );
    }
    assert_eq!(admitted, 20);
    assert_eq!(harness.waiting().await, 20, "a refused call sends nothing");
    assert!(!harness.is_known(&test, "u49@example.com").await);
    harness.pass(20);
    assert!(!harness.login(&test, "u0@example.com").await.user_created);
    harness.pass(3_600);
    assert!(harness.login(&test, "u49@example.com").await.user_created);
}

/// Attack 8: under an operator's cap, many Apps together send a person no more than the cap and one message beyond it. Without a cap each
/// App has its own limit.
#[tokio::test]
async fn attack_8_the_cap_of_an_address_holds_across_apps() {
    let harness = Harness::new().await;
    let apps = [
        harness.test().await,
        harness.stranger().await,
        harness.stranger().await,
    ];
    for (service, expected) in [
        (harness.process_with_cap(0), 15),
        (harness.process_with_cap(7), 8),
    ] {
        let mut admitted = 0;
        for _ in 0..5 {
            harness.pass(20);
            for caller in &apps {
                let by_mail = service
                    .login_or_create_by_email(caller, login("Ada@example.com"))
                    .await;
                admitted += u32::from(wait(by_mail).is_none());
            }
        }
        println!("attack 8: three Apps sent {admitted} of 15 mails to one address in ten minutes");
        assert_eq!(admitted, expected);
        harness.pass(3_600);
    }
    // Another address and the live environment are counted separately.
    let capped = harness.process_with_cap(1);
    for caller in [&apps[0], &harness.live().await] {
        for email in ["bob@example.com", "eve@example.com"] {
            capped
                .login_or_create_by_email(caller, login(email))
                .await
                .unwrap();
        }
    }
    for expected in [None, Some(880)] {
        let over = capped
            .login_or_create_by_email(&apps[1], login("bob@example.com"))
            .await;
        assert_eq!(wait(over), expected);
        harness.pass(20);
    }
}

/// Attack 8: codes, links, invitations and resets share one cap; to the recipient they are all mail.
#[tokio::test]
async fn attack_8_all_kinds_of_mail_share_the_cap_of_an_address() {
    let harness = Harness::with_urls().await;
    let app = harness.test().await;
    let others = [
        harness.stranger().await,
        harness.stranger().await,
        harness.stranger().await,
    ];
    // Used up by codes of other Apps; the App itself has its whole limit left.
    let capped = harness.process_with_cap(6);
    for number in 0..6 {
        let caller = &others[number / 2];
        let sent = capped.login_or_create_by_email(caller, login("ada@example.com"));
        sent.await.unwrap();
        harness.pass(20);
    }
    // One of each kind goes beyond it (M-5), for all Apps together.
    for expected in [None, Some(880)] {
        let link = capped.login_or_create_by_link(&app, link_for("ada@example.com"));
        assert_eq!(wait(link.await), expected, "login_or_create");
        let invited = capped.invite_by_link(&app, invitation("ada@example.com"));
        assert_eq!(wait(invited.await), expected, "invite");
        let reset = BeginReset {
            email: "ada@example.com".into(),
            ..BeginReset::default()
        };
        let reset = capped.begin_reset(&app, reset).await;
        assert_eq!(wait(reset), expected, "reset/begin");
        harness.pass(20);
    }
    // And the other way round: what links used up is not available to codes.
    for _ in 0..4 {
        let link = capped.login_or_create_by_link(&app, link_for("bob@example.com"));
        link.await.unwrap();
        harness.pass(20);
    }
    let mut admitted = 0;
    for caller in &others {
        let mail = capped.login_or_create_by_email(caller, login("bob@example.com"));
        admitted += u32::from(wait(mail.await).is_none());
    }
    assert_eq!(admitted, 3, "two, and one beyond the limit");
}

/// What distinguishes two sends for a caller, ids aside.
type Seen = (bool, Option<i64>, Option<(UserStatus, bool)>);

/// Attack 9: twenty rapid repeats of every sending call give the same sequence of responses for a known and an unknown identifier.
///
/// Without `enumeration_safe` that holds for the limits; with it, for everything.
#[tokio::test]
async fn attack_9_known_and_unknown_identifiers_get_the_same_responses() {
    for safe in [false, true] {
        let harness = Harness::new().await;
        harness
            .set(&[("enumeration_safe", &safe.to_string())])
            .await;
        let test = harness.test().await;
        for (email, number) in [
            ("k1@example.com", us(555, 2_001)),
            ("k2@example.com", us(556, 2_002)),
        ] {
            // Active users, as created by a sign-in.
            let (sent, code) = harness.fresh_code(&test, email).await;
            harness.verify(&test, sent.email.id, &code).await.unwrap();
            let (sent, code) = harness.fresh_text(&test, &number).await;
            let proved = text_proof(sent.phone.id, &code);
            harness.service.verify_code(&test, proved).await.unwrap();
        }
        harness.pass(86_400);
        let mut sequences: Vec<Vec<Vec<Seen>>> = Vec::new();
        for (mails, numbers) in [
            (
                ["k1@example.com", "k2@example.com"],
                [us(555, 2_001), us(556, 2_002)],
            ),
            (
                ["n1@example.com", "n2@example.com"],
                [us(557, 2_001), us(558, 2_002)],
            ),
        ] {
            let mut four: Vec<Vec<Seen>> = vec![Vec::new(); 4];
            for _ in 0..20 {
                let by_mail = vestry_app::identity::codes::SendCode {
                    email: mails[0].to_owned(),
                    expires_in: None,
                    device_fingerprint: None,
                    session: SessionNamed::default(),
                };
                four[0].push(seen(
                    harness
                        .service
                        .send_code_by_email(&test, by_mail)
                        .await
                        .map(|sent| (sent.status, sent.user_created)),
                ));
                four[1].push(seen(
                    harness
                        .service
                        .send_code_by_text(&test, send(&numbers[0]))
                        .await
                        .map(|sent| (sent.status, sent.user_created)),
                ));
                four[2].push(seen(
                    harness
                        .service
                        .login_or_create_by_email(&test, login(mails[1]))
                        .await
                        .map(|sent| (sent.status, sent.user_created)),
                ));
                four[3].push(seen(
                    harness
                        .service
                        .login_or_create_by_text(&test, text(&numbers[1]))
                        .await
                        .map(|sent| (sent.status, sent.user_created)),
                ));
            }
            sequences.push(four);
        }
        let limits = |four: &[Vec<Seen>]| -> Vec<Vec<Option<i64>>> {
            four.iter()
                .map(|calls| calls.iter().map(|(_, wait, _)| *wait).collect())
                .collect()
        };
        assert_eq!(limits(&sequences[0]), limits(&sequences[1]));
        assert_eq!(
            sequences[0] == sequences[1],
            safe,
            "enumeration_safe = {safe}"
        );
    }
}

fn seen(outcome: Result<(UserStatus, bool), Refusal>) -> Seen {
    match outcome {
        Ok(answer) => (true, None, Some(answer)),
        Err(Refusal::NotFound(_)) => (false, None, None),
        Err(Refusal::TooMany { retry_after }) => (false, Some(retry_after.0), None),
        Err(other) => panic!("{other:?}"),
    }
}

/// Attack 9: the ids that `send` returns for an unknown identifier are stable, date from the App's lifetime and belong to no user. Its code
/// is never right, attempts are counted as usual, and no message is sent.
#[tokio::test]
async fn attack_9_a_decoy_behaves_like_a_user_who_never_gets_the_code() {
    let harness = Harness::new().await;
    harness.set(&[("enumeration_safe", "true")]).await;
    harness.pass(100_000);
    let test = harness.test().await;
    let nobody = us(555, 2_671);
    let mut ids = Vec::new();
    for _ in 0..3 {
        let sent = harness
            .service
            .send_code_by_text(&test, send(&nobody))
            .await
            .unwrap();
        assert_eq!(
            (sent.status, sent.user_created),
            (UserStatus::Pending, false)
        );
        assert!(sent.phone.id.timestamp() >= harness.app.created_at);
        assert!(sent.phone.id.timestamp() <= harness.now());
        assert_eq!(sent.phone.id.timestamp(), sent.phone.user_id.timestamp());
        ids.push((sent.phone.id, sent.phone.user_id));
        harness.pass(20);
    }
    assert!(ids.iter().all(|pair| *pair == ids[0]));
    let other = harness
        .service
        .send_code_by_text(&test, send(&us(555, 2_672)))
        .await
        .unwrap();
    assert_ne!(other.phone.id, ids[0].0);
    assert_eq!(
        harness.waiting().await,
        4,
        "it consumes the quota of a message"
    );
    harness.deliver().await;
    assert_eq!(harness.waiting().await, 0);
    let all = FindMessages::default();
    assert!(
        harness
            .service
            .captured_messages(&test, all)
            .await
            .unwrap()
            .is_empty()
    );
    for tries in 0..25 {
        let outcome = harness
            .service
            .verify_code(&test, text_proof(ids[0].0, "000000"))
            .await;
        assert!(
            matches!(outcome, Err(VerifyCodeError::InvalidCode)),
            "{tries}: {outcome:?}"
        );
    }
    let user = harness.service.get_user(&test, ids[0].1).await;
    assert!(user.is_err());
    // A user created afterwards is a different one.
    let created = harness.text(&test, &nobody).await;
    assert_ne!(created.phone.id, ids[0].0);
}

/// A mail decoy behaves like a phone number decoy, whatever the caller and the number of attempts (OTP-5 counts its failures too).
#[tokio::test]
async fn attack_9_failures_against_a_decoy_cause_a_lockout() {
    let harness = Harness::new().await;
    harness.set(&[("enumeration_safe", "true")]).await;
    let test = harness.test().await;
    let mut outcomes = Vec::new();
    for _ in 0..5 {
        let command = vestry_app::identity::codes::SendCode {
            email: "nobody@example.com".to_owned(),
            expires_in: Some(10),
            device_fingerprint: None,
            session: SessionNamed::default(),
        };
        let sent = harness
            .service
            .send_code_by_email(&test, command)
            .await
            .unwrap();
        for _ in 0..5 {
            outcomes.push(
                harness
                    .service
                    .verify_code(&test, proof(sent.email.id, "123456"))
                    .await,
            );
        }
    }
    for (tries, outcome) in outcomes.iter().enumerate() {
        match outcome {
            Err(VerifyCodeError::InvalidCode) => assert!(tries < 20, "{tries}"),
            Err(VerifyCodeError::Common(Refusal::TooMany { retry_after })) => {
                assert_eq!((tries >= 20, retry_after.0), (true, 60), "{tries}");
            }
            other => panic!("{tries}: {other:?}"),
        }
    }
}

/// With `enumeration_safe`, the cap of new users counts all login-or-create calls alike, so it does not reveal which identifier is new.
#[tokio::test]
async fn attack_9_the_cap_of_new_users_reveals_nothing() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.login(&test, "known@example.com").await;
    harness
        .set(&[("enumeration_safe", "true"), ("new_users_per_hour", "4")])
        .await;
    harness.pass(20);
    let test = harness.test().await;
    let mut met = Vec::new();
    for email in [
        "known@example.com",
        "a@example.com",
        "known@example.com",
        "b@example.com",
        "known@example.com",
    ] {
        let command = LoginOrCreate {
            requires_verification: Some(false),
            ..login(email)
        };
        met.push(wait(
            harness
                .service
                .login_or_create_by_email(&test, command)
                .await,
        ));
        harness.pass(20);
    }
    assert_eq!(met, [None, None, None, Some(3_519), Some(3_499)]);
}

/// The same for links and invitations, which share the cap.
#[tokio::test]
async fn attack_9_the_cap_of_new_users_reveals_nothing_through_links() {
    for invites in [false, true] {
        let harness = Harness::with_urls().await;
        let test = harness.test().await;
        harness.login(&test, "known@example.com").await;
        harness
            .set(&[("enumeration_safe", "true"), ("new_users_per_hour", "4")])
            .await;
        let test = harness.test().await;
        let mut met = Vec::new();
        for email in [
            "known@example.com",
            "a@example.com",
            "known@example.com",
            "b@example.com",
            "known@example.com",
        ] {
            let outcome = if invites {
                harness
                    .service
                    .invite_by_link(&test, invitation(email))
                    .await
            } else {
                let command = link_for(email);
                harness
                    .service
                    .login_or_create_by_link(&test, command)
                    .await
            };
            met.push(match outcome {
                Ok(_) => None,
                Err(Refusal::TooMany { retry_after }) => Some(retry_after.0),
                Err(other) => panic!("{other:?}"),
            });
            harness.pass(20);
        }
        assert_eq!(met, [None, None, None, Some(3_539), Some(3_519)]);
    }
}
