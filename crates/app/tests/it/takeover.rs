//! Accounts that somebody planted (attack 1, O-10), at the level of the use cases: who proves an address first, and what is left.

use vestry_app::codes::{VerifyCode, VerifyCodeError};
use vestry_app::sessions::SessionFields;
use vestry_app::users::{CreateUser, FullUser};
use vestry_app::{Caller, Refusal};
use vestry_domain::Secret;
use vestry_domain::ids::{Id, SessionId};
use vestry_domain::session::{DeviceFingerprint, Factor, Proof, Session, SignIn};
use vestry_domain::timestamp::Seconds;
use vestry_domain::token::TokenHash;
use vestry_ports::store::Store;

use crate::rig::{Rig, lasting, proof};

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

/// A session of the user that rests on its number, which becomes verified by it.
async fn phone_session(rig: &Rig, caller: &Caller, user: &FullUser) -> Secret<String> {
    let phone = user.profile.phones[0].clone();
    let token = Secret::new("attacker".repeat(8));
    let sign_in = SignIn {
        user_id: phone.user_id,
        factor: Factor {
            proof: Proof::SmsCode {
                phone_number_id: phone.id,
                phone_number: PHONE.to_owned(),
            },
            last_verified_at: rig.now(),
        },
        device_fingerprint: DeviceFingerprint::default(),
    };
    let session = Session::start(
        SessionId::new(rig.now(), [9; 16]),
        caller.world,
        sign_in,
        Seconds(3_600),
        caller.settings().session_limits(),
        rig.now(),
    );
    let mut tx = rig.fake.begin().await.unwrap();
    let at = rig.now();
    tx.users()
        .verify_phone(&caller.world, phone.id, at)
        .await
        .unwrap();
    let hash = TokenHash::of(token.expose());
    tx.sessions().insert(&session, &hash).await.unwrap();
    tx.commit().await.unwrap();
    token
}

async fn seen(rig: &Rig, caller: &Caller, user: &FullUser) -> FullUser {
    let id = user.profile.user.id;
    rig.service.get_user(caller, id).await.unwrap()
}

/// The planter's session and verified number are gone when the owner of the address proves it; wallet and metadata stay.
#[tokio::test]
async fn the_first_proof_of_an_address_takes_the_account_over() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let user = planted(&rig, &test).await;
    let token = phone_session(&rig, &test, &user).await;
    assert!(rig.by_token(&test, &token).await.is_ok());
    let victim = rig.sign_in(&test, VICTIM, 60).await;
    assert_eq!(victim.session.user_id, user.profile.user.id);
    assert!(rig.by_token(&test, &token).await.is_err());
    let left = seen(&rig, &test, &user).await;
    assert_eq!(left.profile.phones, []);
    assert_eq!(left.wallets, user.wallets);
    assert!(left.profile.emails[0].verified);
    assert!(rig.by_token(&test, &victim.token).await.is_ok());
}

/// An address that was attached to the account of a proved number is somebody else's for all we know: its owner gets a user of
/// his own, the sessions that were there end, and the address is out of the planter's reach.
#[tokio::test]
async fn an_address_in_an_account_of_somebody_else_moves_to_its_owner() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let command = CreateUser {
        phone_number: Some(PHONE.to_owned()),
        ..CreateUser::default()
    };
    let user = rig.service.create_user(&test, command).await.unwrap().user;
    let token = phone_session(&rig, &test, &user).await;
    rig.pass(1);
    rig.attach(&test, &user, VICTIM).await;
    assert!(rig.by_token(&test, &token).await.is_ok());
    let victim = rig.sign_in(&test, VICTIM, 60).await;
    assert_ne!(victim.session.user_id, user.profile.user.id);
    assert!(rig.by_token(&test, &token).await.is_err());
    assert!(rig.by_token(&test, &victim.token).await.is_ok());
    let left = seen(&rig, &test, &user).await;
    assert_eq!(left.profile.emails, []);
    assert!(left.profile.phones[0].verified);
    let own = rig.service.get_user(&test, victim.session.user_id).await;
    let own = own.unwrap().profile;
    assert!(own.emails[0].verified && own.phones.is_empty());
    let again = rig.sign_in(&test, VICTIM, 60).await;
    assert_eq!(again.session.user_id, victim.session.user_id);
}

/// A number that was planted and not verified stays, but opens nothing: it is proved within a session of the user only.
#[tokio::test]
async fn a_planted_number_is_held() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let user = planted(&rig, &test).await;
    rig.sign_in(&test, VICTIM, 60).await;
    let left = seen(&rig, &test, &user).await;
    let [phone] = &*left.profile.phones else {
        panic!("{:?}", left.profile.phones);
    };
    assert!(phone.held && !phone.verified);
}

/// Who proves the address within a session of the account keeps everything: he holds the account.
#[tokio::test]
async fn a_proof_within_a_session_drops_nothing() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let user = planted(&rig, &test).await;
    let token = phone_session(&rig, &test, &user).await;
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
    assert_eq!(session.factors.len(), 2);
    let left = seen(&rig, &test, &user).await;
    assert!(left.profile.phones[0].verified && left.profile.emails[0].verified);
}

/// What the App attaches after the account was proved, and asks for by `send`, is proved by its code alone; what was there
/// before is not.
#[tokio::test]
async fn only_what_was_there_before_is_held() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let user = planted(&rig, &test).await;
    let before = rig.attach(&test, &user, "before@example.com").await;
    rig.sign_in(&test, VICTIM, 60).await;
    let after = rig.attach(&test, &user, "after@example.com").await;
    let code = rig.sent_code(&test, "before@example.com").await;
    let held = rig.verify(&test, before, &code).await;
    assert!(matches!(
        held,
        Err(VerifyCodeError::Common(Refusal::InsufficientFactor))
    ));
    let code = rig.sent_code(&test, "after@example.com").await;
    rig.verify(&test, after, &code).await.unwrap();
    let owner = rig.sign_in(&test, VICTIM, 60).await;
    let (_, code) = rig.fresh_code(&test, "before@example.com").await;
    let command = VerifyCode {
        session_fields: SessionFields {
            session_token: Some(owner.token),
            ..lasting(60)
        },
        ..proof(before, &code)
    };
    rig.service.verify_code(&test, command).await.unwrap();
    let left = seen(&rig, &test, &user).await;
    assert!(left.profile.emails.iter().all(|email| email.verified));
}

/// Whoever comes in by login-or-create is a stranger to the account in which his address stands, held or attached later.
#[tokio::test]
async fn login_or_create_never_leads_into_an_account_that_rests_on_something_else() {
    let rig = Rig::new().await;
    let test = rig.test().await;
    let user = planted(&rig, &test).await;
    rig.attach(&test, &user, "before@example.com").await;
    let owner = rig.sign_in(&test, VICTIM, 60).await;
    assert_eq!(owner.session.user_id, user.profile.user.id);
    rig.attach(&test, &user, "after@example.com").await;
    for address in ["before@example.com", "after@example.com"] {
        let stranger = rig.sign_in(&test, address, 60).await;
        assert_ne!(stranger.session.user_id, user.profile.user.id, "{address}");
    }
    let left = seen(&rig, &test, &user).await;
    assert_eq!(left.profile.emails.len(), 1);
}
