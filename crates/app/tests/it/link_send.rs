//! `magic_links/email/login_or_create`, `invite` and `create`.

use std::sync::Arc;

use vestry_app::identity::links::{CreateLink, InviteByLink, LoginByLink, RedirectError, SentLink};
use vestry_app::{Caller, Fault, Principal, Refusal};
use vestry_domain::Environment;
use vestry_domain::ids::{Id, UserId};
use vestry_domain::message::MessageKind;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::timestamp::Seconds;
use vestry_domain::user::UserStatus;

use crate::harness::{Harness, START};
use crate::links::{device, invitation, is_invalid, link_for, url_of};

/// The link leads a new user to the sign-up URL and an existing one to the login URL.
#[tokio::test]
async fn a_link_leads_to_the_right_url_for_its_reader() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    for (is_new, kind) in [
        (true, RedirectKind::Registration),
        (false, RedirectKind::Login),
    ] {
        let (sent, mail) = harness.fresh_link(&test, "Ada@example.com").await;
        assert_eq!(
            (sent.user_created, sent.status),
            (is_new, UserStatus::Pending)
        );
        assert_eq!((sent.created_at, sent.updated_at), (START, START));
        assert_eq!(mail.kind, MessageKind::MagicLink);
        assert_eq!(mail.link, format!("{}?token={}", url_of(kind), mail.token));
        assert_eq!((mail.token.len(), mail.code.len()), (48, 6));
        assert!(mail.text.contains(&mail.link) && mail.text.contains(&mail.code));
        harness.pass(20);
    }
    let active = LoginByLink {
        requires_verification: Some(false),
        ..link_for("bob@example.com")
    };
    let sent = harness.service.login_or_create_by_link(&test, active).await;
    assert_eq!(sent.unwrap().status, UserStatus::Active);
}

/// ML-7: each lifetime to the second. Without them `expires_in` applies, and the App's own limit caps everything.
#[tokio::test]
async fn ml_7_a_link_lives_as_long_as_requested() {
    let harness = Harness::with_urls().await;
    let all = |login, registration, both| LoginByLink {
        login_expires_in: login,
        registration_expires_in: registration,
        expires_in: both,
        ..LoginByLink::default()
    };
    let cases = [
        (all(None, None, None), 60, 60),
        (all(Some(5), Some(10_080), None), 5, 10_080),
        (all(None, None, Some(15)), 15, 15),
        (all(Some(7), None, Some(15)), 7, 15),
        (all(None, Some(7), Some(15)), 15, 7),
    ];
    for (maximum, capped) in [("10080", 10_080), ("6", 6)] {
        harness.set(&[("magic_link_max_minutes", maximum)]).await;
        for (number, (command, login, registration)) in cases.iter().enumerate() {
            for (is_new, minutes) in [(false, *login), (true, *registration)] {
                for (early, is_alive) in [(1, true), (0, false)] {
                    let test = harness.test().await;
                    let email = format!("u{number}-{is_new}-{early}-{maximum}@example.com");
                    if !is_new {
                        harness.user(&test, &email).await;
                    }
                    let command = LoginByLink {
                        email: email.clone(),
                        ..command.clone()
                    };
                    let sent = harness
                        .service
                        .login_or_create_by_link(&test, command)
                        .await;
                    assert_eq!(sent.unwrap().user_created, is_new);
                    let mail = harness.newest_to(&test, &email).await.message;
                    harness.pass(i64::min(minutes, capped) * 60 - early);
                    let outcome = harness.open(&*harness.test().await, &mail.token).await;
                    assert_eq!(outcome.is_ok(), is_alive, "{email}: {minutes} min");
                    assert!(is_alive || is_invalid(&outcome));
                }
            }
        }
    }
}

#[tokio::test]
async fn ml_7_lifetimes_out_of_bounds_are_refused_by_name() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    for minutes in [4, 0, -1, 10_081] {
        let some = Some(minutes);
        let base = link_for("ada@example.com");
        for (param, command) in [
            (
                "login_expires_in",
                LoginByLink {
                    login_expires_in: some,
                    ..base.clone()
                },
            ),
            (
                "registration_expires_in",
                LoginByLink {
                    registration_expires_in: some,
                    ..base.clone()
                },
            ),
            (
                "expires_in",
                LoginByLink {
                    expires_in: some,
                    ..base.clone()
                },
            ),
        ] {
            let refused = harness
                .service
                .login_or_create_by_link(&test, command)
                .await;
            assert!(
                matches!(&refused, Err(Refusal::Invalid(invalid)) if invalid.param == param),
                "{param}: {refused:?}"
            );
        }
        let command = InviteByLink {
            invite_expires_in: some,
            ..invitation("ada@example.com")
        };
        let refused = harness.service.invite_by_link(&test, command).await;
        assert!(
            matches!(&refused, Err(Refusal::Invalid(invalid)) if invalid.param == "invite_expires_in"),
            "{refused:?}"
        );
        let command = CreateLink {
            email: Some("ada@example.com".into()),
            expires_in: some,
            ..CreateLink::default()
        };
        let refused = harness.service.create_link(&test, command).await;
        assert!(
            matches!(&refused, Err(Refusal::Invalid(invalid)) if invalid.param == "expires_in"),
            "{refused:?}"
        );
    }
    assert!(!harness.is_known(&test, "ada@example.com").await);
    assert_eq!(harness.waiting().await, 0);
}

/// The refusal and its field for a call with these two URLs.
async fn redirect(
    harness: &Harness,
    caller: &Caller,
    login: Option<&str>,
    registration: Option<&str>,
) -> Result<SentLink, RedirectError> {
    let command = LoginByLink {
        login_redirect_url: login.map(str::to_owned),
        registration_redirect_url: registration.map(str::to_owned),
        ..link_for("ada@example.com")
    };
    match harness
        .service
        .login_or_create_by_link(caller, command)
        .await
    {
        Ok(sent) => Ok(sent),
        Err(Refusal::Redirect(error)) => Err(error),
        Err(other) => panic!("{other:?}"),
    }
}

/// ML-4, attack 17: the URL is registered in this environment for this kind, or the call is refused with the field's name and creates
/// nothing.
#[tokio::test]
async fn ml_4_a_link_leads_to_registered_urls_only() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let (here, live) = (test.world, harness.world(Environment::Live));
    let (login, registration) = ("https://*.example.com/in?x=1", "http://localhost:3000/new");
    for (world, kind, url) in [
        (here, RedirectKind::Login, login),
        (here, RedirectKind::Registration, registration),
        (
            here,
            RedirectKind::Invite,
            "https://app.example.com/invited",
        ),
        (live, RedirectKind::Login, "https://app.example.com/live"),
    ] {
        harness
            .service
            .add_redirect_url(Principal::cli(), world, kind, url, false)
            .await
            .unwrap();
    }
    let stranger = harness.stranger().await;
    let foreign = "https://app.example.com/foreign";
    let added = harness.service.add_redirect_url(
        Principal::cli(),
        stranger.world,
        RedirectKind::Login,
        foreign,
        true,
    );
    added.await.unwrap();
    let good = "https://shop.example.com/in?x=1";
    for (first, second, missing, refused) in [
        (None, None, Some("login_redirect_url"), None),
        (Some(good), None, Some("registration_redirect_url"), None),
        (None, Some(registration), Some("login_redirect_url"), None),
        (
            Some(login),
            Some(registration),
            None,
            Some("login_redirect_url"),
        ),
        (
            Some(""),
            Some(registration),
            None,
            Some("login_redirect_url"),
        ),
        (
            Some("https://a.b.example.com/in?x=1"),
            Some(registration),
            None,
            Some("login_redirect_url"),
        ),
        (
            Some("https://app.example.com/invited"),
            Some(registration),
            None,
            Some("login_redirect_url"),
        ),
        (
            Some("https://app.example.com/live"),
            Some(registration),
            None,
            Some("login_redirect_url"),
        ),
        (
            Some(foreign),
            Some(registration),
            None,
            Some("login_redirect_url"),
        ),
        (
            Some(registration),
            Some(registration),
            None,
            Some("login_redirect_url"),
        ),
        (
            Some(good),
            Some(good),
            None,
            Some("registration_redirect_url"),
        ),
        (
            Some(good),
            Some("http://localhost:3000/new/"),
            None,
            Some("registration_redirect_url"),
        ),
    ] {
        let (is_missing, is_refused) = match redirect(&harness, &test, first, second).await {
            Err(RedirectError::Missing(param)) => (Some(param), None),
            Err(RedirectError::NotAllowed(param)) => (None, Some(param)),
            Ok(sent) => panic!("{first:?} {second:?}: {sent:?}"),
        };
        assert_eq!(
            (is_missing, is_refused),
            (missing, refused),
            "{first:?} {second:?}"
        );
    }
    assert!(!harness.is_known(&test, "ada@example.com").await);
    assert_eq!(harness.waiting().await, 0);
    redirect(&harness, &test, Some(good), Some(registration))
        .await
        .unwrap();
    let mail = harness.newest_to(&test, "ada@example.com").await.message;
    assert_eq!(mail.link, format!("{registration}?token={}", mail.token));
    harness.pass(20);
    redirect(&harness, &test, Some(good), Some(registration))
        .await
        .unwrap();
    let mail = harness.newest_to(&test, "ada@example.com").await.message;
    assert_eq!(mail.link, format!("{good}&token={}", mail.token));
}

/// A URL with a wildcard is no concrete destination, so it cannot be the default.
#[tokio::test]
async fn a_pattern_cannot_be_the_default() {
    let harness = Harness::new().await;
    let world = harness.world(Environment::Test);
    let url = "https://*.example.com/in";
    let refused = harness
        .service
        .add_redirect_url(Principal::cli(), world, RedirectKind::Login, url, true)
        .await;
    assert!(refused.is_err());
    harness
        .service
        .add_redirect_url(Principal::cli(), world, RedirectKind::Login, url, false)
        .await
        .unwrap();
}

/// Attack 9: with `enumeration_safe` a known and an unknown address get the same responses, refusals and limits included.
#[tokio::test]
async fn attack_9_known_and_unknown_addresses_look_alike() {
    let harness = Harness::with_urls().await;
    harness.set(&[("enumeration_safe", "true")]).await;
    let test = harness.test().await;
    harness.user(&test, "known@example.com").await;
    harness.pass(3_600);
    let seen = |outcome: Result<SentLink, Refusal>| match outcome {
        Ok(sent) => Ok((
            sent.status,
            sent.user_created,
            sent.created_at,
            sent.updated_at,
        )),
        Err(Refusal::TooMany { retry_after }) => Err(retry_after),
        Err(other) => panic!("{other:?}"),
    };
    for step in 0..20 {
        let test = harness.test().await;
        let mut answers = Vec::new();
        for who in ["known", "unknown"] {
            let email = format!("{who}@example.com");
            let outcome = if step % 2 == 0 {
                harness
                    .service
                    .login_or_create_by_link(&test, link_for(&email))
                    .await
            } else {
                harness
                    .service
                    .invite_by_link(&test, invitation(&email))
                    .await
            };
            answers.push(seen(outcome));
        }
        assert_eq!(answers[0], answers[1], "step {step}");
        // Five, and one of each kind beyond the limit (M-5).
        assert_eq!(answers[0].is_ok(), step < 7);
        harness.deliver().await;
        harness.pass(20);
    }
    // The link's destination is disclosed only in the mail, which goes to the address's owner.
    let mail = harness.newest_to(&test, "known@example.com").await.message;
    assert!(mail.link.starts_with(&url_of(RedirectKind::Login)));
}

/// OTP-10, attack 8: codes, links and invitations to one address share a counter.
#[tokio::test]
async fn otp_10_links_and_codes_share_their_limits() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let invite = || {
        harness
            .service
            .invite_by_link(&test, invitation("ada@example.com"))
    };
    harness.login(&test, "ada@example.com").await;
    harness.send_link(&test, "ADA@example.com").await;
    harness.pass(20);
    harness.login(&test, "ada@example.com").await;
    harness.send_link(&test, "ada@example.com").await;
    invite().await.unwrap();
    harness.pass(60);
    // One of each beyond the limit (M-5).
    harness.send_link(&test, "ada@example.com").await;
    invite().await.unwrap();
    harness.pass(20);
    for outcome in [
        harness
            .service
            .login_or_create_by_link(&test, link_for("ada@example.com"))
            .await,
        harness
            .service
            .invite_by_link(&test, invitation("ada@example.com"))
            .await,
    ] {
        assert!(
            matches!(
                outcome,
                Err(Refusal::TooMany {
                    retry_after: Seconds(500)
                })
            ),
            "{outcome:?}"
        );
    }
    assert_eq!(
        harness.waiting().await,
        7,
        "a refused send puts nothing into the outbox"
    );
    // An unsent message is not counted.
    for _ in 0..10 {
        harness.created_link(&test, "ada@example.com").await;
    }
    for number in 0..30 {
        let command = LoginByLink {
            device_fingerprint: Some(device("192.0.2.1", "")),
            ..link_for(&format!("u{number}@example.com"))
        };
        harness
            .service
            .login_or_create_by_link(&test, command)
            .await
            .unwrap();
    }
    let command = LoginByLink {
        device_fingerprint: Some(device("192.0.2.1", "")),
        ..link_for("u99@example.com")
    };
    let over = harness
        .service
        .login_or_create_by_link(&test, command)
        .await;
    assert!(matches!(over, Err(Refusal::TooMany { .. })), "{over:?}");
    assert!(!harness.is_known(&test, "u99@example.com").await);
}

/// OTP-6 for links: only the newest of a purpose is valid; those of other purposes stay.
#[tokio::test]
async fn a_new_link_replaces_the_previous_one() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let (_, first) = harness.fresh_link(&test, "ada@example.com").await;
    let created = harness.created_link(&test, "ada@example.com").await;
    harness
        .service
        .invite_by_link(&test, invitation("ada@example.com"))
        .await
        .unwrap();
    let invite = harness.newest_to(&test, "ada@example.com").await.message;
    harness.pass(20);
    let (_, second) = harness.fresh_link(&test, "ada@example.com").await;
    assert!(is_invalid(&harness.open(&test, &first.token).await));
    let again = harness.created_link(&test, "ada@example.com").await;
    assert!(is_invalid(
        &harness.open(&test, created.token.expose()).await
    ));
    // The first of them proves the address, which drops its user's other links with everything else (attack 1).
    harness.open(&test, &second.token).await.unwrap();
    for token in [again.token.expose(), &invite.token] {
        assert!(is_invalid(&harness.open(&test, token).await));
    }
    // From then on links of different purposes coexist.
    let created = harness.created_link(&test, "ada@example.com").await;
    let (_, third) = harness.fresh_link(&test, "ada@example.com").await;
    for token in [created.token.expose(), &third.token] {
        harness.open(&test, token).await.unwrap();
    }
}

#[tokio::test]
async fn live_links_need_a_transport() {
    let harness = Harness::with_urls().await;
    let live = harness.live().await;
    let service = harness.process_without_mail();
    for outcome in [
        service
            .login_or_create_by_link(&live, link_for("ada@example.com"))
            .await,
        service
            .invite_by_link(&live, invitation("ada@example.com"))
            .await,
    ] {
        assert!(
            matches!(outcome, Err(Refusal::Fault(Fault::NoTransport("mail")))),
            "{outcome:?}"
        );
    }
    assert!(!harness.is_known(&live, "ada@example.com").await);
    harness.send_link(&live, "ada@example.com").await;
    harness.deliver().await;
    let (_, mail) = harness.mailer.sent().pop().unwrap();
    assert_eq!(mail.to, "ada@example.com");
    harness.open(&live, &mail.token).await.unwrap();
}

/// The user is pending and gets the names; an existing user keeps their own. Mail goes to the address as its owner spelled it.
#[tokio::test]
async fn an_invitation_creates_a_pending_user_with_names() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let named = |first: &str, email: &str| InviteByLink {
        first_name: Some(first.into()),
        middle_name: Some("King".into()),
        last_name: Some("Lovelace".into()),
        ..invitation(email)
    };
    let invited = harness
        .service
        .invite_by_link(&test, named("Ada", "Ada@example.com"))
        .await;
    let invited = invited.unwrap();
    // One after the other: the capture order of two mails of one batch is undefined.
    harness.deliver().await;
    assert_eq!(
        (invited.status, invited.user_created),
        (UserStatus::Pending, true)
    );
    harness.pass(20);
    let again = harness
        .service
        .invite_by_link(&test, named("Eve", "ada@EXAMPLE.com"))
        .await;
    let again = again.unwrap();
    assert_eq!(
        (again.user_id, again.email_id),
        (invited.user_id, invited.email_id)
    );
    assert!(!again.user_created);
    let user = harness
        .service
        .get_user(&test, invited.user_id)
        .await
        .unwrap()
        .profile
        .user;
    assert_eq!(
        [&*user.first_name, &user.middle_name, &user.last_name],
        ["Ada", "King", "Lovelace"]
    );
    let mail = harness.newest_to(&test, "Ada@example.com").await.message;
    assert_eq!((mail.kind, &*mail.code), (MessageKind::Invite, ""));
    assert!(mail.text.starts_with("Hello Ada,") && !mail.text.contains("Eve"));
    assert!(mail.link.starts_with(&url_of(RedirectKind::Invite)));
    let opened = harness.open(&test, &mail.token).await.unwrap();
    assert_eq!(opened.user_id, invited.user_id);
    let user = harness
        .service
        .get_user(&test, invited.user_id)
        .await
        .unwrap();
    assert_eq!(user.profile.user.status, UserStatus::Active);
    for (command, param) in [
        (
            InviteByLink {
                first_name: Some("a\nb".into()),
                ..invitation("x@example.com")
            },
            "first_name",
        ),
        (
            InviteByLink {
                last_name: Some("a".repeat(256)),
                ..invitation("x@example.com")
            },
            "last_name",
        ),
        (
            InviteByLink {
                email: "x".into(),
                ..invitation("")
            },
            "email",
        ),
    ] {
        let refused = harness.service.invite_by_link(&test, command).await;
        assert!(
            matches!(&refused, Err(Refusal::Invalid(invalid)) if invalid.param == param),
            "{param}: {refused:?}"
        );
    }
}

/// Another user takes the address between the lookup and the transaction; the link is for that user.
#[tokio::test]
async fn a_sign_up_that_loses_a_race_sends_to_the_winner() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let (service, caller) = (Arc::clone(&harness.service), Arc::clone(&test));
    harness.store.before_next_begin(async move {
        let sent = service.login_or_create_by_link(&caller, link_for("ada@example.com"));
        assert!(sent.await.unwrap().user_created);
        // Its mail is captured before the other one is written.
        assert_eq!(service.deliver_due("first").await.unwrap(), 1);
    });
    let sent = harness.send_link(&test, "ada@example.com").await;
    assert!(sent.user_created, "it gets the response of the winner");
    let mail = harness.newest_to(&test, "ada@example.com").await.message;
    assert!(mail.link.starts_with(&url_of(RedirectKind::Registration)));
    assert_eq!(
        harness.open(&test, &mail.token).await.unwrap().user_id,
        sent.user_id
    );
}

/// A lost transaction is retried, and the mail carries the stored token.
#[tokio::test]
async fn r14_a_lost_transaction_is_retried() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    harness.fake.lose_commits(3);
    let (_, mail) = harness.fresh_link(&test, "ada@example.com").await;
    harness.fake.lose_commits(3);
    harness.open(&test, &mail.token).await.unwrap();
    assert_eq!(harness.waiting().await, 0);
}

/// The code in the mail is an ordinary one: valid for ten minutes at most (OTP-2), and void once the link next to it was used.
#[tokio::test]
async fn the_code_next_to_a_link_signs_in_as_well() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let (sent, mail) = harness.fresh_link(&test, "ada@example.com").await;
    harness.pass(599);
    harness
        .verify(&test, sent.email_id, &mail.code)
        .await
        .unwrap();
    assert!(
        is_invalid(&harness.open(&test, &mail.token).await),
        "the link has expired"
    );

    let (sent, mail) = harness.fresh_link(&test, "ada@example.com").await;
    harness.pass(600);
    assert!(
        harness
            .verify(&test, sent.email_id, &mail.code)
            .await
            .is_err()
    );
    harness.open(&test, &mail.token).await.unwrap();

    let (sent, mail) = harness.fresh_link(&test, "ada@example.com").await;
    harness.open(&test, &mail.token).await.unwrap();
    assert!(
        harness
            .verify(&test, sent.email_id, &mail.code)
            .await
            .is_err()
    );

    let short = LoginByLink {
        expires_in: Some(5),
        ..link_for("ada@example.com")
    };
    harness
        .service
        .login_or_create_by_link(&test, short)
        .await
        .unwrap();
    let mail = harness.newest_to(&test, "ada@example.com").await.message;
    harness.pass(300);
    assert!(
        harness
            .verify(&test, sent.email_id, &mail.code)
            .await
            .is_err()
    );
}

/// The reserved addresses of the test environment (OPS-12).
#[tokio::test]
async fn reserved_addresses_behave_for_links_too() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    for _ in 0..7 {
        let (sent, mail) = harness.fresh_link(&test, "ok+x@vestry.test").await;
        assert_eq!(mail.code, "000000");
        harness
            .verify(&test, sent.email_id, "000000")
            .await
            .unwrap();
    }
    let (_, mail) = harness.fresh_link(&test, "ok@vestry.test").await;
    harness.open(&test, &mail.token).await.unwrap();
    for email in ["expired@vestry.test", "wrong@vestry.test"] {
        let (sent, mail) = harness.fresh_link(&test, email).await;
        assert!(
            is_invalid(&harness.open(&test, &mail.token).await),
            "{email}"
        );
        assert!(
            harness
                .verify(&test, sent.email_id, &mail.code)
                .await
                .is_err()
        );
        let made = harness.created_link(&test, email).await;
        assert!(
            is_invalid(&harness.open(&test, made.token.expose()).await),
            "{email}"
        );
    }
    harness.send_link(&test, "bounce@vestry.test").await;
    harness.send_link(&test, "slow@vestry.test").await;
    assert_eq!(harness.deliver_once().await, 1, "the slow one waits");
    assert_eq!(harness.waiting().await, 1);
    harness.pass(5);
    let mail = harness.newest_to(&test, "slow@vestry.test").await.message;
    harness.open(&test, &mail.token).await.unwrap();
    // In live they are ordinary addresses.
    let live = harness.live().await;
    harness.send_link(&live, "wrong@vestry.test").await;
    harness.deliver().await;
    let (_, mail) = harness.mailer.sent().pop().unwrap();
    harness.open(&live, &mail.token).await.unwrap();
}

/// `create` sends no mail and creates no user. It finds the address by user, by address, or by both if they match.
#[tokio::test]
async fn a_link_is_created_for_an_existing_user() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let ada = harness.user(&test, "ada@example.com").await.profile;
    let bob = harness.user(&test, "bob@example.com").await.profile;
    let (id, email) = (ada.user.id, "ADA@example.com");
    let by = |user_id: Option<UserId>, email: Option<&str>| CreateLink {
        user_id,
        email: email.map(str::to_owned),
        ..CreateLink::default()
    };
    for command in [
        by(Some(id), None),
        by(None, Some(email)),
        by(Some(id), Some(email)),
    ] {
        let made = harness.service.create_link(&test, command).await.unwrap();
        assert_eq!((made.email.user_id, made.email.id), (id, ada.emails[0].id));
        assert_eq!(
            (made.token.expose().len(), made.origin_token.expose().len()),
            (48, 128)
        );
        assert_eq!(
            harness
                .open(&test, made.token.expose())
                .await
                .unwrap()
                .user_id,
            id
        );
    }
    assert_eq!(harness.waiting().await, 0, "nothing is mailed");
    let nobody = UserId::new(START, [7; 16]);
    for (command, missing) in [
        (by(Some(nobody), None), "user"),
        (by(None, Some("eve@example.com")), "email"),
        (by(Some(bob.user.id), Some(email)), "email"),
        (by(Some(nobody), Some(email)), "email"),
    ] {
        let refused = harness.service.create_link(&test, command).await;
        assert!(
            matches!(refused, Err(Refusal::NotFound(param)) if param == missing),
            "{missing}"
        );
    }
    for stranger in [harness.stranger().await, harness.live().await] {
        let refused = harness
            .service
            .create_link(&stranger, by(Some(id), None))
            .await;
        assert!(matches!(refused, Err(Refusal::NotFound("user"))));
    }
    let refused = harness.service.create_link(&test, by(None, None)).await;
    assert!(matches!(refused, Err(Refusal::Invalid(invalid)) if invalid.param == "user_id"));
    assert!(!harness.is_known(&test, "eve@example.com").await);
}
