//! Attack 9: responses do not reveal which users exist. Attack 10 covers timing.

use serde_json::{Value, json};

use super::people::{self, PASSWORD, PASSWORDS};
use crate::flows::signed_in;
use crate::harness::{Api, Response, on_both};

on_both! {
    attack_9_known_and_unknown_get_one_response
}

const KNOWN: [&str; 2] = ["known@example.com", "+14155552671"];
const UNKNOWN: [&str; 2] = ["unknown@example.com", "+14155552672"];

/// Everything that distinguishes responses for a client, ids aside.
pub(super) fn seen(response: &Response) -> (Value, Vec<Option<String>>) {
    let headers = [
        "content-type",
        "content-length",
        "retry-after",
        "cache-control",
    ];
    let headers = headers.map(|name| response.header(name).map(str::to_owned));
    (response.shown(), headers.to_vec())
}

/// Every call that takes an address, a number or a returned id, twenty times in a row and into its limit, for a known and an unknown
/// identifier.
///
/// `user_id`s are random: only a client that knows one can ask for it, and password responses do not differ.
async fn attack_9_known_and_unknown_get_one_response(api: &Api) {
    people::with_urls(api).await;
    let known = people::with_password(api, KNOWN[0]).await.user;
    let path = format!("/v1/auth/users/{known}/update");
    let attach = json!({"phone_numbers": [{"phone_number": KNOWN[1]}]});
    api.test().send("PUT", &path, Some(attach)).await.ok();
    signed_in(api, "without@example.com").await;
    people::enumeration_safe(api).await;
    let mut methods = [Vec::new(), Vec::new()];
    for (path, field) in [
        ("/v1/auth/otps/email/send", "email"),
        ("/v1/auth/otps/sms/send", "phone_number"),
        ("/v1/auth/passwords/reset/begin", "email"),
        ("/v1/auth/otps/email/login_or_create", "email"),
        ("/v1/auth/otps/sms/login_or_create", "phone_number"),
        ("/v1/auth/magic_links/email/login_or_create", "email"),
        ("/v1/auth/magic_links/email/invite", "email"),
    ] {
        // Calls that would create a user each use a fresh unknown identifier.
        let unknown = |text: &str| match path.ends_with("send") || path.ends_with("begin") {
            true => text.to_owned(),
            false => text
                .replace("unknown", &path.replace('/', "-"))
                .replace("2672", "2673"),
        };
        api.pass(86_400);
        for turn in 0..20 {
            let mut responses = Vec::new();
            for (who, identifiers) in [KNOWN, UNKNOWN].iter().enumerate() {
                let text = identifiers[usize::from(field == "phone_number")];
                let text = if who == 0 {
                    text.to_owned()
                } else {
                    unknown(text)
                };
                let client = api.test().header("X-Request-Id", "one");
                let response = client.post(path, json!({ field: text })).await;
                if turn == 0 && path.ends_with("send") {
                    let id = if field == "email" {
                        "email_id"
                    } else {
                        "phone_number_id"
                    };
                    methods[who].push(response.body[id].clone());
                }
                responses.push(seen(&response));
            }
            assert_eq!(responses[0], responses[1], "{path}, turn {turn}");
        }
    }
    // A wrong code for the returned id, up to the lockout.
    for (known, unknown) in methods[0].iter().zip(&methods[1]) {
        api.pass(1);
        for turn in 0..20 {
            let mut responses = Vec::new();
            for method in [known, unknown] {
                let client = api.test().header("X-Request-Id", "one");
                let request = json!({"method_id": method, "otp": "271828"});
                responses.push(seen(&client.post(people::CODES, request).await));
            }
            assert_eq!(responses[0], responses[1], "otps/verify, turn {turn}");
        }
    }
    let unknown = format!("user_{}", "0".repeat(27));
    for turn in 0..22 {
        let mut responses = Vec::new();
        for user in [&known, &unknown] {
            let client = api.test().header("X-Request-Id", "one");
            let request = json!({"user_id": user, "password": format!("{PASSWORD} {turn}")});
            responses.push(seen(&client.post(PASSWORDS, request).await));
        }
        assert_eq!(responses[0], responses[1], "passwords/verify, turn {turn}");
    }
}
