//! `passwords/reset/begin` and `passwords/reset/complete`: P-13, ML-1 to ML-6, OTP-7, OTP-10, S-6, R6 and attacks 1, 5, 9, 13 and 24.

use std::sync::Arc;

use vestry_app::delivery::test_messages::FindMessages;
use vestry_app::identity::codes::SendCode;
use vestry_app::identity::links::RedirectError;
use vestry_app::identity::passwords::{
    BeginReset, BegunReset, CompleteReset, CompleteResetError, CompletedReset,
};
use vestry_app::identity::sessions::{SessionFields, SessionNamed};
use vestry_app::identity::totps::CreatedTotp;
use vestry_app::{Caller, Fault, Refusal};
use vestry_contract::race::race;
use vestry_domain::api_key::{Restriction, Scope};
use vestry_domain::ids::UserId;
use vestry_domain::link::LinkPurpose;
use vestry_domain::message::CapturedMessage;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::session::{DeviceFingerprint, Proof};
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_domain::user::UserStatus;
use vestry_domain::{Invalid, Secret};
use vestry_ports::store::Store;

use crate::harness::{Harness, lasting, login, named};
use crate::links::{device, is_invalid as is_bad_link, url_of};
use crate::passwords::{change, verify, with_password};
use crate::totps::{code, recovery, shown_at};

const ADA: &str = "ada@example.com";
const FIRST: &str = "correct horse battery";
const SECOND: &str = "staple of another horse";

fn forgotten(email: &str) -> BeginReset {
    BeginReset {
        email: email.to_owned(),
        ..BeginReset::default()
    }
}

fn new_password(token: &str, password: &str) -> CompleteReset {
    CompleteReset {
        token: Secret::new(token.to_owned()),
        password: Secret::new(password.to_owned()),
        session_fields: SessionFields::default(),
        device_fingerprint: DeviceFingerprint::default(),
    }
}

/// The same within a session.
fn within(session: &Secret<String>, token: &str, password: &str) -> CompleteReset {
    CompleteReset {
        session_fields: SessionFields {
            session_token: Some(session.clone()),
            ..SessionFields::default()
        },
        ..new_password(token, password)
    }
}

async fn begin(harness: &Harness, caller: &Caller, email: &str) -> Result<BegunReset, Refusal> {
    harness.service.begin_reset(caller, forgotten(email)).await
}

/// Requests a link and reads its token from the captured mail.
async fn fresh_token(harness: &Harness, caller: &Caller, email: &str) -> String {
    begin(harness, caller, email).await.unwrap();
    newest_token(harness, caller, email).await
}

async fn newest_token(harness: &Harness, caller: &Caller, email: &str) -> String {
    harness.deliver().await;
    let mut found = resets_to(harness, caller, email).await;
    found.swap_remove(0).message.token
}

/// Captured reset mails to an address, newest first.
async fn resets_to(harness: &Harness, caller: &Caller, email: &str) -> Vec<CapturedMessage> {
    let query = FindMessages {
        to: Some(email.to_owned()),
        kind: Some("password_reset".to_owned()),
        ..FindMessages::default()
    };
    harness
        .service
        .captured_messages(caller, query)
        .await
        .unwrap()
}

async fn complete(
    harness: &Harness,
    caller: &Caller,
    command: CompleteReset,
) -> Result<CompletedReset, CompleteResetError> {
    harness.service.complete_reset(caller, command).await
}

fn is_invalid(outcome: &Result<CompletedReset, CompleteResetError>) -> bool {
    matches!(outcome, Err(CompleteResetError::InvalidToken))
}

fn needs_factor(outcome: &Result<CompletedReset, CompleteResetError>) -> bool {
    matches!(
        outcome,
        Err(CompleteResetError::Common(Refusal::InsufficientFactor))
    )
}

/// Whether the user has this password.
async fn has(harness: &Harness, caller: &Caller, user: UserId, password: &str) -> bool {
    match verify(harness, caller, user, password).await {
        Ok(_) => true,
        Err(Refusal::InvalidCredentials) => false,
        Err(other) => panic!("{other:?}"),
    }
}

/// The whole flow, for a user whose address is not yet proved.
#[tokio::test]
async fn a_link_sets_a_password_and_proves_the_address() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let sent = harness.login(&test, ADA).await;
    let user = sent.email.user_id;
    harness.deliver().await;
    let begun = begin(&harness, &test, " ADA@Example.COM ").await.unwrap();
    assert_eq!((begun.user_id, begun.email_id), (user, sent.email.id));
    let mail = harness.newest_to(&test, ADA).await.message;
    assert_eq!(mail.kind.as_str(), "password_reset");
    let url = format!("{}?token={}", url_of(RedirectKind::Login), mail.token);
    assert_eq!(mail.link, url);
    assert!(mail.text.contains(&url) && mail.html.contains(&mail.token));
    assert_eq!(mail.token.len(), 48);
    assert_eq!(mail.code, "", "no code sets a password");

    harness.pass(30);
    let command = CompleteReset {
        session_fields: lasting(60),
        device_fingerprint: device("203.0.113.7", "Mozilla"),
        ..new_password(&mail.token, FIRST)
    };
    let completed = complete(&harness, &test, command).await.unwrap();
    assert_eq!(completed.user_id, user);
    let issued = completed.issued.unwrap();
    let session = &issued.session;
    assert_eq!(session.expires_at, harness.now() + Seconds(3_600));
    assert_eq!(session.device_fingerprint, device("203.0.113.7", "Mozilla"));
    let [factor] = &session.factors[..] else {
        panic!("{:?}", session.factors);
    };
    let proof = Proof::EmailLink {
        email_id: sent.email.id,
        email: "ADA@Example.COM".to_owned(),
    };
    assert_eq!(
        (&factor.proof, factor.last_verified_at),
        (&proof, harness.now())
    );
    harness.by_token(&test, &issued.token).await.unwrap();
    harness.by_jwt(&test, &issued.jwt).await.unwrap();
    let profile = harness.service.get_user(&test, user).await.unwrap().profile;
    assert_eq!(profile.user.status, UserStatus::Active);
    assert!(profile.emails[0].verified);
    assert!(has(&harness, &test, user, FIRST).await);

    let token = fresh_token(&harness, &test, ADA).await;
    let again = complete(&harness, &test, new_password(&token, SECOND)).await;
    assert!(again.unwrap().issued.is_none(), "no session was asked for");
    assert!(has(&harness, &test, user, SECOND).await);
}

/// S-6: other sessions end, verified addresses are notified, and the old password is void, failures and lockouts included.
#[tokio::test]
async fn s_6_a_reset_ends_the_old_passwords_sessions() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let session = with_password(&harness, &test, ADA, FIRST).await;
    let user = session.session.user_id;
    for _ in 0..20 {
        assert!(!has(&harness, &test, user, SECOND).await);
    }
    let waits = verify(&harness, &test, user, FIRST).await;
    assert!(matches!(waits, Err(Refusal::TooMany { .. })), "{waits:?}");
    let token = fresh_token(&harness, &test, ADA).await;
    assert!(
        harness.by_token(&test, &session.token).await.is_ok(),
        "requesting a link changes nothing"
    );
    let command = CompleteReset {
        session_fields: lasting(60),
        ..new_password(&token, SECOND)
    };
    let issued = complete(&harness, &test, command).await.unwrap().issued;
    assert!(harness.by_token(&test, &session.token).await.is_err());
    harness
        .by_token(&test, &issued.unwrap().token)
        .await
        .unwrap();
    let notice = harness.newest_to(&test, ADA).await.message;
    assert_eq!(notice.kind.as_str(), "security_notice");
    assert!(notice.text.contains("password was changed"));
    assert!(!notice.text.contains(SECOND));
    // The new password is not locked out by failures of the old one.
    assert!(has(&harness, &test, user, SECOND).await);
    assert!(!has(&harness, &test, user, FIRST).await);
}

/// The App decides whether sessions end and notices are sent.
#[tokio::test]
async fn an_app_may_keep_sessions_and_send_no_notices() {
    let harness = Harness::with_urls().await;
    harness
        .set(&[
            ("end_sessions_on_change", "false"),
            ("notify_on_change", "false"),
        ])
        .await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, ADA, 600).await;
    let token = fresh_token(&harness, &test, ADA).await;
    complete(&harness, &test, new_password(&token, FIRST))
        .await
        .unwrap();
    assert!(harness.by_token(&test, &session.token).await.is_ok());
    assert_eq!(harness.waiting().await, 0);
}

fn is_refused(outcome: &Result<BegunReset, Refusal>, param: &str) -> bool {
    matches!(outcome, Err(Refusal::Invalid(Invalid { param: found, .. })) if *found == param)
}

#[tokio::test]
async fn begin_validates_its_input() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    harness.login(&test, ADA).await;
    harness.deliver().await;
    for email in ["", "ada", "ada@", "ada@example.com\r\nBcc: eve@example.com"] {
        let refused = begin(&harness, &test, email).await;
        assert!(is_refused(&refused, "email"), "{email}: {refused:?}");
    }
    for minutes in [i64::MIN, -1, 0, 4, 1_441, 10_080, i64::MAX] {
        let command = BeginReset {
            expires_in: Some(minutes),
            ..forgotten(ADA)
        };
        let refused = harness.service.begin_reset(&test, command).await;
        assert!(is_refused(&refused, "expires_in"), "{minutes}: {refused:?}");
    }
    for elsewhere in [
        "https://evil.example/",
        &url_of(RedirectKind::Invite),
        &format!("{}/", url_of(RedirectKind::Login)),
    ] {
        let command = BeginReset {
            reset_redirect_url: Some(elsewhere.to_owned()),
            ..forgotten(ADA)
        };
        let refused = harness.service.begin_reset(&test, command).await;
        assert!(
            matches!(
                refused,
                Err(Refusal::Redirect(RedirectError::NotAllowed { .. }))
            ),
            "{elsewhere}: {refused:?}"
        );
    }
    let nowhere = harness.stranger().await;
    let refused = begin(&harness, &nowhere, ADA).await;
    assert!(
        matches!(
            refused,
            Err(Refusal::Redirect(RedirectError::Missing { .. }))
        ),
        "{refused:?}"
    );
    let scoped = harness.scoped(vec![Scope::UsersRead]).await;
    let refused = begin(&harness, &scoped, ADA).await;
    assert!(
        matches!(
            refused,
            Err(Refusal::Restricted(Restriction::Scope(Scope::AuthWrite)))
        ),
        "{refused:?}"
    );
    let refused = complete(&harness, &scoped, new_password("x", FIRST)).await;
    assert!(
        matches!(
            refused,
            Err(CompleteResetError::Common(Refusal::Restricted(
                Restriction::Scope(Scope::AuthWrite)
            )))
        ),
        "{refused:?}"
    );
    assert_eq!(harness.waiting().await, 0, "nothing was sent");
}

/// The lifetime of a link: an hour by default, and to the second.
#[tokio::test]
async fn a_link_expires_to_the_second() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    harness.login(&test, ADA).await;
    for (minutes, seconds) in [(None, 3_600), (Some(5), 300), (Some(1_440), 86_400)] {
        for early in [0, 1] {
            let command = BeginReset {
                expires_in: minutes,
                ..forgotten(ADA)
            };
            harness.service.begin_reset(&test, command).await.unwrap();
            let token = newest_token(&harness, &test, ADA).await;
            harness.pass(seconds - early);
            let outcome = complete(&harness, &test, new_password(&token, FIRST)).await;
            assert_eq!(is_invalid(&outcome), early == 0, "{minutes:?}: {outcome:?}");
            assert_eq!(outcome.is_ok(), early == 1);
        }
        harness.pass(600);
    }
}

/// ML-3: used, replaced, foreign, malformed and never-issued tokens get the same response; the link lives until it is used.
#[tokio::test]
async fn ml_3_a_reset_link_works_once() {
    let harness = Harness::with_urls().await;
    let (test, live, stranger) = (
        harness.test().await,
        harness.live().await,
        harness.stranger().await,
    );
    harness.login(&test, ADA).await;
    let replaced = fresh_token(&harness, &test, ADA).await;
    harness.pass(20);
    let token = fresh_token(&harness, &test, ADA).await;
    for caller in [&live, &stranger] {
        let outcome = complete(&harness, caller, new_password(&token, FIRST)).await;
        assert!(is_invalid(&outcome), "I11: {outcome:?}");
    }
    for odd in [
        "",
        "x",
        &replaced,
        &token[..47],
        &format!("{token}x"),
        &token.to_lowercase(),
        &format!(" {token}"),
        "' OR 1=1 --",
        &"0".repeat(48),
        &"x".repeat(100_000),
    ] {
        let outcome = complete(&harness, &test, new_password(odd, FIRST)).await;
        assert!(is_invalid(&outcome), "{odd:.60}: {outcome:?}");
    }
    complete(&harness, &test, new_password(&token, FIRST))
        .await
        .unwrap();
    for _ in 0..3 {
        assert!(is_invalid(
            &complete(&harness, &test, new_password(&token, SECOND)).await
        ));
    }
}

/// ML-1: only the hash of the token is stored.
#[tokio::test]
async fn ml_1_only_the_hash_of_a_reset_token_is_stored() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let email = harness.login(&test, ADA).await.email.id;
    let token = fresh_token(&harness, &test, ADA).await;
    let mut read = harness.fake.read().await.unwrap();
    let links = read.links();
    let link = links.of_email(&test.world, email, LinkPurpose::PasswordReset);
    let link = link.await.unwrap().unwrap();
    assert_eq!(link.token, TokenHash::of(&token));
    assert!(!format!("{link:?}").contains(&token));
}

/// ML-6: a sign-in link sets no password, a reset link does not sign in, and the attempt uses up neither.
#[tokio::test]
async fn ml_6_a_link_is_valid_for_its_purpose_only() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    // Already proved: the first proof would drop what else is pending.
    harness.sign_in(&test, ADA, 60).await;
    let (_, signs_in) = harness.fresh_link(&test, ADA).await;
    let created = harness.created_link(&test, ADA).await;
    let resets = fresh_token(&harness, &test, ADA).await;
    for other in [
        &signs_in.token,
        created.token.expose(),
        created.origin_token.expose(),
    ] {
        let outcome = complete(&harness, &test, new_password(other, FIRST)).await;
        assert!(is_invalid(&outcome), "{outcome:?}");
    }
    assert!(is_bad_link(&harness.open(&test, &resets).await));
    complete(&harness, &test, new_password(&resets, FIRST))
        .await
        .unwrap();
    harness.open(&test, &signs_in.token).await.unwrap();
}

/// A refused password states the reason, and neither it nor an outage uses up the link.
#[tokio::test]
async fn a_refused_password_keeps_the_link_valid() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    harness.login(&test, ADA).await;
    let token = fresh_token(&harness, &test, ADA).await;
    harness.breached.add("a phrase somebody stole");
    let long = "x".repeat(1_025);
    for (password, why) in [
        ("", "at least 8 characters"),
        ("seven77", "at least 8 characters"),
        ("password123", "most common"),
        ("a phrase somebody stole", "known data breach"),
        (ADA, "a name from the account"),
        (&long, "1024 bytes"),
    ] {
        match complete(&harness, &test, new_password(&token, password)).await {
            Err(CompleteResetError::Common(Refusal::Invalid(invalid))) => {
                assert_eq!(invalid.param, "password");
                assert!(invalid.message.contains(why), "{}", invalid.message);
            }
            other => panic!("{other:?}"),
        }
    }
    harness.breached.set_unavailable(true);
    let outage = complete(&harness, &test, new_password(&token, FIRST)).await;
    assert!(
        matches!(
            outage,
            Err(CompleteResetError::Common(Refusal::Fault(
                Fault::Unavailable(_)
            )))
        ),
        "attack-19: {outage:?}"
    );
    harness.breached.set_unavailable(false);
    // Without a valid link the response says nothing about a password.
    assert!(is_invalid(
        &complete(&harness, &test, new_password("x", "")).await
    ));
    complete(&harness, &test, new_password(&token, FIRST))
        .await
        .unwrap();
}

/// Section 2 of the completions: a continued session gets a fresh token, and a bad session never costs the link.
#[tokio::test]
async fn attack_13_a_session_is_continued_by_its_own_user_only() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let ada = harness.sign_in(&test, ADA, 60).await;
    let other = harness.sign_in(&test, ADA, 60).await;
    let eve = harness.sign_in(&test, "eve@example.com", 60).await;
    let token = fresh_token(&harness, &test, ADA).await;
    for session in [&eve.token, &Secret::new("0".repeat(64))] {
        let outcome = complete(&harness, &test, within(session, &token, FIRST)).await;
        assert!(
            matches!(
                outcome,
                Err(CompleteResetError::Common(Refusal::InvalidSession))
            ),
            "{outcome:?}"
        );
    }
    for minutes in [4, 525_601] {
        let command = CompleteReset {
            session_fields: lasting(minutes),
            ..new_password(&token, FIRST)
        };
        let outcome = complete(&harness, &test, command).await;
        assert!(
            matches!(&outcome, Err(CompleteResetError::Common(Refusal::Invalid(invalid))) if invalid.param == "session_expires_in"),
            "{outcome:?}"
        );
    }
    assert!(harness.by_token(&test, &ada.token).await.is_ok());
    assert!(harness.by_token(&test, &eve.token).await.is_ok());
    assert!(!has(&harness, &test, ada.session.user_id, FIRST).await);
    let completed = complete(&harness, &test, within(&ada.token, &token, FIRST)).await;
    let issued = completed.unwrap().issued.unwrap();
    assert_eq!(issued.session.id, ada.session.id);
    assert_eq!(issued.session.factors.len(), 2, "a code and a link");
    assert_ne!(issued.token.expose(), ada.token.expose(), "S-2");
    assert!(harness.by_token(&test, &ada.token).await.is_err());
    assert!(harness.by_token(&test, &other.token).await.is_err(), "S-6");
    harness.by_token(&test, &issued.token).await.unwrap();
}

/// A session of the user that holds the authenticator app factor, created outside this step.
async fn session_of_app(
    harness: &Harness,
    caller: &Caller,
    user: UserId,
    app: &CreatedTotp,
) -> Secret<String> {
    let mut command = code(user, &shown_at(app, harness.now()));
    command.session_fields = lasting(600);
    let verified = harness.try_totp(caller, command).await.unwrap();
    verified.issued.unwrap().token
}

/// P-13: a user with an authenticator app must prove it first, recently, and in the session sent.
#[tokio::test]
async fn p_13_a_reset_does_not_bypass_an_authenticator_app() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let session = with_password(&harness, &test, ADA, FIRST).await;
    let user = session.session.user_id;
    let app = harness.verified_totp(&test, user).await;
    let eve = harness.sign_in(&test, "eve@example.com", 600).await;
    let eves_app = harness.verified_totp(&test, eve.session.user_id).await;
    let eves = session_of_app(&harness, &test, eve.session.user_id, &eves_app).await;
    let plain = harness.sign_in(&test, ADA, 600).await;
    let stale = session_of_app(&harness, &test, user, &app).await;
    harness.pass(15 * 60);
    let token = fresh_token(&harness, &test, ADA).await;
    let wanted = CompleteReset {
        session_fields: lasting(60),
        ..new_password(&token, SECOND)
    };
    for command in [
        new_password(&token, SECOND),
        wanted,
        within(&plain.token, &token, SECOND),
        within(&stale, &token, SECOND),
        within(&eves, &token, SECOND),
        // The second factor is required before anything is said about the password.
        new_password(&token, ""),
    ] {
        let outcome = complete(&harness, &test, command).await;
        assert!(needs_factor(&outcome), "{outcome:?}");
    }
    assert!(
        has(&harness, &test, user, FIRST).await,
        "nothing was changed"
    );
    harness.by_token(&test, &stale).await.unwrap();
    let fresh = session_of_app(&harness, &test, user, &app).await;
    let completed = complete(&harness, &test, within(&fresh, &token, SECOND)).await;
    assert_eq!(completed.unwrap().user_id, user);
    assert!(has(&harness, &test, user, SECOND).await);

    // A recovery code is the factor too.
    let mut command = recovery(user, app.recovery_codes[3].expose());
    command.session_fields = lasting(600);
    let recovered = harness.try_totp(&test, command).await.unwrap();
    let recovered = recovered.issued.unwrap().token;
    let token = fresh_token(&harness, &test, ADA).await;
    complete(&harness, &test, within(&recovered, &token, FIRST))
        .await
        .unwrap();
    assert!(has(&harness, &test, user, FIRST).await);
}

/// P-13: an authenticator app that awaits its first code protects nothing yet. One that gets it while the password is being hashed counts.
#[tokio::test]
async fn p_13_an_authenticator_app_added_in_between_counts() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let session = with_password(&harness, &test, ADA, FIRST).await;
    let user = session.session.user_id;
    harness.new_totp(&test, user).await;
    let token = fresh_token(&harness, &test, ADA).await;
    complete(&harness, &test, new_password(&token, SECOND))
        .await
        .unwrap();
    let token = fresh_token(&harness, &test, ADA).await;
    let app = harness.new_totp(&test, user).await;
    let (other, caller) = (harness.other_process(), Arc::clone(&test));
    let first = code(user, &shown_at(&app, harness.now()));
    harness.store.before_next_begin(async move {
        other.verify_totp(&caller, first).await.unwrap();
    });
    let outcome = complete(&harness, &test, new_password(&token, FIRST)).await;
    assert!(needs_factor(&outcome), "{outcome:?}");
    assert!(
        has(&harness, &test, user, SECOND).await,
        "nothing was changed"
    );
    harness.pass(30);
    let fresh = session_of_app(&harness, &test, user, &app).await;
    complete(&harness, &test, within(&fresh, &token, FIRST))
        .await
        .unwrap();
}

/// Attack 1, CL-3: planted credentials are gone once the address's owner sets a password. A planted authenticator app is removed too and
/// does not block it.
#[tokio::test]
async fn attack_1_the_first_proof_by_a_reset_takes_the_account_over() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    for email in ["first@example.com", "second@example.com"] {
        let user = harness.user(&test, email).await.profile.user.id;
        let planted = harness.planted_session(&test, user).await;
        let set = harness
            .service
            .update_password(&test, change(&planted, FIRST));
        set.await.unwrap();
        if email.starts_with("second") {
            harness.verified_totp(&test, user).await;
        }
        let token = fresh_token(&harness, &test, email).await;
        complete(&harness, &test, new_password(&token, SECOND))
            .await
            .unwrap();
        assert!(harness.by_token(&test, &planted).await.is_err());
        assert!(!has(&harness, &test, user, FIRST).await);
        assert!(has(&harness, &test, user, SECOND).await);
        let left = harness.service.get_user(&test, user).await.unwrap();
        assert_eq!(left.totps, []);
        assert!(left.profile.emails[0].verified);
        // The planted session's token is the same for every user of this test.
        harness.service.delete_user(&test, user).await.unwrap();
    }
}

/// CL-5: the claim of an owned account can only be proved within a session, from the first step on.
#[tokio::test]
async fn a_claim_of_a_founded_account_needs_a_session() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let owner = harness.sign_in(&test, ADA, 600).await;
    let user = owner.session.user_id;
    harness
        .attach_claim(&test, user, "before@example.com")
        .await;
    let wanted = forgotten("before@example.com");
    let refused = harness.service.begin_reset(&test, wanted.clone()).await;
    assert!(
        matches!(refused, Err(Refusal::UnprovenIdentifier)),
        "{refused:?}"
    );
    let begun = BeginReset {
        session: named(&owner.token),
        ..wanted
    };
    harness.service.begin_reset(&test, begun).await.unwrap();
    let token = newest_token(&harness, &test, "before@example.com").await;
    let outcome = complete(&harness, &test, new_password(&token, FIRST)).await;
    assert!(
        matches!(
            outcome,
            Err(CompleteResetError::Common(Refusal::UnprovenIdentifier))
        ),
        "{outcome:?}"
    );
    assert!(!has(&harness, &test, user, FIRST).await);
    complete(&harness, &test, within(&owner.token, &token, FIRST))
        .await
        .unwrap();
    assert!(has(&harness, &test, user, FIRST).await);
}

/// OTP-7: the requesting device must complete the reset, as far as the App requires. Other devices are counted, eventually locked out, and
/// do not block sign-in links (attack 24).
#[tokio::test]
async fn otp_7_a_reset_may_be_bound_to_its_device() {
    let harness = Harness::with_urls().await;
    harness
        .set(&[("device_fingerprint_match", "ip_and_user_agent")])
        .await;
    let test = harness.test().await;
    // Already proved: the first proof would drop what else is pending.
    let user = harness.sign_in(&test, ADA, 60).await.session.user_id;
    let bound = BeginReset {
        device_fingerprint: Some(device("203.0.113.7", "Mozilla")),
        expires_in: Some(1_440),
        ..forgotten(ADA)
    };
    harness.service.begin_reset(&test, bound).await.unwrap();
    let token = newest_token(&harness, &test, ADA).await;
    let from = |ip: &str, agent: &str| CompleteReset {
        device_fingerprint: device(ip, agent),
        ..new_password(&token, FIRST)
    };
    for number in 0..20 {
        let (ip, agent) = [
            ("203.0.113.8", "Mozilla"),
            ("203.0.113.7", "curl"),
            ("", ""),
        ][number % 3];
        let outcome = complete(&harness, &test, from(ip, agent)).await;
        assert!(is_invalid(&outcome), "{number}: {outcome:?}");
    }
    let waits = complete(&harness, &test, from("203.0.113.7", "Mozilla")).await;
    assert!(
        matches!(
            waits,
            Err(CompleteResetError::Common(Refusal::TooMany {
                retry_after: Seconds(60)
            }))
        ),
        "{waits:?}"
    );
    assert!(is_invalid(
        &complete(&harness, &test, new_password("x", FIRST)).await
    ));
    let (_, mail) = harness.fresh_link(&test, ADA).await;
    harness.open(&test, &mail.token).await.unwrap();
    harness.pass(60);
    let test = harness.test().await;
    complete(&harness, &test, from("203.0.113.7", "Mozilla"))
        .await
        .unwrap();
    assert!(has(&harness, &test, user, FIRST).await);
    // A request without a device is bound to none.
    let token = fresh_token(&harness, &test, ADA).await;
    complete(&harness, &test, new_password(&token, SECOND))
        .await
        .unwrap();
}

/// ML-3, R6: fifty concurrent uses of one link yield one success and one session.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ml_3_r6_parallel_resets_have_one_winner() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let user = harness.login(&test, ADA).await.email.user_id;
    let token = fresh_token(&harness, &test, ADA).await;
    let tasks = (0..50).map(|number| {
        let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
        let command = CompleteReset {
            session_fields: lasting(60),
            ..new_password(&token, &format!("a password with {number} in it"))
        };
        async move { service.complete_reset(&test, command).await }
    });
    let outcomes = race(tasks).await;
    let winners: Vec<_> = (0..50).filter(|number| outcomes[*number].is_ok()).collect();
    assert_eq!(winners.len(), 1);
    let lost = outcomes.iter().filter(|outcome| is_invalid(outcome));
    assert_eq!(lost.count(), 49);
    let password = format!("a password with {} in it", winners[0]);
    assert!(has(&harness, &test, user, &password).await);
    let sessions = harness.list_sessions(&test, user).await.unwrap();
    assert_eq!(sessions.len(), 1);
}

/// OTP-10: resets are counted with codes and links, for known and unknown addresses.
#[tokio::test]
async fn otp_10_resets_share_the_limits_of_codes() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    harness.login(&test, ADA).await;
    for email in [ADA, "nobody@example.com"] {
        // One of them beyond the limit (M-5).
        let most = if email == ADA { 5 } else { 6 };
        for number in 0..most {
            let outcome = begin(&harness, &test, email).await;
            assert_eq!(outcome.is_ok(), email == ADA, "{number}: {outcome:?}");
            let is_unknown = matches!(outcome, Err(Refusal::NotFound("email")));
            assert_eq!(is_unknown, email != ADA);
            harness.pass(20);
        }
        let spent = 20 * most;
        let refused = begin(&harness, &test, email).await;
        assert!(
            matches!(
                refused,
                Err(Refusal::TooMany { retry_after: Seconds(left) }) if left == 600 - spent
            ),
            "{email}: {refused:?}"
        );
    }
    for works in [true, false] {
        let sent = harness.service.login_or_create_by_email(&test, login(ADA));
        assert_eq!(sent.await.is_ok(), works, "a code has a counter of its own");
        harness.pass(20);
    }
    // The reserved addresses of the test environment have no limits.
    harness.login(&test, "ok@vestry.test").await;
    for _ in 0..10 {
        begin(&harness, &test, "ok@vestry.test").await.unwrap();
    }
}

/// OPS-12: the behaviour of the reserved addresses.
#[tokio::test]
async fn reserved_addresses_behave_as_their_names_say() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    for (email, works) in [
        ("ok@vestry.test", true),
        ("wrong@vestry.test", false),
        ("expired@vestry.test", false),
    ] {
        harness.login(&test, email).await;
        let token = fresh_token(&harness, &test, email).await;
        let outcome = complete(&harness, &test, new_password(&token, FIRST)).await;
        assert_eq!(outcome.is_ok(), works, "{email}: {outcome:?}");
        assert_eq!(is_invalid(&outcome), !works);
    }
}

/// What distinguishes two of these calls for a caller, ids aside.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Begun,
    Unknown,
    Waits(i64),
}

async fn seen(harness: &Harness, caller: &Caller, email: &str) -> Seen {
    match begin(harness, caller, email).await {
        Ok(_) => Seen::Begun,
        Err(Refusal::NotFound("email")) => Seen::Unknown,
        Err(Refusal::TooMany { retry_after }) => Seen::Waits(retry_after.0),
        Err(other) => panic!("{other:?}"),
    }
}

/// Attack 9: with `enumeration_safe`, twenty rapid repeats for a known and an unknown address get the same sequence of responses and the
/// same work. Only one of them gets mail.
#[tokio::test]
async fn attack_9_known_and_unknown_addresses_get_the_same_responses() {
    for safe in [false, true] {
        let harness = Harness::with_urls().await;
        harness
            .set(&[("enumeration_safe", &safe.to_string())])
            .await;
        let test = harness.test().await;
        harness.sign_in(&test, "known@example.com", 60).await;
        harness.pass(86_400);
        let mut sequences = Vec::new();
        for email in ["known@example.com", "nobody@example.com"] {
            let mut sequence = Vec::new();
            for _ in 0..20 {
                harness.store.count();
                let answer = seen(&harness, &test, email).await;
                sequence.push((answer, harness.store.count(), harness.waiting().await));
                harness.deliver().await;
                harness.pass(7);
            }
            sequences.push(sequence);
            harness.pass(600);
        }
        assert_eq!(sequences[0] == sequences[1], safe, "{sequences:?}");
        // Five and one beyond the limit (M-5): every third is not a repeat.
        for (email, expected) in [("known@example.com", 6), ("nobody@example.com", 0)] {
            let found = resets_to(&harness, &test, email).await;
            assert_eq!(found.len(), expected, "{email}");
        }
    }
}

/// Attack 9: the ids for an unknown address are stable, equal those in a code's response, and belong to no user.
#[tokio::test]
async fn attack_9_a_decoy_has_stable_ids() {
    let harness = Harness::with_urls().await;
    harness.set(&[("enumeration_safe", "true")]).await;
    harness.pass(100_000);
    let test = harness.test().await;
    let nobody = "nobody@example.com";
    let first = begin(&harness, &test, nobody).await.unwrap();
    harness.pass(60);
    let second = begin(&harness, &test, " Nobody@EXAMPLE.com").await.unwrap();
    let command = SendCode {
        email: nobody.to_owned(),
        expires_in: None,
        device_fingerprint: None,
        session: SessionNamed::default(),
    };
    let code = harness.service.send_code_by_email(&test, command).await;
    let code = code.unwrap().email;
    for (user_id, email_id) in [(second.user_id, second.email_id), (code.user_id, code.id)] {
        assert_eq!((user_id, email_id), (first.user_id, first.email_id));
    }
    let other = begin(&harness, &test, "other@example.com").await.unwrap();
    assert_ne!(other.email_id, first.email_id);
    assert!(
        harness
            .service
            .get_user(&test, first.user_id)
            .await
            .is_err()
    );
    assert!(!harness.is_known(&test, nobody).await);
    // A user created afterwards is a different one, and the decoy's link is not theirs.
    let created = harness.login(&test, nobody).await;
    assert_ne!(created.email.id, first.email_id);
    let token = fresh_token(&harness, &test, nobody).await;
    let completed = complete(&harness, &test, new_password(&token, FIRST)).await;
    assert_eq!(completed.unwrap().user_id, created.email.user_id);
}

/// Deleting a user or address also deletes its link.
#[tokio::test]
async fn a_deleted_user_has_no_link() {
    let harness = Harness::with_urls().await;
    let test = harness.test().await;
    let user = harness.login(&test, ADA).await.email.user_id;
    let token = fresh_token(&harness, &test, ADA).await;
    let (other, caller) = (harness.other_process(), Arc::clone(&test));
    harness.store.before_next_begin(async move {
        other.delete_user(&caller, user).await.unwrap();
    });
    let outcome = complete(&harness, &test, new_password(&token, FIRST)).await;
    assert!(is_invalid(&outcome), "{outcome:?}");
    let outcome = complete(&harness, &test, new_password(&token, FIRST)).await;
    assert!(is_invalid(&outcome), "{outcome:?}");
}

/// A live reset without a transport is refused before anything is stored. With one, the mail goes to the address as its owner spelled it
/// (attack 5).
#[tokio::test]
async fn live_resets_go_through_the_mailer() {
    let harness = Harness::with_urls().await;
    let live = harness.live().await;
    harness.login(&live, "Ada@Example.com").await;
    harness.deliver().await;
    let refused = harness
        .process_without_mail()
        .begin_reset(&live, forgotten(ADA))
        .await;
    assert!(
        matches!(refused, Err(Refusal::Fault(Fault::NoTransport(_)))),
        "{refused:?}"
    );
    assert_eq!(harness.waiting().await, 0);
    begin(&harness, &live, "aDA@example.com").await.unwrap();
    harness.deliver().await;
    let (_, mail) = harness.mailer.sent().pop().unwrap();
    assert_eq!(mail.to, "aDA@example.com", "no other spelling is proved");
    complete(&harness, &live, new_password(&mail.token, FIRST))
        .await
        .unwrap();
}
