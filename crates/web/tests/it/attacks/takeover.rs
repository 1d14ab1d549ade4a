//! Attack 1: an attacker plants an account for another person, who then proves the address by a code.
//!
//! `federated` covers the same scenarios with a proof by an identity provider, and those that need one.

use serde_json::{Value, json};
use vestry_app::identity::users::Imported;
use vestry_contract::browser::Browser;
use vestry_domain::ids::{Id, UserId};
use vestry_domain::{Environment, World};
use vestry_ports::clock::Clock;

use super::people::{
    self, Authenticator, CODES, LINKS, PAGE, PASSKEYS, PASSWORD, PASSWORDS, Pocket, SESSION, TOTP,
    is_open, link_to, texted, with,
};
use crate::flows::{sent, signed_in, verified};
use crate::harness::{Api, Response, on_both, operator};

on_both! {
    attack_1_a_planted_identifier_opens_nothing
    attack_1_an_account_with_everything_planted_is_the_victims_alone
    attack_1_an_extended_session_does_not_survive_the_proof
    attack_1_a_pending_address_is_no_way_back
    attack_1_an_account_that_the_attacker_founded_is_not_the_victims
    attack_1_whichever_way_the_victim_proves_the_address
    attack_1_a_planted_identifier_opens_nothing_after_an_import
    attack_1_an_extended_session_does_not_survive_an_import
    attack_1_an_import_clears_a_planted_account
    attack_1_an_import_takes_an_address_out_of_another_persons_account
    attack_1_an_import_under_its_own_id_leaves_the_planted_account_empty
}

pub(super) const VICTIM: &str = "victim@example.com";
pub(super) const ATTACKER: &str = "attacker@example.com";
const NUMBER: &str = "+14155552671";
const LOGIN: &str = "/v1/auth/magic_links/email/login_or_create";
const RESET: &str = "/v1/auth/passwords/reset/begin";
const COMPLETE: &str = "/v1/auth/passwords/reset/complete";

/// The victim arrives and proves the address by a code.
async fn by_code(api: &Api) -> Response {
    signed_in(api, VICTIM).await
}

/// The account that the attacker creates: the victim's address and a number of the attacker's own.
pub(super) async fn planted(api: &Api) -> String {
    let request = json!({"email": VICTIM, "phone_number": NUMBER, "requires_verification": false});
    let created = api.test().post("/v1/auth/users/create", request).await;
    created.ok().text_at("/user_id")
}

/// The same from an import, with a password that the attacker knows.
async fn imported(api: &Api) -> String {
    let line = json!({
        "emails": [{"email": VICTIM}], "phone_numbers": [{"phone_number": NUMBER}],
        // Of 72 times x.
        "password_hash": "$2b$04$abcdefghijklmnopqrstuubzadhGtS2zEF.gu0yd0opP6cVzb.e0i",
    });
    let line = serde_json::from_value(line).unwrap();
    let world = World::new(api.app.id, Environment::Test);
    let mut import = api
        .service
        .import_users(&operator(&api.service, world).await, false)
        .await
        .unwrap();
    let taken = import.take(&[line]).await.unwrap();
    let [Imported::New(user)] = &*taken else {
        panic!("{taken:?}");
    };
    user.to_string()
}

/// An import of the victim's verified address.
async fn import_of_victim(api: &Api, more: Value) -> Vec<Imported> {
    let line = json!({"emails": [{"email": VICTIM, "verified": true}]});
    let line = serde_json::from_value(with(line, more)).unwrap();
    let world = World::new(api.app.id, Environment::Test);
    let mut import = api
        .service
        .import_users(&operator(&api.service, world).await, false)
        .await
        .unwrap();
    import.take(&[line]).await.unwrap()
}

/// The victim's account is imported from another service, and the victim signs in.
async fn by_import(api: &Api) -> Response {
    let taken = import_of_victim(api, json!({})).await;
    assert!(matches!(&*taken, [Imported::New(_)]), "{taken:?}");
    signed_in(api, VICTIM).await
}

/// A session of the attacker, through a planted passkey.
async fn attackers_session(api: &Api, attacker: &mut Browser) -> Value {
    let credential = people::assertion(api, attacker).await;
    let request = json!({"public_key_credential": credential, "session_expires_in": 525_600});
    api.test().post(PASSKEYS, request).await.ok().body
}

/// The account, and a browser whose passkey signs in to it.
async fn planted_with_passkey(api: &Api) -> (String, Browser) {
    let (user_id, mut attacker) = (planted(api).await, Browser::at(PAGE));
    people::passkey(api, &mut attacker, &user_id).await;
    (user_id, attacker)
}

fn text(body: &Value, name: &str) -> String {
    body[name].as_str().unwrap().to_owned()
}

pub(super) async fn user(api: &Api, id: &str) -> Value {
    api.test()
        .get(&format!("/v1/auth/users/{id}"))
        .await
        .ok()
        .body
}

/// Asserts a refusal, or the sign-in of another user.
#[track_caller]
pub(super) fn stays_out(response: &Response, victim: &str) {
    assert_ne!(response.body["user_id"], victim, "{}", response.text);
}

async fn attack_1_a_planted_identifier_opens_nothing(api: &Api) {
    a_planted_identifier_opens_nothing(api, by_code).await;
}

async fn attack_1_an_account_with_everything_planted_is_the_victims_alone(api: &Api) {
    let mut planted = Planted::everything(api).await;
    let victim = by_code(api).await;
    planted.is_dead(api, &victim).await;
}

async fn attack_1_an_extended_session_does_not_survive_the_proof(api: &Api) {
    an_extended_session_does_not_survive(api, by_code).await;
}

async fn attack_1_a_planted_identifier_opens_nothing_after_an_import(api: &Api) {
    a_planted_identifier_opens_nothing(api, by_import).await;
}

async fn attack_1_an_extended_session_does_not_survive_an_import(api: &Api) {
    an_extended_session_does_not_survive(api, by_import).await;
}

async fn attack_1_a_pending_address_is_no_way_back(api: &Api) {
    people::with_urls(api).await;
    a_pending_address_is_no_way_back(api, by_code).await;
}

/// The trojan identifier: registered next to the victim's address, it does not sign in after the victim arrived.
pub(super) async fn a_planted_identifier_opens_nothing(
    api: &Api,
    victim: impl AsyncFn(&Api) -> Response,
) {
    let user_id = planted(api).await;
    let waiting = texted(api, NUMBER).await;
    let victim = victim(api).await;
    assert_eq!(victim.text_at("/user_id"), user_id);
    has_no_proved_number(&user(api, &user_id).await);
    // Neither the pending code nor one sent now: by then the number is in a user of its own.
    let late = verified(&api.test(), &waiting, json!({"session_expires_in": 60})).await;
    stays_out(&late, &user_id);
    let fresh = texted(api, NUMBER).await;
    let fresh = verified(&api.test(), &fresh, json!({"session_expires_in": 60})).await;
    stays_out(&fresh, &user_id);
    let code = sent(api, &api.test(), VICTIM).await;
    let more = json!({"session_token": victim.text_at("/session_token")});
    verified(&api.test(), &code, more).await.ok();
}

#[track_caller]
fn has_no_proved_number(user: &Value) {
    let phones = user["phone_numbers"].as_array().unwrap();
    assert!(
        phones.iter().all(|phone| phone["verified"] == false),
        "{user}"
    );
}

/// Classic: password, authenticator app, recovery codes, passkey, number, link and sessions, all planted before, and none of it proved.
/// Each opens the account until the victim arrives.
pub(super) struct Planted {
    pub(super) user_id: String,
    /// Session tokens.
    pub(super) sessions: Vec<String>,
    jwt: String,
    attacker: Browser,
    totp: Authenticator,
    /// From `magic_links/create`, which sends no mail.
    link: String,
    /// Made before, and not yet presented.
    assertion: Value,
}

impl Planted {
    pub(super) async fn everything(api: &Api) -> Self {
        let test = api.test();
        let (user_id, mut attacker) = (imported(api).await, Browser::at(PAGE));
        people::passkey(api, &mut attacker, &user_id).await;
        let totp = Authenticator::of(api, &user_id).await;
        let session = attackers_session(api, &mut attacker).await;
        let link = json!({"user_id": user_id});
        let link = test.post("/v1/auth/magic_links/create", link).await.ok();
        let mut made = Self {
            sessions: vec![text(&session, "session_token")],
            jwt: text(&session, "session_jwt"),
            assertion: people::assertion(api, &mut attacker).await,
            link: link.text_at("/token"),
            user_id,
            attacker,
            totp,
        };
        made.signs_in_by_password(api).await;
        assert!(is_open(api, &made.sessions[0]).await);
        made
    }

    /// Adds another session.
    pub(super) async fn signs_in_by_password(&mut self, api: &Api) {
        let signed_in = api.test().post(PASSWORDS, self.password()).await.ok();
        self.sessions.push(signed_in.text_at("/session_token"));
    }

    fn password(&self) -> Value {
        let password = "x".repeat(72);
        json!({"user_id": self.user_id, "password": password, "session_expires_in": 60})
    }

    /// Asserts that none of it opens anything of the victim's, and that the victim is signed in.
    pub(super) async fn is_dead(&mut self, api: &Api, victim: &Response) {
        assert_eq!(victim.text_at("/user_id"), self.user_id);
        self.sessions_and_secrets_are_dead(api).await;
        self.passkey_is_a_stranger(api).await;
        let user = user(api, &self.user_id).await;
        for what in ["totps", "webauthn_credentials"] {
            assert_eq!(user[what], json!([]), "{what}");
        }
        has_no_proved_number(&user);
        assert!(is_open(api, &victim.text_at("/session_token")).await);
    }

    async fn sessions_and_secrets_are_dead(&self, api: &Api) {
        let test = api.test();
        for token in &self.sessions {
            let opens = is_open(api, token).await;
            assert!(!opens, "attack 1: a planted session is open");
        }
        let jwt = json!({"session_jwt": self.jwt});
        let refused = test.post(SESSION, jwt).await;
        refused.refuses(401, "invalid_session", None);
        let refused = test.post(PASSWORDS, self.password()).await;
        refused.refuses(401, "invalid_credentials", None);
        let (user_id, totp) = (&self.user_id, &self.totp);
        let code = json!({"user_id": user_id, "totp": totp.shows(api), "session_expires_in": 60});
        assert_eq!(test.post(TOTP, code).await.status, 400);
        let recovery = json!({"user_id": user_id, "recovery_code": totp.recovery[0]});
        let refused = test.post("/v1/auth/totps/recovery", recovery).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
        let request = json!({"token": self.link, "session_expires_in": 60});
        let refused = test.post(LINKS, request).await;
        refused.refuses(400, "invalid_magic_token", None);
    }

    async fn passkey_is_a_stranger(&mut self, api: &Api) {
        let fresh = people::assertion(api, &mut self.attacker).await;
        for credential in [&self.assertion, &fresh] {
            let request = json!({"public_key_credential": credential, "session_expires_in": 60});
            let refused = api.test().post(PASSKEYS, request).await;
            refused.refuses(401, "invalid_credentials", None);
        }
    }
}

/// The unexpired session: used every day and extended, it ends with the victim's proof, by every kind of reference.
pub(super) async fn an_extended_session_does_not_survive(
    api: &Api,
    victim: impl AsyncFn(&Api) -> Response,
) {
    let (user_id, mut attacker) = planted_with_passkey(api).await;
    let mut session = attackers_session(api, &mut attacker).await;
    for _ in 0..30 {
        api.pass(86_400);
        let request = json!({
            "session_token": text(&session, "session_token"), "session_expires_in": 525_600,
        });
        session = api.test().post(SESSION, request).await.ok().body;
    }
    assert_eq!(victim(api).await.text_at("/user_id"), user_id);
    for name in ["session_token", "session_jwt"] {
        let request = json!({ name: text(&session, name), "session_expires_in": 525_600 });
        let refused = api.test().post(SESSION, request).await;
        assert_ne!(refused.status, 200, "attack 1: a planted session is open");
        refused.refuses(401, "invalid_session", None);
    }
}

/// The unexpired change. Vestry has no pending address changes. The closest equivalent is an attacker's address that `users/update`
/// attached next to the victim's, with a pending code, link and reset.
pub(super) async fn a_pending_address_is_no_way_back(
    api: &Api,
    victim: impl AsyncFn(&Api) -> Response,
) {
    let test = api.test();
    let user_id = planted(api).await;
    let path = format!("/v1/auth/users/{user_id}/update");
    let attach = json!({"emails": [{"email": ATTACKER}]});
    test.send("PUT", &path, Some(attach)).await.ok();
    let link = link_to(api, LOGIN, ATTACKER).await;
    let reset = link_to(api, RESET, ATTACKER).await;
    api.pass(20);
    let code = sent(api, &test, ATTACKER).await;
    assert_eq!(code.user_id, user_id);

    assert_eq!(victim(api).await.text_at("/user_id"), user_id);
    let later = sent(api, &test, ATTACKER).await;
    for code in [code, later] {
        let refused = verified(&test, &code, json!({"session_expires_in": 60})).await;
        stays_out(&refused, &user_id);
    }
    api.pass(601);
    for token in [link, link_to(api, LOGIN, ATTACKER).await] {
        let request = json!({"token": token, "session_expires_in": 60});
        let refused = test.post(LINKS, request).await;
        stays_out(&refused, &user_id);
    }
    let request = json!({"token": reset, "password": PASSWORD, "session_expires_in": 60});
    let refused = test.post(COMPLETE, request).await;
    stays_out(&refused, &user_id);
    let request = json!({"user_id": user_id, "password": PASSWORD});
    let refused = test.post(PASSWORDS, request).await;
    refused.refuses(401, "invalid_credentials", None);
}

/// The attacker founds the account under the victim's address with an identifier of their own, from outside or within a session.
///
/// It stays the attacker's, the victim gets another account, and neither can access the other's (CL-4, CL-5, CL-7).
async fn attack_1_an_account_that_the_attacker_founded_is_not_the_victims(api: &Api) {
    people::with_urls(api).await;
    for way in ["number", "number within a session", "wallet"] {
        let test = api.test();
        let (user_id, mut attacker) = planted_with_passkey(api).await;
        let session = attackers_session(api, &mut attacker).await;
        let within = json!({"session_token": text(&session, "session_token")});
        let session = match way {
            "number" => {
                let code = texted(api, NUMBER).await;
                verified(&test, &code, json!({"session_expires_in": 60})).await
            }
            "wallet" => {
                let pocket = Pocket::new(api).await;
                let proof = with(pocket.proof(api, Some(&user_id)).await, within);
                test.post("/v1/auth/wallets/verify", proof).await
            }
            _ => verified(&test, &texted(api, NUMBER).await, within).await,
        };
        let session = session.ok();
        assert_eq!(session.text_at("/user_id"), user_id, "{way}");
        let named = json!({ "email": VICTIM });
        for path in [
            RESET,
            "/v1/auth/otps/email/send",
            "/v1/auth/magic_links/create",
        ] {
            let refused = test.post(path, named.clone()).await;
            refused.refuses(403, "insufficient_factor", None);
            assert!(refused.text.contains("login_or_create"), "{way}");
        }
        let victim = signed_in(api, VICTIM).await;
        assert_ne!(victim.text_at("/user_id"), user_id, "{way}");
        assert!(is_open(api, &victim.text_at("/session_token")).await);
        assert!(
            is_open(api, &session.text_at("/session_token")).await,
            "{way}"
        );
        assert_eq!(user(api, &user_id).await["emails"], json!([]), "{way}");
        test.post("/v1/auth/otps/email/send", named).await.ok();
        for id in [user_id, victim.text_at("/user_id")] {
            let path = format!("/v1/auth/users/{id}/delete");
            test.delete(&path, None).await.ok();
        }
        api.pass(86_400);
    }
}

/// A code, a link, its fallback code and a reset are equivalent proofs: each of them removes the planted credentials.
async fn attack_1_whichever_way_the_victim_proves_the_address(api: &Api) {
    people::with_urls(api).await;
    for way in ["code", "link", "fallback code", "reset"] {
        let (user_id, mut attacker) = planted_with_passkey(api).await;
        let session = attackers_session(api, &mut attacker).await;
        let (path, request) = match way {
            "code" => {
                let code = sent(api, &api.test(), VICTIM).await;
                (
                    CODES,
                    json!({"method_id": code.method_id, "otp": code.code}),
                )
            }
            "link" => (LINKS, json!({"token": link_to(api, LOGIN, VICTIM).await})),
            "fallback code" => {
                let asked = json!({ "email": VICTIM });
                let asked = api.test().post(LOGIN, asked).await.ok();
                let mail = people::mail_to(api, "magic_link", VICTIM).await;
                let request = json!({"method_id": asked.body["email_id"], "otp": mail["code"]});
                (CODES, request)
            }
            _ => {
                let token = link_to(api, RESET, VICTIM).await;
                (COMPLETE, json!({"token": token, "password": PASSWORD}))
            }
        };
        api.test().post(path, request).await.ok();
        let token = text(&session, "session_token");
        assert!(!is_open(api, &token).await, "{way}");
        has_no_proved_number(&user(api, &user_id).await);
        let path = format!("/v1/auth/users/{user_id}/delete");
        api.test().delete(&path, None).await.ok();
        api.pass(86_400);
    }
}

/// An import vouches for the address like a proof from outside: everything planted is gone before the victim signs in.
async fn attack_1_an_import_clears_a_planted_account(api: &Api) {
    let mut planted = Planted::everything(api).await;
    let taken = import_of_victim(api, json!({"first_name": "Ada"})).await;
    let [Imported::New(id)] = &*taken else {
        panic!("{taken:?}");
    };
    assert_eq!(id.to_string(), planted.user_id);
    planted.sessions_and_secrets_are_dead(api).await;
    let account = user(api, &planted.user_id).await;
    assert_eq!(account["first_name"], "Ada");
    assert_eq!(account["emails"][0]["verified"], true);
    // A second run finds the user and changes nothing.
    let again = import_of_victim(api, json!({"first_name": "Eve"})).await;
    assert_eq!(again, [Imported::Known(*id)]);
    assert_eq!(user(api, &planted.user_id).await["first_name"], "Ada");
    let victim = signed_in(api, VICTIM).await;
    planted.is_dead(api, &victim).await;
}

async fn attack_1_an_import_takes_an_address_out_of_another_persons_account(api: &Api) {
    let attacker = signed_in(api, ATTACKER).await;
    let account = attacker.text_at("/user_id");
    let path = format!("/v1/auth/users/{account}/update");
    let attach = json!({"emails": [{"email": VICTIM}]});
    api.test().send("PUT", &path, Some(attach)).await.ok();
    let victim = by_import(api).await;
    stays_out(&victim, &account);
    let emails = user(api, &account).await["emails"].clone();
    assert_eq!(emails.as_array().unwrap().len(), 1);
    assert!(is_open(api, &attacker.text_at("/session_token")).await);
}

/// The user keeps the id of its line, so the address leaves the planted account, whose sessions and credentials end nonetheless.
async fn attack_1_an_import_under_its_own_id_leaves_the_planted_account_empty(api: &Api) {
    let planted = Planted::everything(api).await;
    let own = UserId::new(api.clock.machine(), [7; 16]);
    let taken = import_of_victim(api, json!({"id": own.to_string()})).await;
    assert_eq!(taken, [Imported::New(own)]);
    planted.sessions_and_secrets_are_dead(api).await;
    assert_eq!(user(api, &planted.user_id).await["emails"], json!([]));
    let victim = signed_in(api, VICTIM).await;
    assert_eq!(victim.text_at("/user_id"), own.to_string());
}
