//! Calls and commands of every kind, as an App and its operator make them.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::events::hooks::Hook;
use super::super::http::Connection;
use super::super::seeded::Copy;
use super::super::service::text;
use crate::failure::{Context, Failure};
use crate::site::{Server, Site};
use crate::{process, wait};

/// How often each call is made: a prepared statement has a plan of its own for the first five, and one for all afterwards.
const CALLS: &str = "12";
const ROUNDS: usize = 7;
/// Few, so that they share the service's first connections.
const CONNECTIONS: &str = "2";
/// Users who are imported.
const IMPORTED: u32 = 20;
/// Where a sign-in through the provider of the test environment begins.
const PROVIDER: &str = "/v1/auth/oauth/test/begin?identity=verified";
/// An address of a wallet that is imported.
const ADDRESS: &str = "0x52908400098527886E0F7030069857D2E4169EE7";
/// How long events and deliveries may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a key may do that may do everything.
const SCOPES: [&str; 10] = [
    "users:read",
    "users:write",
    "auth:write",
    "sessions:write",
    "wallets:read",
    "wallets:write",
    "wallets:sign",
    "wallets:export",
    "events:read",
    "audit:read",
];

/// The caller, on a seeded database.
pub(super) struct Caller<'a> {
    pub(super) copy: &'a Copy,
    /// Where the baseline listens.
    pub(super) baseline: &'a str,
    pub(super) programs: &'a Path,
}

/// An App and a secret key of its test world that may do everything.
struct App {
    id: String,
    key: String,
}

impl Caller<'_> {
    fn site(&self) -> &Site {
        &self.copy.site
    }

    /// The App that has many of everything.
    pub(super) fn app(&self) -> Result<String, Failure> {
        let apps = self.site().admin(&["app", "list"])?;
        text(&apps, "/apps/0/id")
    }

    /// Makes all calls for an App that has nothing yet, so that there is something of everything; its id.
    pub(super) fn fill_another_app(&self) -> Result<String, Failure> {
        let made = self.site().admin(&["app", "create", "Template"])?;
        let app = self.set_up(text(&made, "/id")?)?;
        self.make(&app, "template")?;
        Ok(app.id)
    }

    /// Makes all calls for the App that has many of everything.
    pub(super) fn make_all(&self) -> Result<(), Failure> {
        let app = self.set_up(self.app()?)?;
        self.make(&app, "many")
    }

    fn set_up(&self, id: String) -> Result<App, Failure> {
        let site = self.site();
        let mut key = vec!["key", "create", &id, "test"];
        for scope in SCOPES {
            key.extend(["--scope", scope]);
        }
        let key = text(&site.admin(&key)?, "/key")?;
        let page = "https://app.example.com/in";
        let url = ["redirect-url", "add", &id, "test", page];
        let kinds = ["--kind", "login,registration,invite", "--default"];
        site.admin(&[&url[..], &kinds].concat())?;
        Ok(App { id, key })
    }

    fn make(&self, app: &App, name: &str) -> Result<(), Failure> {
        let (sound, failing) = (Hook::sound()?, Hook::refusing()?);
        let site = self.site();
        for hook in [&sound, &failing] {
            site.admin(&["webhook", "create", &app.id, "test", &hook.url])?;
        }
        let server = site.serve(0)?;
        let mut load = Command::new(self.programs.join("vestry-bench-load"));
        load.arg("operations")
            .args(["--service", &server.base_url, "--key", &app.key])
            .args(["--baseline", self.baseline, "--calls", CALLS])
            .args(["--connections", CONNECTIONS]);
        process::output(&mut load)?;
        let mut connection = Connection::open(&server.base_url, &app.key)?;
        for round in 0..ROUNDS {
            one_of_everything(&mut connection, &server, &format!("{name}{round}"))?;
            read_everything(&mut connection)?;
        }
        wait::until("a delivery", PATIENCE, || {
            let seen = sound.count().0;
            Ok((seen > 0).then_some(()))
        })?;
        self.run_commands(app, name)?;
        server.stop()
    }

    /// What an operator runs.
    fn run_commands(&self, app: &App, name: &str) -> Result<(), Failure> {
        let site = self.site();
        let id = &*app.id;
        let lines: String = (0..IMPORTED)
            .map(|number| imported(name, number) + "\n")
            .collect();
        let file = site.file(&format!("{name}.jsonl"));
        fs::write(&file, lines).context("cannot write users")?;
        let file = file.display().to_string();
        let pruned = site.file(&format!("{name}-pruned.jsonl"));
        let pruned = pruned.display().to_string();
        for command in [
            &["users", "import", id, "test", &file][..],
            &["app", "list"],
            &["app", "show", id],
            &["key", "list", id],
            &["redirect-url", "list", id],
            &["provider", "list", id],
            &["signing-key", "list", id],
            &["signing-key", "rotate", id, "test"],
            &["webhook", "list", id],
            &["vault", "status"],
            &["audit", "verify"],
            &["audit", "checkpoint"],
            &["audit", "prune", "--before", "2020-01-01", "--to", &pruned],
            &["check"],
        ] {
            site.try_admin(command)?;
        }
        let endpoints = site.admin(&["webhook", "list", id])?;
        let endpoints = endpoints.get("webhook_endpoints").and_then(Value::as_array);
        for endpoint in endpoints.into_iter().flatten() {
            let endpoint = text(endpoint, "/id")?;
            for state in ["waiting", "delivered", "exhausted"] {
                site.admin(&["webhook", "deliveries", id, &endpoint, "--state", state])?;
            }
            let listed = site.admin(&["webhook", "deliveries", id, &endpoint])?;
            let first = text(&listed, "/deliveries/0/id")?;
            site.admin(&["webhook", "deliveries", id, &endpoint, &first])?;
            site.admin(&["webhook", "disable", id, &endpoint])?;
            site.admin(&["webhook", "enable", id, &endpoint])?;
            site.admin(&["webhook", "replay", id, &endpoint, "--failed-since", "1"])?;
        }
        Ok(())
    }
}

/// A line of an import.
fn imported(name: &str, number: u32) -> String {
    json!({
        "external_key": format!("{name}-{number}"),
        "emails": [{ "email": format!("{name}-imported{number}@plans.example"), "verified": true }],
        "phone_numbers": [{ "phone_number": format!("+49151{:08}", hash(name) % 1_000_000 * 20 + number) }],
        "first_name": "Grace",
        "metadata": { "plan": "free" },
    })
    .to_string()
}

/// Makes what the load of the bench does not leave behind.
fn one_of_everything(
    connection: &mut Connection,
    server: &Server,
    name: &str,
) -> Result<(), Failure> {
    let mut post = |path: &str, body: Value| connection.send("POST", path, &body);
    let email = format!("ok+{name}@vestry.test");
    let made = post(
        "/v1/auth/users/create",
        json!({ "email": email, "metadata": { "plan": "pro" }, "wallets": [] }),
    )?;
    let user = text(&made, "/user_id")?;
    post("/v1/auth/totps/create", json!({ "user_id": user }))?;
    let domain = json!({ "domain": "localhost", "user_id": user });
    post("/v1/auth/webauthn/registrations/begin", domain)?;
    let number = format!("+49160{:08}", hash(name) % 10_000_000);
    let sent = post(
        "/v1/auth/otps/sms/login_or_create",
        json!({ "phone_number": number }),
    )?;
    let wrong = json!({ "method_id": text(&sent, "/phone_number_id")?, "otp": "999999" });
    let other = format!("{name}@plans.example");
    post(
        "/v1/auth/magic_links/email/login_or_create",
        json!({ "email": other }),
    )?;
    post(
        "/v1/auth/magic_links/email/invite",
        json!({ "email": format!("invited-{other}") }),
    )?;
    let wallet = post(
        "/v1/wallets/create",
        json!({ "user_id": user, "wallet_type": "ethereum" }),
    )?;
    let wallet = text(&wallet, "/id")?;
    for action in ["disable", "enable"] {
        post(&format!("/v1/wallets/{wallet}/{action}"), json!({}))?;
        post(&format!("/v1/auth/users/{user}/{action}"), json!({}))?;
    }
    post(&format!("/v1/auth/users/{user}/unlock"), json!({}))?;
    post(
        "/v1/wallets/import/begin",
        json!({
            "public_address": ADDRESS,
            "wallet_type": "ethereum",
            "encryption_type": "HPKE",
            "entropy_type": "private_key",
        }),
    )?;
    connection.try_post("/v1/auth/otps/verify", &wrong, None)?;
    let body = json!({ "email": format!("once-{other}") });
    connection.try_post("/v1/auth/users/create", &body, Some(name))?;
    // One who has not come back from the provider, one who has not been let in, and one who has.
    connection.get(PROVIDER)?;
    landed(connection, server)?;
    let token = landed(connection, server)?;
    let body = json!({ "token": token, "session_expires_in": 60 });
    let verified = connection.send("POST", "/v1/auth/oauth/verify", &body)?;
    let user = text(&verified, "/user_id")?;
    connection.get(&format!("/v1/auth/sessions/list?user_id={user}"))?;
    let ended = json!({ "user_id": user });
    connection.send("DELETE", "/v1/auth/sessions/delete_all", &ended)?;
    Ok(())
}

/// Completes a sign-in at the provider of the test environment, and returns the token.
fn landed(connection: &mut Connection, server: &Server) -> Result<String, Failure> {
    let begun = connection.get(PROVIDER)?;
    let own = |url: &str| {
        let path = url
            .split_once("://")
            .and_then(|(_, rest)| rest.split_once('/'));
        let (_, path) = path.ok_or_else(|| Failure::new("a URL without a path"))?;
        Ok::<_, Failure>(format!("/{path}"))
    };
    let mut browser = Connection::open(&server.base_url, "")?;
    let back = browser.redirected(&own(&text(&begun, "/url")?)?)?;
    let landed = browser.redirected(&own(&back)?)?;
    let (_, token) = landed
        .split_once("token=")
        .ok_or_else(|| Failure::new("the browser landed without a token"))?;
    Ok(token.to_owned())
}

/// Reads every list with every filter.
fn read_everything(connection: &mut Connection) -> Result<(), Failure> {
    let first = connection.send("POST", "/v1/auth/users/search", &json!({}))?;
    let user = first
        .get("users")
        .and_then(Value::as_array)
        .and_then(|users| {
            users
                .iter()
                .find(|user| user.pointer("/emails/0").is_some())
        })
        .ok_or_else(|| Failure::new("no user has an address"))?
        .clone();
    let id = text(&user, "/user_id")?;
    connection.get(&format!("/v1/auth/users/{id}"))?;
    let created_at = user.get("created_at").cloned().unwrap_or_default();
    let email = text(&user, "/emails/0/email")?;
    for (field, value) in [
        ("status", json!("pending")),
        ("user_id", json!(id)),
        ("email", json!(email)),
        ("email_id", json!(text(&user, "/emails/0/id")?)),
        ("email_verified", json!(true)),
        ("phone_number", json!("+15005550006")),
        ("created_at", created_at),
        ("metadata.plan", json!("pro")),
        ("full_name_match", json!("grace")),
        ("email_match", json!(email)),
    ] {
        let field = json!({ "field": field, "operator": "eq", "value": value });
        let filters = json!({ "operator": "AND", "fields": [field] });
        connection.send(
            "POST",
            "/v1/auth/users/search",
            &json!({ "filters": filters }),
        )?;
    }
    let later = json!({ "starting_after": id });
    connection.send("POST", "/v1/auth/users/search", &later)?;
    let wallets = connection.get(&format!("/v1/wallets/list?user_id={id}"))?;
    if let Some(wallet) = wallets.pointer("/wallets/0/id").and_then(Value::as_str) {
        connection.get(&format!("/v1/wallets/{wallet}"))?;
        connection.get(&format!("/v1/wallets/{wallet}/audit"))?;
        connection.get(&format!("/v1/events?wallet_id={wallet}"))?;
    }
    let head = connection.get("/v1/events/head")?;
    let newest = text(&head, "/newest/id")?;
    for path in [
        "/v1/events".to_owned(),
        "/v1/events?order=desc&limit=1000".to_owned(),
        "/v1/events?types=user.created,wallet.*".to_owned(),
        format!("/v1/events?user_id={id}"),
        format!("/v1/events?after={newest}"),
        format!("/v1/events/{newest}"),
        "/v1/test/messages".to_owned(),
        format!("/v1/test/messages?to={email}"),
    ] {
        connection.get(&path)?;
    }
    for path in ["/v1/audit", "/v1/audit?action=app.update"] {
        // Copies of entries are not as they were written, and it says so.
        connection.try_get(path)?;
    }
    Ok(())
}

/// A number out of a name.
fn hash(name: &str) -> u32 {
    name.bytes().fold(7, |hash: u32, byte| {
        hash.wrapping_mul(31).wrapping_add(u32::from(byte))
    })
}
