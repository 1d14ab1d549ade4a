//! Attack 25: an object named with a foreign key does not exist. `isolation` covers lists and one address in two environments.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use vestry_contract::browser::Browser;
use vestry_contract::rng::Rng;

use super::people::{self, Authenticator, PAGE, PASSWORD, Pocket, with};
use crate::flows::{sent, signed_in};
use crate::harness::{Api, Client, Response, described, on_both};

on_both! {
    attack_25_every_route_with_every_foreign_id
    m_12_a_deleted_object_looks_nonexistent
}

/// Values for the fields and path parameters: by name, and by the operation's path where a name is ambiguous.
pub(super) type Names = BTreeMap<&'static str, Value>;

/// One object of each kind.
pub(super) async fn own(api: &Api) -> Names {
    let test = api.test();
    let user = signed_in(api, "ada@example.com").await.text_at("/user_id");
    let mut browser = Browser::at(PAGE);
    let passkey = people::passkey(api, &mut browser, &user).await;
    let totp = Authenticator::of(api, &user).await;
    let path = format!("/v1/auth/users/{user}/update");
    let attach = json!({"phone_numbers": [{"phone_number": "+14155552671"}]});
    let updated = test.send("PUT", &path, Some(attach)).await.ok();
    let wallet = json!({"user_id": user, "wallet_type": "ethereum"});
    let wallet = test.post("/v1/wallets/create", wallet).await.ok();
    let link = test.post("/v1/auth/magic_links/create", json!({ "user_id": user }));
    let link = link.await.ok();
    let session = signed_in(api, "ada@example.com").await;
    let code = sent(api, &test, "ada@example.com").await;
    let pocket = Pocket::new(api).await;
    let proof = pocket.proof(api, Some(&user)).await;
    api.service.sequence_all().await.unwrap();
    let events = api.test().get("/v1/events").await.ok();
    Names::from([
        ("user_id", json!(user)),
        ("email_id", json!(code.method_id)),
        ("method_id", json!(code.method_id)),
        ("otp", json!(code.code)),
        ("pn_id", updated.body["phone_numbers"][0]["id"].clone()),
        ("totp_id", json!(totp.id)),
        ("totp", json!(totp.shows(api))),
        ("recovery_code", json!(totp.recovery[0])),
        ("webauthn_id", json!(passkey)),
        (
            "public_key_credential",
            people::assertion(api, &mut browser).await,
        ),
        ("idpuser_id", json!(crate::oauth::linked(api).await)),
        ("wallet_id", wallet.body["id"].clone()),
        ("public_address", proof["public_address"].clone()),
        ("signature", proof["signature"].clone()),
        ("token", link.body["token"].clone()),
        (
            "request_origin_token",
            link.body["request_origin_token"].clone(),
        ),
        ("session_id", session.body["session"]["id"].clone()),
        ("session_token", session.body["session_token"].clone()),
        ("session_jwt", session.body["session_jwt"].clone()),
        ("event_id", events.body["events"][0]["id"].clone()),
    ])
}

/// The same for nonexistent objects: random ids, tokens and codes of the right form.
pub(super) fn absent(own: &Names) -> Names {
    let mut rng = Rng::from_seed(25);
    let other = |rng: &mut Rng, text: &str| -> String {
        let letters = b"0123456789";
        text.chars()
            .map(|letter| match letter.is_ascii_digit() {
                true => char::from(letters[rng.below(letters.len())]),
                false => letter,
            })
            .collect()
    };
    let mut absent = own.clone();
    for (name, value) in &mut absent {
        match (*name, value.as_str()) {
            ("session_jwt", Some(jwt)) => {
                let (head, signature) = jwt.rsplit_once('.').unwrap();
                let first = if signature.starts_with('A') { "B" } else { "A" };
                *value = json!(format!("{head}.{first}{}", &signature[1..]));
            }
            ("otp" | "totp" | "recovery_code" | "signature" | "public_address", _) => {}
            (_, Some(text)) => {
                let kind = text.split_once('_').map_or("", |(kind, _)| kind);
                let id = if kind.is_empty() {
                    // A token: other digits in it, and another first letter.
                    format!("0{}", other(&mut rng, &text[1..]))
                } else {
                    format!("{kind}_{}", "0".repeat(27))
                };
                *value = json!(id);
            }
            _ => {}
        }
    }
    // Of a nonexistent passkey.
    let unknown = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let mut credential = absent["public_key_credential"].clone();
    for field in ["id", "rawId"] {
        credential[field] = json!(unknown);
    }
    absent.insert("public_key_credential", credential);
    absent
}

/// A value for the other fields of a request, so that it gets as far as the id.
pub(super) fn filler(field: &str) -> Option<Value> {
    Some(match field {
        "password" => json!(PASSWORD),
        "message" | "first_name" => json!("x"),
        "domain" => json!("localhost"),
        "wallet_type" => json!("ethereum"),
        "session_expires_in" => json!(60),
        _ => return None,
    })
}

/// One call of an operation, with the single session field it is to have.
pub(super) struct Attempt {
    /// The operationId.
    pub(super) operation: String,
    pub(super) title: String,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) body: Option<Value>,
}

/// Every operation that names an object, with every way to name it.
pub(super) fn attempts(names: &Names) -> Vec<Attempt> {
    let mut attempts = Vec::new();
    for operation in described().all() {
        // For browser routes an id is no secret, and what it leads to is bound to a state.
        let is_for_browsers =
            operation.path.starts_with("/v1/auth/oauth/") && operation.path.contains('{');
        if operation.path.starts_with("/v1/test/")
            || operation.path.contains("{app_id}")
            || is_for_browsers
        {
            continue;
        }
        let mut path = operation.path.clone();
        let mut is_naming = false;
        for (name, value) in names {
            let place = format!("{{{name}}}");
            if path.contains(&place) {
                path = path.replace(&place, value.as_str().unwrap());
                is_naming = true;
            }
        }
        assert!(!path.contains('{'), "{path}: an id without an example");
        let sessions = ["session_token", "session_jwt", "session_id"];
        let mut body = Map::new();
        for field in &operation.fields {
            let named = names.get(field.as_str()).filter(|_| {
                // A TOTP and a recovery code exclude each other, and so do the session references.
                let path = operation.path.as_str();
                let excluded = match field.as_str() {
                    "totp" => path.ends_with("recovery"),
                    "user_id" => path.ends_with("authentication/begin"),
                    name => sessions.contains(&name),
                };
                !excluded
            });
            is_naming |= named.is_some();
            let value = named.cloned().or_else(|| filler(field));
            if let Some(value) = value {
                body.insert(field.clone(), value);
            }
        }
        let mut wanted: Vec<Option<&str>> = sessions
            .into_iter()
            .filter(|field| operation.fields.iter().any(|known| known == field))
            .map(Some)
            .collect();
        if is_naming {
            wanted.push(None);
        }
        for session in wanted {
            let further = session.map(|name| json!({ name: names[name] }));
            let body = with(
                Value::Object(body.clone()),
                further.unwrap_or_else(|| json!({})),
            );
            attempts.push(Attempt {
                operation: operation.id.clone(),
                title: format!("{} {} {session:?}", operation.method, operation.path),
                method: operation.method.clone(),
                path: path.clone(),
                body: operation.has_body.then_some(body),
            });
        }
    }
    attempts
}

pub(super) async fn all(client: &Client<'_>, names: &Names) -> Vec<(String, Response)> {
    let client = client.clone().header("X-Request-Id", "one");
    let mut responses = Vec::new();
    for attempt in attempts(names) {
        let response = client
            .send(&attempt.method, &attempt.path, attempt.body)
            .await;
        responses.push((attempt.title, response));
    }
    responses
}

/// Every route and kind of id, with the key of another App and of the other environment: refused, byte for byte like a random id. Nothing
/// of the owner's is touched.
async fn attack_25_every_route_with_every_foreign_id(api: &Api) {
    let own = own(api).await;
    let path = format!("/v1/auth/users/{}", own["user_id"].as_str().unwrap());
    let before = api.test().get(&path).await.ok();
    let absent = absent(&own);
    let stranger = api.other_app().await;
    let mut tried = 0;
    for (whose, client) in [("another App", &stranger), ("live", &api.live())] {
        let foreign = all(client, &own).await;
        let nothing = all(client, &absent).await;
        for ((title, foreign), (_, nothing)) in foreign.iter().zip(&nothing) {
            assert!(
                [400, 401, 404].contains(&foreign.status),
                "{title} of {whose}: {} {}",
                foreign.status,
                foreign.text
            );
            assert_eq!(
                (foreign.status, &foreign.text),
                (nothing.status, &nothing.text),
                "{title} of {whose}"
            );
            tried += 1;
        }
    }
    println!("attack 25: {tried} calls with foreign names");
    assert!(tried > 80, "{tried}");
    let after = api.test().get(&path).await.ok();
    assert_eq!(before.body, after.body);
    let session = json!({"session_token": own["session_token"]});
    api.test().post(people::SESSION, session).await.ok();
    let link = json!({"token": own["token"]});
    api.test().post(people::LINKS, link).await.ok();
    let totp = json!({"user_id": own["user_id"], "totp": own["totp"]});
    api.test().post(people::TOTP, totp).await.ok();
    let passkey = json!({"public_key_credential": own["public_key_credential"]});
    api.test().post(people::PASSKEYS, passkey).await.ok();
}

/// The same with the former owner's key, once the user is deleted: nothing reveals that it existed.
async fn m_12_a_deleted_object_looks_nonexistent(api: &Api) {
    let mut own = own(api).await;
    let path = format!("/v1/auth/users/{}/delete", own["user_id"].as_str().unwrap());
    api.test().delete(&path, None).await.ok();
    let absent = absent(&own);
    // The provider link belongs to another user, who stays.
    own.insert("idpuser_id", absent["idpuser_id"].clone());
    let deleted = all(&api.test(), &own).await;
    let nothing = all(&api.test(), &absent).await;
    for ((title, deleted), (_, nothing)) in deleted.iter().zip(&nothing) {
        // Past events and uses of a wallet's key stay on record, for the App that it belonged to.
        if title.contains("/audit") || title.contains("/events/") {
            continue;
        }
        assert_eq!(
            (deleted.status, &deleted.text),
            (nothing.status, &nothing.text),
            "M-12: {title}"
        );
    }
    println!("M-12: {} calls with deleted names", deleted.len());
    assert!(deleted.len() > 40, "{}", deleted.len());
}
