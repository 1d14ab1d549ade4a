//! Attacks 15 and 16: headers that claim another host or another client.

use serde_json::json;

use crate::rig::{Api, Client, on_both};

on_both! {
    attack_15_no_header_reaches_a_message_or_an_answer
    attack_16_forwarded_addresses_change_no_limit
}

pub(super) const EVIL: &str = "evil.example";

pub(super) const HOSTS: &[(&str, &str)] = &[
    (
        "Forwarded",
        "host=evil.example;proto=https;for=203.0.113.66",
    ),
    ("X-Forwarded-Host", "evil.example"),
    ("X-Forwarded-Server", "evil.example"),
    ("X-Forwarded-Proto", "https"),
    ("X-Forwarded-Port", "6666"),
    ("X-Forwarded-Prefix", "/evil.example"),
    ("X-Original-Host", "evil.example"),
    ("X-Original-URL", "https://evil.example/"),
    ("X-Rewrite-URL", "https://evil.example/"),
    ("X-Host", "evil.example"),
    ("X-HTTP-Host-Override", "evil.example"),
    ("Origin", "https://evil.example"),
    ("Referer", "https://evil.example/"),
];

/// The client with these headers.
pub(super) fn claiming<'a>(client: Client<'a>, headers: &[(&str, &str)]) -> Client<'a> {
    let add = |client: Client<'a>, (name, value): &(&str, &str)| client.header(name, value);
    headers.iter().fold(client, add)
}

/// Every forwarding header with an evil value, on every endpoint: none of them shows in an answer or a message.
async fn attack_15_no_header_reaches_a_message_or_an_answer(api: &Api) {
    let client = claiming(api.test(), HOSTS);
    for operation in crate::rig::described().all() {
        let path = operation
            .path
            .replace("{user_id}", "user_000000000000000000000000000");
        let body = operation
            .has_body
            .then(|| json!({"email": "ada@example.com", "expires_in": 5}));
        let answer = client.send(&operation.method, &path, body).await;
        assert!(!answer.text.contains(EVIL), "{} {path}", operation.method);
    }
    api.deliver().await;
    let messages = api.test().get("/v1/test/messages").await.ok();
    assert!(!messages.body["messages"].as_array().unwrap().is_empty());
    assert!(!messages.text.contains(EVIL));
}

/// A sender that claims another address with every request meets the same limits, and an unreadable claim disables none.
async fn attack_16_forwarded_addresses_change_no_limit(api: &Api) {
    let mut sent = Vec::new();
    for number in 0..8 {
        let claim = match number % 4 {
            0 => format!("203.0.113.{number}"),
            1 => format!("198.51.100.{number}, 10.0.0.1"),
            2 => "not an address".to_owned(),
            _ => "::ffff:999.1.1.1, ,".to_owned(),
        };
        let client = api
            .test()
            .header("X-Forwarded-For", &claim)
            .header("X-Real-IP", &claim)
            .header("Forwarded", &format!("for={number}"));
        let email = json!({"email": "victim@example.com"});
        let answer = client
            .post("/v1/auth/otps/email/login_or_create", email)
            .await;
        sent.push(answer.status);
        api.pass(20);
    }
    // Five, and one beyond the budget.
    assert_eq!(sent, [200, 200, 200, 200, 200, 200, 429, 429]);
}
