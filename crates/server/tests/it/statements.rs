//! PR-110: how much each call asks of the database, against the table that is checked in.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use vestry_contract::browser::Browser;
use vestry_testkit::wire::{Counts, Wire};

use crate::oauth_races::{location, path as path_of};
use crate::support::client::{Answer, Api};
use crate::support::database::Database;
use crate::support::flow::{Owner, new_owner, sign, sign_in};
use crate::support::installation::{Installation, text};
use crate::support::process::Process;

/// How often each call is made, and the maximum until it matches the table. Only the minimum counts: some calls also open a connection,
/// prepare a statement, reload a cache, or coincide with background tasks.
const ROUNDS: usize = 4;
const MAX_ROUNDS: usize = 15;

/// The start of the table in docs/statements.md.
const TABLE: &str = "| call | statements | round trips | commits |\n|---|--:|--:|--:|\n";

/// A wire that counts, and the counts of each call.
struct Meter<'a> {
    database: &'a Database,
    api: Api,
    /// The live environment, where external wallets are.
    pockets: Api,
    wire: Wire,
    /// The token of a user who stays signed in.
    session: Value,
    rows: Vec<(&'static str, Counts)>,
}

impl Meter<'_> {
    async fn row(&mut self, name: &'static str, call: impl Future<Output = Answer>) -> Answer {
        // Events are sequenced in the background, a moment after their change.
        while !self.is_placed().await {}
        // Both sequencing and mails take longer than a key is cached.
        let session = self.api.post("/v1/auth/sessions/verify", &self.session);
        session.await.ok();
        let before = self.wire.counts();
        let answer = call.await;
        let took = self.wire.counts().since(before);
        match self.rows.iter_mut().find(|(known, _)| *known == name) {
            Some((_, least)) => *least = least.min(took),
            None => self.rows.push((name, took)),
        }
        answer
    }

    async fn is_placed(&self) -> bool {
        let waiting = "SELECT id AS one, kind AS two FROM unsequenced_events";
        self.database.pairs(waiting).await.is_empty()
    }

    async fn post(&mut self, name: &'static str, path: &str, body: Value) -> Value {
        let (api, path) = (self.api.clone(), format!("/v1/{path}"));
        self.row(name, async move { api.post(&path, &body).await })
            .await
            .ok()
    }

    async fn get(&mut self, name: &'static str, path: &str) -> Value {
        let (api, path) = (self.api.clone(), format!("/v1/{path}"));
        self.row(name, async move { api.get(&path).await })
            .await
            .ok()
    }

    /// Signs in with a mailed code.
    async fn code(&mut self, [send, verify]: [&'static str; 2], email: &str) -> Value {
        let body = json!({ "email": email, "expires_in": 10 });
        let sent = self
            .post(send, "auth/otps/email/login_or_create", body)
            .await;
        let code = text(&self.mail(email).await, "code");
        let body = json!({ "method_id": sent["email_id"], "otp": code, "session_expires_in": 60 });
        self.post(verify, "auth/otps/verify", body).await
    }

    /// Signs in with a mailed link.
    async fn link(&mut self, [send, verify]: [&'static str; 2], email: &str) {
        let body = json!({ "email": email });
        let path = "auth/magic_links/email/login_or_create";
        self.post(send, path, body).await;
        let mail = self.mail(email).await;
        let body = json!({ "token": mail["token"], "session_expires_in": 60 });
        self.post(verify, "auth/magic_links/verify", body).await;
    }

    /// The only mail to this address.
    async fn mail(&self, email: &str) -> Value {
        let path = format!("/v1/test/messages?to={email}&wait=20");
        let found = self.api.get(&path).await.ok();
        self.api.delete("/v1/test/messages", &json!({})).await.ok();
        found["messages"][0].clone()
    }

    /// Signs in with a code by SMS.
    async fn sms(&mut self, [send, verify]: [&'static str; 2], number: &str) {
        let body = json!({ "phone_number": number, "expires_in": 10 });
        let sent = self.post(send, "auth/otps/sms/login_or_create", body).await;
        let code = text(&self.mail(&number.replace('+', "%2B")).await, "code");
        let body =
            json!({ "method_id": sent["phone_number_id"], "otp": code, "session_expires_in": 60 });
        self.post(verify, "auth/otps/verify", body).await;
    }

    /// Registers a passkey and signs in with it.
    async fn passkey(&mut self, user: &str) {
        let mut browser = Browser::at("http://localhost:3000");
        let begin = json!({ "domain": "localhost", "user_id": user });
        let name = "webauthn/registrations/begin";
        let path = "auth/webauthn/registrations/begin";
        let begun = self.post(name, path, begin.clone()).await;
        let credential = browser
            .create(&begun["public_key_credential_creation_options"])
            .await;
        let body = json!({ "user_id": user, "public_key_credential": credential });
        let name = "webauthn/registrations/create";
        let path = "auth/webauthn/registrations/create";
        self.post(name, path, body).await;
        let name = "webauthn/authentication/begin";
        let path = "auth/webauthn/authentication/begin";
        let begun = self.post(name, path, begin).await;
        let credential = browser
            .get(&begun["public_key_credential_request_options"])
            .await;
        let body = json!({ "public_key_credential": credential, "session_expires_in": 60 });
        self.post("webauthn/verify", "auth/webauthn/verify", body)
            .await;
    }

    /// Signs in with an external wallet.
    async fn wallet(&mut self, [begin, verify]: [&'static str; 2], pocket: &Owner) {
        let mut body = json!({ "wallet_type": "ethereum", "public_address": pocket.address });
        let path = "auth/wallets/registrations/begin";
        let begun = self.post(begin, path, body.clone()).await;
        let signed = sign(&self.pockets, pocket, &text(&begun, "challenge")).await;
        body["signature"] = signed.ok()["signature"].clone();
        body["session_expires_in"] = json!(60);
        self.post(verify, "auth/wallets/verify", body).await;
    }

    /// Signs in with the identity provider that every test environment has.
    async fn provider(&mut self, verify: &'static str, email: &str) {
        let api = self.api.clone();
        let query = format!("identity=verified&email={email}");
        let path = format!("auth/oauth/test/begin?{query}");
        let begun = self.get("oauth/test/begin", &path).await;
        let sent_back = location(&api.get(path_of(&text(&begun, "url"))).await);
        let back = async move { api.get(path_of(&sent_back)).await };
        let landed = location(&self.row("oauth/test/callback", back).await);
        let (_, token) = landed.split_once("?token=").unwrap();
        let body = json!({ "token": token, "session_expires_in": 60 });
        self.post(verify, "auth/oauth/verify", body).await;
    }

    async fn round(&mut self, number: usize) {
        let email = format!("code{number}@example.com");
        let names = [
            "otps/email/login_or_create, new user",
            "otps/verify, new user",
        ];
        self.code(names, &email).await;
        let names = [
            "otps/email/login_or_create, known user",
            "otps/verify, known user",
        ];
        let session = self.code(names, &email).await;
        let token = text(&session, "session_token");
        let named = json!({ "session_token": token });
        let name = "sessions/verify";
        self.post(name, "auth/sessions/verify", named.clone()).await;
        let password =
            json!({ "session_token": token, "password": "a password that is long enough" });
        let name = "passwords/session/update";
        let path = "auth/passwords/session/update";
        self.post(name, path, password).await;
        let user = text(&session, "user_id");
        let proof = json!({
            "user_id": user,
            "password": "a password that is long enough",
            "session_expires_in": 60,
        });
        let name = "passwords/verify";
        self.post(name, "auth/passwords/verify", proof).await;
        let named_user = json!({ "user_id": user });
        let name = "totps/create";
        self.post(name, "auth/totps/create", named_user).await;
        self.passkey(&user).await;
        let api = self.api.clone();
        let delete = async move { api.delete("/v1/auth/sessions/delete", &named).await };
        self.row("sessions/delete", delete).await.ok();

        let email = format!("link{number}@example.com");
        let names = [
            "magic_links/email/login_or_create, new user",
            "magic_links/verify, new user",
        ];
        self.link(names, &email).await;
        let names = [
            "magic_links/email/login_or_create, known user",
            "magic_links/verify, known user",
        ];
        self.link(names, &email).await;

        let phone_number = format!("+4915112345{number:03}");
        let names = [
            "otps/sms/login_or_create, new user",
            "otps/verify by SMS, new user",
        ];
        self.sms(names, &phone_number).await;
        let names = [
            "otps/sms/login_or_create, known user",
            "otps/verify by SMS, known user",
        ];
        self.sms(names, &phone_number).await;

        let email = format!("provider{number}%40example.com");
        for verify in ["oauth/verify, new user", "oauth/verify, known user"] {
            self.provider(verify, &email).await;
        }

        let pocket = new_owner(&self.pockets, &format!("pocket{number}@example.com")).await;
        let names = [
            "wallets/registrations/begin, new user",
            "auth/wallets/verify, new user",
        ];
        self.wallet(names, &pocket).await;
        let names = [
            "wallets/registrations/begin, known user",
            "auth/wallets/verify, known user",
        ];
        self.wallet(names, &pocket).await;

        let body = json!({ "email": format!("made{number}@example.com") });
        let made = self.post("users/create", "auth/users/create", body).await;
        let user = text(&made, "user_id");
        let path = format!("auth/users/{user}");
        self.get("users/get", &path).await;
        let body = json!({ "user_id": user, "wallet_type": "solana" });
        let wallet = self.post("wallets/create", "wallets/create", body).await;
        let path = format!("wallets/{}/sign_message", text(&wallet, "id"));
        let body = json!({ "message": "hello" });
        self.post("wallets/sign_message", &path, body).await;
    }

    fn table(&self) -> String {
        let mut table = TABLE.to_owned();
        for (name, counts) in &self.rows {
            let Counts {
                statements,
                round_trips,
                commits,
            } = counts;
            writeln!(
                table,
                "| {name} | {statements} | {round_trips} | {commits} |"
            )
            .unwrap();
        }
        table
    }
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/statements.md")
}

/// Whether to rewrite the table instead of comparing with it.
#[expect(clippy::disallowed_methods, reason = "a switch of this test")]
fn writes() -> bool {
    std::env::var_os("VESTRY_TEST_WRITE_STATEMENTS").is_some()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pr_110_calls_ask_no_more_than_the_table_says() {
    let Some(mut installation) = Installation::postgres().await else {
        return;
    };
    let keys = tokio::task::block_in_place(|| {
        let keys = installation.set_up();
        for kind in ["login", "registration"] {
            let page = "https://app.example.com/in";
            let url = ["redirect-url", "add", &keys.app, "test", page];
            installation.admin(&[&url[..], &["--kind", kind, "--default"]].concat());
        }
        keys
    });
    // Delivery is not part of a call, and uses another connection.
    let worker = Process::start(&mut installation.command(&["worker"]));
    let url = installation.database.url();
    let (server, database) = url.split_once('@').unwrap().1.split_once('/').unwrap();
    let wire = Wire::to(server.to_owned()).await;
    let port = wire.port();
    installation.set(
        "database.url",
        &format!("postgres://postgres@127.0.0.1:{port}/{database}"),
    );
    installation.set("outbox.worker", "false");
    let server = installation.serve().await;
    let api = server.api(&keys.test);
    let session = sign_in(&api, "ada@example.com").await;
    api.delete("/v1/test/messages", &json!({})).await.ok();
    let mut meter = Meter {
        database: &installation.database,
        api,
        pockets: server.api(&keys.live),
        wire,
        session: json!({ "session_token": session["session_token"] }),
        rows: Vec::new(),
    };
    let page = page();
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, _) = text.split_once(TABLE).unwrap();
    let mut made = String::new();
    for number in 0..MAX_ROUNDS {
        meter.round(number).await;
        made = format!("{before}{}", meter.table());
        let more = made.lines().filter(|line| !text.contains(line));
        let more: Vec<_> = more.collect();
        println!("round {number}: {more:?}");
        if number + 1 >= ROUNDS {
            if made == text || writes() {
                break;
            }
            meter.wire.be_slow();
        }
    }
    server.process.stop().await;
    worker.stop().await;
    if writes() {
        std::fs::write(&page, made).unwrap();
        return;
    }
    assert_eq!(
        text, made,
        "calls ask more or less of the database than docs/statements.md says: where that is meant, run this test with \
         VESTRY_TEST_WRITE_STATEMENTS=1"
    );
}
