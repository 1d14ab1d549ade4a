//! `magic_links/verify`: the requirements ML-1 to ML-8.

use std::sync::Arc;

use serde_json::json;
use vestry_app::Refusal;
use vestry_app::identity::codes::VerifyCodeError;
use vestry_app::identity::links::{CreateLink, LoginByLink, VerifyLink, VerifyLinkError};
use vestry_app::identity::sessions::SessionFields;
use vestry_contract::race::race;
use vestry_domain::Secret;
use vestry_domain::code::MethodId;
use vestry_domain::email::Email;
use vestry_domain::ids::{EmailId, Id};
use vestry_domain::link::{Link, LinkPurpose};
use vestry_domain::session::Proof;
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::user::UserStatus;
use vestry_ports::store::Store;

use crate::harness::{Harness, START, lasting, named, proof, wrong};
use crate::links::{device, is_invalid, link_for, opened};

/// The whole flow: pending, proved, active, with a session that rests on the link.
#[tokio::test]
async fn a_link_verifies_the_address_and_signs_its_owner_in() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let (sent, mail) = harness.fresh_link(&test, "ada@example.com").await;
    harness.pass(30);
    let command = VerifyLink {
        session_fields: lasting(60),
        device_fingerprint: device("203.0.113.7", "Mozilla"),
        ..opened(&mail.token)
    };
    let verified = harness.service.verify_link(&test, command).await.unwrap();
    assert_eq!(
        (verified.user_id, verified.email_id),
        (sent.user_id, sent.email_id)
    );
    let issued = verified.issued.unwrap();
    let session = &issued.session;
    assert_eq!(session.expires_at, harness.now() + Seconds(3_600));
    assert_eq!(session.device_fingerprint, device("203.0.113.7", "Mozilla"));
    let [factor] = &session.factors[..] else {
        panic!("{:?}", session.factors);
    };
    assert_eq!(factor.last_verified_at, harness.now());
    let expected = Proof::EmailLink {
        email_id: sent.email_id,
        email: "ada@example.com".into(),
    };
    assert_eq!(factor.proof, expected);
    let shown = &json!(issued.object)["factors"][0];
    assert_eq!(shown["delivery_channel"], "email");
    assert_eq!(shown["type"], "magic_link");
    harness.by_token(&test, &issued.token).await.unwrap();
    harness.by_jwt(&test, &issued.jwt).await.unwrap();
    let profile = harness
        .service
        .get_user(&test, sent.user_id)
        .await
        .unwrap()
        .profile;
    assert_eq!(profile.user.status, UserStatus::Active);
    assert!(profile.emails[0].verified);
    let (_, mail) = harness.fresh_link(&test, "ada@example.com").await;
    let verified = harness.open(&test, &mail.token).await.unwrap();
    assert!(verified.issued.is_none(), "no session was asked for");
}

/// ML-3: used, expired, replaced, foreign, malformed and never-issued tokens get the same response.
#[tokio::test]
async fn ml_3_a_link_works_once() {
    let harness = Harness::with_urls().await;
    let (test, live, stranger) = (
        harness.test().await,
        harness.live().await,
        harness.stranger().await,
    );
    let (_, mail) = harness.fresh_link(&test, "ada@example.com").await;
    for caller in [&live, &stranger] {
        assert!(is_invalid(&harness.open(caller, &mail.token).await), "I11");
    }
    for odd in [
        "",
        "x",
        &mail.token[..47],
        &format!("{}x", mail.token),
        &mail.token.to_lowercase(),
        &mail.token.to_uppercase(),
        &format!(" {}", mail.token),
        &mail.link,
        &mail.code,
        "' OR 1=1 --",
        &"0".repeat(48),
        &"x".repeat(100_000),
    ] {
        assert!(is_invalid(&harness.open(&test, odd).await), "{odd:.60}");
    }
    harness.open(&test, &mail.token).await.unwrap();
    for _ in 0..3 {
        assert!(is_invalid(&harness.open(&test, &mail.token).await));
    }
}

/// ML-1: the stored hash opens nothing.
#[tokio::test]
async fn ml_1_only_the_hash_of_a_token_is_stored() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let (sent, mail) = harness.fresh_link(&test, "ada@example.com").await;
    let mut read = harness.fake.read().await.unwrap();
    let link = read
        .links()
        .of_email(&test.world, sent.email_id, LinkPurpose::Login);
    let link = link.await.unwrap().unwrap();
    assert_eq!(link.token, TokenHash::of(&mail.token));
    let hex: String = link
        .token
        .0
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert!(is_invalid(&harness.open(&test, &hex).await));
    assert!(!format!("{link:?}").contains(&mail.token));
}

/// ML-6: a password reset link does not sign in, and the attempt does not use it up.
#[tokio::test]
async fn ml_6_a_link_for_another_purpose_does_not_sign_in() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let email = harness
        .user(&test, "ada@example.com")
        .await
        .profile
        .emails
        .remove(0);
    let link = Link {
        world: test.world,
        email_id: email.id,
        purpose: LinkPurpose::PasswordReset,
        user_id: email.user_id,
        token: TokenHash::of("reset"),
        redirect: None,
        landing: None,
        fingerprint: None,
        origin: None,
        user_created: false,
        challenge: None,
        asked_as: None,
        sent_as_asked: false,
        created_at: harness.now(),
        expires_at: harness.now() + Seconds(3_600),
        used_at: None,
        session_id: None,
        handed_at: None,
    };
    let mut tx = harness.fake.begin().await.unwrap();
    tx.links().replace(&link).await.unwrap();
    tx.commit().await.unwrap();
    assert!(is_invalid(&harness.open(&test, "reset").await));
    let mut read = harness.fake.read().await.unwrap();
    let found = read.links().find(&test.world, &link.token).await.unwrap();
    assert_eq!(found, Some(link));
}

/// ML-3, R6: fifty concurrent uses of one link yield one success and one session.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ml_3_r6_parallel_uses_have_one_winner() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let (sent, mail) = harness.fresh_link(&test, "ada@example.com").await;
    let tasks = (0..50).map(|_| {
        let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
        let command = VerifyLink {
            session_fields: lasting(60),
            ..opened(&mail.token)
        };
        async move { service.verify_link(&test, command).await }
    });
    let outcomes = race(tasks).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    assert!(
        outcomes
            .iter()
            .all(|outcome| outcome.is_ok() || is_invalid(outcome))
    );
    let sessions = harness.list_sessions(&test, sent.user_id).await.unwrap();
    assert_eq!(sessions.len(), 1);
}

/// A link that is replaced between the lookup and the use does not sign in.
#[tokio::test]
async fn a_link_and_its_code_have_one_winner() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let (sent, mail) = harness.fresh_link(&test, "ada@example.com").await;
    let (service, caller, code) = (
        Arc::clone(&harness.service),
        Arc::clone(&test),
        mail.code.clone(),
    );
    harness.store.before_next_begin(async move {
        service
            .verify_code(&caller, proof(sent.email_id, &code))
            .await
            .unwrap();
    });
    assert!(is_invalid(&harness.open(&test, &mail.token).await));
}

/// The device of the send step must open the link, as far as the App requires. Failures are counted and eventually cause a lockout.
#[tokio::test]
async fn a_link_may_be_bound_to_its_device() {
    let harness = Harness::with_urls().await;
    harness
        .set(&[("device_fingerprint_match", "ip_and_user_agent")])
        .await;
    let test = harness.test().await;
    let command = LoginByLink {
        expires_in: Some(10_080),
        device_fingerprint: Some(device("203.0.113.7", "Mozilla")),
        ..link_for("ada@example.com")
    };
    harness
        .service
        .login_or_create_by_link(&test, command)
        .await
        .unwrap();
    let mail = harness.newest_to(&test, "ada@example.com").await.message;
    let from = |ip: &str, agent: &str| VerifyLink {
        device_fingerprint: device(ip, agent),
        ..opened(&mail.token)
    };
    for number in 0..20 {
        let (ip, agent) = [
            ("203.0.113.8", "Mozilla"),
            ("203.0.113.7", "curl"),
            ("", ""),
        ][number % 3];
        let outcome = harness.service.verify_link(&test, from(ip, agent)).await;
        assert!(is_invalid(&outcome), "{number}: {outcome:?}");
    }
    let blocked = harness
        .service
        .verify_link(&test, from("203.0.113.7", "Mozilla"))
        .await;
    assert!(
        matches!(
            blocked,
            Err(VerifyLinkError::Common(Refusal::TooMany {
                retry_after: Seconds(60)
            }))
        ),
        "{blocked:?}"
    );
    // Nor does it lock out anything else, or reveal anything about a nonexistent link.
    assert!(is_invalid(&harness.open(&test, "x").await));
    harness
        .verify(&test, EmailId::new(START, [7; 16]), "123456")
        .await
        .unwrap_err();
    harness.pass(60);
    harness
        .service
        .verify_link(&*harness.test().await, from("203.0.113.7", "Mozilla"))
        .await
        .unwrap();
    // The count starts over.
    let command = LoginByLink {
        device_fingerprint: Some(device("203.0.113.7", "Mozilla")),
        ..link_for("ada@example.com")
    };
    let test = harness.test().await;
    harness
        .service
        .login_or_create_by_link(&test, command)
        .await
        .unwrap();
    let token = harness
        .newest_to(&test, "ada@example.com")
        .await
        .message
        .token;
    assert!(is_invalid(&harness.open(&test, &token).await));
    let right = VerifyLink {
        device_fingerprint: device("203.0.113.7", "Mozilla"),
        ..opened(&token)
    };
    harness.service.verify_link(&test, right).await.unwrap();
}

/// Attack 24: guessing codes until their address is locked out does not affect its owner's link.
#[tokio::test]
async fn attack_24_guessed_codes_do_not_hold_up_a_link() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let mut blocked = false;
    for _ in 0..5 {
        let (sent, digits) = harness.fresh_code(&test, "ada@example.com").await;
        for _ in 0..5 {
            let outcome = harness.verify(&test, sent.email.id, wrong(&digits)).await;
            blocked |= matches!(
                outcome,
                Err(VerifyCodeError::Common(Refusal::TooMany { .. }))
            );
        }
    }
    assert!(blocked, "codes for the address are locked out");
    let made = harness.created_link(&test, "ada@example.com").await;
    harness.open(&test, made.token.expose()).await.unwrap();
}

/// ML-8: a link bound to the requesting browser is rejected elsewhere, and not used up there.
#[tokio::test]
async fn ml_8_a_link_may_be_bound_to_its_browser() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    harness.user(&test, "ada@example.com").await;
    let made = harness.created_link(&test, "ada@example.com").await;
    let other = harness.user(&test, "eve@example.com").await.profile.emails[0]
        .email
        .address()
        .to_owned();
    let others = harness.created_link(&test, &other).await;
    let within = |origin: &str| VerifyLink {
        origin_token: Some(Secret::new(origin.to_owned())),
        ..opened(made.token.expose())
    };
    for elsewhere in ["", "x", others.origin_token.expose(), made.token.expose()] {
        let outcome = harness.service.verify_link(&test, within(elsewhere)).await;
        assert!(
            matches!(outcome, Err(VerifyLinkError::InvalidOrigin)),
            "{outcome:?}"
        );
    }
    harness
        .service
        .verify_link(&test, within(made.origin_token.expose()))
        .await
        .unwrap();
    // ML-3: nothing is revealed about a dead link to any caller.
    for origin in ["", made.origin_token.expose()] {
        assert!(is_invalid(
            &harness.service.verify_link(&test, within(origin)).await
        ));
    }
    // A link that Vestry mailed is bound to no browser.
    let (_, mail) = harness.fresh_link(&test, "ada@example.com").await;
    let bound = VerifyLink {
        origin_token: Some(Secret::new(made.origin_token.expose().clone())),
        ..opened(&mail.token)
    };
    let outcome = harness.service.verify_link(&test, bound).await;
    assert!(
        matches!(outcome, Err(VerifyLinkError::InvalidOrigin)),
        "{outcome:?}"
    );
    harness.open(&test, &mail.token).await.unwrap();
}

/// Section 2 of the completions: the factor is added to the presented session, and a bad session never costs a link.
#[tokio::test]
async fn attack_13_a_session_is_continued_by_its_own_user_only() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let ada = harness.sign_in(&test, "ada@example.com", 60).await;
    let eve = harness.sign_in(&test, "eve@example.com", 60).await;
    let (sent, mail) = harness.fresh_link(&test, "ada@example.com").await;
    let within = |token: &Secret<String>| VerifyLink {
        session_fields: SessionFields {
            session_token: Some(token.clone()),
            ..SessionFields::default()
        },
        ..opened(&mail.token)
    };
    for token in [&eve.token, &Secret::new("0".repeat(64))] {
        let outcome = harness.service.verify_link(&test, within(token)).await;
        assert!(
            matches!(
                outcome,
                Err(VerifyLinkError::Common(Refusal::InvalidSession))
            ),
            "{outcome:?}"
        );
    }
    let outcome = harness
        .service
        .verify_link(
            &test,
            VerifyLink {
                session_fields: lasting(4),
                ..opened(&mail.token)
            },
        )
        .await;
    assert!(
        matches!(outcome, Err(VerifyLinkError::Common(Refusal::Invalid(_)))),
        "{outcome:?}"
    );
    let verified = harness
        .service
        .verify_link(&test, within(&ada.token))
        .await
        .unwrap();
    let issued = verified.issued.unwrap();
    assert_eq!(issued.session.id, ada.session.id);
    assert_eq!(issued.session.factors.len(), 2, "a code and a link");
    assert_ne!(issued.token.expose(), ada.token.expose(), "S-2");
    assert!(harness.by_token(&test, &ada.token).await.is_err());
    assert_eq!(verified.user_id, sent.user_id);
}

/// Attack 1: an attacker who planted the account loses it when its owner opens a link. That includes sessions and pending links.
#[tokio::test]
async fn attack_1_the_first_proof_by_a_link_takes_the_account_over() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let planted = vestry_app::identity::users::CreateUser {
        email: Some("victim@example.com".into()),
        phone_number: Some("+16505550100".into()),
        ..vestry_app::identity::users::CreateUser::default()
    };
    let user = harness
        .service
        .create_user(&test, planted)
        .await
        .unwrap()
        .user
        .profile;
    let attackers = harness.created_link(&test, "victim@example.com").await;
    let planted = harness.planted_session(&test, user.user.id).await;
    harness.by_token(&test, &planted).await.unwrap();
    let (_, mail) = harness.fresh_link(&test, "victim@example.com").await;
    let opened = harness.open_for(&test, &mail.token, 60).await;
    assert!(harness.by_token(&test, &planted).await.is_err());
    let own = opened.issued.unwrap();
    harness.by_token(&test, &own.token).await.unwrap();
    assert!(is_invalid(
        &harness.open(&test, attackers.token.expose()).await
    ));
    let left = harness.service.get_user(&test, user.user.id).await;
    let left = left.unwrap().profile;
    assert!(left.user.is_owned && left.emails[0].verified && !left.phones[0].verified);
}

/// A mailed link signs its reader in to a user of their own if the address is in another person's account.
#[tokio::test]
async fn attack_1_a_mailed_link_leads_into_no_foreign_account() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let planter = harness.sign_in(&test, "planter@example.com", 60).await;
    let planter = planter.session.user_id;
    harness
        .attach_claim(&test, planter, "victim@example.com")
        .await;
    let (_, mail) = harness.fresh_link(&test, "victim@example.com").await;
    let opened = harness.open_for(&test, &mail.token, 60).await;
    assert_ne!(opened.user_id, planter);
    let victim = opened.issued.unwrap();
    assert_eq!(victim.session.user_id, opened.user_id);
    let own = harness
        .service
        .get_user(&test, opened.user_id)
        .await
        .unwrap();
    assert!(own.profile.emails[0].verified);
}

/// CL-5: the claim of an owned account can only be proved within a session, from the first step on. The link stays valid.
#[tokio::test]
async fn attack_1_a_claim_of_a_founded_account_needs_a_session() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, "ada@example.com", 60).await;
    let other = harness
        .attach_claim(&test, session.session.user_id, "planted@example.com")
        .await;
    let wanted = CreateLink {
        email: Some("planted@example.com".to_owned()),
        ..CreateLink::default()
    };
    let refused = harness.service.create_link(&test, wanted.clone()).await;
    assert!(
        matches!(refused, Err(Refusal::UnprovenIdentifier)),
        "{refused:?}"
    );
    let within = CreateLink {
        session: named(&session.token),
        ..wanted
    };
    let made = harness.service.create_link(&test, within).await.unwrap();
    let outcome = harness.open(&test, made.token.expose()).await;
    assert!(
        matches!(
            outcome,
            Err(VerifyLinkError::Common(Refusal::UnprovenIdentifier))
        ),
        "{outcome:?}"
    );
    let command = VerifyLink {
        session_fields: SessionFields {
            session_token: Some(session.token.clone()),
            ..SessionFields::default()
        },
        ..opened(made.token.expose())
    };
    let verified = harness.service.verify_link(&test, command).await.unwrap();
    assert_eq!(verified.email_id, other);
}

/// The address is detached while its link is pending.
#[tokio::test]
async fn a_link_of_a_detached_address_is_dead() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let (sent, mail) = harness.fresh_link(&test, "ada@example.com").await;
    let mut tx = harness.fake.begin().await.unwrap();
    assert!(
        tx.identifiers()
            .remove(&test.world, MethodId::Email(sent.email_id))
            .await
            .unwrap()
    );
    tx.commit().await.unwrap();
    assert!(is_invalid(&harness.open(&test, &mail.token).await));
}

/// By `user_id` alone, a link proves the verified address rather than an older one.
#[tokio::test]
async fn a_created_link_prefers_a_verified_address() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let planted = harness.user(&test, "old@example.com").await.profile.user.id;
    harness.pass(1);
    let second = harness
        .attach_claim(&test, planted, "new@example.com")
        .await;
    let mut tx = harness.fake.begin().await.unwrap();
    tx.identifiers()
        .verify_email(
            &test.world,
            second,
            &Email::parse("new@example.com").unwrap(),
            harness.now(),
        )
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let command = CreateLink {
        user_id: Some(planted),
        ..CreateLink::default()
    };
    let made = harness.service.create_link(&test, command).await.unwrap();
    assert_eq!(made.email.id, second);
}
