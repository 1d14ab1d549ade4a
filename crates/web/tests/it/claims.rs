//! The ordinary flows of `claims.md`: account ownership under typical use by people and Apps (CL-1 to CL-9).

mod model;

use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_app::identity::users::Imported;
use vestry_domain::{Environment, World};

use crate::attacks::people::{Pocket, with};
use crate::flows::{Sent, newest_code, sent, verified};
use crate::harness::{Api, Response, on_both, operator};

on_both! {
    two_identifiers_of_one_sign_up_are_proved_one_after_the_other
    a_number_that_is_proved_from_outside_is_another_account
    what_the_app_vouches_for_signs_in
    a_number_stays_when_an_address_of_the_same_second_is_proved
    an_import_keeps_what_its_line_proves
    a_wallet_sign_in_gets_an_address
    clients_without_a_session_at_hand
}

const ADA: &str = "ada@example.com";
const NUMBER: &str = "+14155552671";
const CREATE: &str = "/v1/auth/users/create";
const SEND: &str = "/v1/auth/otps/email/send";

async fn created(api: &Api, request: Value) -> String {
    let created = api.test().post(CREATE, request).await;
    created.ok().text_at("/user_id")
}

/// A code by text message, by one of the two calls that send it.
async fn texted(api: &Api, call: &str, further: Value) -> Sent {
    let mut request = json!({"phone_number": NUMBER, "expires_in": 10});
    let fields = further.as_object().unwrap().clone();
    request.as_object_mut().unwrap().extend(fields);
    let path = format!("/v1/auth/otps/sms/{call}");
    let sent = api.test().post(&path, request).await.ok();
    api.deliver().await;
    Sent {
        user_id: sent.text_at("/user_id"),
        method_id: sent.text_at("/phone_number_id"),
        code: newest_code(&api.test(), NUMBER).await,
    }
}

/// A code to an existing user's address, within a session.
async fn mailed(api: &Api, email: &str, session: &str) -> Sent {
    let request = json!({"email": email, "session_token": session, "expires_in": 10});
    let sent = api.test().post(SEND, request).await.ok();
    api.deliver().await;
    Sent {
        user_id: sent.text_at("/user_id"),
        method_id: sent.text_at("/email_id"),
        code: newest_code(&api.test(), email).await,
    }
}

/// Verifies from outside, with a session of an hour; the user is the one that the first step named.
async fn enters(api: &Api, sent: &Sent) -> Response {
    let verified = verified(&api.test(), sent, json!({"session_expires_in": 60})).await;
    let verified = verified.ok();
    assert_eq!(verified.text_at("/user_id"), sent.user_id);
    verified
}

/// The verification status of a user's addresses and numbers.
async fn identifiers(api: &Api, user: &str) -> Vec<(String, bool)> {
    let user = api.test().get(&format!("/v1/auth/users/{user}")).await.ok();
    let rows = |list: &str, field: &str| -> Vec<_> {
        let rows = user.body[list].as_array().unwrap().iter();
        let row = |row: &Value| {
            let text = row[field].as_str().unwrap().to_owned();
            (text, row["verified"].as_bool().unwrap())
        };
        rows.map(row).collect()
    };
    let mut all = rows("emails", "email");
    all.extend(rows("phone_numbers", "phone_number"));
    all
}

fn both(email: bool, number: bool) -> Vec<(String, bool)> {
    vec![(ADA.to_owned(), email), (NUMBER.to_owned(), number)]
}

async fn two_identifiers_of_one_sign_up_are_proved_one_after_the_other(api: &Api) {
    let user = created(api, json!({"email": ADA, "phone_number": NUMBER})).await;
    let session = enters(api, &sent(api, &api.test(), ADA).await).await;
    assert_eq!(identifiers(api, &user).await, both(true, false));
    let token = json!({"session_token": session.text_at("/session_token")});
    let code = texted(api, "send", token.clone()).await;
    let proved = verified(&api.test(), &code, token).await.ok();
    assert_eq!(proved.text_at("/user_id"), user);
    assert_eq!(identifiers(api, &user).await, both(true, true));
}

async fn a_number_that_is_proved_from_outside_is_another_account(api: &Api) {
    let user = created(api, json!({"email": ADA, "phone_number": NUMBER})).await;
    enters(api, &sent(api, &api.test(), ADA).await).await;
    let code = texted(api, "login_or_create", json!({})).await;
    assert_ne!(code.user_id, user);
    enters(api, &code).await;
    assert_eq!(identifiers(api, &user).await, [(ADA.to_owned(), true)]);
    let other = identifiers(api, &code.user_id).await;
    assert_eq!(other, [(NUMBER.to_owned(), true)]);
}

async fn what_the_app_vouches_for_signs_in(api: &Api) {
    let user = created(
        api,
        json!({
            "email": ADA, "email_verified": true,
            "phone_number": NUMBER, "phone_number_verified": true,
        }),
    )
    .await;
    assert_eq!(identifiers(api, &user).await, both(true, true));
    for call in ["mail", "login_or_create", "send"] {
        // The order of two messages of one second is unknown.
        api.pass(1);
        let code = match call {
            "mail" => sent(api, &api.test(), ADA).await,
            _ => texted(api, call, json!({})).await,
        };
        assert_eq!(code.user_id, user, "{call}");
        enters(api, &code).await;
    }
    assert_eq!(identifiers(api, &user).await, both(true, true));
}

async fn a_number_stays_when_an_address_of_the_same_second_is_proved(api: &Api) {
    let code = texted(api, "login_or_create", json!({})).await;
    let session = enters(api, &code).await.text_at("/session_token");
    let path = format!("/v1/auth/users/{}/update", code.user_id);
    let attach = json!({"emails": [{"email": ADA}]});
    api.test().send("PUT", &path, Some(attach)).await.ok();
    let proof = mailed(api, ADA, &session).await;
    let within = json!({ "session_token": session });
    let proved = verified(&api.test(), &proof, within).await.ok();
    assert_eq!(proved.text_at("/user_id"), code.user_id);
    assert_eq!(identifiers(api, &code.user_id).await, both(true, true));
}

async fn an_import_keeps_what_its_line_proves(api: &Api) {
    let line = json!({
        "emails": [{"email": ADA}],
        "phone_numbers": [{"phone_number": NUMBER, "verified": true}],
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
    let user = user.to_string();
    let code = sent(api, &api.test(), ADA).await;
    assert_ne!(code.user_id, user);
    enters(api, &code).await;
    assert_eq!(identifiers(api, &user).await, [(NUMBER.to_owned(), true)]);
    let password = json!({"user_id": user, "password": "x".repeat(72)});
    api.test()
        .post("/v1/auth/passwords/verify", password)
        .await
        .ok();
}

async fn a_wallet_sign_in_gets_an_address(api: &Api) {
    let proof = Pocket::new(api).await.proof(api, None).await;
    let request = with(proof, json!({"session_expires_in": 60}));
    let entered = api.test().post("/v1/auth/wallets/verify", request).await;
    let entered = entered.ok();
    let (user, token) = (
        entered.text_at("/user_id"),
        entered.text_at("/session_token"),
    );
    let path = format!("/v1/auth/users/{user}/update");
    let attach = json!({"emails": [{"email": ADA}]});
    api.test().send("PUT", &path, Some(attach)).await.ok();
    let proof = mailed(api, ADA, &token).await;
    let within = json!({ "session_token": token });
    let proved = verified(&api.test(), &proof, within).await.ok();
    assert_eq!(proved.text_at("/user_id"), user);
    assert_eq!(identifiers(api, &user).await, [(ADA.to_owned(), true)]);
}

/// Behaviour that clients of the original product expect: they attach an address and send it a code without a session (CL-9).
async fn clients_without_a_session_at_hand(api: &Api) {
    let user = created(api, json!({"phone_number": NUMBER})).await;
    enters(api, &texted(api, "send", json!({})).await).await;
    let path = format!("/v1/auth/users/{user}/update");
    let attach = json!({"emails": [{"email": ADA}]});
    api.test().send("PUT", &path, Some(attach)).await.ok();
    let asked = json!({"email": ADA, "expires_in": 10});
    let refused = api.test().post(SEND, asked.clone()).await;
    refused.refuses(403, "insufficient_factor", None);
    let trusted = [("attached_identifiers".to_owned(), "trusted".to_owned())];
    api.service
        .set_app(Principal::cli(), api.app.id, &trusted)
        .await
        .unwrap();
    // Settings are read once a second.
    api.pass(1);
    let sent = api.test().post(SEND, asked).await.ok();
    api.deliver().await;
    let code = Sent {
        user_id: sent.text_at("/user_id"),
        method_id: sent.text_at("/email_id"),
        code: newest_code(&api.test(), ADA).await,
    };
    assert_eq!(code.user_id, user);
    enters(api, &code).await;
    assert_eq!(identifiers(api, &user).await, both(true, true));
}
