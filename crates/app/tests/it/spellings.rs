//! Attack 5, R2: spellings of one address that may be two mailboxes, at a mail server with case-sensitive addresses.

use vestry_app::delivery::test_messages::FindMessages;
use vestry_app::identity::codes::{SendCode, VerifyCode, VerifyCodeError};
use vestry_app::identity::passwords::BeginReset;
use vestry_app::identity::sessions::SessionFields;
use vestry_app::identity::users::{
    CreateUser, Imported, NewIdentifier, PortableEmail, PortableUser, UpdateUser,
};
use vestry_app::{Caller, Refusal};
use vestry_domain::ids::{EmailId, UserId};
use vestry_domain::message::Message;
use vestry_domain::session::Proof;

use crate::harness::{Harness, login, operator, proof};
use crate::links::{invitation, is_invalid};

/// The mailbox owner's spelling.
const OWN: &str = "j\u{f6}rg@fa\u{df}.example";
/// The same address to Vestry, but possibly another mailbox.
const OTHERS: [&str; 3] = [
    "J\u{d6}RG@fa\u{df}.example",
    "jo\u{308}rg@fa\u{df}.example",
    "J\u{f6}rg@xn--fa-hia.example",
];
/// The same mailbox everywhere.
const SAME_MAILBOX: [&str; 3] = [
    "j\u{f6}rg@FA\u{df}.example",
    "j\u{f6}rg@XN--FA-HIA.example",
    "j\u{f6}rg@fa\u{df}\u{3002}example",
];

/// The newest mail, to any address.
async fn newest(harness: &Harness, caller: &Caller) -> Message {
    harness.deliver().await;
    let all = harness
        .service
        .captured_messages(caller, FindMessages::default())
        .await;
    all.unwrap().swap_remove(0).message
}

async fn stored(harness: &Harness, caller: &Caller, user: UserId) -> (String, bool) {
    let user = harness.service.get_user(caller, user).await.unwrap();
    let email = &user.profile.emails[0];
    (email.email.address().to_owned(), email.verified)
}

/// Requests a code; returns the user, the address it is for, and the mail that carries it.
async fn asked(harness: &Harness, caller: &Caller, spelling: &str) -> (UserId, EmailId, Message) {
    let sent = harness
        .service
        .login_or_create_by_email(caller, login(spelling));
    let sent = sent.await.unwrap();
    let mail = newest(harness, caller).await;
    (sent.email.user_id, sent.email.id, mail)
}

/// The first requester does not receive the codes of the second one, not even within the seconds in which a repeat is not sent.
#[tokio::test]
async fn attack_5_r2_each_code_goes_to_the_spelling_of_its_request() {
    for other in OTHERS {
        let harness = Harness::with_urls().await;
        let test = harness.test().await;
        let (planted, email, theirs) = asked(&harness, &test, other).await;
        assert_eq!(theirs.to, other);
        let (user, same_email, own) = asked(&harness, &test, OWN).await;
        assert_eq!((user, same_email), (planted, email), "{other}");
        assert_eq!(own.to, OWN, "the code of {OWN} goes to {other}");
        // Nothing is stored of a spelling before it is proved.
        assert_eq!(
            stored(&harness, &test, user).await,
            (other.to_owned(), false)
        );
        if own.code != theirs.code {
            let replaced = harness.verify(&test, email, &theirs.code).await;
            assert!(matches!(replaced, Err(VerifyCodeError::InvalidCode)));
        }
        harness.verify(&test, email, &own.code).await.unwrap();
        assert_eq!(stored(&harness, &test, user).await, (OWN.to_owned(), true));
        // From now on there is one spelling, whatever the request says.
        harness.pass(60);
        let (_, _, mail) = asked(&harness, &test, other).await;
        assert_eq!(mail.to, OWN, "{other}");
        harness.verify(&test, email, &mail.code).await.unwrap();
        assert_eq!(stored(&harness, &test, user).await, (OWN.to_owned(), true));
    }
}

/// Links of all kinds, and the code in the mail of one.
#[tokio::test]
async fn attack_5_each_link_goes_to_the_spelling_of_its_request() {
    for other in OTHERS {
        let harness = Harness::with_urls().await;
        let test = harness.test().await;
        let (_, theirs) = harness.fresh_link(&test, other).await;
        assert_eq!(theirs.to, other);
        let (sent, own) = harness.fresh_link(&test, OWN).await;
        assert_eq!(own.to, OWN);
        assert!(is_invalid(&harness.open(&test, &theirs.token).await));
        let begin = |email: &str| BeginReset {
            email: email.to_owned(),
            ..BeginReset::default()
        };
        for spelling in [other, OWN] {
            let invited = harness.service.invite_by_link(&test, invitation(spelling));
            invited.await.unwrap();
            assert_eq!(newest(&harness, &test).await.to, spelling);
            harness
                .service
                .begin_reset(&test, begin(spelling))
                .await
                .unwrap();
            assert_eq!(newest(&harness, &test).await.to, spelling);
            // The limits of the address reset.
            harness.pass(601);
        }
        let opened = harness.open(&test, &own.token).await.unwrap();
        assert_eq!(opened.user_id, sent.user_id);
        let row = stored(&harness, &test, sent.user_id).await;
        assert_eq!(row, (OWN.to_owned(), true));
        let (_, again) = harness.fresh_link(&test, other).await;
        assert_eq!(again.to, OWN);
        harness
            .service
            .begin_reset(&test, begin(other))
            .await
            .unwrap();
        assert_eq!(newest(&harness, &test).await.to, OWN);
    }
}

/// After the owner proves their mailbox within a session, which keeps links valid, a link sent to another mailbox opens nothing. One sent
/// to the same mailbox still does.
#[tokio::test]
async fn attack_5_a_link_to_another_spelling_is_void_once_one_is_proved() {
    let cases = OTHERS.map(|spelling| (spelling, false));
    let cases = cases
        .into_iter()
        .chain(SAME_MAILBOX.map(|spelling| (spelling, true)));
    for (spelling, opens) in cases {
        let harness = Harness::with_urls().await;
        let test = harness.test().await;
        let user = harness.user(&test, OTHERS[0]).await.profile.user.id;
        let session = harness.planted_session(&test, user).await;
        let invited = harness.service.invite_by_link(&test, invitation(spelling));
        invited.await.unwrap();
        let invited = newest(&harness, &test).await;
        assert_eq!(invited.to, spelling);
        let made = harness.created_link(&test, spelling).await;
        let (_, email, own) = asked(&harness, &test, OWN).await;
        let within = VerifyCode {
            session_fields: SessionFields {
                session_token: Some(session),
                ..SessionFields::default()
            },
            ..proof(email, &own.code)
        };
        harness.service.verify_code(&test, within).await.unwrap();
        for token in [&invited.token, made.token.expose()] {
            let opened = harness.open(&test, token).await;
            assert_eq!(opened.is_ok(), opens, "{spelling}: {opened:?}");
        }
        assert_eq!(stored(&harness, &test, user).await, (OWN.to_owned(), true));
    }
}

/// A double click sends one mail, even if the second request spells the domain differently.
#[tokio::test]
async fn m_5_the_same_mailbox_gets_no_second_mail() {
    for spelling in SAME_MAILBOX {
        let harness = Harness::with_urls().await;
        let test = harness.test().await;
        let (_, email, first) = asked(&harness, &test, spelling).await;
        let (_, _, second) = asked(&harness, &test, OWN).await;
        assert_eq!(first, second);
        harness.verify(&test, email, &first.code).await.unwrap();
    }
}

/// The App vouches for the spelling that it sends.
#[tokio::test]
async fn attack_5_a_vouched_address_is_stored_as_spelled() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let command = CreateUser {
        email: Some(OTHERS[0].to_owned()),
        ..CreateUser::default()
    };
    let created = harness.service.create_user(&test, command).await.unwrap();
    let user = created.user.profile.user.id;
    let listed = |text: &str, verified| NewIdentifier {
        text: text.to_owned(),
        verified,
    };
    for (emails, expected) in [
        (vec![listed(OWN, false)], (OTHERS[0].to_owned(), false)),
        (
            vec![listed(OTHERS[1], false), listed(OWN, true)],
            (OWN.to_owned(), true),
        ),
        (vec![listed(OTHERS[1], true)], (OWN.to_owned(), true)),
    ] {
        let command = UpdateUser {
            emails,
            ..UpdateUser::default()
        };
        harness
            .service
            .update_user(&test, user, command)
            .await
            .unwrap();
        assert_eq!(stored(&harness, &test, user).await, expected);
    }
}

/// A session's factor names the spelling that was proved.
#[tokio::test]
async fn a_factor_has_the_spelling_that_was_proved() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    asked(&harness, &test, OTHERS[0]).await;
    let signed_in = harness.sign_in(&test, OWN, 60).await;
    let proved = &signed_in.session.factors[0].proof;
    assert!(
        matches!(proved, Proof::EmailCode { email, .. } if email == OWN),
        "{proved:?}"
    );
}

/// A captured mail is found under every spelling of its address.
#[tokio::test]
async fn attack_5_captured_mail_is_found_under_every_spelling() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    asked(&harness, &test, OWN).await;
    let found = async |to: &str| {
        let query = FindMessages {
            to: Some(to.to_owned()),
            ..FindMessages::default()
        };
        harness
            .service
            .captured_messages(&test, query)
            .await
            .unwrap()
            .len()
    };
    for spelling in OTHERS.into_iter().chain(SAME_MAILBOX).chain([OWN]) {
        assert_eq!(found(spelling).await, 1, "{spelling}");
    }
    for other in [
        "j\u{f6}rg@fass.example",
        "j\u{f6}\u{ff52}g@fa\u{df}.example",
        "",
    ] {
        assert_eq!(found(other).await, 0, "{other}");
    }
}

/// Look-alikes are refused in every field that accepts an address, and nothing is created.
#[tokio::test]
async fn attack_5_look_alikes_are_refused_everywhere() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    for odd in [
        "\u{212a}ate@example.com",
        "\u{ff4d}ike@example.com",
        "\u{fb01}n@example.com",
        "mi\u{17f}s@example.com",
        "\u{130}pek@example.com",
        "mike@192.0.2.1",
        "mike@example.123",
    ] {
        let is_refused = |refused: &Refusal| matches!(refused, Refusal::Invalid(invalid) if invalid.param.contains("email"));
        let service = &harness.service;
        let refused = service.login_or_create_by_email(&test, login(odd)).await;
        assert!(refused.is_err_and(|refused| is_refused(&refused)), "{odd}");
        let send = SendCode {
            email: odd.to_owned(),
            expires_in: None,
            device_fingerprint: None,
            session: Default::default(),
        };
        let refused = service.send_code_by_email(&test, send).await;
        assert!(refused.is_err_and(|refused| is_refused(&refused)), "{odd}");
        let refused = service.invite_by_link(&test, invitation(odd)).await;
        assert!(refused.is_err_and(|refused| is_refused(&refused)), "{odd}");
        let command = CreateUser {
            email: Some(odd.to_owned()),
            ..CreateUser::default()
        };
        let refused = service.create_user(&test, command).await;
        assert!(refused.is_err_and(|refused| is_refused(&refused)), "{odd}");
    }
    assert_eq!(harness.waiting().await, 0);
}

/// A line of an import is refused with its reason, and the others are imported.
#[tokio::test]
async fn attack_5_a_look_alike_in_an_import_is_refused_with_its_reason() {
    let harness = Harness::new().await;
    let line = |email: &str| PortableUser {
        emails: vec![PortableEmail {
            email: email.to_owned(),
            verified: true,
        }],
        ..PortableUser::default()
    };
    let lines = [
        line(OWN),
        line("\u{212a}ate@example.com"),
        line("kate@example.com"),
        line("kate@192.0.2.1"),
        line("Kate@Example.com"),
    ];
    let test = harness.test().await;
    let mut import = harness
        .service
        .import_users(&operator(&harness.service, test.world).await, false)
        .await
        .unwrap();
    let outcomes = import.take(&lines).await.unwrap();
    assert!(matches!(outcomes[0], Imported::New(_)));
    assert!(matches!(outcomes[2], Imported::New(_)));
    let reason = |index: usize| match &outcomes[index] {
        Imported::Refused(why) => why.clone(),
        other => panic!("{other:?}"),
    };
    assert!(reason(1).contains("look-alike character"), "{}", reason(1));
    assert!(reason(3).contains("a valid domain name"), "{}", reason(3));
    assert!(
        !matches!(outcomes[4], Imported::New(_)),
        "{:?}",
        outcomes[4]
    );
}
