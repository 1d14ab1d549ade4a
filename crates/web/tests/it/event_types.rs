//! EV-C2: every type of event is caused through the API or the command line's functions. It is emitted once, in its own environment, with
//! the data described in its table row.
//!
//! The client checks each response against the API description, and each event against the schema of its type. [`event_log`] checks that
//! its data has no other fields.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tokio::time::Instant;
use vestry_app::Principal;
use vestry_app::delivery::events::ListEvents;
use vestry_app::identity::users::Imported;
use vestry_app::operators::{Handover, NewManagementKeyFields, OperatorChange};
use vestry_app::platform::webhooks::{EndpointChange, NewEndpoint, Resume};
use vestry_contract::browser::Browser;
use vestry_contract::sealing::Recipient;
use vestry_domain::api_key::{ApiKeyKind, KeyFields, Scope};
use vestry_domain::code::FAILURES_BEFORE_WAIT;
use vestry_domain::event::EventKind::{self, *};
use vestry_domain::event::kinds;
use vestry_domain::ids::AppId;
use vestry_domain::management_key::Rights;
use vestry_domain::management_scope::ManagementScope;
use vestry_domain::operator::{Grants, Role};
use vestry_domain::provider::ConnectionSettings;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, Secret, World};
use vestry_ports::store::Store;
use vestry_store_sql::SqlStore;

use crate::attacks::people::{
    Authenticator, PAGE, PASSKEYS, PASSWORD, PASSWORDS, Person, Pocket, assertion, link_to,
    passkey, texted, with_password,
};
use crate::console::request as console_request;
use crate::events::{assert_described, event_log};
use crate::flows::{sent, signed_in, verified};
use crate::harness::{Api, described, on_both, operator};
use crate::oauth;
use crate::transfers;

on_both! {
    ev_c2_e_1_every_type_is_caused_and_emitted
    e_8_a_flood_of_failures_is_emitted_as_a_count
}

const CREATE: &str = "/v1/auth/users/create";
const ADA: &str = "ada@example.com";
const NUMBER: &str = "+14155552671";

/// Types that no call of these tests can cause, with the test that sees each: a database rollback, and days of failures.
const ELSEWHERE: &[(EventKind, &str, &str)] = &[
    (
        WebhookEndpointFailing,
        "crates/app/tests/it/webhooks.rs",
        "an_endpoint_that_fails_for_days_is_disabled",
    ),
    (
        LogRestarted,
        "crates/app/tests/it/events.rs",
        "e_9_a_rolled_back_database_is_noticed",
    ),
];

/// Reads both logs step by step and remembers the types seen.
struct Witness<'a> {
    api: &'a Api,
    /// The number of events seen in the test environment and in live.
    seen: [usize; 2],
    caused: BTreeSet<EventKind>,
}

impl Witness<'_> {
    /// Asserts that since the last step exactly these events were emitted, in this order, in the test environment and in live.
    async fn sees(&mut self, step: &str, test: &[EventKind], live: &[EventKind]) {
        let worlds = [
            ("test", self.api.test(), test),
            ("live", self.api.live(), live),
        ];
        for ((name, client, expected), seen) in worlds.into_iter().zip(&mut self.seen) {
            let events = event_log(self.api, &client).await.split_off(*seen);
            let kinds: Vec<EventKind> = events.iter().map(kind).collect();
            assert_eq!(kinds, expected, "{name}: {step}");
            for event in &events {
                assert_eq!(event["environment"], name, "{step}");
                assert_eq!(event["app_id"], self.api.app.id.to_string(), "{step}");
            }
            *seen += events.len();
            self.caused.extend(kinds);
        }
    }
}

fn kind(event: &Value) -> EventKind {
    event["type"].as_str().unwrap().parse().unwrap()
}

async fn ev_c2_e_1_every_type_is_caused_and_emitted(api: &Api) {
    let mut witness = Witness {
        api,
        seen: [0; 2],
        caused: BTreeSet::new(),
    };
    let new = [AppCreated, ApiKeyCreated];
    witness
        .sees("an App with a key in each environment", &new, &new)
        .await;
    keys_come_and_go(&mut witness).await;
    the_app_is_set_up(&mut witness).await;
    an_endpoint_comes_and_goes(&mut witness).await;
    users_are_changed(&mut witness).await;
    users_are_imported(&mut witness).await;
    identifiers_move_to_their_owners(&mut witness).await;
    passwords_are_set(&mut witness).await;
    second_factors_are_used(&mut witness).await;
    a_passkey_is_copied(&mut witness).await;
    a_link_comes_and_goes(&mut witness).await;
    wallets_are_used(&mut witness).await;
    wallets_come_and_go(&mut witness).await;
    a_mail_is_refused(&mut witness).await;
    what_is_told_on_demand(&mut witness).await;
    operators_come_and_go(&mut witness).await;

    let elsewhere: BTreeSet<_> = ELSEWHERE.iter().map(|(kind, ..)| *kind).collect();
    let both: Vec<_> = witness.caused.intersection(&elsewhere).collect();
    assert!(both.is_empty(), "caused here as well: {both:?}");
    let known: BTreeSet<_> = witness.caused.union(&elsewhere).copied().collect();
    let all: BTreeSet<_> = EventKind::ALL.iter().copied().collect();
    let missing: Vec<_> = all.difference(&known).collect();
    assert!(missing.is_empty(), "caused nowhere: {missing:?}");
}

async fn keys_come_and_go(witness: &mut Witness<'_>) {
    let api = witness.api;
    let world = World::new(api.app.id, Environment::Test);
    let scopes = vec![Scope::UsersRead];
    let made = api.service.create_api_key(
        Principal::cli(),
        world,
        ApiKeyKind::Secret,
        KeyFields::scoped(scopes),
    );
    let id = made.await.unwrap().record.id;
    let renamed = KeyFields {
        name: Some("reports".to_owned()),
        ..KeyFields::default()
    };
    api.service
        .update_api_key(Principal::cli(), api.app.id.into(), id, &[], renamed)
        .await
        .unwrap();
    api.service
        .revoke_api_key(Principal::cli(), api.app.id.into(), id)
        .await
        .unwrap();
    let expected = [ApiKeyCreated, ApiKeyUpdated, ApiKeyRevoked];
    witness.sees("an API key", &expected, &[]).await;
    api.service
        .rotate_signing_key(Principal::cli(), world)
        .await
        .unwrap();
    witness
        .sees("a signing key", &[SigningKeyRotated], &[])
        .await;
    let keys = api.service.list_signing_keys(Principal::cli(), world).await;
    let keys = keys.unwrap().into_iter();
    let waiting = keys.max_by_key(|key| key.active_from).unwrap().id;
    api.service
        .revoke_signing_key(Principal::cli(), world.into(), waiting)
        .await
        .unwrap();
    witness
        .sees("a revoked signing key", &[SigningKeyRevoked], &[])
        .await;
}

async fn the_app_is_set_up(witness: &mut Witness<'_>) {
    let api = witness.api;
    let (app, world) = (api.app.id, World::new(api.app.id, Environment::Live));
    let name = [("name".to_owned(), "Shop".to_owned())];
    api.service
        .set_app(Principal::cli(), app, &name)
        .await
        .unwrap();
    witness
        .sees("a setting", &[AppUpdated], &[AppUpdated])
        .await;

    let url = "https://app.example.com/login";
    let added =
        api.service
            .add_redirect_url(Principal::cli(), world, RedirectKind::Login, url, true);
    let url = added.await.unwrap().id;
    api.service
        .remove_redirect_url(Principal::cli(), app.into(), url)
        .await
        .unwrap();
    let expected = [RedirectUrlAdded, RedirectUrlRemoved];
    witness.sees("a redirect URL", &[], &expected).await;

    let google = || "google".parse().unwrap();
    let (secret, settings) = (
        Secret::new("s3cret".to_owned()),
        ConnectionSettings::default(),
    );
    let set = api.service.set_provider(
        Principal::cli(),
        world,
        google(),
        "client",
        &secret,
        settings,
    );
    set.await.unwrap();
    api.service
        .remove_provider(Principal::cli(), world, &google())
        .await
        .unwrap();
    let expected = [ProviderSet, ProviderRemoved];
    witness.sees("an identity provider", &[], &expected).await;
}

async fn an_endpoint_comes_and_goes(witness: &mut Witness<'_>) {
    let (service, app) = (&witness.api.service, witness.api.app.id);
    let new = NewEndpoint {
        url: "https://shop.example.com/events".to_owned(),
        name: None,
        types: vec!["user.deleted".to_owned()],
        enabled: true,
    };
    let change = EndpointChange {
        types: Some(vec!["user.*".to_owned()]),
        ..EndpointChange::default()
    };
    let world = World::new(app, Environment::Live);
    let (made, _) = service
        .add_webhook(Principal::cli(), world, new)
        .await
        .unwrap();
    let id = made.endpoint.id;
    service
        .change_webhook(Principal::cli(), app.into(), id, change)
        .await
        .unwrap();
    service
        .rotate_webhook_secret(Principal::cli(), app.into(), id, 60)
        .await
        .unwrap();
    service
        .disable_webhook(Principal::cli(), app.into(), id)
        .await
        .unwrap();
    service
        .enable_webhook(Principal::cli(), app.into(), id, Resume::All)
        .await
        .unwrap();
    service
        .remove_webhook(Principal::cli(), app.into(), id)
        .await
        .unwrap();
    let expected = [
        WebhookEndpointCreated,
        WebhookEndpointUpdated,
        WebhookEndpointSecretRotated,
        WebhookEndpointDisabled,
        WebhookEndpointEnabled,
        WebhookEndpointDeleted,
    ];
    witness.sees("an endpoint", &[], &expected).await;
}

async fn users_are_changed(witness: &mut Witness<'_>) {
    let api = witness.api;
    let test = api.test();
    let created = test.post(CREATE, json!({"email": "eve@example.com"})).await;
    let user = created.ok().text_at("/user_id");
    let expected = [UserCreated, EmailAdded, WalletCreated];
    witness.sees("a user", &expected, &[]).await;
    let path = |call: &str| format!("/v1/auth/users/{user}/{call}");
    let changes = [
        (json!({"first_name": "Eve"}), UserUpdated),
        (
            json!({"phone_numbers": [{"phone_number": NUMBER}]}),
            PhoneNumberAdded,
        ),
    ];
    for (change, expected) in changes {
        let step = change.to_string();
        test.send("PUT", &path("update"), Some(change)).await.ok();
        witness.sees(&step, &[expected], &[]).await;
    }
    for (call, expected) in [("disable", UserDisabled), ("enable", UserEnabled)] {
        test.post(&path(call), json!({})).await.ok();
        witness.sees(call, &[expected], &[]).await;
    }
    let world = World::new(api.app.id, Environment::Test);
    let caller = operator(&api.service, world).await;
    let unlocked = api.service.unlock_user(&caller, user.parse().unwrap());
    unlocked.await.unwrap();
    witness.sees("unlock", &[UserUnlocked], &[]).await;
    test.delete(&path("delete"), None).await.ok();
    witness.sees("delete", &[UserDeleted], &[]).await;
}

/// An import without events, and one of a user whose address is unproved but who has a password, which the proof removes.
async fn users_are_imported(witness: &mut Witness<'_>) {
    let api = witness.api;
    let world = World::new(api.app.id, Environment::Test);
    let lines = ["grace@example.com", "heidi@example.com"].map(|email| {
        let line = json!({
            "emails": [{"email": email}],
            // Of 72 times x.
            "password_hash": "$2b$04$abcdefghijklmnopqrstuubzadhGtS2zEF.gu0yd0opP6cVzb.e0i",
        });
        serde_json::from_value(line).unwrap()
    });
    let [silent, loud] = lines;
    for (line, is_told) in [(silent, false), (loud, true)] {
        let import = api
            .service
            .import_users(&operator(&api.service, world).await, false)
            .await
            .unwrap();
        let mut import = if is_told {
            import
        } else {
            import.without_events()
        };
        let taken = import.take(&[line]).await.unwrap();
        assert!(matches!(*taken, [Imported::New(_)]), "{taken:?}");
        import.finish().await.unwrap();
    }
    let expected = [UsersImported, UserCreated, EmailAdded];
    witness.sees("two imports", &expected, &[]).await;
    signed_in(api, "heidi@example.com").await;
    let expected = [UserClaimed, EmailVerified, SessionCreated];
    witness.sees("the proof of an owner", &expected, &[]).await;
}

/// An account has an address and a number, and proves one of them. A person who proves the other from outside gets it.
async fn identifiers_move_to_their_owners(witness: &mut Witness<'_>) {
    let api = witness.api;
    let test = api.test();
    let first = json!({"email": "ivan@example.com", "phone_number": NUMBER});
    test.post(CREATE, first).await.ok();
    let expected = [UserCreated, EmailAdded, PhoneNumberAdded, WalletCreated];
    witness
        .sees("an address and a number", &expected, &[])
        .await;
    signed_in(api, "ivan@example.com").await;
    let expected = [EmailVerified, SessionCreated];
    witness.sees("the address is proved", &expected, &[]).await;
    let code = texted(api, NUMBER).await;
    witness.sees("a pending owner", &[UserCreated], &[]).await;
    verified(&test, &code, json!({"session_expires_in": 60}))
        .await
        .ok();
    let expected = [
        PhoneNumberRemoved,
        PhoneNumberAdded,
        PhoneNumberVerified,
        UserActivated,
        SessionCreated,
    ];
    witness.sees("the number is proved", &expected, &[]).await;

    let path = format!("/v1/auth/users/{}/update", code.user_id);
    let address = json!({"emails": [{"email": "judy@example.com"}]});
    test.send("PUT", &path, Some(address)).await.ok();
    witness.sees("another address", &[EmailAdded], &[]).await;
    signed_in(api, "judy@example.com").await;
    let expected = [
        UserCreated,
        EmailRemoved,
        EmailAdded,
        EmailVerified,
        UserActivated,
        SessionCreated,
    ];
    witness
        .sees("it is proved from outside", &expected, &[])
        .await;
}

async fn passwords_are_set(witness: &mut Witness<'_>) {
    let api = witness.api;
    let test = api.test();
    let Person { user, token } = with_password(api, ADA).await;
    let expected = [
        UserCreated,
        EmailAdded,
        EmailVerified,
        UserActivated,
        SessionCreated,
        PasswordSet,
    ];
    witness.sees("a first password", &expected, &[]).await;
    let change = json!({"session_token": token, "password": "another horse battery"});
    let path = "/v1/auth/passwords/session/update";
    test.post(path, change).await.ok();
    witness.sees("a second one", &[PasswordChanged], &[]).await;
    oauth::lands(api).await;
    let urls = [RedirectUrlAdded; 3];
    witness.sees("where links lead", &urls, &urls).await;
    let token = link_to(api, "/v1/auth/passwords/reset/begin", ADA).await;
    let reset = json!({"token": token, "password": PASSWORD});
    test.post("/v1/auth/passwords/reset/complete", reset)
        .await
        .ok();
    let expected = [PasswordReset, SessionEnded];
    witness.sees("a third one, by a link", &expected, &[]).await;
    let wrong = json!({"user_id": user, "password": "not this one at all"});
    for _ in 0..FAILURES_BEFORE_WAIT {
        let refused = test.post(PASSWORDS, wrong.clone()).await;
        refused.refuses(401, "invalid_credentials", None);
    }
    witness
        .sees("very many wrong ones", &[SignInBlocked], &[])
        .await;
}

async fn second_factors_are_used(witness: &mut Witness<'_>) {
    let api = witness.api;
    let test = api.test();
    let session = signed_in(api, "ken@example.com").await;
    let user = session.text_at("/user_id");
    let expected = [
        UserCreated,
        EmailAdded,
        EmailVerified,
        UserActivated,
        SessionCreated,
    ];
    witness.sees("a user signs in", &expected, &[]).await;
    let app = Authenticator::of(api, &user).await;
    let expected = [TotpAdded, SessionEnded];
    witness.sees("an authenticator app", &expected, &[]).await;
    let session = signed_in(api, "ken@example.com").await;
    witness.sees("signs in again", &[SessionCreated], &[]).await;
    let token = session.text_at("/session_token");
    let second = json!({"user_id": user, "totp": app.shows(api), "session_token": token});
    let path = "/v1/auth/totps/verify";
    test.post(path, second).await.ok();
    witness
        .sees("a second factor", &[SessionFactorAdded], &[])
        .await;
    let recovery = json!({"user_id": user, "recovery_code": app.recovery[0]});
    test.post("/v1/auth/totps/recovery", recovery).await.ok();
    witness
        .sees("a recovery code", &[RecoveryCodeUsed], &[])
        .await;
    let path = format!("/v1/auth/users/totps/{}/delete", app.id);
    test.delete(&path, None).await.ok();
    let expected = [TotpRemoved, SessionEnded];
    witness.sees("no authenticator app", &expected, &[]).await;
}

/// Two assertions, of which the earlier one arrives later, as from a clone.
async fn a_passkey_is_copied(witness: &mut Witness<'_>) {
    let api = witness.api;
    let test = api.test();
    let created = test.post(CREATE, json!({"email": "lea@example.com"})).await;
    let user = created.ok().text_at("/user_id");
    let mut browser = Browser::counting(PAGE);
    let passkey = passkey(api, &mut browser, &user).await;
    let expected = [UserCreated, EmailAdded, WalletCreated, PasskeyAdded];
    witness.sees("a passkey", &expected, &[]).await;
    let earlier = assertion(api, &mut browser).await;
    let later = assertion(api, &mut browser).await;
    let request = json!({"public_key_credential": later});
    test.post(PASSKEYS, request).await.ok();
    let request = json!({"public_key_credential": earlier});
    let refused = test.post(PASSKEYS, request).await;
    refused.refuses(401, "invalid_credentials", None);
    let expected = [PasskeyCounterRegressed];
    witness.sees("a copy of it", &expected, &[]).await;
    let path = format!("/v1/auth/users/webauthn_credentials/{passkey}/delete");
    test.delete(&path, None).await.ok();
    witness.sees("no passkey", &[PasskeyRemoved], &[]).await;
}

async fn a_link_comes_and_goes(witness: &mut Witness<'_>) {
    let test = witness.api.test();
    let query = "identity=verified&email=mia%40example.com";
    let (url, _) = oauth::landed(witness.api, query).await;
    let request = json!({"token": oauth::token(&url)});
    let entered = oauth::verify(&test, request).await.ok();
    let expected = [UserCreated, EmailAdded, EmailVerified, OauthLinkAdded];
    witness
        .sees("an identity provider's word", &expected, &[])
        .await;
    let path = format!("/v1/auth/users/{}", entered.text_at("/user_id"));
    let link = test.get(&path).await.ok().text_at("/idp_providers/0/id");
    let path = format!("/v1/auth/users/idp_providers/{link}/delete");
    test.delete(&path, None).await.ok();
    witness.sees("no link", &[OauthLinkRemoved], &[]).await;
}

async fn wallets_are_used(witness: &mut Witness<'_>) {
    let api = witness.api;
    let created = json!({"email": "nia@example.com", "include_user": true});
    let created = api.test().post(CREATE, created).await.ok();
    let expected = [UserCreated, EmailAdded, WalletCreated];
    witness.sees("a wallet", &expected, &[]).await;
    let id = created.text_at("/user/wallets/0/id");
    let path = |call: &str| format!("/v1/wallets/{id}/{call}");
    for (call, expected) in [
        ("disable", WalletDisabled),
        ("enable", WalletEnabled),
        ("disable", WalletDisabled),
    ] {
        api.test().post(&path(call), json!({})).await.ok();
        witness.sees(call, &[expected], &[]).await;
    }
    // Enabled directly in the database.
    let store = SqlStore::connect(&api.place.settings).await.unwrap();
    let world = World::new(api.app.id, Environment::Test);
    let mut tx = store.begin().await.unwrap();
    let found = tx.wallets().find(&world, id.parse().unwrap()).await;
    let mut row = found.unwrap().unwrap();
    row.wallet.disabled = None;
    assert!(tx.wallets().replace(&row, &row.mac).await.unwrap());
    tx.commit().await.unwrap();
    let message = json!({"message": "hi"});
    let refused = api.test().post(&path("sign_message"), message).await;
    assert_eq!(refused.status, 500);
    let expected = [WalletTampered];
    witness.sees("a row that is not ours", &expected, &[]).await;
}

async fn wallets_come_and_go(witness: &mut Witness<'_>) {
    let api = witness.api;
    let test = api.test();
    let user = sent(api, &test, "oda@example.com").await.user_id;
    let key = transfers::imported(&test, &user, transfers::ADDRESS, transfers::KEY).await;
    let expected = [UserCreated, EmailAdded, WalletImported];
    witness
        .sees("a private key is imported", &expected, &[])
        .await;
    let exporter = transfers::exporter(api, true).await;
    let expected = [AppUpdated, ApiKeyCreated];
    witness
        .sees("export is allowed", &expected, &[AppUpdated])
        .await;
    let path = format!("/v1/wallets/{}/export", key.ok().text_at("/id"));
    let recipient = STANDARD.encode(&Recipient::fresh().public_key);
    let request = json!({"recipient_public_key": recipient, "entropy_type": "private_key"});
    api.with_key(&exporter).post(&path, request).await.ok();
    witness.sees("it goes", &[WalletExported], &[]).await;

    let pocket = Pocket::new(api).await;
    let expected = [UserCreated, EmailAdded, WalletCreated];
    witness.sees("an external wallet", &[], &expected).await;
    let proof = pocket.proof(api, None).await;
    let entered = test.post("/v1/auth/wallets/verify", proof).await.ok();
    let expected = [UserCreated, WalletLinked];
    witness.sees("it signs a user in", &expected, &[]).await;
    let user = entered.text_at("/user_id");
    let path = format!("/v1/auth/users/{user}/update");
    let vouched = json!({"emails": [{"email": "pia@example.com", "verified": true}]});
    test.send("PUT", &path, Some(vouched)).await.ok();
    let expected = [EmailAdded, EmailVerified];
    witness.sees("another sign-in method", &expected, &[]).await;
    let path = format!("/v1/auth/users/wallets/{}/delete", entered.text_at("/id"));
    test.delete(&path, None).await.ok();
    witness
        .sees("without the wallet", &[WalletDeleted], &[])
        .await;
}

async fn a_mail_is_refused(witness: &mut Witness<'_>) {
    let api = witness.api;
    api.mailer.refuse();
    let request = json!({"email": "quinn@example.com", "expires_in": 10});
    let path = "/v1/auth/otps/email/login_or_create";
    api.live().post(path, request).await.ok();
    api.deliver().await;
    let expected = [UserCreated, EmailAdded, MessageFailed];
    witness
        .sees("a mail that is rejected", &[], &expected)
        .await;
    api.mailer.take();
}

/// The types that are emitted only if the App asks for them. Everything before was done without emitting any.
async fn what_is_told_on_demand(witness: &mut Witness<'_>) {
    let api = witness.api;
    let test = api.test();
    let optional = EventKind::ALL.iter().filter(|kind| kind.is_optional());
    let names: Vec<&str> = optional.map(|kind| kind.as_str()).collect();
    let setting = ("events_optional".to_owned(), json!(names).to_string());
    api.service
        .set_app(Principal::cli(), api.app.id, &[setting])
        .await
        .unwrap();
    // Settings take effect within a second.
    api.pass(1);
    witness
        .sees("a setting", &[AppUpdated], &[AppUpdated])
        .await;

    let created = json!({"email": "rosa@example.com", "include_user": true});
    let created = test.post(CREATE, created).await.ok();
    let expected = [UserCreated, EmailAdded, WalletCreated];
    witness.sees("a user", &expected, &[]).await;
    let path = format!(
        "/v1/wallets/{}/sign_message",
        created.text_at("/user/wallets/0/id")
    );
    test.post(&path, json!({"message": "hi"})).await.ok();
    witness.sees("a signature", &[WalletSigned], &[]).await;
    let code = sent(api, &test, "rosa@example.com").await;
    witness.sees("a code", &[MessageSent], &[]).await;
    let wrong = if code.code == "271828" {
        "314159"
    } else {
        "271828"
    };
    let request = json!({"method_id": code.method_id, "otp": wrong});
    let refused = test.post("/v1/auth/otps/verify", request).await;
    refused.refuses(400, "invalid_otp", None);
    witness.sees("a wrong one", &[SignInFailed], &[]).await;

    let mut browser = Browser::counting(PAGE);
    passkey(api, &mut browser, &created.text_at("/user_id")).await;
    witness.sees("a passkey", &[PasskeyAdded], &[]).await;
    let mut response = assertion(api, &mut browser).await;
    response["response"]["signature"] = json!(URL_SAFE_NO_PAD.encode([0; 70]));
    let request = json!({"public_key_credential": response});
    let refused = test.post(PASSKEYS, request).await;
    refused.refuses(401, "invalid_credentials", None);
    witness
        .sees("a passkey's wrong response", &[SignInFailed], &[])
        .await;

    let pocket = Pocket::of(api, "second@example.com").await;
    let expected = [UserCreated, EmailAdded, WalletCreated];
    witness.sees("an external wallet", &[], &expected).await;
    let proof = pocket.proof(api, None).await;
    let entered = test.post("/v1/auth/wallets/verify", proof.clone()).await;
    entered.ok();
    let expected = [UserCreated, WalletLinked];
    witness
        .sees("it signs a user in", &expected, &[WalletSigned])
        .await;
    let mut again = pocket.proof(api, None).await;
    again["signature"] = proof["signature"].clone();
    let refused = test.post("/v1/auth/wallets/verify", again).await;
    refused.refuses(401, "invalid_credentials", None);
    witness
        .sees(
            "a signature over something else",
            &[SignInFailed],
            &[WalletSigned],
        )
        .await;

    link_to(api, "/v1/auth/passwords/reset/begin", "rosa@example.com").await;
    let expected = [PasswordResetRequested, MessageSent];
    witness.sees("a link for a password", &expected, &[]).await;
}

/// The types of the built-in App's log.
async fn operators_come_and_go(witness: &mut Witness<'_>) {
    let service = &witness.api.service;
    let (cli, request) = (Principal::cli(), console_request());
    let grants = |role, apps| Grants::new(role, apps).unwrap();
    let mine = Some(vec![witness.api.app.id]);
    let viewer = grants(Role::Viewer, mine.clone());
    let made = service.invite_operator(cli, "eve@example.com", viewer, Handover::Shown);
    let url = made.await.unwrap().url;
    let link = url.expose().split_once("token=").unwrap().1.to_owned();
    let link = Secret::new(link);
    let joined = service.use_operator_link(&request, &link).await.unwrap();
    let (eve, token) = (joined.user_id, joined.token);
    let session = service.operator_session(&request, &token).await.unwrap();
    let password = |text: &str| Secret::new(text.to_owned());
    let set = password("correct horse battery staple");
    service
        .set_operator_password(&request, &session, token, set, None)
        .await
        .unwrap();
    let wrong = password("incorrect horse battery");
    let refused = service.sign_operator_in_by_password(&request, "eve@example.com", wrong);
    refused.await.unwrap_err();
    let right = password("correct horse battery staple");
    let entered = service.sign_operator_in_by_password(&request, "eve@example.com", right);
    entered.await.unwrap();
    for change in [
        OperatorChange::Role(Some(Role::Developer), mine),
        OperatorChange::Disable,
        OperatorChange::Enable,
        OperatorChange::Remove,
    ] {
        service.change_operator(cli, eve, change).await.unwrap();
    }
    let key = NewManagementKeyFields {
        name: "terraform".to_owned(),
        rights: Rights::new(
            None,
            vec![Environment::Test],
            vec![ManagementScope::AppsRead],
            None,
        )
        .unwrap(),
        expires_at: service.machine_time() + Seconds(60),
    };
    let key = service.create_management_key(cli, key).await.unwrap();
    service
        .revoke_management_key(cli, key.record.id)
        .await
        .unwrap();

    service.sequence_all().await.unwrap();
    let types = ["operator.*", "management_key.*"];
    let query = ListEvents {
        kinds: kinds(types).unwrap(),
        ..ListEvents::default()
    };
    let log = service.list_deployment_events(cli, &query).await.unwrap();
    let events = log.events.iter().map(|event| event.json().unwrap());
    let events: Vec<Value> = events
        .map(|event| serde_json::from_str(&event).unwrap())
        .collect();
    for event in &events {
        assert_described(event);
        assert_eq!(event["app_id"], AppId::BUILT_IN.to_string());
    }
    let found: Vec<EventKind> = events.iter().map(kind).collect();
    let expected = [
        OperatorInvited,
        OperatorJoined,
        OperatorSignInFailed,
        OperatorSignedIn,
        OperatorRoleChanged,
        OperatorDisabled,
        OperatorEnabled,
        OperatorRemoved,
        ManagementKeyCreated,
        ManagementKeyRevoked,
    ];
    assert_eq!(found, expected);
    witness.caused.extend(found);
    witness.sees("in the log of no App", &[], &[]).await;
}

/// E-8: ten failures a minute are emitted individually, and the rest as a count at the end of the minute.
async fn e_8_a_flood_of_failures_is_emitted_as_a_count(api: &Api) {
    let test = api.test();
    let setting = json!(["sign_in.failed"]).to_string();
    let setting = ("events_optional".to_owned(), setting);
    api.service
        .set_app(Principal::cli(), api.app.id, &[setting])
        .await
        .unwrap();
    api.pass(1);
    let pocket = Pocket::of(api, "ada@example.com").await;
    let proof = pocket.proof(api, None).await;
    let entered = test.post("/v1/auth/wallets/verify", proof.clone()).await;
    let user = entered.ok().text_at("/user_id");
    for _ in 0..13 {
        let mut again = pocket.proof(api, None).await;
        again["signature"] = proof["signature"].clone();
        let refused = test.post("/v1/auth/wallets/verify", again).await;
        refused.refuses(401, "invalid_credentials", None);
    }
    let counts = async || {
        api.service.sequence_all().await.unwrap();
        let page = test.get("/v1/events?types=sign_in.failed&limit=100").await;
        let page = page.ok();
        let events = page.body["events"].as_array().unwrap().clone();
        let data = events.into_iter().map(|mut event| event["data"].take());
        let data: Vec<Value> = data.collect();
        assert!(data.iter().all(|data| data["user_id"] == *user), "{data:?}");
        data.iter()
            .map(|data| data["count"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(counts().await, vec![Value::Null; 10]);
    let begun = Instant::now();
    api.service.emit_counted_failures(Some(begun)).await;
    assert_eq!(counts().await.len(), 10, "the minute is not over");
    api.service.emit_counted_failures(None).await;
    let all = counts().await;
    assert_eq!((all.len(), &all[10]), (11, &json!(3)));
    api.service.emit_counted_failures(None).await;
    assert_eq!(counts().await.len(), 11);
}

/// The text of a file of the repository, by its path from the root.
fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path);
    fs::read_to_string(path).unwrap()
}

#[test]
fn ev_c2_events_not_caused_here_are_seen_elsewhere() {
    for (kind, file, test) in ELSEWHERE {
        let text = read(file);
        let (_, rest) = text
            .split_once(&format!("async fn {test}() {{"))
            .unwrap_or_else(|| panic!("{file} has no test {test}"));
        let (body, _) = rest.split_once("\n}\n").unwrap();
        assert!(
            body.contains(&format!("EventKind::{kind:?}")),
            "{test} does not see {kind}"
        );
    }
}

/// The page has a line for each type, as in the table and in its order.
#[test]
fn ev_c2_the_page_lists_every_type() {
    let page = read("docs/events.md");
    let (_, types) = page.split_once("\n## Types\n").unwrap();
    let types = types.split("\n## ").next().unwrap();
    let mut lines = types.lines().filter(|line| line.starts_with("| `"));
    for kind in EventKind::ALL {
        let optional = if kind.is_optional() { " ○" } else { "" };
        let fields = kind.fields().iter().map(|(name, _)| format!("`{name}`"));
        let fields = fields.collect::<Vec<_>>().join(", ");
        let line = format!("| `{kind}`{optional} | {} | {fields} |", kind.text());
        assert_eq!(lines.next(), Some(&*line));
    }
    assert_eq!(lines.next(), None);
}

/// The API description has a schema for each type, and an event is one of them.
#[test]
fn ev_c2_the_description_lists_every_type() {
    let schemas = &described().document["components"]["schemas"];
    let one_of = schemas["Event"]["oneOf"].as_array().unwrap();
    let name = |reference: &Value| {
        let reference = reference["$ref"].as_str().unwrap();
        let schema = reference.strip_prefix("#/components/schemas/").unwrap();
        schemas[schema]["allOf"][1]["properties"]["type"]["enum"].clone()
    };
    let found: Vec<Value> = one_of.iter().map(name).collect();
    let expected: Vec<Value> = EventKind::ALL
        .iter()
        .map(|kind| json!([kind.as_str()]))
        .collect();
    assert_eq!(found, expected);
}
