//! Attack 27: an attacker reads the database.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use vestry_domain::Environment;

use super::people::{self, Authenticator, PASSWORD, with_password};
use crate::flows::{sent, signed_in, verified};
use crate::harness::{Api, on_both};

on_both! {
    attack_27_a_dump_holds_no_bearer_value
}

/// A bearer value and its description.
type Named = (&'static str, Vec<u8>);

/// The forms in which bytes can appear in a dump: raw, hex, escaped, and base64 at each of the three alignments, without the characters
/// shared with neighbouring bytes.
fn forms(secret: &[u8]) -> Vec<Vec<u8>> {
    let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut forms = vec![
        secret.to_vec(),
        hex.to_uppercase().into_bytes(),
        hex.into_bytes(),
    ];
    if let Ok(text) = str::from_utf8(secret) {
        let escaped = json!(text).to_string();
        forms.push(escaped.trim_matches('"').as_bytes().to_vec());
    }
    for before in 0..3 {
        let shifted = [vec![0; before], secret.to_vec()].concat();
        let whole = shifted.len() / 3 * 3;
        let (from, to) = ((before * 8).div_ceil(6), whole / 3 * 4);
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            forms.push(engine.encode(&shifted).as_bytes()[from..to].to_vec());
        }
    }
    forms
}

fn holds(dump: &[u8], form: &[u8]) -> bool {
    memchr::memmem::find(dump, form).is_some()
}

/// The token of a link mailed in live: the test environment stores its mails as plain text.
async fn live_link(api: &Api, path: &str) -> String {
    let request = json!({"email": "joe@example.com"});
    api.live().post(path, request).await.ok();
    api.deliver().await;
    let (_, mail) = api.mailer.sent().pop().expect("a mail to joe@example.com");
    let (_, token) = mail.text.split_once("token=").expect("a link");
    let is_of_token = |letter: &char| letter.is_ascii_alphanumeric();
    token.chars().take_while(is_of_token).collect()
}

/// Every bearer value of an address: its session, links, password and authenticator app.
async fn bearer_values(api: &Api) -> Vec<Named> {
    let mut values = Vec::new();
    let mut add = |what, value: String| values.push((what, value.into_bytes()));
    let session = signed_in(api, "ada@example.com").await;
    add("session token", session.text_at("/session_token"));
    add("session JWT", session.text_at("/session_jwt"));
    let code = sent(api, &api.test(), "eve@example.com").await;
    let eve = verified(&api.test(), &code, json!({"session_expires_in": 60}))
        .await
        .ok();
    add(
        "session token of a used code",
        eve.text_at("/session_token"),
    );
    let request = json!({"email": "ada@example.com"});
    let created = api
        .test()
        .post("/v1/auth/magic_links/create", request)
        .await
        .ok();
    add("made link token", created.text_at("/token"));
    add("origin token", created.text_at("/request_origin_token"));
    let person = with_password(api, "joe@example.com").await;
    add("password", PASSWORD.to_owned());
    for (what, path) in [
        ("link token", "/v1/auth/magic_links/email/invite"),
        ("reset token", "/v1/auth/passwords/reset/begin"),
    ] {
        add(what, live_link(api, path).await);
    }
    let authenticator = Authenticator::of(api, &person.user).await;
    for code in &authenticator.recovery {
        add("recovery code", code.clone());
    }
    add("API key", api.new_key(Environment::Live, &[]).await);
    values.push((
        "seed of an authenticator app",
        authenticator.seed().to_vec(),
    ));
    values
}

/// After a whole scenario, the database holds none of its bearer values in any encoding, neither while messages are pending nor after
/// delivery.
///
/// The same search does find plain-text values.
async fn attack_27_a_dump_holds_no_bearer_value(api: &Api) {
    people::with_urls(api).await;
    let values = bearer_values(api).await;
    // The test environment stores messages for its users to read; they are deleted before the dump is searched.
    api.test().delete("/v1/test/messages", None).await.ok();
    let path = "/v1/auth/otps/email/login_or_create";
    let live = json!({"email": "live@example.com"});
    api.live().post(path, live).await.ok();
    let waiting = api.place.dump().await;
    api.deliver().await;
    let (_, mail) = api.mailer.sent().pop().expect("a mail to live@example.com");
    let dump = api.place.dump().await;
    assert!(holds(&dump, b"ada@example.com"), "the dump is one");
    // Six digits appear in a dump by chance; the sentence around them does not.
    let sentence = mail.text.lines().next().expect("a line").to_owned();
    let sentence = ("live mail", sentence.into_bytes());
    for (what, value) in values.iter().chain([&sentence]) {
        for form in forms(value) {
            assert!(form.len() > 8, "{what} is too short to look for");
            for (when, dump) in [("before", &waiting), ("after", &dump)] {
                assert!(
                    !holds(dump, &form),
                    "attack 27: the dump {when} delivery holds the {what}"
                );
            }
        }
    }
}

/// The search finds a value in each encoding, at every offset.
#[test]
fn attack_27_the_search_finds_what_is_there() {
    let secret = b"a-bearer-value-of-24-bytes";
    let escaped = Value::from(str::from_utf8(secret).unwrap()).to_string();
    let mut dumps = vec![
        secret.to_vec(),
        hex::encode(secret).into_bytes(),
        escaped.into_bytes(),
    ];
    for before in 0..7 {
        let bytes = [&vec![0xfb; before][..], secret, b"neighbour"].concat();
        dumps.push(STANDARD_NO_PAD.encode(&bytes).into_bytes());
        dumps.push(URL_SAFE_NO_PAD.encode(&bytes).into_bytes());
    }
    for dump in dumps {
        let is_found = forms(secret).iter().any(|form| holds(&dump, form));
        assert!(is_found, "{}", String::from_utf8_lossy(&dump));
    }
}
