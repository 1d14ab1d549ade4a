//! Passkeys at the use case level: W-1 to W-3, R6, and attacks 1, 13, 24 and 25, with interleavings that HTTP cannot produce.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use vestry_app::identity::passkeys::{
    BeginAuthentication, BeginRegistration, CreatePasskey, CreatedPasskey, VerifiedPasskey,
    VerifyPasskey,
};
use vestry_app::identity::sessions::SessionFields;
use vestry_app::{Caller, Refusal};
use vestry_contract::browser::Browser;
use vestry_contract::race::race;
use vestry_domain::api_key::{Restriction, Scope};
use vestry_domain::ids::{Id, UserId};
use vestry_domain::session::{DeviceFingerprint, Proof};

use crate::harness::{Harness, lasting};

const PAGE: &str = "http://localhost:3000";
const ADA: &str = "ada@example.com";

/// What the page passes to `navigator.credentials.create()`. Some tests mix the challenge of one call with the rest of another.
async fn creation(harness: &Harness, caller: &Caller, user_id: UserId) -> Value {
    let command = BeginRegistration {
        user_id,
        domain: "localhost".to_owned(),
        authenticator_type: None,
    };
    let begun = harness.service.begin_passkey_registration(caller, command);
    let begun = begun.await.unwrap();
    let algorithms: Vec<_> = begun
        .algorithms
        .iter()
        .map(|alg| json!({"type": "public-key", "alg": alg}))
        .collect();
    json!({"publicKey": {
        "rp": {"id": begun.domain.as_str(), "name": begun.app_name},
        "user": {
            "id": URL_SAFE_NO_PAD.encode(begun.handle.0), "name": begun.user_name,
            "displayName": begun.display_name,
        },
        "challenge": begun.challenge, "pubKeyCredParams": algorithms,
    }})
}

/// What the page passes to `navigator.credentials.get()`.
async fn request(harness: &Harness, caller: &Caller, user_id: Option<UserId>) -> Value {
    let command = BeginAuthentication {
        domain: "localhost".to_owned(),
        user_id,
    };
    let begun = harness
        .service
        .begin_passkey_authentication(caller, command);
    let begun = begun.await.unwrap();
    let allowed: Vec<_> = begun
        .allowed
        .iter()
        .map(|passkey| {
            let id = URL_SAFE_NO_PAD.encode(&passkey.credential_id);
            json!({"type": "public-key", "id": id})
        })
        .collect();
    json!({"publicKey": {
        "challenge": begun.challenge, "rpId": begun.domain.as_str(), "allowCredentials": allowed,
    }})
}

fn new_passkey(user_id: UserId, credential: Value) -> CreatePasskey {
    CreatePasskey {
        user_id,
        credential,
        device_fingerprint: DeviceFingerprint::default(),
    }
}

fn presented(credential: Value) -> VerifyPasskey {
    VerifyPasskey {
        credential,
        session_fields: lasting(60),
        device_fingerprint: DeviceFingerprint::default(),
    }
}

async fn create(
    harness: &Harness,
    caller: &Caller,
    user: UserId,
    credential: Value,
) -> Result<CreatedPasskey, Refusal> {
    harness
        .service
        .create_passkey(caller, new_passkey(user, credential))
        .await
}

async fn verify(
    harness: &Harness,
    caller: &Caller,
    credential: Value,
) -> Result<VerifiedPasskey, Refusal> {
    harness
        .service
        .verify_passkey(caller, presented(credential))
        .await
}

async fn register(harness: &Harness, caller: &Caller, browser: &mut Browser, user: UserId) {
    let credential = browser.create(&creation(harness, caller, user).await).await;
    create(harness, caller, user, credential).await.unwrap();
}

/// The browser's answer to a fresh challenge for this user.
async fn answer(harness: &Harness, caller: &Caller, browser: &mut Browser, user: UserId) -> Value {
    browser
        .get(&request(harness, caller, Some(user)).await)
        .await
}

fn is_wrong(outcome: &Result<VerifiedPasskey, Refusal>) -> bool {
    matches!(outcome, Err(Refusal::InvalidCredentials))
}

fn is_refused(outcome: &Result<CreatedPasskey, Refusal>) -> bool {
    matches!(outcome, Err(Refusal::Invalid(invalid)) if invalid.param == "public_key_credential")
}

/// An active user with a proved address.
async fn active(harness: &Harness, caller: &Caller, email: &str) -> UserId {
    harness.sign_in(caller, email, 600).await.session.user_id
}

#[tokio::test]
async fn a_passkey_signs_in_and_is_the_factor_of_the_session() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = active(&harness, &test, ADA).await;
    let mut browser = Browser::at(PAGE);
    register(&harness, &test, &mut browser, user).await;
    let notice = harness.newest_to(&test, ADA).await.message;
    assert_eq!(notice.kind.as_str(), "security_notice", "S-6");
    harness.pass(5);
    for named in [Some(user), None] {
        let credential = browser.get(&request(&harness, &test, named).await).await;
        let verified = verify(&harness, &test, credential).await.unwrap();
        let issued = verified.issued.unwrap();
        let [factor] = &issued.session.factors[..] else {
            panic!("{:?}", issued.session.factors);
        };
        let webauthn_credential_id = verified.passkey_id;
        let proof = Proof::Passkey {
            webauthn_credential_id,
        };
        assert_eq!((&factor.proof, verified.user_id), (&proof, user));
        assert_eq!(factor.last_verified_at, harness.now());
        harness.by_token(&test, &issued.token).await.unwrap();
    }
}

/// W-1, R6: fifty concurrent uses of one answer yield one success and one session; the same for a registration.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w_1_r6_a_challenge_is_answered_once() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.user(&test, ADA).await.profile.user.id;
    let mut browser = Browser::at(PAGE);
    let credential = browser.create(&creation(&harness, &test, user).await).await;
    let tasks = (0..50).map(|_| {
        let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
        let command = new_passkey(user, credential.clone());
        async move { service.create_passkey(&test, command).await }
    });
    let outcomes = race(tasks).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    assert!(outcomes.iter().all(|one| one.is_ok() || is_refused(one)));
    let credential = answer(&harness, &test, &mut browser, user).await;
    let tasks = (0..50).map(|_| {
        let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
        let command = presented(credential.clone());
        async move { service.verify_passkey(&test, command).await }
    });
    let outcomes = race(tasks).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    assert!(outcomes.iter().all(|one| one.is_ok() || is_wrong(one)));
    let sessions = harness.list_sessions(&test, user).await.unwrap();
    assert_eq!(sessions.len(), 1);
    // A used challenge stays used.
    assert!(is_wrong(&verify(&harness, &test, credential).await));
}

/// W-1: a challenge expires to the second, including time between the lookup and the use.
#[tokio::test]
async fn w_1_a_challenge_expires_while_its_answer_is_checked() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.user(&test, ADA).await.profile.user.id;
    let mut browser = Browser::at(PAGE);
    let late = browser.create(&creation(&harness, &test, user).await).await;
    harness.pass(300);
    assert!(is_refused(&create(&harness, &test, user, late).await));
    register(&harness, &test, &mut browser, user).await;
    for (seconds, works) in [(299, true), (300, false)] {
        let credential = answer(&harness, &test, &mut browser, user).await;
        harness.pass(seconds);
        let outcome = verify(&harness, &test, credential).await;
        assert_eq!(outcome.is_ok(), works, "{seconds}: {outcome:?}");
    }
    // Another call uses the challenge up in between.
    let credential = answer(&harness, &test, &mut browser, user).await;
    let (other, caller) = (harness.other_process(), Arc::clone(&test));
    let first = presented(credential.clone());
    harness.store.before_next_begin(async move {
        other.verify_passkey(&caller, first).await.unwrap();
    });
    assert!(is_wrong(&verify(&harness, &test, credential).await));
}

/// W-1, attack-25: a challenge is for one ceremony, one user and one App and environment.
#[tokio::test]
async fn w_1_a_challenge_is_bound_to_its_ceremony() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let ada = harness.user(&test, ADA).await.profile.user.id;
    let eve = harness.user(&test, "eve@example.com").await.profile.user.id;
    let (mut hers, mut evil) = (Browser::at(PAGE), Browser::at(PAGE));
    let credential = hers.create(&creation(&harness, &test, ada).await).await;
    assert!(is_refused(
        &create(&harness, &test, eve, credential.clone()).await
    ));
    let stranger = harness.stranger().await;
    for caller in [&harness.live().await, &stranger] {
        let outcome = create(&harness, caller, ada, credential.clone()).await;
        assert!(
            matches!(outcome, Err(Refusal::NotFound("user"))),
            "{outcome:?}"
        );
    }
    create(&harness, &test, ada, credential).await.unwrap();
    register(&harness, &test, &mut evil, eve).await;

    // Eve's passkey under a challenge for Ada. The browser finds it because nothing restricts which credentials may answer.
    let mut options = request(&harness, &test, Some(ada)).await;
    options["publicKey"]["allowCredentials"] = json!([]);
    let crossed = evil.get(&options).await;
    assert!(is_wrong(&verify(&harness, &test, crossed).await));
    // The challenge of a registration, and of another App.
    let mut options = request(&harness, &test, Some(ada)).await;
    let registration = creation(&harness, &test, ada).await;
    let foreign = request(&harness, &stranger, None).await;
    for challenge in [registration, foreign] {
        options["publicKey"]["challenge"] = challenge["publicKey"]["challenge"].clone();
        let crossed = hers.get(&options).await;
        assert!(is_wrong(&verify(&harness, &test, crossed).await));
    }
    // The right answer with another user's key; afterwards it is still valid where it belongs.
    let credential = answer(&harness, &test, &mut hers, ada).await;
    for caller in [&harness.live().await, &stranger] {
        assert!(is_wrong(
            &verify(&harness, caller, credential.clone()).await
        ));
    }
    verify(&harness, &test, credential).await.unwrap();
}

/// W-2: a signature counter that does not grow means a clone, also if two answers cross.
#[tokio::test]
async fn w_2_a_decreasing_counter_is_refused() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.user(&test, ADA).await.profile.user.id;
    let mut browser = Browser::counting(PAGE);
    register(&harness, &test, &mut browser, user).await;
    let earlier = answer(&harness, &test, &mut browser, user).await;
    let later = answer(&harness, &test, &mut browser, user).await;
    verify(&harness, &test, later).await.unwrap();
    assert!(is_wrong(&verify(&harness, &test, earlier).await));
    // The later answer arrives while the earlier one is being checked.
    let earlier = answer(&harness, &test, &mut browser, user).await;
    let later = answer(&harness, &test, &mut browser, user).await;
    let (other, caller) = (harness.other_process(), Arc::clone(&test));
    harness.store.before_next_begin(async move {
        other
            .verify_passkey(&caller, presented(later))
            .await
            .unwrap();
    });
    assert!(is_wrong(&verify(&harness, &test, earlier).await));
    let next = answer(&harness, &test, &mut browser, user).await;
    verify(&harness, &test, next).await.unwrap();
}

/// W-3: a credential id belongs to one user. Presenting it again, for any user, is refused.
#[tokio::test]
async fn w_3_a_credential_is_registered_once() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let ada = harness.user(&test, ADA).await.profile.user.id;
    let eve = harness.user(&test, "eve@example.com").await.profile.user.id;
    let mut browser = Browser::at(PAGE);
    let options = creation(&harness, &test, ada).await;
    let credential = browser.create(&options).await;
    create(&harness, &test, ada, credential.clone())
        .await
        .unwrap();
    // The same credential under a fresh challenge: `none` attestation is unsigned, so the client data can be forged.
    for user in [ada, eve] {
        let fresh = creation(&harness, &test, user).await;
        let mut copy = credential.clone();
        let data = copy["response"]["clientDataJSON"].as_str().unwrap();
        let data = URL_SAFE_NO_PAD.decode(data).unwrap();
        let mut data: Value = serde_json::from_slice(&data).unwrap();
        data["challenge"] = fresh["publicKey"]["challenge"].clone();
        let data = URL_SAFE_NO_PAD.encode(data.to_string());
        copy["response"]["clientDataJSON"] = data.into();
        let outcome = create(&harness, &test, user, copy).await;
        assert!(matches!(outcome, Err(Refusal::Taken(_))), "{outcome:?}");
    }
    let credential = answer(&harness, &test, &mut browser, ada).await;
    let verified = verify(&harness, &test, credential).await.unwrap();
    assert_eq!(verified.user_id, ada);
    let full = harness.service.get_user(&test, eve).await.unwrap();
    assert_eq!(full.passkeys, []);
}

/// S-5, R7: if a passkey or user is removed while the answer is being checked, the sign-in fails.
#[tokio::test]
async fn a_removal_during_the_check_prevents_the_sign_in() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    for whole in [false, true] {
        let email = format!("user{whole}@example.com");
        let user = harness.user(&test, &email).await.profile.user.id;
        let mut browser = Browser::at(PAGE);
        register(&harness, &test, &mut browser, user).await;
        let passkey = harness
            .service
            .get_user(&test, user)
            .await
            .unwrap()
            .passkeys[0]
            .id;
        let credential = answer(&harness, &test, &mut browser, user).await;
        let (other, caller) = (harness.other_process(), Arc::clone(&test));
        harness.store.before_next_begin(async move {
            if whole {
                other.delete_user(&caller, user).await.unwrap();
            } else {
                other.delete_passkey(&caller, passkey).await.unwrap();
            }
        });
        assert!(
            is_wrong(&verify(&harness, &test, credential).await),
            "{whole}"
        );
    }
}

/// Attack 1: the first proof of the address removes a planted passkey, and a pending registration too.
#[tokio::test]
async fn attack_1_a_planted_passkey_is_removed_by_the_first_proof() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.user(&test, ADA).await.profile.user.id;
    let mut evil = Browser::at(PAGE);
    register(&harness, &test, &mut evil, user).await;
    let under_way = answer(&harness, &test, &mut evil, user).await;
    let mut options = creation(&harness, &test, user).await;
    options["publicKey"]["excludeCredentials"] = json!([]);
    let registration = Browser::at(PAGE).create(&options).await;
    harness.sign_in(&test, ADA, 60).await;
    assert!(is_wrong(&verify(&harness, &test, under_way).await));
    assert!(is_refused(
        &create(&harness, &test, user, registration).await
    ));
    let full = harness.service.get_user(&test, user).await.unwrap();
    assert_eq!(full.passkeys, []);
}

/// Attack 13: only the session's own user can continue it, and a bad session costs no challenge.
#[tokio::test]
async fn attack_13_a_passkey_continues_sessions_of_its_user_only() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let ada = harness.sign_in(&test, ADA, 600).await;
    let eve = harness.sign_in(&test, "eve@example.com", 600).await;
    let mut browser = Browser::at(PAGE);
    let user = ada.session.user_id;
    register(&harness, &test, &mut browser, user).await;
    let credential = answer(&harness, &test, &mut browser, user).await;
    let within = |token: &vestry_domain::Secret<String>| VerifyPasskey {
        session_fields: SessionFields {
            session_token: Some(token.clone()),
            ..SessionFields::default()
        },
        ..presented(credential.clone())
    };
    let outcome = harness
        .service
        .verify_passkey(&test, within(&eve.token))
        .await;
    assert!(
        matches!(outcome, Err(Refusal::InvalidSession)),
        "{outcome:?}"
    );
    harness.by_token(&test, &eve.token).await.unwrap();
    let outcome = harness
        .service
        .verify_passkey(&test, within(&ada.token))
        .await;
    let issued = outcome.unwrap().issued.unwrap();
    assert_eq!(issued.session.id, ada.session.id);
    assert_eq!(issued.session.factors.len(), 2);
    assert!(harness.by_token(&test, &ada.token).await.is_err(), "S-2");
}

/// A call without the scope, for no user, or for a domain that is not the App's starts no ceremony.
#[tokio::test]
async fn ceremony_starts_are_checked() {
    let harness = Harness::new().await;
    let (test, live) = (harness.test().await, harness.live().await);
    let scoped = harness.scoped(vec![Scope::UsersWrite]).await;
    let nobody = UserId::new(harness.now(), [7; 16]);
    let registration = |user_id, domain: &str| BeginRegistration {
        user_id,
        domain: domain.to_owned(),
        authenticator_type: None,
    };
    let sign_in = |user_id, domain: &str| BeginAuthentication {
        user_id,
        domain: domain.to_owned(),
    };
    let service = &harness.service;
    let begun = service.begin_passkey_registration(&test, registration(nobody, "localhost"));
    assert!(matches!(begun.await, Err(Refusal::NotFound("user"))));
    let begun = service.begin_passkey_authentication(&test, sign_in(Some(nobody), "localhost"));
    assert!(matches!(begun.await, Err(Refusal::NotFound("user"))));
    for (caller, domain) in [(&live, "localhost"), (&test, "example.com"), (&test, "")] {
        let begun = service.begin_passkey_registration(caller, registration(nobody, domain));
        assert!(matches!(begun.await, Err(Refusal::Invalid(invalid)) if invalid.param == "domain"));
        let begun = service.begin_passkey_authentication(caller, sign_in(None, domain));
        assert!(matches!(begun.await, Err(Refusal::Invalid(invalid)) if invalid.param == "domain"));
    }
    let begun = service.begin_passkey_registration(&scoped, registration(nobody, "localhost"));
    assert!(matches!(
        begun.await,
        Err(Refusal::Restricted(Restriction::Scope(Scope::AuthWrite)))
    ));
    let begun = service.begin_passkey_authentication(&scoped, sign_in(None, "localhost"));
    assert!(matches!(
        begun.await,
        Err(Refusal::Restricted(Restriction::Scope(Scope::AuthWrite)))
    ));
    let created = create(&harness, &scoped, nobody, json!({})).await;
    assert!(matches!(created, Err(Refusal::Restricted(_))));
    let verified = verify(&harness, &scoped, json!({})).await;
    assert!(matches!(verified, Err(Refusal::Restricted(_))));
}
