//! Attack 20: a session has no more factors than were proved.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use vestry_contract::browser::Browser;
use vestry_contract::rng::{Rng, seed};

use super::people::{
    self, Authenticator, CODES, LINKS, PAGE, PASSKEYS, PASSWORD, PASSWORDS, SESSION, TOTP, link_to,
    texted, with,
};
use crate::flows::{sent, signed_in, verified};
use crate::harness::{Api, on_both};

on_both! {
    attack_20_a_session_has_no_factor_that_was_not_proved
    attack_20_a_reset_does_not_bypass_an_authenticator_app
}

pub(super) const EMAIL: &str = "ada@example.com";
const NUMBER: &str = "+14155552671";
const LOGIN: &str = "/v1/auth/magic_links/email/login_or_create";
const RECOVERY: &str = "/v1/auth/totps/recovery";

/// The person's credentials.
pub(super) struct Person {
    pub(super) user: String,
    totp: Authenticator,
    browser: Browser,
}

/// The ways to prove, each with the type and channel that a session shows for it.
pub(super) const WAYS: [(&str, &str, &str); 7] = [
    ("code", "otp", "email"),
    ("text", "otp", "sms"),
    ("link", "magic_link", "email"),
    ("password", "password", "password"),
    ("totp", "totp", "totp_authenticator"),
    ("recovery", "totp", "totp_recovery_code"),
    ("passkey", "webauthn", "webauthn_credential"),
];

/// The call that proves in this way, with right or wrong credentials.
pub(super) async fn proof(
    api: &Api,
    person: &mut Person,
    way: &str,
    right: bool,
) -> (&'static str, Value) {
    let user = &person.user;
    match way {
        "code" | "text" => {
            let code = match way {
                "code" => sent(api, &api.test(), EMAIL).await,
                _ => texted(api, NUMBER).await,
            };
            let otp = if right { code.code } else { "wrong".to_owned() };
            (CODES, json!({"method_id": code.method_id, "otp": otp}))
        }
        "link" => {
            let token = link_to(api, LOGIN, EMAIL).await;
            let token = if right { token } else { "x".repeat(48) };
            (LINKS, json!({ "token": token }))
        }
        "password" => {
            let password = if right { PASSWORD } else { "wrong" };
            (PASSWORDS, json!({"user_id": user, "password": password}))
        }
        "totp" => {
            let code = if right {
                person.totp.shows(api)
            } else {
                "wrong".to_owned()
            };
            (TOTP, json!({"user_id": user, "totp": code}))
        }
        "recovery" => {
            let unused = person.totp.recovery.pop().expect("a recovery code");
            let code = if right {
                unused
            } else {
                "wrong-wrong".to_owned()
            };
            (RECOVERY, json!({"user_id": user, "recovery_code": code}))
        }
        _ => {
            let mut credential = people::assertion(api, &mut person.browser).await;
            if !right {
                // Of another challenge.
                let other = people::assertion(api, &mut person.browser).await;
                credential["response"]["signature"] = other["response"]["signature"].clone();
            }
            (PASSKEYS, json!({ "public_key_credential": credential }))
        }
    }
}

/// A person with every way of [`WAYS`].
pub(super) async fn person(api: &Api) -> Person {
    let user = signed_in(api, EMAIL).await.text_at("/user_id");
    let mut browser = Browser::at(PAGE);
    people::passkey(api, &mut browser, &user).await;
    let totp = Authenticator::of(api, &user).await;
    let session = signed_in(api, EMAIL).await;
    let path = format!("/v1/auth/users/{user}/update");
    let attach = json!({"phone_numbers": [{"phone_number": NUMBER}]});
    api.test().send("PUT", &path, Some(attach)).await.ok();
    let code = texted(api, NUMBER).await;
    let within = json!({"session_token": session.text_at("/session_token")});
    let session = verified(&api.test(), &code, within).await.ok();
    // The password is set last, by a session with enough factors.
    let within = json!({"session_token": session.text_at("/session_token")});
    let request = with(json!({"user_id": user, "totp": totp.shows(api)}), within);
    let session = api.test().post(TOTP, request).await.ok();
    let request = json!({"session_token": session.text_at("/session_token"), "password": PASSWORD});
    let path = "/v1/auth/passwords/session/update";
    api.test().post(path, request).await.ok();
    Person {
        user,
        totp,
        browser,
    }
}

/// Type and channel of each factor that the session shows.
fn shown(session: &Value) -> Vec<(String, String)> {
    let factors = session["factors"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    factors
        .iter()
        .map(|factor| (text(&factor["type"]), text(&factor["delivery_channel"])))
        .collect()
}

/// Random sequences of right and wrong proofs on one session, checked against a model that is a set.
///
/// A session shows exactly the kinds proved on it, each once, however often they were proved. A wrong proof changes nothing.
async fn attack_20_a_session_has_no_factor_that_was_not_proved(api: &Api) {
    people::with_urls(api).await;
    let mut person = person(api).await;
    let mut rng = Rng::from_seed(seed());
    let mut deepest = 0;
    for _ in 0..3 {
        let mut token: Option<String> = None;
        let mut model = BTreeSet::new();
        for _ in 0..12 {
            // Send limits, lockouts and steps are not the subject of this test.
            api.pass(630);
            let (way, kind, channel) = WAYS[rng.below(WAYS.len())];
            // The first proof creates the session, so it has to be a right one.
            let right = token.is_none() || rng.below(4) > 0;
            let (path, request) = proof(api, &mut person, way, right).await;
            let session = match &token {
                Some(token) => json!({ "session_token": token }),
                None => json!({"session_expires_in": 525_600}),
            };
            let response = api.test().post(path, with(request, session)).await;
            assert_eq!(response.status == 200, right, "{way}: {}", response.text);
            if right {
                model.insert((kind.to_owned(), channel.to_owned()));
                token = Some(response.text_at("/session_token"));
            }
            let request = json!({ "session_token": token });
            let session = api.test().post(SESSION, request).await.ok();
            let shown = shown(&session.body["session"]);
            let kinds: BTreeSet<_> = shown.iter().cloned().collect();
            assert_eq!(kinds.len(), shown.len(), "a kind twice: {shown:?}");
            assert_eq!(kinds, model, "after {way}");
        }
        deepest = deepest.max(model.len());
    }
    assert!(deepest >= 3, "{deepest}");
}

/// A mailbox alone, in whatever form and however often it is proved, is one factor, and sets no password (P-13).
async fn attack_20_a_reset_does_not_bypass_an_authenticator_app(api: &Api) {
    people::with_urls(api).await;
    let mut person = person(api).await;
    api.pass(3_600);
    let token = link_to(api, "/v1/auth/passwords/reset/begin", EMAIL).await;
    let complete = "/v1/auth/passwords/reset/complete";
    let request = json!({"token": token, "password": "another horse entirely"});
    let refused = api.test().post(complete, request.clone()).await;
    assert_eq!(refused.status, 403, "attack 20: {}", refused.text);
    let mut session = signed_in(api, EMAIL).await.text_at("/session_token");
    for way in ["code", "link", "text", "password"] {
        api.pass(630);
        let (path, proof) = proof(api, &mut person, way, true).await;
        let response = api
            .test()
            .post(path, with(proof, json!({"session_token": session})))
            .await;
        session = response.ok().text_at("/session_token");
        let request = with(request.clone(), json!({"session_token": session}));
        let refused = api.test().post(complete, request).await;
        assert_eq!(refused.status, 403, "{way}: {}", refused.text);
    }
    let old = json!({"user_id": person.user, "password": PASSWORD});
    api.test().post(PASSWORDS, old).await.ok();
    let (path, proof) = proof(api, &mut person, "totp", true).await;
    let response = api
        .test()
        .post(path, with(proof, json!({"session_token": session})))
        .await;
    let session = response.ok().text_at("/session_token");
    let request = with(request, json!({"session_token": session}));
    api.test().post(complete, request).await.ok();
}
