//! `otps/sms/login_or_create` and `otps/sms/send`: who receives a text, which users are created, and what the code is valid for.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use vestry_app::delivery::test_messages::FindMessages;
use vestry_app::identity::codes::{LoginOrCreateByText, SendCodeByText, VerifyCodeError};
use vestry_app::identity::sessions::SessionNamed;
use vestry_app::identity::users::CreateUser;
use vestry_app::{Fault, Refusal};
use vestry_domain::ids::JobId;
use vestry_domain::message::{Channel, Message, MessageKind};
use vestry_domain::session::Proof;
use vestry_domain::timestamp::Seconds;
use vestry_domain::user::UserStatus;
use vestry_ports::port;
use vestry_ports::sms::{SmsError, SmsSender};

use crate::harness::{Harness, lasting, text, text_proof, wrong};

pub(crate) const ADA: &str = "+14155552671";

pub(crate) fn send(number: &str) -> SendCodeByText {
    SendCodeByText {
        phone_number: number.to_owned(),
        expires_in: Some(10),
        device_fingerprint: None,
        session: SessionNamed::default(),
    }
}

/// From an unknown number to a session with a phone factor, and back as a known user.
#[tokio::test]
async fn a_text_signs_a_new_user_in() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (sent, code) = harness.fresh_text(&test, ADA).await;
    assert_eq!(
        (sent.user_created, sent.status),
        (true, UserStatus::Pending)
    );
    let command = vestry_app::identity::codes::VerifyCode {
        session_fields: lasting(60),
        ..text_proof(sent.phone.id, &code)
    };
    let verified = harness.service.verify_code(&test, command).await.unwrap();
    let session = verified.issued.unwrap().session;
    assert_eq!(session.user_id, sent.phone.user_id);
    assert_eq!(
        session.factors[0].proof,
        Proof::SmsCode {
            phone_number_id: sent.phone.id,
            phone_number: ADA.to_owned(),
        }
    );
    let user = harness
        .service
        .get_user(&test, sent.phone.user_id)
        .await
        .unwrap();
    assert!(user.profile.phones[0].verified && user.wallets.is_empty());
    assert_eq!(user.profile.user.status, UserStatus::Active);
    let again = harness.text(&test, ADA).await;
    assert_eq!(
        (again.user_created, again.status, again.phone.id),
        (false, UserStatus::Active, sent.phone.id)
    );
    let known = harness
        .service
        .send_code_by_text(&test, send(ADA))
        .await
        .unwrap();
    assert_eq!(known.phone.id, sent.phone.id);
}

#[tokio::test]
async fn the_message_says_what_it_is_for() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.text(&test, ADA).await;
    let message = harness.newest_to(&test, ADA).await.message;
    assert_eq!(
        (message.channel, message.kind, &*message.to),
        (Channel::Sms, MessageKind::Otp, ADA)
    );
    assert_eq!(
        message.text,
        format!(
            "{} is your Demo code. It is valid for 10 minutes. Do not share it.",
            message.code
        )
    );
    assert_eq!(
        (&*message.subject, &*message.html, &*message.link),
        ("", "", "")
    );
}

/// A code for a number is not valid for an address, nor for another number (OTP-7).
#[tokio::test]
async fn otp_7_a_code_is_bound_to_its_number() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (ada, code) = harness.fresh_text(&test, ADA).await;
    let (bob, _) = harness.fresh_text(&test, "+442071838750").await;
    let (mail, _) = harness.fresh_code(&test, "ada@example.com").await;
    for method in [
        text_proof(bob.phone.id, &code),
        crate::harness::proof(mail.email.id, &code),
    ] {
        let outcome = harness.service.verify_code(&test, method).await;
        // Once in a million runs both codes are equal.
        assert!(
            matches!(outcome, Err(VerifyCodeError::InvalidCode)),
            "{outcome:?}"
        );
    }
    harness
        .service
        .verify_code(&test, text_proof(ada.phone.id, &code))
        .await
        .unwrap();
    let twice = harness
        .service
        .verify_code(&test, text_proof(ada.phone.id, &code))
        .await;
    assert!(matches!(twice, Err(VerifyCodeError::InvalidCode)));
}

#[tokio::test]
async fn send_requires_an_existing_number() {
    let harness = Harness::new().await;
    let (test, live) = (harness.test().await, harness.live().await);
    harness.text(&live, ADA).await;
    harness.deliver().await;
    for number in [ADA, "+442071838750"] {
        let refused = harness.service.send_code_by_text(&test, send(number)).await;
        assert!(
            matches!(refused, Err(Refusal::NotFound("phone_number"))),
            "{refused:?}"
        );
    }
    assert_eq!(harness.waiting().await, 0);
}

/// OTP-11: only valid personal numbers; any other creates nothing.
#[tokio::test]
async fn otp_11_only_personal_numbers_are_accepted() {
    let harness = Harness::new().await;
    let live = harness.live().await;
    for number in [
        "",
        "4155552671",
        "+1415555",
        "+1 415 555 2671",
        "+611900123456",
        "+447012345678",
        "+18007233456",
        // Reserved in the test environment, unassigned in live.
        "+15005550006",
        "+15005550001",
    ] {
        for refused in [
            harness
                .service
                .login_or_create_by_text(&live, text(number))
                .await
                .map(drop),
            harness
                .service
                .send_code_by_text(&live, send(number))
                .await
                .map(drop),
        ] {
            assert!(
                matches!(&refused, Err(Refusal::Invalid(invalid)) if invalid.param == "phone_number"),
                "{number}: {refused:?}"
            );
        }
    }
    let long = LoginOrCreateByText {
        expires_in: Some(11),
        ..text(ADA)
    };
    let refused = harness.service.login_or_create_by_text(&live, long).await;
    assert!(
        matches!(&refused, Err(Refusal::Invalid(invalid)) if invalid.param == "expires_in"),
        "{refused:?}"
    );
    assert_eq!(harness.waiting().await, 0);
}

/// Countries that an App does not serve are refused by name, before anything is counted.
#[tokio::test]
async fn an_app_chooses_its_countries() {
    let harness = Harness::new().await;
    harness.set(&[("sms_countries", r#"["US", "DE"]"#)]).await;
    let test = harness.test().await;
    for number in [ADA, "+4915123456789", "+15005550006"] {
        harness.text(&test, number).await;
    }
    // Canada and the Cayman Islands share the calling code of the United States.
    for number in ["+16137827274", "+13459492311", "+442071838750"] {
        let refused = harness
            .service
            .login_or_create_by_text(&test, text(number))
            .await;
        assert!(
            matches!(&refused, Err(Refusal::Invalid(invalid)) if invalid.param == "phone_number"),
            "{number}: {refused:?}"
        );
    }
    assert_eq!(harness.waiting().await, 3);
}

/// OPS-9: a live send without a provider is refused before anything is stored; mail is not affected.
#[tokio::test]
async fn live_without_a_provider_creates_nothing() {
    let harness = Harness::new().await;
    let (test, live) = (harness.test().await, harness.live().await);
    let bare = harness.process_without_sms();
    assert!(!bare.has_sms() && bare.has_mailer());
    let created = bare.login_or_create_by_text(&live, text(ADA)).await;
    assert!(
        matches!(created, Err(Refusal::Fault(Fault::NoTransport("SMS")))),
        "{created:?}"
    );
    let sent = bare.send_code_by_text(&live, send(ADA)).await;
    assert!(
        matches!(sent, Err(Refusal::Fault(Fault::NoTransport("SMS")))),
        "{sent:?}"
    );
    assert_eq!(harness.waiting().await, 0);
    let known = harness.service.send_code_by_text(&live, send(ADA)).await;
    assert!(matches!(known, Err(Refusal::NotFound(_))), "{known:?}");
    bare.login_or_create_by_text(&test, text(ADA))
        .await
        .unwrap();
}

/// Live texts go to the provider and nowhere else; a busy provider is not called for as long as it asks (F4).
#[tokio::test]
async fn f4_a_busy_provider_is_left_alone() {
    let harness = Harness::new().await;
    let live = harness.live().await;
    harness.sms.fail_for_now(1, Some(Seconds(30)));
    let sent = harness.text(&live, ADA).await;
    harness.deliver().await;
    assert_eq!((harness.sms.tries(), harness.waiting().await), (1, 1));
    harness.pass(29);
    harness.deliver().await;
    assert_eq!(harness.sms.tries(), 1, "it said thirty seconds");
    harness.pass(1);
    harness.deliver().await;
    assert_eq!((harness.sms.tries(), harness.waiting().await), (2, 0));
    let (_, message) = harness.sms.sent().remove(0);
    assert_eq!((&*message.to, harness.mailer.tries()), (ADA, 0));
    harness
        .service
        .verify_code(&live, text_proof(sent.phone.id, &message.code))
        .await
        .unwrap();
    let captured = harness
        .service
        .captured_messages(&*harness.test().await, FindMessages::default())
        .await
        .unwrap();
    assert!(captured.is_empty());
}

/// F4: a text that the provider refuses is final; one that it cannot accept in time is dropped with its code.
#[tokio::test]
async fn f4_a_refused_or_late_text_is_final() {
    let harness = Harness::new().await;
    let live = harness.live().await;
    harness.sms.refuse();
    harness.text(&live, ADA).await;
    harness.deliver().await;
    harness.pass(60);
    harness.deliver().await;
    assert_eq!((harness.sms.tries(), harness.waiting().await), (1, 0));

    let harness = Harness::new().await;
    let live = harness.live().await;
    harness.sms.fail_for_now(1_000, None);
    harness.text(&live, ADA).await;
    for _ in 0..25 {
        harness.deliver().await;
        harness.pass(30);
    }
    assert_eq!(harness.waiting().await, 0);
    assert_eq!((harness.sms.tries(), harness.sms.sent().len()), (20, 0));
}

/// Reserved numbers behave like the reserved addresses, and have no limits (OPS-12).
#[tokio::test]
async fn reserved_numbers() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (ok, digits) = harness.fresh_text(&test, "+15005550006").await;
    assert_eq!(digits, "000000");
    for _ in 0..40 {
        let outcome = harness
            .service
            .verify_code(&test, text_proof(ok.phone.id, "000001"))
            .await;
        assert!(matches!(outcome, Err(VerifyCodeError::InvalidCode)));
        harness.text(&test, "+15005550006").await;
    }
    harness
        .service
        .verify_code(&test, text_proof(ok.phone.id, "000000"))
        .await
        .unwrap();
    for number in ["+15005550001", "+15005550002"] {
        let (sent, digits) = harness.fresh_text(&test, number).await;
        for tried in [&*digits, wrong(&digits), "000000"] {
            let outcome = harness
                .service
                .verify_code(&test, text_proof(sent.phone.id, tried))
                .await;
            assert!(
                matches!(outcome, Err(VerifyCodeError::InvalidCode)),
                "{number}"
            );
        }
    }
    harness.text(&test, "+15005550003").await;
    harness.deliver().await;
    let query = FindMessages {
        to: Some("+15005550003".to_owned()),
        ..FindMessages::default()
    };
    let bounced = harness
        .service
        .captured_messages(&test, query)
        .await
        .unwrap();
    assert!(bounced.is_empty());
    assert_eq!(harness.waiting().await, 0, "refused permanently");
}

/// A number attached before the account was proved does not let the number's holder in (attack 1).
#[tokio::test]
async fn attack_1_a_planted_number_does_not_open_another_persons_account() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let command = CreateUser {
        email: Some("planter@example.com".to_owned()),
        phone_number: Some(ADA.to_owned()),
        ..CreateUser::default()
    };
    harness.service.create_user(&test, command).await.unwrap();
    let planted = harness.sign_in(&test, "planter@example.com", 60).await;
    // The account belongs to the owner of the address proved first; the owner of the number gets their own.
    let (sent, code) = harness.fresh_text(&test, ADA).await;
    assert_ne!(sent.phone.user_id, planted.session.user_id);
    let verified = harness
        .service
        .verify_code(&test, text_proof(sent.phone.id, &code))
        .await
        .unwrap();
    assert_eq!(verified.user_id, sent.phone.user_id);
    let planter = harness
        .service
        .get_user(&test, planted.session.user_id)
        .await;
    assert_eq!(planter.unwrap().profile.phones, []);
}

/// A provider that never answers.
struct Silent;

#[port]
impl SmsSender for Silent {
    async fn send(&self, _id: JobId, _message: &Message) -> Result<(), SmsError> {
        std::future::pending().await
    }

    async fn probe(&self) -> Result<(), SmsError> {
        std::future::pending().await
    }
}

/// F4: a slow SMS provider does not delay mail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f4_a_slow_provider_delays_no_mail() {
    let harness = Harness::new().await;
    let live = harness.live().await;
    for line in 0..40 {
        harness
            .text(&live, &format!("+1415{}2000", 300 + line))
            .await;
    }
    let worker = tokio::spawn({
        let service = harness.process_with_sms(Arc::new(Silent));
        async move { service.run_outbox(std::future::pending()).await }
    });
    harness.login(&live, "ada@example.com").await;
    let mut look = tokio::time::interval(Duration::from_millis(20));
    tokio::time::timeout(Duration::from_secs(20), async {
        while harness.waiting().await > 40 {
            look.tick().await;
        }
    })
    .await
    .unwrap();
    assert_eq!(harness.mailer.sent().len(), 1);
    assert_eq!(harness.waiting().await, 40, "the texts are still in flight");
    worker.abort();
}

/// F4: five hundred texts through a provider that fails three times in ten: all arrive before their codes expire, none twice.
#[tokio::test]
async fn f4_a_flaky_provider_gets_every_text_once() {
    const TEXTS: u32 = 500;
    let harness = Harness::new().await;
    harness
        .set(&[("sms_prefix_per_hour", "0"), ("sms_country_per_hour", "0")])
        .await;
    let live = harness.live().await;
    for number in 0..TEXTS {
        // Two countries, because no text is answered and a breaker opens at three hundred.
        let number = if number % 2 == 0 {
            format!("+1415{:03}{:04}", 200 + number, 2_000 + number)
        } else {
            format!("+49151{:08}", 23_400_000 + number * 10_007)
        };
        harness.text(&live, &number).await;
    }
    harness.sms.fail_three_in_ten();
    for _ in 0..600 {
        harness.deliver().await;
        if harness.waiting().await == 0 {
            break;
        }
        harness.pass(1);
    }
    let sent: HashSet<_> = harness.sms.sent().into_iter().map(|(id, _)| id).collect();
    let (texts, tries) = (harness.sms.sent().len(), harness.sms.tries());
    println!("F4: {texts} of {TEXTS} texts were accepted in {tries} attempts at 30 % failures");
    assert_eq!((sent.len(), texts), (500, 500));
    assert!(tries > 600, "{tries}");
}
