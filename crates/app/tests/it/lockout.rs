//! M-5: flooding another person's address with messages does not keep that person from signing in.

use vestry_app::delivery::test_messages::FindMessages;
use vestry_app::identity::codes::{LoginOrCreate, SentCode};
use vestry_app::identity::links::{LoginByLink, SentLink};
use vestry_app::identity::passwords::{BeginReset, BegunReset, CompleteReset};
use vestry_app::identity::sessions::SessionFields;
use vestry_app::{Caller, Principal, Refusal};
use vestry_domain::limits::texts::SENDS_PER_NUMBER_AND_DAY;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::session::DeviceFingerprint;
use vestry_domain::{Environment, Secret, World};

use crate::harness::{Harness, login, operator, text};
use crate::links::link_for;

const ADA: &str = "ada@example.com";

/// The retry delay of a send, if there was one.
fn wait<T>(outcome: Result<T, Refusal>) -> Option<i64> {
    match outcome {
        Ok(_) => None,
        Err(Refusal::TooMany { retry_after }) => Some(retry_after.0),
        Err(other) => panic!("{other:?}"),
    }
}

async fn code(harness: &Harness, caller: &Caller, email: &str) -> Result<SentCode, Refusal> {
    harness
        .service
        .login_or_create_by_email(caller, login(email))
        .await
}

async fn link(harness: &Harness, caller: &Caller, email: &str) -> Result<SentLink, Refusal> {
    harness
        .service
        .login_or_create_by_link(caller, link_for(email))
        .await
}

async fn reset(harness: &Harness, caller: &Caller, email: &str) -> Result<BegunReset, Refusal> {
    let command = BeginReset {
        email: email.to_owned(),
        ..BeginReset::default()
    };
    harness.service.begin_reset(caller, command).await
}

/// The number of messages captured for a recipient.
async fn messages(harness: &Harness, caller: &Caller, to: &str) -> usize {
    harness.deliver().await;
    let query = FindMessages {
        to: Some(to.to_owned()),
        ..FindMessages::default()
    };
    let found = harness.service.captured_messages(caller, query).await;
    found.unwrap().len()
}

/// Uses up the limit of ten minutes.
async fn spend_attempts(harness: &Harness, caller: &Caller, email: &str) {
    for _ in 0..5 {
        assert_eq!(wait(code(harness, caller, email).await), None);
        harness.pass(20);
    }
}

/// After the limit, one message of each kind every quarter of an hour, whichever limit was reached.
#[tokio::test]
async fn m_5_a_trickle_always_continues() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    harness.user(&test, ADA).await;
    // The daily limit, in six bursts.
    for _ in 0..6 {
        spend_attempts(&harness, &test, ADA).await;
        harness.pass(500);
    }
    for quarter in 0..3 {
        assert_eq!(wait(code(&harness, &test, ADA).await), None, "{quarter}");
        assert_eq!(wait(link(&harness, &test, ADA).await), None, "{quarter}");
        assert_eq!(wait(reset(&harness, &test, ADA).await), None, "{quarter}");
        harness.pass(20);
        assert_eq!(wait(code(&harness, &test, ADA).await), Some(880));
        assert_eq!(wait(link(&harness, &test, ADA).await), Some(880));
        assert_eq!(wait(reset(&harness, &test, ADA).await), Some(880));
        harness.pass(879);
        assert_eq!(wait(code(&harness, &test, ADA).await), Some(1));
        harness.pass(1);
    }
    assert_eq!(harness.waiting().await, 30 + 9);
}

/// If the limit resets before the quarter of an hour ends, the response says that.
#[tokio::test]
async fn m_5_the_shorter_delay_is_returned() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    spend_attempts(&harness, &test, ADA).await;
    assert_eq!(
        wait(code(&harness, &test, ADA).await),
        None,
        "beyond the limit"
    );
    harness.pass(20);
    let left = 600 - 120;
    assert_eq!(wait(code(&harness, &test, ADA).await), Some(left));
    harness.pass(left);
    assert_eq!(wait(code(&harness, &test, ADA).await), None);
}

/// The same for phone numbers.
#[tokio::test]
async fn m_5_texts_continue_too() {
    const NUMBER: &str = "+442071838750";
    let harness = Harness::new().await;
    let test = harness.test().await;
    let ask = async || {
        let sent = harness.service.login_or_create_by_text(&test, text(NUMBER));
        wait(sent.await)
    };
    for _ in 0..SENDS_PER_NUMBER_AND_DAY.most {
        assert_eq!(ask().await, None);
        harness.pass(200);
    }
    assert_eq!(ask().await, None, "beyond the daily limit");
    harness.pass(20);
    assert_eq!(ask().await, Some(880));
    harness.pass(880);
    assert_eq!(ask().await, None);
}

/// However many Apps there are, together they get one more message for an address whose shared limit is reached.
#[tokio::test]
async fn m_5_attack_8_apps_share_the_trickle() {
    let harness = Harness::new().await;
    let service = harness.process_with_cap(1);
    let (one, other) = (harness.test().await, harness.stranger().await);
    let ask = async |caller: &Caller| {
        let sent = service.login_or_create_by_email(caller, login(ADA));
        wait(sent.await)
    };
    assert_eq!(ask(&one).await, None);
    assert_eq!(ask(&other).await, None, "beyond the shared limit");
    harness.pass(20);
    assert_eq!(ask(&one).await, Some(880));
    assert_eq!(ask(&other).await, Some(880));
}

/// A double click: the same response, no second message, and nothing is counted.
#[tokio::test]
async fn m_5_a_second_send_within_seconds_repeats_the_first() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    for second in [0, 19] {
        let email = format!("code{second}@example.com");
        let first = code(&harness, &test, &email).await.unwrap();
        harness.pass(second);
        for _ in 0..10 {
            let again = code(&harness, &test, &email).await.unwrap();
            assert_eq!(again.email.id, first.email.id);
            assert_eq!(again.email.user_id, first.email.user_id);
            assert!(first.user_created && again.user_created);
            assert_eq!(again.status, first.status);
        }
        assert_eq!(messages(&harness, &test, &email).await, 1);
        harness.pass(20 - second);
        let later = code(&harness, &test, &email).await.unwrap();
        assert!(!later.user_created, "that is another send");
        assert_eq!(messages(&harness, &test, &email).await, 2);
    }
    let first = link(&harness, &test, ADA).await.unwrap();
    let again = link(&harness, &test, ADA).await.unwrap();
    assert_eq!(
        (first.user_id, first.email_id),
        (again.user_id, again.email_id)
    );
    assert!(first.user_created && again.user_created);
    assert_eq!(messages(&harness, &test, ADA).await, 1);
    let first = reset(&harness, &test, ADA).await.unwrap();
    let again = reset(&harness, &test, ADA).await.unwrap();
    assert_eq!(
        (first.user_id, first.email_id),
        (again.user_id, again.email_id)
    );
    assert_eq!(messages(&harness, &test, ADA).await, 2);
    // Two were counted, so three are left.
    for _ in 0..3 {
        harness.pass(20);
        assert_eq!(wait(reset(&harness, &test, ADA).await), None);
    }
    harness.pass(20);
    assert_eq!(
        wait(code(&harness, &test, ADA).await),
        None,
        "beyond the limit"
    );
    assert_eq!(
        wait(reset(&harness, &test, ADA).await),
        None,
        "beyond the limit"
    );
    harness.pass(20);
    assert!(wait(reset(&harness, &test, ADA).await).is_some());
}

/// A request that the first message cannot serve is not a repeat. It has another destination, kind of step or device (where devices
/// count), or it follows the use of the code.
#[tokio::test]
async fn m_5_a_different_request_is_sent() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    harness.user(&test, ADA).await;
    code(&harness, &test, ADA).await.unwrap();
    harness.sent_code(&test, ADA).await;
    assert_eq!(
        messages(&harness, &test, ADA).await,
        2,
        "send is another step"
    );
    let (sent, right) = harness.fresh_code(&test, ADA).await;
    harness.verify(&test, sent.email.id, &right).await.unwrap();
    code(&harness, &test, ADA).await.unwrap();
    assert_eq!(
        messages(&harness, &test, ADA).await,
        4,
        "the first one is used"
    );

    let elsewhere = "https://app.example.com/elsewhere";
    let world = World::new(harness.app.id, Environment::Test);
    let added = harness.service.add_redirect_url(
        Principal::cli(),
        world,
        RedirectKind::Login,
        elsewhere,
        false,
    );
    added.await.unwrap();
    link(&harness, &test, ADA).await.unwrap();
    let command = LoginByLink {
        login_redirect_url: Some(elsewhere.to_owned()),
        ..link_for(ADA)
    };
    let sent = harness
        .service
        .login_or_create_by_link(&test, command.clone());
    sent.await.unwrap();
    assert_eq!(
        messages(&harness, &test, ADA).await,
        6,
        "it leads elsewhere"
    );

    harness.pass(20);
    code(&harness, &test, ADA).await.unwrap();
    link(&harness, &test, ADA).await.unwrap();
    assert_eq!(
        messages(&harness, &test, ADA).await,
        8,
        "a code is not a link"
    );
    code(&harness, &test, ADA).await.unwrap();
    assert_eq!(
        messages(&harness, &test, ADA).await,
        8,
        "there is one in its mail"
    );

    const BOB: &str = "bob@example.com";
    harness.set(&[("device_fingerprint_match", "ip")]).await;
    let test = harness.test().await;
    for (ip, expected) in [("192.0.2.1", 1), ("192.0.2.2", 2), ("192.0.2.2", 2)] {
        let device = DeviceFingerprint::new(Some(ip.to_owned()), None).unwrap();
        let command = LoginOrCreate {
            device_fingerprint: Some(device),
            ..login(BOB)
        };
        let sent = harness
            .service
            .login_or_create_by_email(&test, command)
            .await;
        sent.unwrap();
        assert_eq!(messages(&harness, &test, BOB).await, expected, "{ip}");
    }
}

/// A right code, link or reset shows that the owner is present: messages that others requested no longer count.
#[tokio::test]
async fn m_5_a_right_answer_resets_the_limit() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    harness.user(&test, ADA).await;
    for way in ["code", "link", "reset"] {
        spend_attempts(&harness, &test, ADA).await;
        match way {
            "code" => {
                let (sent, right) = harness.fresh_code(&test, ADA).await;
                harness.verify(&test, sent.email.id, &right).await.unwrap();
            }
            "link" => {
                let (_, mail) = harness.fresh_link(&test, ADA).await;
                harness.open(&test, &mail.token).await.unwrap();
            }
            _ => {
                reset(&harness, &test, ADA).await.unwrap();
                let mail = harness.newest_to(&test, ADA).await;
                let command = CompleteReset {
                    token: Secret::new(mail.message.token),
                    password: Secret::new("correct horse battery".to_owned()),
                    session_fields: SessionFields::default(),
                    device_fingerprint: DeviceFingerprint::default(),
                };
                harness
                    .service
                    .complete_reset(&test, command)
                    .await
                    .unwrap();
            }
        }
    }
    // Each time five were sent and the sixth exceeded the limit; without an answer nothing more is sent.
    spend_attempts(&harness, &test, ADA).await;
    assert_eq!(wait(code(&harness, &test, ADA).await), None);
    harness.pass(20);
    assert!(wait(code(&harness, &test, ADA).await).is_some());
}

/// A wrong answer resets nothing.
#[tokio::test]
async fn m_5_a_wrong_answer_resets_nothing() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    spend_attempts(&harness, &test, ADA).await;
    let (sent, right) = harness.fresh_code(&test, ADA).await;
    let wrong = crate::harness::wrong(&right);
    harness
        .verify(&test, sent.email.id, wrong)
        .await
        .unwrap_err();
    harness.pass(20);
    assert!(wait(code(&harness, &test, ADA).await).is_some());
}

/// Unlocking a user clears both sends and failures.
#[tokio::test]
async fn m_5_unlocking_clears_the_sends() {
    const NUMBER: &str = "+442071838750";
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let (sent, _) = harness.fresh_text(&test, NUMBER).await;
    let user = sent.phone.user_id;
    harness.attach_claim(&test, user, ADA).await;
    let ask_text = async || {
        let sent = harness.service.login_or_create_by_text(&test, text(NUMBER));
        wait(sent.await)
    };
    for _ in 0..5 {
        harness.pass(20);
        reset(&harness, &test, ADA).await.unwrap();
        assert_eq!(ask_text().await, None);
    }
    for _ in 0..2 {
        harness.pass(20);
        let _ = reset(&harness, &test, ADA).await;
        ask_text().await;
    }
    assert!(wait(reset(&harness, &test, ADA).await).is_some());
    assert!(ask_text().await.is_some());
    harness
        .service
        .unlock_user(&operator(&harness.service, test.world).await, user)
        .await
        .unwrap();
    for _ in 0..5 {
        assert_eq!(wait(reset(&harness, &test, ADA).await), None);
        assert_eq!(ask_text().await, None);
        harness.pass(20);
    }
}
