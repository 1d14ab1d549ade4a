//! Authenticator apps: the first code, single use, guessing, recovery codes, and what removes them (OTP-12, OTP-13).

use std::sync::Arc;

use vestry_app::identity::passwords::{UpdatePassword, VerifyPassword};
use vestry_app::identity::sessions::SessionFields;
use vestry_app::identity::totps::{
    CreateTotp, CreatedTotp, PresentedTotp, VerifiedTotp, VerifyTotp, VerifyTotpError,
};
use vestry_app::{Caller, Refusal};
use vestry_contract::race::race;
use vestry_domain::ids::{Id, TotpId, UserId};
use vestry_domain::message::MessageKind;
use vestry_domain::session::{DeviceFingerprint, Proof};
use vestry_domain::{Secret, Timestamp, totp};

use crate::harness::{Harness, START, lasting, wrong};

/// The seed, as shown to the user.
fn seed(created: &CreatedTotp) -> Vec<u8> {
    decoded(created.secret.expose())
}

pub(crate) fn decoded(secret: &str) -> Vec<u8> {
    let mut bits = 0_u64;
    let mut held = 0;
    let mut seed = Vec::new();
    for character in secret.bytes() {
        let value = match character {
            b'A'..=b'Z' => character - b'A',
            b'2'..=b'7' => character - b'2' + 26,
            other => panic!("not base32: {other}"),
        };
        bits = bits << 5 | u64::from(value);
        held += 5;
        if held >= 8 {
            held -= 8;
            seed.push(u8::try_from(bits >> held & 0xff).unwrap());
        }
    }
    seed
}

/// The code that the authenticator app shows at a given time.
pub(crate) fn shown_at(created: &CreatedTotp, at: Timestamp) -> String {
    shown_by(created.secret.expose(), at)
}

/// The same for an app that was given this secret.
pub(crate) fn shown_by(secret: &str, at: Timestamp) -> String {
    totp::code_at(&decoded(secret), at.unix() / 30)
        .expose()
        .clone()
}

pub(crate) fn code(user_id: UserId, code: &str) -> VerifyTotp {
    VerifyTotp {
        user_id,
        presented: PresentedTotp::Code(Secret::new(code.to_owned())),
        session_fields: SessionFields::default(),
        device_fingerprint: DeviceFingerprint::default(),
    }
}

pub(crate) fn recovery(user_id: UserId, code: &str) -> VerifyTotp {
    VerifyTotp {
        user_id,
        presented: PresentedTotp::RecoveryCode(Secret::new(code.to_owned())),
        session_fields: SessionFields::default(),
        device_fingerprint: DeviceFingerprint::default(),
    }
}

impl Harness {
    pub(crate) async fn new_totp(&self, caller: &Caller, user_id: UserId) -> CreatedTotp {
        let command = CreateTotp {
            user_id,
            expires_in: None,
        };
        self.service.create_totp(caller, command).await.unwrap()
    }

    /// A TOTP that was verified with its code for the current time; then a step passes.
    pub(crate) async fn verified_totp(&self, caller: &Caller, user_id: UserId) -> CreatedTotp {
        let created = self.new_totp(caller, user_id).await;
        let first = code(user_id, &shown_at(&created, self.now()));
        self.service.verify_totp(caller, first).await.unwrap();
        self.pass(30);
        created
    }

    pub(crate) async fn try_totp(
        &self,
        caller: &Caller,
        command: VerifyTotp,
    ) -> Result<VerifiedTotp, VerifyTotpError> {
        self.service.verify_totp(caller, command).await
    }
}

pub(crate) fn is_invalid<T>(outcome: &Result<T, VerifyTotpError>) -> bool {
    matches!(outcome, Err(VerifyTotpError::InvalidCode))
}

#[tokio::test]
async fn a_new_totp_shows_its_seed_sixteen_codes_and_the_apps_name() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.user(&test, "ada@example.com").await.profile.user.id;
    let created = harness.new_totp(&test, user).await;
    assert_eq!(seed(&created).len(), 20, "160 bits");
    let uri = created.key_uri.expose();
    assert!(uri.starts_with("otpauth://totp/Demo:ada%40example.com?secret="));
    assert!(uri.contains(created.secret.expose()) && uri.contains("&issuer=Demo&"));
    let mut codes: Vec<_> = created.recovery_codes.iter().map(Secret::expose).collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), 16);
    let full = harness.service.get_user(&test, user).await.unwrap();
    assert_eq!(full.totps, [created.totp]);
    assert!(!full.totps[0].verified);
}

/// `expires_in`: 5 to 2160 minutes, 30 by default. After that the first code is too late, and nothing is shown again.
#[tokio::test]
async fn the_first_code_must_arrive_in_time() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.user(&test, "ada@example.com").await.profile.user.id;
    for minutes in [4, 2_161, 0, -5, i64::MAX] {
        let command = CreateTotp {
            user_id: user,
            expires_in: Some(minutes),
        };
        let refused = harness.service.create_totp(&test, command).await;
        assert!(
            matches!(&refused, Err(Refusal::Invalid(invalid)) if invalid.param == "expires_in"),
            "{minutes}"
        );
    }
    for (minutes, seconds) in [(None, 1_800), (Some(5), 300), (Some(2_160), 129_600)] {
        let command = CreateTotp {
            user_id: user,
            expires_in: minutes,
        };
        let late = harness.service.create_totp(&test, command).await.unwrap();
        harness.pass(seconds);
        let outcome = harness
            .try_totp(&test, code(user, &shown_at(&late, harness.now())))
            .await;
        assert!(is_invalid(&outcome), "{minutes:?}");
        assert_eq!(
            harness.service.get_user(&test, user).await.unwrap().totps,
            []
        );
        assert!(
            harness
                .service
                .recovery_codes(&test, user)
                .await
                .unwrap()
                .is_empty()
        );
        let in_time = harness.service.create_totp(&test, command).await.unwrap();
        harness.pass(seconds - 1);
        let shown = shown_at(&in_time, harness.now());
        let verified = harness.try_totp(&test, code(user, &shown)).await.unwrap();
        assert_eq!(verified.totp_id, in_time.totp.id);
        harness
            .service
            .delete_totp(&test, in_time.totp.id)
            .await
            .unwrap();
    }
}

/// The code alone creates a session. The same code is then rejected, and the next one is accepted (OTP-12).
#[tokio::test]
async fn otp_12_a_step_is_accepted_once_and_the_window_is_one_step() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.user(&test, "ada@example.com").await.profile.user.id;
    let created = harness.new_totp(&test, user).await;
    let command = VerifyTotp {
        session_fields: lasting(60),
        ..code(user, &shown_at(&created, harness.now()))
    };
    let verified = harness.try_totp(&test, command).await.unwrap();
    let session = verified.issued.unwrap().session;
    let totp_id = created.totp.id;
    assert_eq!(session.user_id, user);
    assert_eq!(session.factors.len(), 1);
    assert_eq!(session.factors[0].proof, Proof::Totp { totp_id });
    let full = harness.service.get_user(&test, user).await.unwrap();
    assert!(full.totps[0].verified);

    let step = totp::code_at(&seed(&created), START.unix() / 30);
    assert!(is_invalid(
        &harness.try_totp(&test, code(user, step.expose())).await
    ));
    // The previous step was not used, but it precedes one that was.
    let before = shown_at(
        &created,
        harness.now() - vestry_domain::timestamp::Seconds(30),
    );
    assert!(is_invalid(
        &harness.try_totp(&test, code(user, &before)).await
    ));
    let two_ahead = shown_at(
        &created,
        harness.now() + vestry_domain::timestamp::Seconds(60),
    );
    assert!(is_invalid(
        &harness.try_totp(&test, code(user, &two_ahead)).await
    ));
    let ahead = shown_at(
        &created,
        harness.now() + vestry_domain::timestamp::Seconds(30),
    );
    harness.try_totp(&test, code(user, &ahead)).await.unwrap();
    // Its own time comes, and it is used.
    harness.pass(30);
    assert!(is_invalid(
        &harness.try_totp(&test, code(user, &ahead)).await
    ));
    harness.pass(60);
    let late = shown_at(
        &created,
        harness.now() - vestry_domain::timestamp::Seconds(30),
    );
    harness.try_totp(&test, code(user, &late)).await.unwrap();
}

/// Setting a clock back makes no used step valid again (F8).
#[tokio::test]
async fn f8_a_used_step_stays_used_when_the_clock_goes_back() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.user(&test, "ada@example.com").await.profile.user.id;
    let created = harness.verified_totp(&test, user).await;
    let used = shown_at(&created, harness.now());
    harness.try_totp(&test, code(user, &used)).await.unwrap();
    for back in [30, 60, 3_600, 86_400] {
        harness.pass(-back);
        let shown = shown_at(&created, harness.now());
        assert!(is_invalid(
            &harness.try_totp(&test, code(user, &shown)).await
        ));
        assert!(is_invalid(
            &harness.try_totp(&test, code(user, &used)).await
        ));
        harness.pass(back);
    }
}

/// After twenty wrong codes in a row even the right one is locked out; recovery codes still work (OTP-4, OTP-5, attack 24).
#[tokio::test]
async fn otp_5_guessing_causes_a_lockout_and_recovery_still_works() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.user(&test, "ada@example.com").await.profile.user.id;
    let created = harness.verified_totp(&test, user).await;
    let right = shown_at(&created, harness.now());
    for number in 0..20 {
        let outcome = harness.try_totp(&test, code(user, wrong(&right))).await;
        assert!(is_invalid(&outcome), "try {number}");
    }
    let waits = harness.try_totp(&test, code(user, &right)).await;
    assert!(
        matches!(&waits, Err(VerifyTotpError::Common(Refusal::TooMany { retry_after })) if retry_after.0 == 60)
    );
    let way_back = recovery(user, created.recovery_codes[0].expose());
    harness.try_totp(&test, way_back).await.unwrap();
    let waits = harness.try_totp(&test, code(user, &right)).await;
    assert!(matches!(
        waits,
        Err(VerifyTotpError::Common(Refusal::TooMany { .. }))
    ));
    harness.pass(60);
    let outcome = harness.try_totp(&test, code(user, "000000")).await;
    assert!(is_invalid(&outcome));
    let waits = harness.try_totp(&test, code(user, &right)).await;
    assert!(
        matches!(&waits, Err(VerifyTotpError::Common(Refusal::TooMany { retry_after })) if retry_after.0 == 120),
        "the next failure doubles the lockout"
    );
    harness.pass(120);
    let right = shown_at(&created, harness.now());
    harness.try_totp(&test, code(user, &right)).await.unwrap();
    // A right code resets the failures.
    let outcome = harness.try_totp(&test, code(user, "000000")).await;
    assert!(is_invalid(&outcome));
    harness.pass(30);
    let right = shown_at(&created, harness.now());
    harness.try_totp(&test, code(user, &right)).await.unwrap();
}

/// Of two hundred concurrent guesses at most twenty are compared, whether the right one is among them or not (attack 4, OTP-4).
#[tokio::test]
async fn attack_4_parallel_guesses_are_counted_exactly() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.user(&test, "ada@example.com").await.profile.user.id;
    let created = harness.verified_totp(&test, user).await;
    let right = shown_at(&created, harness.now());
    let outcomes = race((0..200).map(|_| {
        let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
        let guess = code(user, wrong(&right));
        async move { service.verify_totp(&test, guess).await }
    }))
    .await;
    let compared = outcomes.iter().filter(|outcome| is_invalid(outcome));
    assert_eq!(compared.count(), 20);
    let waiting = outcomes.iter().filter(|outcome| {
        matches!(
            outcome,
            Err(VerifyTotpError::Common(Refusal::TooMany { .. }))
        )
    });
    assert_eq!(waiting.count(), 180);
}

/// A hundred concurrent uses of one right code: one success, and no lockout for the user (R6, attack 4).
#[tokio::test]
async fn r6_a_code_succeeds_once_and_its_copies_cause_no_lockout() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.user(&test, "ada@example.com").await.profile.user.id;
    let created = harness.verified_totp(&test, user).await;
    for way in 0..2 {
        let right = shown_at(&created, harness.now());
        let outcomes = race((0..100).map(|_| {
            let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
            let command = match way {
                0 => code(user, &right),
                _ => recovery(user, created.recovery_codes[0].expose()),
            };
            async move { service.verify_totp(&test, command).await }
        }))
        .await;
        let right = outcomes.iter().filter(|outcome| outcome.is_ok());
        assert_eq!(right.count(), 1);
        assert_eq!(outcomes.iter().filter(|o| is_invalid(o)).count(), 99);
    }
    harness.pass(30);
    let next = shown_at(&created, harness.now());
    harness.try_totp(&test, code(user, &next)).await.unwrap();
    // Nor does a copy that arrives much later.
    for _ in 0..30 {
        let late = recovery(user, created.recovery_codes[0].expose());
        assert!(is_invalid(&harness.try_totp(&test, late).await));
    }
}

/// A recovery code works once, in any spelling, and is not shown again; those of an unverified TOTP never work (OTP-13).
#[tokio::test]
async fn otp_13_a_recovery_code_works_once() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.user(&test, "ada@example.com").await.profile.user.id;
    let created = harness.new_totp(&test, user).await;
    let [first, second] = [0, 1].map(|n| created.recovery_codes[n].expose().clone());
    assert!(is_invalid(
        &harness.try_totp(&test, recovery(user, &first)).await
    ));
    let shown = harness.service.recovery_codes(&test, user).await.unwrap();
    assert!(!shown[0].totp.verified);
    assert_eq!(shown[0].recovery_codes.len(), 16);
    let now = shown_at(&created, harness.now());
    harness.try_totp(&test, code(user, &now)).await.unwrap();

    let command = VerifyTotp {
        session_fields: lasting(60),
        ..recovery(user, &first.to_uppercase().replace('-', " "))
    };
    let verified = harness.try_totp(&test, command).await.unwrap();
    let totp_id = created.totp.id;
    assert_eq!(verified.totp_id, totp_id);
    let session = verified.issued.unwrap().session;
    assert_eq!(session.factors[0].proof, Proof::RecoveryCode { totp_id });
    assert!(is_invalid(
        &harness.try_totp(&test, recovery(user, &first)).await
    ));
    let shown = harness.service.recovery_codes(&test, user).await.unwrap();
    let left: Vec<_> = shown[0].recovery_codes.iter().map(Secret::expose).collect();
    let expected: Vec<_> = created.recovery_codes[1..]
        .iter()
        .map(Secret::expose)
        .collect();
    assert_eq!(left, expected);
    harness
        .try_totp(&test, recovery(user, &second))
        .await
        .unwrap();
    // Those of another user are rejected.
    let other = harness.user(&test, "bob@example.com").await.profile.user.id;
    harness.verified_totp(&test, other).await;
    let third = created.recovery_codes[2].expose();
    assert!(is_invalid(
        &harness.try_totp(&test, recovery(other, third)).await
    ));
    // A code of the authenticator app is not a recovery code, and vice versa.
    harness.pass(30);
    let now = shown_at(&created, harness.now());
    assert!(is_invalid(
        &harness.try_totp(&test, recovery(user, &now)).await
    ));
    assert!(is_invalid(
        &harness.try_totp(&test, code(user, third)).await
    ));
}

/// A first code ends the user's other sessions and notifies every verified address; later codes do neither (S-6).
#[tokio::test]
async fn s_6_a_first_code_and_a_removal_end_other_sessions_and_send_notices() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, "ada@example.com", 60).await;
    let other = harness.sign_in(&test, "ada@example.com", 60).await;
    let user = session.session.user_id;
    let created = harness.new_totp(&test, user).await;
    let command = VerifyTotp {
        session_fields: SessionFields {
            session_token: Some(session.token.clone()),
            ..SessionFields::default()
        },
        ..code(user, &shown_at(&created, harness.now()))
    };
    let verified = harness.try_totp(&test, command).await.unwrap();
    let kept = verified.issued.unwrap();
    assert_eq!(kept.session.id, session.session.id);
    assert_eq!(kept.session.factors.len(), 2);
    assert!(harness.by_token(&test, &other.token).await.is_err());
    harness.by_token(&test, &kept.token).await.unwrap();
    let notice = harness.newest_to(&test, "ada@example.com").await;
    assert_eq!(notice.message.kind, MessageKind::SecurityNotice);
    assert!(
        notice
            .message
            .text
            .contains("An authenticator app was added")
    );

    // A later code changes nothing for the other sessions.
    let other = harness.sign_in(&test, "ada@example.com", 60).await;
    harness.pass(30);
    let now = shown_at(&created, harness.now());
    harness.try_totp(&test, code(user, &now)).await.unwrap();
    harness.by_token(&test, &other.token).await.unwrap();

    harness.pass(1);
    assert_eq!(
        harness
            .service
            .delete_totp(&test, created.totp.id)
            .await
            .unwrap(),
        user
    );
    assert!(harness.by_token(&test, &other.token).await.is_err());
    assert!(harness.by_token(&test, &kept.token).await.is_err());
    let notice = harness.newest_to(&test, "ada@example.com").await;
    assert!(
        notice
            .message
            .text
            .contains("An authenticator app was removed")
    );
    harness.pass(30);
    let now = shown_at(&created, harness.now());
    assert!(is_invalid(&harness.try_totp(&test, code(user, &now)).await));
    let again = harness.service.delete_totp(&test, created.totp.id).await;
    assert!(matches!(again, Err(Refusal::NotFound("totp"))));
}

/// An unverified TOTP was not a credential: removing it ends no session.
#[tokio::test]
async fn removing_an_unverified_totp_changes_nothing_else() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let session = harness.sign_in(&test, "ada@example.com", 60).await;
    let created = harness.new_totp(&test, session.session.user_id).await;
    harness
        .service
        .delete_totp(&test, created.totp.id)
        .await
        .unwrap();
    harness.by_token(&test, &session.token).await.unwrap();
    assert_eq!(harness.waiting().await, 0);
}

/// A session of another user is refused before the code is checked, so it costs no code (attack 13).
#[tokio::test]
async fn attack_13_a_session_of_another_user_costs_no_code() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let planted = harness.sign_in(&test, "mallory@example.com", 60).await;
    let user = harness.user(&test, "ada@example.com").await.profile.user.id;
    let created = harness.verified_totp(&test, user).await;
    let now = shown_at(&created, harness.now());
    let command = VerifyTotp {
        session_fields: SessionFields {
            session_token: Some(planted.token.clone()),
            ..SessionFields::default()
        },
        ..code(user, &now)
    };
    let refused = harness.try_totp(&test, command).await;
    assert!(matches!(
        refused,
        Err(VerifyTotpError::Common(Refusal::InvalidSession))
    ));
    harness.try_totp(&test, code(user, &now)).await.unwrap();
}

/// At most five verified TOTPs; a pending one is replaced and does not count.
#[tokio::test]
async fn a_user_has_at_most_five() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.user(&test, "ada@example.com").await.profile.user.id;
    for _ in 0..5 {
        harness.new_totp(&test, user).await;
        harness.verified_totp(&test, user).await;
    }
    let command = CreateTotp {
        user_id: user,
        expires_in: None,
    };
    let refused = harness.service.create_totp(&test, command).await;
    assert!(matches!(refused, Err(Refusal::Invalid(invalid)) if invalid.param == "user_id"));
    let totps = harness.service.get_user(&test, user).await.unwrap().totps;
    assert_eq!(totps.len(), 5);
    harness
        .service
        .delete_totp(&test, totps[2].id)
        .await
        .unwrap();
    harness.verified_totp(&test, user).await;
}

/// An authenticator app planted in an unproved account is removed by the first proof (attack 1, O-10).
#[tokio::test]
async fn attack_1_a_planted_totp_is_removed_by_the_first_proof() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness
        .user(&test, "victim@example.com")
        .await
        .profile
        .user
        .id;
    let planted = harness.verified_totp(&test, user).await;
    let shown = planted.recovery_codes[0].expose();
    harness.sign_in(&test, "victim@example.com", 60).await;
    let now = shown_at(&planted, harness.now());
    assert!(is_invalid(&harness.try_totp(&test, code(user, &now)).await));
    assert!(is_invalid(
        &harness.try_totp(&test, recovery(user, shown)).await
    ));
    assert_eq!(
        harness.service.get_user(&test, user).await.unwrap().totps,
        []
    );
}

/// Another App and the other environment know nothing of the user (I11).
#[tokio::test]
async fn attack_25_strangers_find_nothing() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.user(&test, "ada@example.com").await.profile.user.id;
    let created = harness.verified_totp(&test, user).await;
    let now = shown_at(&created, harness.now());
    for stranger in [harness.live().await, harness.stranger().await] {
        let command = CreateTotp {
            user_id: user,
            expires_in: None,
        };
        let refused = harness.service.create_totp(&stranger, command).await;
        assert!(matches!(refused, Err(Refusal::NotFound("user"))));
        for command in [
            code(user, &now),
            recovery(user, created.recovery_codes[0].expose()),
        ] {
            let refused = harness.try_totp(&stranger, command).await;
            assert!(matches!(
                refused,
                Err(VerifyTotpError::Common(Refusal::NotFound("user")))
            ));
        }
        let refused = harness.service.recovery_codes(&stranger, user).await;
        assert!(matches!(refused, Err(Refusal::NotFound("user"))));
        let refused = harness
            .service
            .delete_totp(&stranger, created.totp.id)
            .await;
        assert!(matches!(refused, Err(Refusal::NotFound("totp"))));
    }
    harness.try_totp(&test, code(user, &now)).await.unwrap();
}

#[tokio::test]
async fn unknown_users_and_users_without_a_totp_are_distinguished() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let unknown = UserId::new(START, [9; 16]);
    let refused = harness.try_totp(&test, code(unknown, "123456")).await;
    assert!(matches!(
        refused,
        Err(VerifyTotpError::Common(Refusal::NotFound("user")))
    ));
    let user = harness.user(&test, "ada@example.com").await.profile.user.id;
    for _ in 0..30 {
        let outcome = harness.try_totp(&test, code(user, "123456")).await;
        assert!(
            is_invalid(&outcome),
            "nothing to guess, nothing to lock out"
        );
    }
    let absent = harness
        .service
        .delete_totp(&test, TotpId::new(START, [9; 16]))
        .await;
    assert!(matches!(absent, Err(Refusal::NotFound("totp"))));
}

/// Attack 20, P-12, P-13: a mailbox alone neither sets nor changes the password of a user with an authenticator app.
///
/// It works with a recent code of the app, with the current password, or after a sign-in with it.
#[tokio::test]
async fn attack_20_a_mailbox_alone_does_not_bypass_an_authenticator_app() {
    const ADA: &str = "ada@example.com";
    let harness = Harness::new().await;
    let test = harness.test().await;
    // Proved first: the first proof of an address drops everything set before it.
    let user = harness.sign_in(&test, ADA, 5).await.session.user_id;
    let created = harness.verified_totp(&test, user).await;
    harness.deliver().await;
    let secret = |text: &str| Secret::new(text.to_owned());
    let passwords = [
        "a staple of horses",
        "a battery of cranes",
        "a lake of bicycles",
    ];
    let change = async |token: &Secret<String>, current: Option<usize>, new: usize| {
        let command = UpdatePassword {
            password: secret(passwords[new]),
            current_password: current.map(|current| secret(passwords[current])),
            session_token: Some(token.clone()),
            session_jwt: None,
        };
        let outcome = harness.service.update_password(&test, command).await;
        // Deliver the notice before a test looks for a code.
        harness.deliver().await;
        outcome
    };
    let refused = |outcome| matches!(outcome, Err(Refusal::InsufficientFactor));
    let with_app = async |token: &Secret<String>, presented: VerifyTotp| {
        let session_fields = SessionFields {
            session_token: Some(token.clone()),
            ..SessionFields::default()
        };
        let verified = harness
            .try_totp(
                &test,
                VerifyTotp {
                    session_fields,
                    ..presented
                },
            )
            .await;
        verified.unwrap().issued.unwrap().token
    };
    // The first password: with a code of the app.
    let mailbox = harness.sign_in(&test, ADA, 600).await.token;
    assert!(refused(change(&mailbox, None, 0).await));
    let both = with_app(&mailbox, code(user, &shown_at(&created, harness.now()))).await;
    change(&both, None, 0).await.unwrap();
    // A change: neither the mailbox alone, nor together with an outdated code of the app.
    let mailbox = harness.sign_in(&test, ADA, 600).await.token;
    assert!(refused(change(&mailbox, None, 1).await));
    harness.pass(30);
    let both = with_app(&mailbox, code(user, &shown_at(&created, harness.now()))).await;
    harness.pass(15 * 60);
    let (sent, digits) = harness.fresh_code(&test, ADA).await;
    let again = vestry_app::identity::codes::VerifyCode {
        session_fields: SessionFields {
            session_token: Some(both),
            ..SessionFields::default()
        },
        ..crate::harness::proof(sent.email.id, &digits)
    };
    let again = harness.service.verify_code(&test, again).await.unwrap();
    let stale = again.issued.unwrap().token;
    assert!(refused(change(&stale, None, 1).await));
    // With the current password, with a recovery code, and after a sign-in with the password itself.
    change(&stale, Some(0), 1).await.unwrap();
    let mailbox = harness.sign_in(&test, ADA, 600).await.token;
    let recovered = recovery(user, created.recovery_codes[0].expose());
    let both = with_app(&mailbox, recovered).await;
    change(&both, None, 2).await.unwrap();
    let command = VerifyPassword {
        user_id: user,
        password: secret(passwords[2]),
        session_fields: lasting(60),
        device_fingerprint: DeviceFingerprint::default(),
    };
    let signed_in = harness
        .service
        .verify_password(&test, command)
        .await
        .unwrap();
    let by_password = signed_in.issued.unwrap().token;
    change(&by_password, None, 0).await.unwrap();
}

/// A pending user has proved no address yet: neither codes nor recovery codes are accepted. Anything enrolled before the first proof is
/// removed by it (attack 1).
#[tokio::test]
async fn a_pending_user_proves_an_identifier_first() {
    const ADA: &str = "ada@example.com";
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.login(&test, ADA).await.email.user_id;
    harness.pass(10);
    let planted = harness.new_totp(&test, user).await;
    for _ in 0..25 {
        let right = code(user, &shown_at(&planted, harness.now()));
        let outcome = harness.try_totp(&test, right).await;
        assert!(
            matches!(
                outcome,
                Err(VerifyTotpError::Common(Refusal::InsufficientFactor))
            ),
            "{outcome:?}"
        );
    }
    let recovery = recovery(user, planted.recovery_codes[0].expose());
    let outcome = harness.try_totp(&test, recovery).await;
    assert!(
        matches!(
            outcome,
            Err(VerifyTotpError::Common(Refusal::InsufficientFactor))
        ),
        "{outcome:?}"
    );
    harness.sign_in(&test, ADA, 5).await;
    harness.verified_totp(&test, user).await;
}

/// Attack 3: five guesses an hour at one user for ten days, for every number of apps. The user signs in every hour, which resets the
/// consecutive failures and lets the attacker continue.
///
/// A guess is right with a probability of three in a million for each app. A day's guesses add up to less than 1e-4, and recovery codes
/// work all the time.
#[tokio::test]
async fn attack_3_a_day_of_guesses_adds_up_to_less_than_one_in_ten_thousand() {
    const DAYS: i64 = 10;
    for apps in 1..=5_i64 {
        let harness = Harness::new().await;
        let test = harness.test().await;
        let user = harness.user(&test, "ada@example.com").await.profile.user.id;
        let mut created = Vec::new();
        for _ in 0..apps {
            created.push(harness.verified_totp(&test, user).await);
        }
        let (mut compared, mut signed_in) = (0_i64, 0);
        for _hour in 0..DAYS * 24 {
            harness.pass(3_600);
            let shown: Vec<String> = (-1..=1)
                .flat_map(|step| created.iter().map(move |app| (app, step)))
                .map(|(app, step)| {
                    shown_at(app, Timestamp::from_unix(harness.now().unix() + 30 * step))
                })
                .collect();
            let wrong = (0..).map(|number| format!("{number:06}"));
            let wrong = wrong.filter(|guess| !shown.contains(guess)).take(5);
            for guess in wrong {
                match harness.try_totp(&test, code(user, &guess)).await {
                    Err(VerifyTotpError::InvalidCode) => compared += 1,
                    Err(VerifyTotpError::Common(Refusal::TooMany { retry_after })) => {
                        assert!(retry_after.0 <= 86_400);
                        break;
                    }
                    other => panic!("{other:?}"),
                }
            }
            let right = code(user, &shown_at(&created[0], harness.now()));
            signed_in += i64::from(harness.try_totp(&test, right).await.is_ok());
        }
        let millionths_a_day = 3 * apps * compared / DAYS;
        println!(
            "attack 3: {apps} apps, {compared} guesses in {DAYS} days, {signed_in} sign-ins between them: \
             {millionths_a_day} in a million a day"
        );
        assert!(compared > 0 && signed_in > 0 && millionths_a_day < 100);
        let way_back = recovery(user, created[0].recovery_codes[0].expose());
        harness.try_totp(&test, way_back).await.unwrap();
    }
}
