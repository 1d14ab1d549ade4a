//! `otps/email/login_or_create` and `otps/email/send`: who receives a code, and which users are created.

use std::collections::HashSet;
use std::sync::Arc;

use vestry_app::delivery::test_messages::FindMessages;
use vestry_app::identity::codes::{LoginOrCreate, SendCode};
use vestry_app::identity::sessions::SessionNamed;
use vestry_app::{Fault, Refusal};
use vestry_contract::race::race;
use vestry_domain::message::{Channel, MessageKind};
use vestry_domain::user::UserStatus;

use crate::harness::{Harness, START, login};

pub(crate) fn send(email: &str) -> SendCode {
    SendCode {
        email: email.to_owned(),
        expires_in: Some(10),
        device_fingerprint: None,
        session: SessionNamed::default(),
    }
}

#[tokio::test]
async fn the_first_call_creates_the_user_and_the_second_finds_it() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let first = harness.login(&test, "Ada@Example.com").await;
    assert!(first.user_created);
    assert_eq!(first.status, UserStatus::Pending);
    assert_eq!(
        (first.email.created_at, first.email.verified),
        (START, false)
    );
    harness.pass(20);
    let second = harness.login(&test, "ada@example.com").await;
    assert!(!second.user_created);
    assert_eq!(
        (second.email.id, second.email.user_id),
        (first.email.id, first.email.user_id)
    );
    let sent = harness
        .service
        .send_code_by_email(&test, send("ADA@example.com"))
        .await
        .unwrap();
    assert!(!sent.user_created);
    assert_eq!(sent.email.id, first.email.id);

    let user = harness
        .service
        .get_user(&test, first.email.user_id)
        .await
        .unwrap();
    assert!(
        user.wallets.is_empty(),
        "only users/create makes a wallet by default"
    );
    assert_eq!(user.profile.user.created_at, START);
}

/// The default is `true` for login-or-create; the call decides first, then the App's setting (API-9).
#[tokio::test]
async fn status_of_a_created_user() {
    let harness = Harness::new().await;
    for setting in [true, false] {
        harness
            .set(&[("login_requires_verification", &setting.to_string())])
            .await;
        let test = harness.test().await;
        for (number, said) in [None, Some(false), Some(true)].into_iter().enumerate() {
            let command = LoginOrCreate {
                requires_verification: said,
                ..login(&format!("{setting}{number}@example.com"))
            };
            let sent = harness
                .service
                .login_or_create_by_email(&test, command)
                .await
                .unwrap();
            assert_eq!(
                sent.status,
                UserStatus::initial(said.unwrap_or(setting)),
                "{setting} {said:?}"
            );
        }
    }
}

/// Mail goes to the verified spelling, never to the one in the request (attack 5).
#[tokio::test]
async fn mail_goes_to_the_address_on_record() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.sign_in(&test, "Ada@Example.com", 60).await;
    harness.pass(20);
    harness.login(&test, "aDA@example.com").await;
    harness.deliver().await;
    let all = harness
        .service
        .captured_messages(&test, FindMessages::default())
        .await
        .unwrap();
    let to: Vec<_> = all.iter().map(|captured| &*captured.message.to).collect();
    assert_eq!(to, ["Ada@Example.com", "Ada@Example.com"]);
    for captured in &all {
        let mail = &captured.message;
        assert_eq!(
            (mail.channel, mail.kind),
            (Channel::Email, MessageKind::Otp)
        );
        assert_eq!(mail.subject, format!("{} is your Demo code", mail.code));
        assert!(mail.text.contains(&mail.code) && mail.html.contains(&mail.code));
        assert!(mail.text.contains("10 minutes"));
        assert_eq!((&*mail.link, &*mail.token), ("", ""));
    }
}

/// A code and its mail are stored in one transaction: both or neither.
#[tokio::test]
async fn send_requires_an_existing_address() {
    let harness = Harness::new().await;
    let (test, live) = (harness.test().await, harness.live().await);
    harness.login(&live, "ada@example.com").await;
    harness.deliver().await;
    for email in ["ada@example.com", "nobody@example.com"] {
        let refused = harness.service.send_code_by_email(&test, send(email)).await;
        assert!(matches!(refused, Err(Refusal::NotFound(_))), "{refused:?}");
        assert!(!harness.is_known(&test, email).await);
    }
    assert_eq!(harness.waiting().await, 0);
    harness
        .service
        .send_code_by_email(&live, send("ada@example.com"))
        .await
        .unwrap();
    assert_eq!(harness.waiting().await, 1);
}

#[tokio::test]
async fn bad_input_names_the_field_and_creates_nothing() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let long = format!("{}@example.com", "a".repeat(300));
    let mut cases = vec![
        ("email", "", Some(1)),
        ("email", "ada", Some(1)),
        ("email", &long, Some(1)),
        ("email", "a\0@example.com", None),
    ];
    cases.extend(
        [i64::MIN, -1, 0, 11, i64::MAX]
            .map(|minutes| ("expires_in", "ada@example.com", Some(minutes))),
    );
    for (param, email, expires_in) in cases {
        let create = LoginOrCreate {
            expires_in,
            ..login(email)
        };
        let find = SendCode {
            expires_in,
            ..send(email)
        };
        let created = harness
            .service
            .login_or_create_by_email(&test, create)
            .await;
        let found = harness.service.send_code_by_email(&test, find).await;
        for refused in [created, found] {
            assert!(
                matches!(&refused, Err(Refusal::Invalid(invalid)) if invalid.param == param),
                "{refused:?}"
            );
        }
    }
    assert!(!harness.is_known(&test, "ada@example.com").await);
    assert_eq!(harness.waiting().await, 0);
}

/// R2: one user, created once. The address is a reserved one because those have no send limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r2_parallel_calls_create_one_user() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let spellings = [
        "ok+r2@vestry.test",
        "OK+R2@Vestry.Test",
        "ok+R2@vestry\u{3002}test",
    ];
    let tasks = spellings.iter().cycle().take(48).map(|email| {
        let (service, test, command) = (
            Arc::clone(&harness.service),
            Arc::clone(&test),
            login(email),
        );
        async move {
            service
                .login_or_create_by_email(&test, command)
                .await
                .unwrap()
        }
    });
    let sent = race(tasks).await;
    assert_eq!(sent.iter().filter(|sent| sent.user_created).count(), 1);
    let ids: HashSet<_> = sent
        .iter()
        .map(|sent| (sent.email.id, sent.email.user_id))
        .collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(harness.waiting().await, 48);
    harness
        .verify(&test, sent[0].email.id, "000000")
        .await
        .unwrap();
}

/// R2, R5 with an ordinary address: the send limit is exact, and every caller gets either a code or the limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_parallel_sends_are_one() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let tasks = (0..20).map(|_| {
        let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
        async move {
            service
                .login_or_create_by_email(&test, login("ada@example.com"))
                .await
        }
    });
    let outcomes = race(tasks).await;
    let sent: Vec<_> = outcomes.into_iter().map(Result::unwrap).collect();
    // All the others repeat that one and get the same response (M-5).
    for one in &sent {
        assert_eq!(one.email.id, sent[0].email.id);
        assert!(one.user_created);
    }
    harness.deliver().await;
    let mails = harness
        .service
        .captured_messages(&test, FindMessages::default())
        .await
        .unwrap();
    assert_eq!(mails.len(), 1);
    let code = &mails[0].message.code;
    harness.verify(&test, sent[0].email.id, code).await.unwrap();
}

/// A live send without a transport is refused before anything is stored (OPS-9).
#[tokio::test]
async fn live_without_a_transport_creates_nothing() {
    let harness = Harness::without_mail().await;
    let (test, live) = (harness.test().await, harness.live().await);
    let created = harness
        .service
        .login_or_create_by_email(&live, login("ada@example.com"))
        .await;
    let sent = harness
        .service
        .send_code_by_email(&live, send("ada@example.com"))
        .await;
    for refused in [created, sent] {
        assert!(
            matches!(refused, Err(Refusal::Fault(Fault::NoTransport(_)))),
            "{refused:?}"
        );
    }
    assert!(!harness.service.has_mailer());
    assert!(!harness.is_known(&live, "ada@example.com").await);
    assert_eq!(harness.waiting().await, 0);
    // The test environment needs none.
    harness.login(&test, "ada@example.com").await;
    assert_eq!(harness.waiting().await, 1);
}

/// Another user takes the address between the lookup and the transaction: the call applies to that user.
#[tokio::test]
async fn an_address_taken_in_between_is_found_on_retry() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (other, caller) = (harness.other_process(), Arc::clone(&test));
    harness.store.before_next_begin(async move {
        let sent = other
            .login_or_create_by_email(&caller, login("ada@example.com"))
            .await;
        assert!(sent.unwrap().user_created);
    });
    let sent = harness.login(&test, "ada@example.com").await;
    assert!(
        sent.user_created,
        "it gets the response of the winner (M-5)"
    );
    assert_eq!(harness.waiting().await, 1);
}
