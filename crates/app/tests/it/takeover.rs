//! Whose account it is (attack 1, O-10, CL-1 to CL-9), at the level of the use cases: who proves an address, and what is left.

use vestry_app::codes::{SendCode, SendCodeByText, VerifyCode, VerifyCodeError};
use vestry_app::sessions::{SessionFields, SessionNamed};
use vestry_app::users::{
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

use crate::rig::{Rig, claim, lasting, named, proof};
use crate::send::send;
use crate::texts::send as text_to;

const VICTIM: &str = "victim@example.com";
const PHONE: &str = "+14155552671";

/// A user with an address and a number, neither verified, as a sign-up form of the App makes it.
async fn planted(rig: &Rig, caller: &Caller) -> FullUser {
    let command = CreateUser {
        email: Some(VICTIM.to_owned()),
        phone_number: Some(PHONE.to_owned()),
        ..CreateUser::default()
    };
    let created = rig.service.create_user(caller, command).await.unwrap();
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

/// Proves a number from outside, by a step that takes anybody in.
async fn by_number(rig: &Rig, caller: &Caller) -> UserId {
    let (sent, code) = rig.fresh_text(caller, PHONE).await;
    let command = VerifyCode {
        method_id: MethodId::Phone(sent.phone.id),
        ..proof(EmailId::new(rig.now(), [0; 16]), &code)
    };
    let verified = rig.service.verify_code(caller, command).await.unwrap();
    assert_eq!(verified.user_id, sent.phone.user_id, "III of claims.md");
    verified.user_id
}

async fn seen(rig: &Rig, caller: &Caller, user: &FullUser) -> FullUser {
    let id = user.profile.user.id;
    rig.service.get_user(caller, id).await.unwrap()
}

/// CL-3: the session of whoever planted the account is gone when the owner of the address proves it; claims, wallet and metadata
/// stay.
#[tokio::test]
async fn cl_3_the_first_proof_founds_the_account() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let user = planted(&rig, &test).await;
    let token = rig.planted_session(&test, user.profile.user.id).await;
    assert!(rig.by_token(&test, &token).await.is_ok());
    let victim = rig.sign_in(&test, VICTIM, 60).await;
    assert_eq!(victim.session.user_id, user.profile.user.id);
    assert!(rig.by_token(&test, &token).await.is_err());
    let left = seen(&rig, &test, &user).await;
    assert!(left.profile.user.founded && left.profile.emails[0].verified);
    assert!(!left.profile.phones[0].verified);
    assert_eq!(left.wallets, user.wallets);
    assert!(rig.by_token(&test, &victim.token).await.is_ok());
}

/// CL-3: a wallet whose key may be known to whoever had the account before signs nothing and is no default; the others stay.
#[tokio::test]
async fn cl_3_wallets_of_unproven_origin_are_disabled() {
    let rig = Rig::new().await;
    rig.set(&[("wallet_export", "true")]).await;
    let test = rig.test().await;
    let command = CreateUser {
        email: Some(VICTIM.to_owned()),
        wallet_type: Some("solana".to_owned()),
        ..CreateUser::default()
    };
    let user = rig.service.create_user(&test, command).await.unwrap().user;
    let own = user.wallets[0].clone();
    let id = user.profile.user.id;
    let imported = rig.import(&test, id, 0).await.unwrap();
    assert!(imported.is_default);
    let exported = rig
        .service
        .create_wallet(&test, id, WalletType::Polkadot, AddressForm::Usual);
    let exported = exported.await.unwrap();
    let exporter = rig.scoped(vec![Scope::WalletsExport]).await;
    let to = ExportWallet {
        wallet_id: exported.id,
        recipient_public_key: Recipient::fresh().public_key.clone(),
        entropy_type: EntropyType::PrivateKey,
    };
    rig.service.export_wallet(&exporter, to).await.unwrap();
    let suspects = [imported.id, exported.id];
    rig.sign_in(&test, VICTIM, 60).await;
    let left = seen(&rig, &test, &user).await;
    for wallet in &left.wallets {
        let is_suspect = suspects.contains(&wallet.id);
        let reason = wallet.disabled.map(|disabled| disabled.reason);
        let expected = is_suspect.then_some(DisabledReason::UnprovenOrigin);
        assert_eq!(reason, expected, "{wallet:?}");
        assert_eq!(wallet.is_default, !is_suspect, "{wallet:?}");
    }
    assert!(left.wallets.contains(&own) && left.wallets.len() == 3);
    // The next wallet of the type is the victim's own, and the default one.
    let fresh = rig
        .service
        .create_wallet(&test, id, WalletType::Ethereum, AddressForm::Usual);
    let fresh = fresh.await.unwrap();
    assert!(fresh.is_default && !suspects.contains(&fresh.id));
}

/// CL-4: an address that stands in somebody's account moves to a user of its own, whom the first step names already; the account
/// keeps everything else, its sessions too.
#[tokio::test]
async fn cl_4_a_claim_moves_to_whoever_proves_it() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let attacker = rig.sign_in(&test, "attacker@example.com", 60).await;
    let user = rig.service.get_user(&test, attacker.session.user_id).await;
    let user = user.unwrap();
    rig.attach(&test, &user, VICTIM).await;
    let first = rig.login(&test, VICTIM).await;
    assert!(first.user_created);
    assert_ne!(first.email.user_id, attacker.session.user_id);
    assert_eq!(seen(&rig, &test, &user).await.profile.emails.len(), 2);
    // Asked again, the same user is named, and is not new any more.
    rig.pass(20);
    let (again, code) = rig.fresh_code(&test, VICTIM).await;
    assert_eq!(again.email.user_id, first.email.user_id);
    assert!(!again.user_created);
    let verified = rig.verify(&test, again.email.id, &code).await.unwrap();
    assert_eq!(verified.user_id, first.email.user_id, "III of claims.md");
    assert!(rig.by_token(&test, &attacker.token).await.is_ok());
    let left = seen(&rig, &test, &user).await;
    assert_eq!(left.profile.emails.len(), 1);
    let own = rig.service.get_user(&test, verified.user_id).await.unwrap();
    assert!(own.profile.user.founded && own.profile.emails[0].verified);
    let later = rig.sign_in(&test, VICTIM, 60).await;
    assert_eq!(later.session.user_id, verified.user_id);
}

/// CL-4: a user that was made for a claim and has become somebody's meanwhile, or was deleted, gets nothing.
#[tokio::test]
async fn cl_4_a_successor_that_is_somebodys_gets_nothing() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let attacker = rig.sign_in(&test, "attacker@example.com", 60).await;
    let user = rig.service.get_user(&test, attacker.session.user_id).await;
    rig.attach(&test, &user.unwrap(), VICTIM).await;
    for spoil in ["founded", "deleted"] {
        rig.pass(1);
        let (first, code) = rig.fresh_code(&test, VICTIM).await;
        let successor = first.email.user_id;
        if spoil == "founded" {
            let command = vouched("somebody@example.com");
            rig.service
                .update_user(&test, successor, command)
                .await
                .unwrap();
        } else {
            rig.service.delete_user(&test, successor).await.unwrap();
        }
        let refused = rig.verify(&test, first.email.id, &code).await;
        assert!(
            matches!(refused, Err(VerifyCodeError::InvalidCode)),
            "{spoil}: {refused:?}"
        );
        let next = rig.login(&test, VICTIM).await;
        assert!(next.user_created, "{spoil}");
        assert_ne!(next.email.user_id, successor, "{spoil}");
    }
    rig.pass(1);
    let victim = rig.sign_in(&test, VICTIM, 60).await;
    assert_ne!(victim.session.user_id, attacker.session.user_id);
}

/// CL-1: who proves the address within a session of the account keeps everything: he holds the account.
#[tokio::test]
async fn cl_1_a_proof_within_a_session_drops_nothing() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let user = planted(&rig, &test).await;
    let id = user.profile.user.id;
    let token = rig.planted_session(&test, id).await;
    let (sent, code) = rig.fresh_code(&test, VICTIM).await;
    let command = VerifyCode {
        session_fields: SessionFields {
            session_token: Some(token),
            ..SessionFields::default()
        },
        ..proof(sent.email.id, &code)
    };
    let verified = rig.service.verify_code(&test, command).await.unwrap();
    let session = verified.issued.unwrap().session;
    assert_eq!((session.user_id, session.factors.len()), (id, 2));
    let left = seen(&rig, &test, &user).await;
    assert!(left.profile.user.founded && left.profile.emails[0].verified);
}

/// CL-5: the claim of a founded account is refused at the first step, unless that names a session of the user; the code it then
/// sends is good within such a session only. Before the account was founded, or after the address is proved, nothing is asked.
#[tokio::test]
async fn cl_5_a_claim_of_a_founded_account_needs_a_session() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let user = planted(&rig, &test).await;
    rig.sent_code(&test, VICTIM).await;
    let owner = rig.sign_in(&test, VICTIM, 60).await;
    rig.attach(&test, &user, "second@example.com").await;
    let outsider = rig.sign_in(&test, "outsider@example.com", 60).await;
    let unnamed = SessionNamed::default();
    for session in [unnamed, named(&outsider.token)] {
        let command = SendCode {
            session,
            ..send("second@example.com")
        };
        let refused = rig.service.send_code_by_email(&test, command).await;
        assert!(
            matches!(refused, Err(Refusal::UnprovenIdentifier)),
            "{refused:?}"
        );
        let command = SendCodeByText {
            session: SessionNamed::default(),
            ..text_to(PHONE)
        };
        let refused = rig.service.send_code_by_text(&test, command).await;
        assert!(
            matches!(refused, Err(Refusal::UnprovenIdentifier)),
            "{refused:?}"
        );
    }
    let within = SendCode {
        session: named(&owner.token),
        ..send("second@example.com")
    };
    let sent = rig.service.send_code_by_email(&test, within).await.unwrap();
    assert_eq!(sent.email.user_id, user.profile.user.id);
    let code = rig.newest_to(&test, "second@example.com").await;
    let code = code.message.code;
    let outside = rig.verify(&test, sent.email.id, &code).await;
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
    rig.service.verify_code(&test, command).await.unwrap();
    rig.sent_code(&test, "second@example.com").await;
}

/// CL-5: where known and unknown shall not be told apart, such a claim is like an address that nobody has.
#[tokio::test]
async fn cl_5_an_enumeration_safe_app_does_not_tell_of_claims() {
    let rig = Rig::new().await;
    rig.set(&[("enumeration_safe", "true")]).await;
    let test = rig.test().await;
    let owner = rig.sign_in(&test, "owner@example.com", 60).await;
    let user = rig.service.get_user(&test, owner.session.user_id).await;
    let claimed = rig.attach(&test, &user.unwrap(), VICTIM).await;
    let sent = rig.service.send_code_by_email(&test, send(VICTIM)).await;
    let sent = sent.unwrap();
    assert_ne!(sent.email.id, claimed);
    assert_ne!(sent.email.user_id, owner.session.user_id);
    let again = rig.service.send_code_by_email(&test, send(VICTIM)).await;
    assert_eq!(again.unwrap().email.id, sent.email.id);
}

/// CL-6: what the App vouches for is proved, founds the account, and removes nothing of the same call.
#[tokio::test]
async fn cl_6_the_word_of_the_app_counts() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let command = CreateUser {
        email: Some(VICTIM.to_owned()),
        phone_number: Some(PHONE.to_owned()),
        email_verified: true,
        phone_number_verified: true,
        requires_verification: Some(true),
        ..CreateUser::default()
    };
    let user = rig.service.create_user(&test, command).await.unwrap().user;
    let profile = &user.profile;
    assert!(profile.user.founded && profile.user.status == UserStatus::Active);
    assert!(profile.emails[0].verified && profile.phones[0].verified);
    assert_eq!(by_number(&rig, &test).await, profile.user.id);
    let signed_in = rig.sign_in(&test, VICTIM, 60).await;
    assert_eq!(signed_in.session.user_id, profile.user.id);
    assert!(seen(&rig, &test, &user).await.profile.phones[0].verified);
    // A claim of before counts from then on; nobody else's does.
    let claimed = rig.attach(&test, &user, "second@example.com").await;
    let updated = rig
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
        let refused = rig.service.create_user(&test, command).await;
        let Err(Refusal::Invalid(invalid)) = refused else {
            panic!("{param}: {refused:?}");
        };
        assert_eq!(invalid.param, param);
    }
}

/// CL-7: what is proved stays when something else of the account is proved from outside, in one second as in two.
#[tokio::test]
async fn cl_7_what_is_proved_stays() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let user = planted(&rig, &test).await;
    let id = user.profile.user.id;
    assert_eq!(by_number(&rig, &test).await, id);
    let session = rig.planted_session(&test, id).await;
    // The address is the claim of a founded account now: its owner is somebody else for all we know.
    let stranger = rig.sign_in(&test, VICTIM, 60).await;
    assert_ne!(stranger.session.user_id, id);
    let left = seen(&rig, &test, &user).await;
    assert!(left.profile.phones[0].verified && left.profile.emails.is_empty());
    assert!(rig.by_token(&test, &session).await.is_ok());
}

/// CL-9: an App that trusts what it attaches has it proved where it is, without a session; whoever comes by himself is a stranger
/// all the same.
#[tokio::test]
async fn cl_9_what_is_attached_can_be_trusted() {
    let rig = Rig::new().await;
    rig.set(&[("attached_identifiers", "trusted")]).await;
    let test = rig.test().await;
    let owner = rig.sign_in(&test, "owner@example.com", 60).await;
    let id = owner.session.user_id;
    let command = UpdateUser {
        emails: vec![claim("second@example.com"), claim("third@example.com")],
        ..UpdateUser::default()
    };
    let updated = rig.service.update_user(&test, id, command).await.unwrap();
    let second = updated.profile.emails[1].id;
    let code = rig.sent_code(&test, "second@example.com").await;
    let verified = rig.verify(&test, second, &code).await.unwrap();
    assert_eq!(verified.user_id, id);
    let stranger = rig.sign_in(&test, "third@example.com", 60).await;
    assert_ne!(stranger.session.user_id, id);
    assert!(rig.by_token(&test, &owner.token).await.is_ok());
}

/// CL-9: what was attached before the account was anybody's is not trusted: it may be of whoever planted the account.
#[tokio::test]
async fn cl_9_what_was_attached_before_the_founding_is_not_trusted() {
    let rig = Rig::new().await;
    rig.set(&[("attached_identifiers", "trusted")]).await;
    let test = rig.test().await;
    let user = planted(&rig, &test).await;
    let victim = rig.sign_in(&test, VICTIM, 60).await;
    assert_eq!(victim.session.user_id, user.profile.user.id);
    let asked = rig.service.send_code_by_text(&test, text_to(PHONE)).await;
    assert!(
        matches!(asked, Err(Refusal::UnprovenIdentifier)),
        "{asked:?}"
    );
    // A code that was under way when the account was founded is not vouched for, either.
    rig.pass(1);
    let other = CreateUser {
        email: Some("second@example.com".to_owned()),
        phone_number: Some("+14155552672".to_owned()),
        ..CreateUser::default()
    };
    rig.service.create_user(&test, other).await.unwrap();
    let command = text_to("+14155552672");
    let waiting = rig.service.send_code_by_text(&test, command).await.unwrap();
    let code = rig.newest_to(&test, "+14155552672").await.message.code;
    rig.sign_in(&test, "second@example.com", 60).await;
    let command = VerifyCode {
        method_id: MethodId::Phone(waiting.phone.id),
        ..proof(EmailId::new(rig.now(), [0; 16]), &code)
    };
    let refused = rig.service.verify_code(&test, command).await;
    assert!(
        matches!(
            refused,
            Err(VerifyCodeError::Common(Refusal::UnprovenIdentifier))
        ),
        "{refused:?}"
    );
}

/// CL-6: the word of the App makes the account its owner's: what somebody added before is gone, as after a proof.
#[tokio::test]
async fn cl_6_the_word_of_the_app_founds_an_account_for_its_owner() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let user = planted(&rig, &test).await;
    let id = user.profile.user.id;
    let before = rig.planted_session(&test, id).await;
    let command = vouched(VICTIM);
    rig.service.update_user(&test, id, command).await.unwrap();
    assert!(rig.by_token(&test, &before).await.is_err());
    let owner = rig.sign_in(&test, VICTIM, 60).await;
    let command = vouched("second@example.com");
    rig.service.update_user(&test, id, command).await.unwrap();
    assert!(rig.by_token(&test, &owner.token).await.is_ok(), "CL-7");
}

/// What a claim of a founded account is worth is nothing, so it can be removed although it is all there is.
#[tokio::test]
async fn a_claim_that_is_no_way_to_sign_in_can_be_removed() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let line = PortableUser {
        emails: vec![PortableEmail {
            email: VICTIM.to_owned(),
            verified: false,
        }],
        founded: true,
        ..PortableUser::default()
    };
    let mut import = rig.service.import_users(test.world, false).await.unwrap();
    let imported = import.take(&[line]).await.unwrap().swap_remove(0);
    let Imported::New(user) = imported else {
        panic!("{imported:?}");
    };
    let profile = rig.service.get_user(&test, user).await.unwrap().profile;
    let removed = rig.service.delete_email(&test, profile.emails[0].id).await;
    assert_eq!(removed.unwrap(), user);
}
