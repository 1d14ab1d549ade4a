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

use crate::links::link_for;
use crate::rig::{Rig, login, operator, text};

const ADA: &str = "ada@example.com";

/// The retry delay of a send, if there was one.
fn wait<T>(outcome: Result<T, Refusal>) -> Option<i64> {
    match outcome {
        Ok(_) => None,
        Err(Refusal::TooMany { retry_after }) => Some(retry_after.0),
        Err(other) => panic!("{other:?}"),
    }
}

async fn code(rig: &Rig, caller: &Caller, email: &str) -> Result<SentCode, Refusal> {
    rig.service
        .login_or_create_by_email(caller, login(email))
        .await
}

async fn link(rig: &Rig, caller: &Caller, email: &str) -> Result<SentLink, Refusal> {
    rig.service
        .login_or_create_by_link(caller, link_for(email))
        .await
}

async fn reset(rig: &Rig, caller: &Caller, email: &str) -> Result<BegunReset, Refusal> {
    let command = BeginReset {
        email: email.to_owned(),
        ..BeginReset::default()
    };
    rig.service.begin_reset(caller, command).await
}

/// The number of messages captured for a recipient.
async fn messages(rig: &Rig, caller: &Caller, to: &str) -> usize {
    rig.deliver().await;
    let query = FindMessages {
        to: Some(to.to_owned()),
        ..FindMessages::default()
    };
    let found = rig.service.captured_messages(caller, query).await;
    found.unwrap().len()
}

/// Uses up the limit of ten minutes.
async fn spend(rig: &Rig, caller: &Caller, email: &str) {
    for _ in 0..5 {
        assert_eq!(wait(code(rig, caller, email).await), None);
        rig.pass(20);
    }
}

/// After the limit, one message of each kind every quarter of an hour, whichever limit was reached.
#[tokio::test]
async fn m_5_a_trickle_always_continues() {
    let rig = Rig::with_urls().await;
    let test = rig.test().await;
    rig.user(&test, ADA).await;
    // The daily limit, in six bursts.
    for _ in 0..6 {
        spend(&rig, &test, ADA).await;
        rig.pass(500);
    }
    for quarter in 0..3 {
        assert_eq!(wait(code(&rig, &test, ADA).await), None, "{quarter}");
        assert_eq!(wait(link(&rig, &test, ADA).await), None, "{quarter}");
        assert_eq!(wait(reset(&rig, &test, ADA).await), None, "{quarter}");
        rig.pass(20);
        assert_eq!(wait(code(&rig, &test, ADA).await), Some(880));
        assert_eq!(wait(link(&rig, &test, ADA).await), Some(880));
        assert_eq!(wait(reset(&rig, &test, ADA).await), Some(880));
        rig.pass(879);
        assert_eq!(wait(code(&rig, &test, ADA).await), Some(1));
        rig.pass(1);
    }
    assert_eq!(rig.waiting().await, 30 + 9);
}

/// If the limit resets before the quarter of an hour ends, the response says that.
#[tokio::test]
async fn m_5_the_shorter_delay_is_returned() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    spend(&rig, &test, ADA).await;
    assert_eq!(wait(code(&rig, &test, ADA).await), None, "beyond the limit");
    rig.pass(20);
    let left = 600 - 120;
    assert_eq!(wait(code(&rig, &test, ADA).await), Some(left));
    rig.pass(left);
    assert_eq!(wait(code(&rig, &test, ADA).await), None);
}

/// The same for phone numbers.
#[tokio::test]
async fn m_5_texts_continue_too() {
    const NUMBER: &str = "+442071838750";
    let rig = Rig::new().await;
    let test = rig.test().await;
    let ask = async || {
        let sent = rig.service.login_or_create_by_text(&test, text(NUMBER));
        wait(sent.await)
    };
    for _ in 0..SENDS_PER_NUMBER_AND_DAY.most {
        assert_eq!(ask().await, None);
        rig.pass(200);
    }
    assert_eq!(ask().await, None, "beyond the daily limit");
    rig.pass(20);
    assert_eq!(ask().await, Some(880));
    rig.pass(880);
    assert_eq!(ask().await, None);
}

/// However many Apps there are, together they get one more message for an address whose shared limit is reached.
#[tokio::test]
async fn m_5_attack_8_apps_share_the_trickle() {
    let rig = Rig::new().await;
    let service = rig.process_with_cap(1);
    let (one, other) = (rig.test().await, rig.stranger().await);
    let ask = async |caller: &Caller| {
        let sent = service.login_or_create_by_email(caller, login(ADA));
        wait(sent.await)
    };
    assert_eq!(ask(&one).await, None);
    assert_eq!(ask(&other).await, None, "beyond the shared limit");
    rig.pass(20);
    assert_eq!(ask(&one).await, Some(880));
    assert_eq!(ask(&other).await, Some(880));
}

/// A double click: the same response, no second message, and nothing is counted.
#[tokio::test]
async fn m_5_a_second_send_within_seconds_repeats_the_first() {
    let rig = Rig::with_urls().await;
    let test = rig.test().await;
    for second in [0, 19] {
        let email = format!("code{second}@example.com");
        let first = code(&rig, &test, &email).await.unwrap();
        rig.pass(second);
        for _ in 0..10 {
            let again = code(&rig, &test, &email).await.unwrap();
            assert_eq!(again.email.id, first.email.id);
            assert_eq!(again.email.user_id, first.email.user_id);
            assert!(first.user_created && again.user_created);
            assert_eq!(again.status, first.status);
        }
        assert_eq!(messages(&rig, &test, &email).await, 1);
        rig.pass(20 - second);
        let later = code(&rig, &test, &email).await.unwrap();
        assert!(!later.user_created, "that is another send");
        assert_eq!(messages(&rig, &test, &email).await, 2);
    }
    let first = link(&rig, &test, ADA).await.unwrap();
    let again = link(&rig, &test, ADA).await.unwrap();
    assert_eq!(
        (first.user_id, first.email_id),
        (again.user_id, again.email_id)
    );
    assert!(first.user_created && again.user_created);
    assert_eq!(messages(&rig, &test, ADA).await, 1);
    let first = reset(&rig, &test, ADA).await.unwrap();
    let again = reset(&rig, &test, ADA).await.unwrap();
    assert_eq!(
        (first.user_id, first.email_id),
        (again.user_id, again.email_id)
    );
    assert_eq!(messages(&rig, &test, ADA).await, 2);
    // Two were counted, so three are left.
    for _ in 0..3 {
        rig.pass(20);
        assert_eq!(wait(reset(&rig, &test, ADA).await), None);
    }
    rig.pass(20);
    assert_eq!(wait(code(&rig, &test, ADA).await), None, "beyond the limit");
    assert_eq!(
        wait(reset(&rig, &test, ADA).await),
        None,
        "beyond the limit"
    );
    rig.pass(20);
    assert!(wait(reset(&rig, &test, ADA).await).is_some());
}

/// A request that the first message cannot serve is not a repeat. It has another destination, kind of step or device (where devices
/// count), or it follows the use of the code.
#[tokio::test]
async fn m_5_a_different_request_is_sent() {
    let rig = Rig::with_urls().await;
    let test = rig.test().await;
    rig.user(&test, ADA).await;
    code(&rig, &test, ADA).await.unwrap();
    rig.sent_code(&test, ADA).await;
    assert_eq!(messages(&rig, &test, ADA).await, 2, "send is another step");
    let (sent, right) = rig.fresh_code(&test, ADA).await;
    rig.verify(&test, sent.email.id, &right).await.unwrap();
    code(&rig, &test, ADA).await.unwrap();
    assert_eq!(messages(&rig, &test, ADA).await, 4, "the first one is used");

    let elsewhere = "https://app.example.com/elsewhere";
    let world = World::new(rig.app.id, Environment::Test);
    let added = rig.service.add_redirect_url(
        Principal::cli(),
        world,
        RedirectKind::Login,
        elsewhere,
        false,
    );
    added.await.unwrap();
    link(&rig, &test, ADA).await.unwrap();
    let command = LoginByLink {
        login_redirect_url: Some(elsewhere.to_owned()),
        ..link_for(ADA)
    };
    let sent = rig.service.login_or_create_by_link(&test, command.clone());
    sent.await.unwrap();
    assert_eq!(messages(&rig, &test, ADA).await, 6, "it leads elsewhere");

    rig.pass(20);
    code(&rig, &test, ADA).await.unwrap();
    link(&rig, &test, ADA).await.unwrap();
    assert_eq!(messages(&rig, &test, ADA).await, 8, "a code is not a link");
    code(&rig, &test, ADA).await.unwrap();
    assert_eq!(
        messages(&rig, &test, ADA).await,
        8,
        "there is one in its mail"
    );

    const BOB: &str = "bob@example.com";
    rig.set(&[("device_fingerprint_match", "ip")]).await;
    let test = rig.test().await;
    for (ip, expected) in [("192.0.2.1", 1), ("192.0.2.2", 2), ("192.0.2.2", 2)] {
        let device = DeviceFingerprint::new(Some(ip.to_owned()), None).unwrap();
        let command = LoginOrCreate {
            device_fingerprint: Some(device),
            ..login(BOB)
        };
        let sent = rig.service.login_or_create_by_email(&test, command).await;
        sent.unwrap();
        assert_eq!(messages(&rig, &test, BOB).await, expected, "{ip}");
    }
}

/// A right code, link or reset shows that the owner is present: messages that others requested no longer count.
#[tokio::test]
async fn m_5_a_right_answer_resets_the_limit() {
    let rig = Rig::with_urls().await;
    let test = rig.test().await;
    rig.user(&test, ADA).await;
    for way in ["code", "link", "reset"] {
        spend(&rig, &test, ADA).await;
        match way {
            "code" => {
                let (sent, right) = rig.fresh_code(&test, ADA).await;
                rig.verify(&test, sent.email.id, &right).await.unwrap();
            }
            "link" => {
                let (_, mail) = rig.fresh_link(&test, ADA).await;
                rig.open(&test, &mail.token).await.unwrap();
            }
            _ => {
                reset(&rig, &test, ADA).await.unwrap();
                let mail = rig.newest_to(&test, ADA).await;
                let command = CompleteReset {
                    token: Secret::new(mail.message.token),
                    password: Secret::new("correct horse battery".to_owned()),
                    session_fields: SessionFields::default(),
                    device_fingerprint: DeviceFingerprint::default(),
                };
                rig.service.complete_reset(&test, command).await.unwrap();
            }
        }
    }
    // Each time five were sent and the sixth exceeded the limit; without an answer nothing more is sent.
    spend(&rig, &test, ADA).await;
    assert_eq!(wait(code(&rig, &test, ADA).await), None);
    rig.pass(20);
    assert!(wait(code(&rig, &test, ADA).await).is_some());
}

/// A wrong answer resets nothing.
#[tokio::test]
async fn m_5_a_wrong_answer_resets_nothing() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    spend(&rig, &test, ADA).await;
    let (sent, right) = rig.fresh_code(&test, ADA).await;
    let wrong = crate::rig::wrong(&right);
    rig.verify(&test, sent.email.id, wrong).await.unwrap_err();
    rig.pass(20);
    assert!(wait(code(&rig, &test, ADA).await).is_some());
}

/// Unlocking a user clears both sends and failures.
#[tokio::test]
async fn m_5_unlocking_clears_the_sends() {
    const NUMBER: &str = "+442071838750";
    let rig = Rig::with_urls().await;
    let test = rig.test().await;
    let (sent, _) = rig.fresh_text(&test, NUMBER).await;
    let user = sent.phone.user_id;
    rig.attach_claim(&test, user, ADA).await;
    let ask_text = async || {
        let sent = rig.service.login_or_create_by_text(&test, text(NUMBER));
        wait(sent.await)
    };
    for _ in 0..5 {
        rig.pass(20);
        reset(&rig, &test, ADA).await.unwrap();
        assert_eq!(ask_text().await, None);
    }
    for _ in 0..2 {
        rig.pass(20);
        let _ = reset(&rig, &test, ADA).await;
        ask_text().await;
    }
    assert!(wait(reset(&rig, &test, ADA).await).is_some());
    assert!(ask_text().await.is_some());
    rig.service
        .unlock_user(&operator(&rig.service, test.world).await, user)
        .await
        .unwrap();
    for _ in 0..5 {
        assert_eq!(wait(reset(&rig, &test, ADA).await), None);
        assert_eq!(ask_text().await, None);
        rig.pass(20);
    }
}
