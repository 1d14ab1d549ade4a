//! Account ownership (attack 1, O-10, CL-1 to CL-9) at the use case level: who proves an address, and what remains.

use vestry_app::identity::codes::{SendCode, SendCodeByText, VerifyCode, VerifyCodeError};
use vestry_app::identity::sessions::{SessionFields, SessionNamed};
use vestry_app::identity::users::{
    CreateUser, FullUser, Imported, NewIdentifier, PortableEmail, PortableUser, UpdateUser,
};
use vestry_app::wallets::ExportWallet;
use vestry_app::{Caller, Refusal};
use vestry_contract::sealing::Recipient;
use vestry_domain::api_key::Scope;
use vestry_domain::code::MethodId;
use vestry_domain::ids::{EmailId, Id, UserId};
use vestry_domain::key_transfer::EntropyType;
use vestry_domain::user::UserStatus;
use vestry_domain::wallet::{AddressForm, DisabledReason, WalletType};

use crate::harness::{Harness, claim, lasting, named, operator, proof};
use crate::send::send;
use crate::texts::send as text_to;

const VICTIM: &str = "victim@example.com";
const PHONE: &str = "+14155552671";

/// A user with an unverified address and number, as created by an App's sign-up form.
async fn planted(harness: &Harness, caller: &Caller) -> FullUser {
    let command = CreateUser {
        email: Some(VICTIM.to_owned()),
        phone_number: Some(PHONE.to_owned()),
        ..CreateUser::default()
    };
    let created = harness.service.create_user(caller, command).await.unwrap();
    created.user
}

/// Attaches an address that the App vouches for.
fn vouched(email: &str) -> UpdateUser {
    UpdateUser {
        emails: vec![NewIdentifier {
            text: email.to_owned(),
            verified: true,
        }],
        ..UpdateUser::default()
    }
}

/// Proves a number from outside, with a login-or-create step.
async fn by_number(harness: &Harness, caller: &Caller) -> UserId {
    let (sent, code) = harness.fresh_text(caller, PHONE).await;
    let command = VerifyCode {
        method_id: MethodId::Phone(sent.phone.id),
        ..proof(EmailId::new(harness.now(), [0; 16]), &code)
    };
    let verified = harness.service.verify_code(caller, command).await.unwrap();
    assert_eq!(verified.user_id, sent.phone.user_id, "III of claims.md");
    verified.user_id
}

async fn seen(harness: &Harness, caller: &Caller, user: &FullUser) -> FullUser {
    let id = user.profile.user.id;
    harness.service.get_user(caller, id).await.unwrap()
}

/// CL-3: a planted session ends when the address's owner proves it; claims, wallet and metadata stay.
#[tokio::test]
async fn cl_3_the_first_proof_founds_the_account() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = planted(&harness, &test).await;
    let token = harness.planted_session(&test, user.profile.user.id).await;
    assert!(harness.by_token(&test, &token).await.is_ok());
    let victim = harness.sign_in(&test, VICTIM, 60).await;
    assert_eq!(victim.session.user_id, user.profile.user.id);
    assert!(harness.by_token(&test, &token).await.is_err());
    let left = seen(&harness, &test, &user).await;
    assert!(left.profile.user.is_owned && left.profile.emails[0].verified);
    assert!(!left.profile.phones[0].verified);
    assert_eq!(left.wallets, user.wallets);
    assert!(harness.by_token(&test, &victim.token).await.is_ok());
}

/// CL-3: a wallet whose key an earlier holder of the account may know is disabled and not the default; the others stay.
#[tokio::test]
async fn cl_3_wallets_of_unproven_origin_are_disabled() {
    let harness = Harness::new().await;
    harness.set(&[("wallet_export", "true")]).await;
    let test = harness.test().await;
    let command = CreateUser {
        email: Some(VICTIM.to_owned()),
        wallet_type: Some("solana".to_owned()),
        ..CreateUser::default()
    };
    let user = harness
        .service
        .create_user(&test, command)
        .await
        .unwrap()
        .user;
    let own = user.wallets[0].clone();
    let id = user.profile.user.id;
    let imported = harness.import(&test, id, 0).await.unwrap();
    assert!(imported.is_default);
    let exported =
        harness
            .service
            .create_wallet(&test, id, WalletType::Polkadot, AddressForm::Usual);
    let exported = exported.await.unwrap();
    let exporter = harness.scoped(vec![Scope::WalletsExport]).await;
    let to = ExportWallet {
        wallet_id: exported.id,
        recipient_public_key: Recipient::fresh().public_key.clone(),
        entropy_type: EntropyType::PrivateKey,
    };
    harness.service.export_wallet(&exporter, to).await.unwrap();
    let suspects = [imported.id, exported.id];
    harness.sign_in(&test, VICTIM, 60).await;
    let left = seen(&harness, &test, &user).await;
    for wallet in &left.wallets {
        let is_suspect = suspects.contains(&wallet.id);
        let reason = wallet.disabled.map(|disabled| disabled.reason);
        let expected = is_suspect.then_some(DisabledReason::UnprovenOrigin);
        assert_eq!(reason, expected, "{wallet:?}");
        assert_eq!(wallet.is_default, !is_suspect, "{wallet:?}");
    }
    assert!(left.wallets.contains(&own) && left.wallets.len() == 3);
    // The next wallet of the type is the victim's own, and the default one.
    let fresh = harness
        .service
        .create_wallet(&test, id, WalletType::Ethereum, AddressForm::Usual);
    let fresh = fresh.await.unwrap();
    assert!(fresh.is_default && !suspects.contains(&fresh.id));
}

/// CL-4: an address claimed in another person's account moves to a user of its own, which the first step already names. The account keeps
/// everything else, sessions included.
#[tokio::test]
async fn cl_4_a_claim_moves_to_the_person_who_proves_it() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let attacker = harness.sign_in(&test, "attacker@example.com", 60).await;
    let user = harness
        .service
        .get_user(&test, attacker.session.user_id)
        .await;
    let user = user.unwrap();
    harness.attach(&test, &user, VICTIM).await;
    let first = harness.login(&test, VICTIM).await;
    assert!(first.user_created);
    assert_ne!(first.email.user_id, attacker.session.user_id);
    assert_eq!(seen(&harness, &test, &user).await.profile.emails.len(), 2);
    // A second request names the same user, who is no longer new.
    harness.pass(20);
    let (again, code) = harness.fresh_code(&test, VICTIM).await;
    assert_eq!(again.email.user_id, first.email.user_id);
    assert!(!again.user_created);
    let verified = harness.verify(&test, again.email.id, &code).await.unwrap();
    assert_eq!(verified.user_id, first.email.user_id, "III of claims.md");
    assert!(harness.by_token(&test, &attacker.token).await.is_ok());
    let left = seen(&harness, &test, &user).await;
    assert_eq!(left.profile.emails.len(), 1);
    let own = harness
        .service
        .get_user(&test, verified.user_id)
        .await
        .unwrap();
    assert!(own.profile.user.is_owned && own.profile.emails[0].verified);
    let later = harness.sign_in(&test, VICTIM, 60).await;
    assert_eq!(later.session.user_id, verified.user_id);
}

/// CL-4: a user created for a claim who has since become owned, or was deleted, gets nothing.
#[tokio::test]
async fn cl_4_a_pending_owner_that_is_owned_gets_nothing() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let attacker = harness.sign_in(&test, "attacker@example.com", 60).await;
    let user = harness
        .service
        .get_user(&test, attacker.session.user_id)
        .await;
    harness.attach(&test, &user.unwrap(), VICTIM).await;
    for spoil in ["founded", "deleted"] {
        harness.pass(1);
        let (first, code) = harness.fresh_code(&test, VICTIM).await;
        let pending_owner = first.email.user_id;
        if spoil == "founded" {
            let command = vouched("somebody@example.com");
            harness
                .service
                .update_user(&test, pending_owner, command)
                .await
                .unwrap();
        } else {
            harness
                .service
                .delete_user(&test, pending_owner)
                .await
                .unwrap();
        }
        let refused = harness.verify(&test, first.email.id, &code).await;
        assert!(
            matches!(refused, Err(VerifyCodeError::InvalidCode)),
            "{spoil}: {refused:?}"
        );
        let next = harness.login(&test, VICTIM).await;
        assert!(next.user_created, "{spoil}");
        assert_ne!(next.email.user_id, pending_owner, "{spoil}");
    }
    harness.pass(1);
    let victim = harness.sign_in(&test, VICTIM, 60).await;
    assert_ne!(victim.session.user_id, attacker.session.user_id);
}

/// CL-1: proving the address within a session of the account drops nothing, because the session shows control of the account.
#[tokio::test]
async fn cl_1_a_proof_within_a_session_drops_nothing() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = planted(&harness, &test).await;
    let id = user.profile.user.id;
    let token = harness.planted_session(&test, id).await;
    let (sent, code) = harness.fresh_code(&test, VICTIM).await;
    let command = VerifyCode {
        session_fields: SessionFields {
            session_token: Some(token),
            ..SessionFields::default()
        },
        ..proof(sent.email.id, &code)
    };
    let verified = harness.service.verify_code(&test, command).await.unwrap();
    let session = verified.issued.unwrap().session;
    assert_eq!((session.user_id, session.factors.len()), (id, 2));
    let left = seen(&harness, &test, &user).await;
    assert!(left.profile.user.is_owned && left.profile.emails[0].verified);
}

/// CL-5: the claim of an owned account is refused at the first step, unless that names a session of the user. The code it then sends is
/// valid within such a session only.
///
/// No session is required before the account has an owner, or after the address is proved.
#[tokio::test]
async fn cl_5_a_claim_of_a_founded_account_needs_a_session() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = planted(&harness, &test).await;
    harness.sent_code(&test, VICTIM).await;
    let owner = harness.sign_in(&test, VICTIM, 60).await;
    harness.attach(&test, &user, "second@example.com").await;
    let outsider = harness.sign_in(&test, "outsider@example.com", 60).await;
    let unnamed = SessionNamed::default();
    for session in [unnamed, named(&outsider.token)] {
        let command = SendCode {
            session,
            ..send("second@example.com")
        };
        let refused = harness.service.send_code_by_email(&test, command).await;
        assert!(
            matches!(refused, Err(Refusal::UnprovenIdentifier)),
            "{refused:?}"
        );
        let command = SendCodeByText {
            session: SessionNamed::default(),
            ..text_to(PHONE)
        };
        let refused = harness.service.send_code_by_text(&test, command).await;
        assert!(
            matches!(refused, Err(Refusal::UnprovenIdentifier)),
            "{refused:?}"
        );
    }
    let within = SendCode {
        session: named(&owner.token),
        ..send("second@example.com")
    };
    let sent = harness
        .service
        .send_code_by_email(&test, within)
        .await
        .unwrap();
    assert_eq!(sent.email.user_id, user.profile.user.id);
    let code = harness.newest_to(&test, "second@example.com").await;
    let code = code.message.code;
    let outside = harness.verify(&test, sent.email.id, &code).await;
    assert!(
        matches!(
            outside,
            Err(VerifyCodeError::Common(Refusal::UnprovenIdentifier))
        ),
        "{outside:?}"
    );
    let command = VerifyCode {
        session_fields: SessionFields {
            session_token: Some(owner.token),
            ..lasting(60)
        },
        ..proof(sent.email.id, &code)
    };
    harness.service.verify_code(&test, command).await.unwrap();
    harness.sent_code(&test, "second@example.com").await;
}

/// CL-5: where known and unknown must look alike, such a claim is treated like an unknown address.
#[tokio::test]
async fn cl_5_an_enumeration_safe_app_does_not_reveal_claims() {
    let harness = Harness::new().await;
    harness.set(&[("enumeration_safe", "true")]).await;
    let test = harness.test().await;
    let owner = harness.sign_in(&test, "owner@example.com", 60).await;
    let user = harness.service.get_user(&test, owner.session.user_id).await;
    let claimed = harness.attach(&test, &user.unwrap(), VICTIM).await;
    let sent = harness
        .service
        .send_code_by_email(&test, send(VICTIM))
        .await;
    let sent = sent.unwrap();
    assert_ne!(sent.email.id, claimed);
    assert_ne!(sent.email.user_id, owner.session.user_id);
    let again = harness
        .service
        .send_code_by_email(&test, send(VICTIM))
        .await;
    assert_eq!(again.unwrap().email.id, sent.email.id);
}

/// CL-6: an identifier that the App vouches for is proved, founds the account, and removes nothing from the same call.
#[tokio::test]
async fn cl_6_the_apps_word_counts() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let command = CreateUser {
        email: Some(VICTIM.to_owned()),
        phone_number: Some(PHONE.to_owned()),
        email_verified: true,
        phone_number_verified: true,
        requires_verification: Some(true),
        ..CreateUser::default()
    };
    let user = harness
        .service
        .create_user(&test, command)
        .await
        .unwrap()
        .user;
    let profile = &user.profile;
    assert!(profile.user.is_owned && profile.user.status == UserStatus::Active);
    assert!(profile.emails[0].verified && profile.phones[0].verified);
    assert_eq!(by_number(&harness, &test).await, profile.user.id);
    let signed_in = harness.sign_in(&test, VICTIM, 60).await;
    assert_eq!(signed_in.session.user_id, profile.user.id);
    assert!(seen(&harness, &test, &user).await.profile.phones[0].verified);
    // An earlier claim counts from then on; another user's does not.
    let claimed = harness.attach(&test, &user, "second@example.com").await;
    let updated = harness
        .service
        .update_user(&test, profile.user.id, vouched("second@example.com"))
        .await
        .unwrap();
    let emails = &updated.profile.emails;
    assert!(emails.iter().any(|row| row.id == claimed && row.verified));
    for param in ["email_verified", "phone_number_verified"] {
        let other = |is: &str| (is != param).then(|| "x@example.com".to_owned());
        let command = CreateUser {
            email: other("email_verified"),
            phone_number: (param == "email_verified").then(|| "+14155552672".to_owned()),
            email_verified: param == "email_verified",
            phone_number_verified: param == "phone_number_verified",
            ..CreateUser::default()
        };
        let refused = harness.service.create_user(&test, command).await;
        let Err(Refusal::Invalid(invalid)) = refused else {
            panic!("{param}: {refused:?}");
        };
        assert_eq!(invalid.param, param);
    }
}

/// CL-7: a proved identifier stays when another one of the account is proved from outside, in the same second or later.
#[tokio::test]
async fn cl_7_a_proved_identifier_stays() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = planted(&harness, &test).await;
    let id = user.profile.user.id;
    assert_eq!(by_number(&harness, &test).await, id);
    let session = harness.planted_session(&test, id).await;
    // The address is now a claim of an owned account: its owner may be another person.
    let stranger = harness.sign_in(&test, VICTIM, 60).await;
    assert_ne!(stranger.session.user_id, id);
    let left = seen(&harness, &test, &user).await;
    assert!(left.profile.phones[0].verified && left.profile.emails.is_empty());
    assert!(harness.by_token(&test, &session).await.is_ok());
}

/// CL-9: an App that trusts what it attaches has it proved in place, without a session. An address that the App did not attach still
/// belongs to a stranger.
#[tokio::test]
async fn cl_9_an_app_may_trust_what_it_attaches() {
    let harness = Harness::new().await;
    harness.set(&[("attached_identifiers", "trusted")]).await;
    let test = harness.test().await;
    let owner = harness.sign_in(&test, "owner@example.com", 60).await;
    let id = owner.session.user_id;
    let command = UpdateUser {
        emails: vec![claim("second@example.com"), claim("third@example.com")],
        ..UpdateUser::default()
    };
    let updated = harness
        .service
        .update_user(&test, id, command)
        .await
        .unwrap();
    let second = updated.profile.emails[1].id;
    let code = harness.sent_code(&test, "second@example.com").await;
    let verified = harness.verify(&test, second, &code).await.unwrap();
    assert_eq!(verified.user_id, id);
    let stranger = harness.sign_in(&test, "third@example.com", 60).await;
    assert_ne!(stranger.session.user_id, id);
    assert!(harness.by_token(&test, &owner.token).await.is_ok());
}

/// CL-9: identifiers attached before the account had an owner are not trusted, because they may come from the person who planted the
/// account.
#[tokio::test]
async fn cl_9_an_identifier_attached_before_the_founding_is_not_trusted() {
    let harness = Harness::new().await;
    harness.set(&[("attached_identifiers", "trusted")]).await;
    let test = harness.test().await;
    let user = planted(&harness, &test).await;
    let victim = harness.sign_in(&test, VICTIM, 60).await;
    assert_eq!(victim.session.user_id, user.profile.user.id);
    let asked = harness
        .service
        .send_code_by_text(&test, text_to(PHONE))
        .await;
    assert!(
        matches!(asked, Err(Refusal::UnprovenIdentifier)),
        "{asked:?}"
    );
    // Nor is a code that was pending when the account had an owner.
    harness.pass(1);
    let other = CreateUser {
        email: Some("second@example.com".to_owned()),
        phone_number: Some("+14155552672".to_owned()),
        ..CreateUser::default()
    };
    harness.service.create_user(&test, other).await.unwrap();
    let command = text_to("+14155552672");
    let waiting = harness
        .service
        .send_code_by_text(&test, command)
        .await
        .unwrap();
    let code = harness.newest_to(&test, "+14155552672").await.message.code;
    harness.sign_in(&test, "second@example.com", 60).await;
    let command = VerifyCode {
        method_id: MethodId::Phone(waiting.phone.id),
        ..proof(EmailId::new(harness.now(), [0; 16]), &code)
    };
    let refused = harness.service.verify_code(&test, command).await;
    assert!(
        matches!(
            refused,
            Err(VerifyCodeError::Common(Refusal::UnprovenIdentifier))
        ),
        "{refused:?}"
    );
}

/// CL-6: an App's word makes the account its owner's: everything added before is gone, as after a proof.
#[tokio::test]
async fn cl_6_the_apps_word_founds_an_account_for_its_owner() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = planted(&harness, &test).await;
    let id = user.profile.user.id;
    let before = harness.planted_session(&test, id).await;
    let command = vouched(VICTIM);
    harness
        .service
        .update_user(&test, id, command)
        .await
        .unwrap();
    assert!(harness.by_token(&test, &before).await.is_err());
    let owner = harness.sign_in(&test, VICTIM, 60).await;
    let command = vouched("second@example.com");
    harness
        .service
        .update_user(&test, id, command)
        .await
        .unwrap();
    assert!(harness.by_token(&test, &owner.token).await.is_ok(), "CL-7");
}

/// The claim of an owned account is worth nothing, so it can be removed even if it is the only identifier.
#[tokio::test]
async fn a_claim_that_cannot_sign_in_can_be_removed() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let line = PortableUser {
        emails: vec![PortableEmail {
            email: VICTIM.to_owned(),
            verified: false,
        }],
        founded: true,
        ..PortableUser::default()
    };
    let mut import = harness
        .service
        .import_users(&operator(&harness.service, test.world).await, false)
        .await
        .unwrap();
    let imported = import.take(&[line]).await.unwrap().swap_remove(0);
    let Imported::New(user) = imported else {
        panic!("{imported:?}");
    };
    let profile = harness.service.get_user(&test, user).await.unwrap().profile;
    let removed = harness
        .service
        .delete_email(&test, profile.emails[0].id)
        .await;
    assert_eq!(removed.unwrap(), user);
}
