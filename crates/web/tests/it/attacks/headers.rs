//! Attacks 15 and 16: headers that claim another host or another client.

use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_domain::redirect::RedirectKind;
use vestry_domain::{Environment, World};

use crate::flows::signed_in;
use crate::harness::{Api, Client, Response, on_both};

on_both! {
    attack_15_no_header_reaches_a_message_or_a_response
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

/// The part of a request that claims another host.
#[derive(Debug, Clone, Copy)]
enum Claim {
    /// The headers of [`HOSTS`].
    Forwarded,
    /// `Host`.
    Host,
    /// `Host` and the target, which names the whole URL (RFC 9112, section 3.2.2).
    Target,
}

impl Claim {
    const ALL: [Self; 3] = [Self::Forwarded, Self::Host, Self::Target];

    async fn send(self, api: &Api, method: &str, path: &str, body: Option<&Value>) -> Response {
        let client = claiming(api.test(), HOSTS).header("Content-Type", "application/json");
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut head = client.head(method, path, body.len());
        if !matches!(self, Self::Forwarded) {
            head = head.replacen("Host: id.example.com", &format!("Host: {EVIL}"), 1);
        }
        if matches!(self, Self::Target) {
            head = head.replacen(path, &format!("http://{EVIL}{path}"), 1);
        }
        let mut connection = api.connect().await;
        connection.send(head.as_bytes()).await;
        connection.send_while_taken(body.as_bytes()).await;
        let response = connection.receive().await.expect("a response");
        client.checked(method, path, response)
    }
}

/// The URLs in a text or a document.
fn urls(text: &str) -> Vec<&str> {
    let starts = text.match_indices("http").map(|(start, _)| &text[start..]);
    let urls = starts.filter(|rest| rest.starts_with("http://") || rest.starts_with("https://"));
    let is_end = |end: char| end.is_whitespace() || "\"'<>".contains(end);
    urls.map(|rest| rest.split(is_end).next().unwrap())
        .collect()
}

/// Whatever host a request claims, in `Host`, in its target or in a header, no response of any endpoint names it. Each mailed link leads to
/// the URL that the App registered, and works.
async fn attack_15_no_header_reaches_a_message_or_a_response(api: &Api) {
    let world = World::new(api.app.id, Environment::Test);
    for kind in RedirectKind::ALL {
        let url = format!("https://app.example.com/{kind}");
        let added = api
            .service
            .add_redirect_url(Principal::cli(), world, kind, &url, true);
        added.await.unwrap();
    }
    for (number, claim) in Claim::ALL.into_iter().enumerate() {
        for operation in crate::harness::described().all() {
            let path = operation
                .path
                .replace("{user_id}", "user_000000000000000000000000000")
                .replace("{provider}", "test");
            let email = format!("everywhere{number}@example.com");
            let body = json!({"email": email, "expires_in": 5});
            let body = operation.has_body.then_some(&body);
            let response = claim.send(api, &operation.method, &path, body).await;
            assert!(
                !response.contains(EVIL),
                "{claim:?}: {} {path}",
                operation.method
            );
        }
        let known = format!("known{number}@example.com");
        signed_in(api, &known).await;
        api.pass(60);
        let new = |what: &str| format!("{what}{number}@example.com");
        let (links, verify) = ("/v1/auth/magic_links", "/v1/auth/magic_links/verify");
        let resets = "/v1/auth/passwords/reset";
        for (email, begin, landing, complete) in [
            (
                new("new"),
                format!("{links}/email/login_or_create"),
                "registration",
                verify,
            ),
            (
                known.clone(),
                format!("{links}/email/login_or_create"),
                "login",
                verify,
            ),
            (
                new("guest"),
                format!("{links}/email/invite"),
                "invite",
                verify,
            ),
            (
                known,
                format!("{resets}/begin"),
                "login",
                "/v1/auth/passwords/reset/complete",
            ),
        ] {
            let begun = claim
                .send(api, "POST", &begin, Some(&json!({"email": email})))
                .await;
            begun.ok();
            api.deliver().await;
            let messages = api
                .test()
                .get(&format!("/v1/test/messages?to={email}"))
                .await
                .ok();
            assert!(!messages.text.contains(EVIL), "{claim:?}: {begin}");
            let mail = &messages.body["messages"][0];
            let url = format!("https://app.example.com/{landing}?token=");
            let (text, html) = (
                mail["text"].as_str().unwrap(),
                mail["html"].as_str().unwrap(),
            );
            for part in [text, html] {
                let found = urls(part);
                assert!(!found.is_empty(), "{part}");
                assert!(found.iter().all(|found| found.starts_with(&url)), "{part}");
            }
            // The link is followed as it is written in the mail.
            let token = urls(text)[0].strip_prefix(&url).unwrap();
            let body = json!({"token": token, "password": "correct horse battery staple"});
            let followed = claim.send(api, "POST", complete, Some(&body)).await.ok();
            assert!(!followed.text_at("/user_id").is_empty());
            api.pass(60);
        }
    }
    let messages = api.test().get("/v1/test/messages").await.ok();
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
        let response = client
            .post("/v1/auth/otps/email/login_or_create", email)
            .await;
        sent.push(response.status);
        api.pass(20);
    }
    // Five, and one beyond the limit.
    assert_eq!(sent, [200, 200, 200, 200, 200, 200, 429, 429]);
}
