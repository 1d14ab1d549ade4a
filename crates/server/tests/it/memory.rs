//! M-11, S3: secrets left in the memory of a service that has used them.

use std::collections::BTreeMap;
use std::io::ErrorKind;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use vestry_contract::memory;
use vestry_testkit::lane;

use crate::on_both_databases;
use crate::races::all_at_once;
use crate::support::client::Api;
use crate::support::flow::sign_in;
use crate::support::installation::{Installation, Server, text};
use crate::support::process::PATIENCE;

on_both_databases! {
    /// M-11, S3
    m_11_what_is_freed_is_wiped => super::freed_memory_is_wiped;
}

/// The searched part of each secret: its end. Allocators overwrite the first bytes of freed memory, and JWTs begin alike.
const LENGTH: usize = 24;

/// Parts of secrets by name, indexed by their first two bytes.
#[derive(Default)]
struct Secrets(BTreeMap<[u8; 2], Vec<(&'static str, Vec<u8>)>>);

impl Secrets {
    fn add(&mut self, what: &'static str, secret: &str) {
        let begin = secret.len().checked_sub(LENGTH);
        let part = secret.as_bytes()[begin.expect(what)..].to_vec();
        self.0
            .entry([part[0], part[1]])
            .or_default()
            .push((what, part));
    }

    /// Returns which of them are in the memory of this process, and how often.
    fn found_in(&self, process: u32) -> std::io::Result<BTreeMap<&'static str, usize>> {
        let mut starts = vec![false; 1 << 16];
        for start in self.0.keys() {
            starts[usize::from(u16::from_be_bytes(*start))] = true;
        }
        let mut found = BTreeMap::new();
        memory::count(&process.to_string(), LENGTH, |piece| {
            for (at, pair) in piece.windows(2).enumerate() {
                if !starts[usize::from(u16::from_be_bytes([pair[0], pair[1]]))] {
                    continue;
                }
                for (what, part) in &self.0[&[pair[0], pair[1]]] {
                    if piece[at..].starts_with(part) {
                        *found.entry(*what).or_default() += 1;
                    }
                }
            }
            0
        })?;
        Ok(found)
    }
}

const SET: &str = "a password that somebody set, and nobody else has";
const RESET: &str = "the password that came with a link after the first one";
const WRONG: &str = "what somebody typed in who does not know the password";

/// Text searches leave pieces of 16 or 32 bytes on the stack. Which ones depends on the length and content of the text.
const JUDGED: [&str; 4] = [
    "what somebody thinks of 1990",
    "another one which somebody thinks of 11!",
    "something that nobody told to anyone in this house 22qwerty",
    "and the last one, which is the longest of all that nobody ever told 33password",
];

/// A request that is still incomplete.
const SENT: &str = "a password that was sent and is still being read by then";
const IN_USE: &str = "password in use";

/// Makes every call whose body carries a secret in either direction; returns those secrets. The reset token is left out: the test
/// environment stores its mail in the database, which keeps it in its caches.
async fn use_secrets(api: &Api, key: &str) -> Secrets {
    let mut secrets = Secrets::default();
    secrets.add("API key", key);
    let session = sign_in(api, "ada@example.com").await;
    let user = text(&session, "user_id");
    let mut by = |what, answer: &Value, name: &str| secrets.add(what, &text(answer, name));
    by("session token", &session, "session_token");
    by("session JWT", &session, "session_jwt");
    let named = json!({ "session_token": text(&session, "session_token") });
    let verified = api.post("/v1/auth/sessions/verify", &named).await.ok();
    by("fresh JWT", &verified, "session_jwt");
    let link = json!({ "email": "ada@example.com" });
    let link = api.post("/v1/auth/magic_links/create", &link).await.ok();
    by("link token", &link, "token");
    let opened = json!({ "token": text(&link, "token"), "session_expires_in": 60 });
    let opened = api.post("/v1/auth/magic_links/verify", &opened).await.ok();
    by("session token of a link", &opened, "session_token");
    let change = json!({ "session_token": text(&opened, "session_token"), "password": SET });
    api.post("/v1/auth/passwords/session/update", &change)
        .await
        .ok();
    for (password, status) in [(SET, 200), (WRONG, 401)] {
        let proof = json!({ "user_id": user, "password": password });
        let answer = api.post("/v1/auth/passwords/verify", &proof).await;
        assert_eq!(answer.status, status, "{}", answer.text);
    }
    let begun = json!({ "email": "ada@example.com" });
    api.post("/v1/auth/passwords/reset/begin", &begun)
        .await
        .ok();
    let mail = captured_reset(api).await;
    let complete = json!({ "token": text(&mail, "token"), "password": RESET });
    api.post("/v1/auth/passwords/reset/complete", &complete)
        .await
        .ok();
    let made = json!({ "user_id": user });
    let made = api.post("/v1/auth/totps/create", &made).await.ok();
    by("seed of an authenticator app", &made, "secret");
    api.delete("/v1/test/messages", &json!({})).await.ok();
    for password in JUDGED {
        let path = "/v1/auth/passwords/strength_check";
        api.post(path, &json!({ "password": password })).await.ok();
        secrets.add("judged password", password);
    }
    // A key sent where none is expected, by several clients at once: sequential requests would reuse the same memory.
    let clients = std::slice::from_ref(api);
    all_at_once(clients, 16, |_, api| async move { api.get("/livez").await }).await;
    for (what, password) in [
        ("password", SET),
        ("reset password", RESET),
        ("wrong password", WRONG),
    ] {
        secrets.add(what, password);
    }
    secrets
}

/// The mail with the link for a password reset.
async fn captured_reset(api: &Api) -> Value {
    let find = async {
        loop {
            let path = "/v1/test/messages?kind=password_reset";
            let found = api.get(path).await.ok();
            if let Some(mail) = found["messages"].get(0) {
                return mail.clone();
            }
        }
    };
    tokio::time::timeout(PATIENCE, find).await.unwrap()
}

/// A request without the end of its body: the service has to hold the rest.
async fn send_half(server: &Server, key: &str) -> TcpStream {
    let address = server.base_url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let body = json!({ "user_id": "user_1", "password": SENT }).to_string();
    let request = format!(
        "POST /v1/auth/passwords/verify HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len() + 1
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// No secret is left once its connections are closed. The same search finds a secret that is in use.
async fn freed_memory_is_wiped(installation: Installation) {
    let keys = installation.set_up();
    let page = "https://app.example.com/in";
    installation.admin(&[
        "redirect-url",
        "add",
        &keys.app,
        "test",
        page,
        "--kind",
        "login",
        "--default",
    ]);
    let server = installation.serve().await;
    let process = server.process.id();
    let api = server.api(&keys.test);
    let mut secrets = use_secrets(&api, &keys.test).await;
    secrets.add(IN_USE, SENT);
    let seen = match secrets.found_in(process) {
        Err(refused) if refused.kind() == ErrorKind::PermissionDenied => None,
        seen => Some(seen.unwrap()),
    };
    let lacks = "the memory of a service can be read by root only";
    if lane::required("memory", seen, lacks).is_none() {
        return;
    }
    // A search that finds nothing would prove nothing.
    let in_use = send_half(&server, &keys.test).await;
    let is_found = async {
        while !secrets.found_in(process).unwrap().contains_key(IN_USE) {
            tokio::task::yield_now().await;
        }
    };
    let outcome = tokio::time::timeout(PATIENCE, is_found).await;
    assert!(outcome.is_ok(), "secrets in use are not found");
    drop((api, in_use));
    let mut left = BTreeMap::new();
    let is_clean = async {
        loop {
            left = secrets.found_in(process).unwrap();
            if left.is_empty() {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    let outcome = tokio::time::timeout(PATIENCE, is_clean).await;
    assert!(outcome.is_ok(), "M-11: left in memory: {left:?}");
    server.process.stop().await;
}
