//! Backups and restores with the real binary (K9).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::task::block_in_place;
use vestry_contract::browser::Browser;
use vestry_contract::rng::Rng;
use vestry_domain::wallet::WalletType;

use crate::oauth_races::{location, path as path_of};
use crate::on_both_databases;
use crate::support::client::Api;
use crate::support::database::Database;
use crate::support::flow::{Owner, captured_code, new_owner_of, send_code, sign, sign_in};
use crate::support::installation::{Installation, text};
use crate::support::mixed_load::Load;
use crate::support::poll::until;

on_both_databases! {
    /// K9, PR-79, PR-80, PR-81, PR-84
    k9_a_restore_keeps_wallets_and_revives_nothing => super::a_restore_keeps_wallets_and_revives_nothing;
    /// PR-79, PR-81
    pr_81_bad_files_and_targets_change_nothing => super::bad_files_and_targets_change_nothing;
}

const FILE: &str = "shop.backup";

/// Calls that succeed once, before the restore.
struct Pending {
    calls: Vec<(&'static str, &'static str, Value)>,
    /// Where the browser returns from the identity provider.
    callback: String,
}

impl Pending {
    /// Begins one of everything that lives for a short time.
    async fn begin(api: &Api, pocket: &Owner, signed_by: &Api) -> Self {
        let session = sign_in(api, "ada@example.com").await;
        let user = text(&session, "user_id");
        let verify = "/v1/auth/sessions/verify";
        let [token, jwt] =
            ["session_token", "session_jwt"].map(|name| json!({ name: session[name] }));
        let mut calls = vec![("session", verify, token), ("session JWT", verify, jwt)];

        let method_id = send_code(api, "bob@example.com").await;
        let code = captured_code(api, "bob@example.com").await;
        let code = json!({ "method_id": method_id, "otp": code });
        calls.push(("code", "/v1/auth/otps/verify", code));

        let body = json!({ "email": "link@example.com" });
        let path = "/v1/auth/magic_links/email/login_or_create";
        api.post(path, &body).await.ok();
        let mail = api
            .get("/v1/test/messages?to=link@example.com&wait=20")
            .await
            .ok();
        let link = json!({ "token": mail["messages"][0]["token"] });
        calls.push(("link", "/v1/auth/magic_links/verify", link));

        let mut wallet = json!({ "wallet_type": "ethereum", "public_address": pocket.address });
        let path = "/v1/auth/wallets/registrations/begin";
        let begun = api.post(path, &wallet).await.ok();
        let signed = sign(signed_by, pocket, &text(&begun, "challenge")).await;
        wallet["signature"] = signed.ok()["signature"].clone();
        calls.push(("wallet challenge", "/v1/auth/wallets/verify", wallet));

        let mut browser = Browser::at("http://localhost:3000");
        let begin = json!({ "domain": "localhost", "user_id": user });
        let path = "/v1/auth/webauthn/registrations/begin";
        let begun = api.post(path, &begin).await.ok();
        let credential = browser
            .create(&begun["public_key_credential_creation_options"])
            .await;
        let passkey = json!({ "user_id": user, "public_key_credential": credential });
        calls.push((
            "passkey challenge",
            "/v1/auth/webauthn/registrations/create",
            passkey,
        ));

        let begin =
            |email: &str| format!("/v1/auth/oauth/test/begin?identity=verified&email={email}");
        let begun = api.get(&begin("flow%40example.com")).await.ok();
        let callback = location(&api.get(path_of(&text(&begun, "url"))).await);
        let begun = api.get(&begin("token%40example.com")).await.ok();
        let sent_back = location(&api.get(path_of(&text(&begun, "url"))).await);
        let landed = location(&api.get(path_of(&sent_back)).await);
        let (_, token) = landed.split_once("?token=").unwrap();
        calls.push((
            "provider sign-in",
            "/v1/auth/oauth/verify",
            json!({ "token": token }),
        ));
        Self {
            calls,
            callback: path_of(&callback).to_owned(),
        }
    }

    /// The refusal of each, after the restore.
    async fn refusals(&self, api: &Api) -> Vec<(&'static str, u16, String)> {
        let mut refusals = Vec::new();
        for (name, path, body) in &self.calls {
            let answer = api.post(path, body).await;
            let code = answer.error(answer.status).to_owned();
            refusals.push((*name, answer.status, code));
        }
        refusals
    }
}

/// A wallet of each chain, in both environments.
async fn wallets(apis: [&Api; 2]) -> Vec<(usize, Owner)> {
    let mut owners = Vec::new();
    for (of, api) in apis.into_iter().enumerate() {
        for wallet_type in WalletType::ALL {
            let email = format!("{wallet_type}@example.com");
            owners.push((of, new_owner_of(api, &email, wallet_type).await));
        }
    }
    owners
}

async fn signature(apis: [&Api; 2], (of, owner): &(usize, Owner)) -> Value {
    sign(apis[*of], owner, "hello").await.ok()["signature"].clone()
}

async fn empty_database(installation: &Installation, name: &str) -> Database {
    match &installation.database {
        Database::Sqlite(_) => Database::Sqlite(installation.file(name)),
        Database::Postgres(_) | Database::Elsewhere(_) => Database::postgres().await.unwrap(),
    }
}

/// Replaces the database of an installation, and returns the old one.
fn exchange(installation: &mut Installation, database: Database) -> Database {
    installation.set("database.url", &database.url());
    std::mem::replace(&mut installation.database, database)
}

async fn a_restore_keeps_wallets_and_revives_nothing(mut installation: Installation) {
    if installation.database.is_distributed() || installation.database.is_pooled() {
        // Their messages have a test of their own.
        return;
    }
    let anchor = installation.file("anchor");
    fs::create_dir(&anchor).unwrap();
    let anchor = format!("file:{}", anchor.display());
    installation.set("audit.sinks", &anchor);
    installation.set("audit.checkpoint_seconds", "1");
    installation.set("epoch.store", &anchor);
    let keys = block_in_place(|| {
        let keys = installation.set_up();
        for kind in ["login", "registration"] {
            let page = "https://app.example.com/in";
            let url = ["redirect-url", "add", &keys.app, "test", page];
            installation.admin(&[&url[..], &["--kind", kind, "--default"]].concat());
        }
        keys
    });
    let mut server = installation.serve().await;
    let (test, live) = (server.api(&keys.test), server.api(&keys.live));
    let owners = wallets([&test, &live]).await;
    let mut signatures = Vec::new();
    for owner in &owners {
        signatures.push(signature([&test, &live], owner).await);
    }
    let pocket = owners.iter().find(|(of, _)| *of == 1).unwrap().1.clone();
    let pending = Pending::begin(&test, &pocket, &live).await;

    let mut rng = Rng::from_seed(9);
    let load = Load::start_undisturbed(&test, 0, &mut rng);
    load.go_on(&mut rng).await;
    let backup = block_in_place(|| installation.admin(&["backup", FILE]));
    load.end().await;
    // PR-148, PR-85: what happens between the backup and the crash is in the journal.
    let mut later = Vec::new();
    for wallet_type in WalletType::ALL {
        let email = format!("later-{wallet_type}@example.com");
        later.push(new_owner_of(&test, &email, wallet_type).await);
    }
    let new_app = block_in_place(|| installation.new_app());
    let of_new_app = server.api(&new_app.test);
    let ethereum = WalletType::Ethereum;
    later.push(new_owner_of(&of_new_app, "later@example.com", ethereum).await);
    let path = format!("/v1/auth/users/{}/disable", owners[0].1.user_id);
    test.post(&path, &json!({})).await.ok();
    block_in_place(|| {
        let listed = installation.admin(&["key", "list", &keys.app]);
        let mut listed = listed["keys"].as_array().unwrap().iter();
        let key = listed.find(|key| key["environment"] == "live").unwrap();
        installation.admin(&["key", "revoke", &keys.app, &text(key, "id")]);
    });
    server.process.kill().await;
    let file = installation.file(FILE);
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    assert!(
        backup["rows"]["wallets"].as_u64().unwrap() >= 10,
        "{backup}"
    );
    // PR-80: neither root keys nor settings are in it.
    let bytes = fs::read(&file).unwrap();
    for name in ["root.key", "sign-in.key"] {
        let key = fs::read_to_string(installation.file(".vestry").join(name)).unwrap();
        for line in key.lines().filter(|line| line.len() >= 32) {
            assert!(!contains(&bytes, line.as_bytes()), "{name}");
        }
    }
    let left: Vec<_> = fs::read_dir(installation.path()).unwrap().collect();
    let names = left.iter().map(|entry| entry.as_ref().unwrap().file_name());
    assert_eq!(
        names
            .filter(|name| name.to_string_lossy().starts_with(FILE))
            .count(),
        1
    );

    let checked = block_in_place(|| installation.admin(&["restore", FILE, "--check-only"]));
    assert_eq!(checked["sha256"], backup["sha256"]);
    let database = empty_database(&installation, "restored.db").await;
    let old = exchange(&mut installation, database);
    let restored = block_in_place(|| installation.admin(&["restore", FILE]));
    assert_eq!(restored["findings"], json!([]), "{restored}");
    let journal = &restored["recovered"]["journal"];
    for wallet in &later {
        let inserted = journal["wallets"].as_array().unwrap();
        assert!(inserted.contains(&json!(wallet.wallet_id)), "{journal}");
    }
    assert_eq!(journal["apps"], json!([new_app.app]));
    assert!(journal["changes"].as_u64().unwrap() >= 2, "{journal}");
    let key = block_in_place(|| {
        let theirs = installation.admin(&["key", "create", &new_app.app, "test"]);
        let live = installation.admin(&["key", "create", &keys.app, "live"]);
        [text(&theirs, "key"), text(&live, "key")]
    });
    let ended = &restored["recovered"]["ended"];
    for what in [
        "sessions",
        "codes",
        "links",
        "challenges",
        "provider_sign_ins",
        "messages",
    ] {
        assert!(ended[what].as_u64().unwrap() > 0, "{what}: {restored}");
    }
    assert!(
        restored["recovered"]["event_logs"].as_u64().unwrap() >= 2,
        "{restored}"
    );

    let server = installation.serve().await;
    assert_eq!(server.api(&keys.live).get("/v1/events").await.status, 401);
    let (test, live) = (server.api(&keys.test), server.api(&key[1]));
    assert_eq!(
        pending.refusals(&test).await,
        [
            ("session", 401, "invalid_session".to_owned()),
            ("session JWT", 401, "invalid_session".to_owned()),
            ("code", 400, "invalid_otp".to_owned()),
            ("link", 400, "invalid_magic_token".to_owned()),
            ("wallet challenge", 401, "invalid_credentials".to_owned()),
            ("passkey challenge", 400, "invalid_field".to_owned()),
            ("provider sign-in", 400, "invalid_oauth_token".to_owned()),
        ]
    );
    let landed = location(&test.get(&pending.callback).await);
    assert!(landed.ends_with("?error=invalid_state"), "{landed}");
    let captured = test.get("/v1/test/messages").await.ok();
    assert_eq!(captured["messages"], json!([]));
    for (owner, before) in owners.iter().zip(signatures) {
        let again = signature([&test, &live], owner).await;
        // Ed25519 and RFC 6979 signatures are the same again; the scheme of Polkadot is randomized.
        let is_same = again == before;
        assert!(
            is_same || owner.1.address.starts_with('5') || again.is_string(),
            "{owner:?}"
        );
    }
    sign_in(&test, "ada@example.com").await;
    let of_new_app = server.api(&key[0]);
    let last = later.len() - 1;
    for (number, owner) in later.iter().enumerate() {
        let api = if number == last { &of_new_app } else { &test };
        sign(api, owner, "hello").await.ok();
    }
    let path = format!("/v1/auth/users/{}", owners[0].1.user_id);
    let user = test.get(&path).await.ok();
    assert_eq!(user["status"], "disabled", "{user}");
    // Readers of events learn that some may be missing.
    let events = test.get("/v1/events?types=log.restarted").await.ok();
    assert_eq!(events["events"].as_array().unwrap().len(), 1, "{events}");
    server.process.stop().await;
    block_in_place(|| {
        installation.admin(&["audit", "verify"]);
        installation.admin(&["vault", "verify"]);
    });
    // PR-82: a rehearsal beside the restored database, which it leaves as it is.
    let drill = block_in_place(|| installation.run(&["drill", FILE, "--json"]).done());
    let result = drill.json();
    assert_eq!(
        (&result["ok"], &result["findings"]),
        (&json!(true), &json!([]))
    );
    for wallet_type in WalletType::ALL {
        assert!(
            result["signed"][wallet_type.as_str()].as_u64().unwrap() >= 2,
            "{result}"
        );
    }
    assert!(
        result["recovery_time_seconds"].as_f64().unwrap() > 0.0,
        "{result}"
    );
    assert!(!drill.stderr.contains("ALARM"), "{}", drill.stderr);
    let database = "SELECT datname AS one, datname AS two FROM pg_database WHERE datname LIKE 'vestry_drill_%'";
    if matches!(installation.database, Database::Postgres(_)) {
        assert_eq!(installation.database.pairs(database).await, []);
    }
    drop(old);
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

async fn bad_files_and_targets_change_nothing(mut installation: Installation) {
    if installation.database.is_distributed() || installation.database.is_pooled() {
        return;
    }
    block_in_place(|| installation.set_up());
    let refused = |installation: &Installation, arguments: &[&str], expected: &str| {
        let output = block_in_place(|| installation.run(arguments));
        assert_ne!(output.code, 0, "{arguments:?}");
        assert_eq!(
            output.stderr.lines().last().unwrap(),
            format!("vestry: {expected}")
        );
    };
    block_in_place(|| installation.admin(&["backup", FILE]));
    let exists = format!("{FILE} already exists; choose another name");
    refused(&installation, &["backup", FILE], &exists);
    let piped = block_in_place(|| {
        let mut command = installation.command(&["backup", "-"]);
        command.stdin(Stdio::null()).output().unwrap()
    });
    assert!(piped.status.success());
    fs::write(installation.file("piped"), piped.stdout).unwrap();
    block_in_place(|| installation.admin(&["restore", "piped", "--check-only"]));
    refused(
        &installation,
        &["backup", "-", "--json"],
        "--json cannot be combined with -, because the backup goes to stdout",
    );
    refused(
        &installation,
        &["restore", FILE],
        "database is not empty; restore into a new one",
    );
    let whole = fs::read(installation.file(FILE)).unwrap();
    let newer = String::from_utf8_lossy(&whole).len();
    let mut altered = whole.clone();
    altered[newer.min(whole.len()) / 2] ^= 1;
    let database = empty_database(&installation, "other.db").await;
    let old = exchange(&mut installation, database);
    for (name, content, expected) in [
        (
            "foreign",
            b"age-encryption.org/v1".to_vec(),
            "not a Vestry backup; if it is encrypted, decrypt it first",
        ),
        (
            "altered",
            altered,
            "backup is truncated or altered; nothing was restored",
        ),
        (
            "cut",
            whole[..whole.len() - 1].to_vec(),
            "backup is truncated or altered; nothing was restored",
        ),
    ] {
        fs::write(installation.file(name), content).unwrap();
        refused(&installation, &["restore", name], expected);
    }
    let (other, message) = match &installation.database {
        Database::Sqlite(_) => (
            "postgres://postgres@127.0.0.1:1/none".to_owned(),
            "backup is from SQLite, but database.url is Postgres",
        ),
        Database::Postgres(_) | Database::Elsewhere(_) => (
            format!("sqlite:{}", installation.file("sqlite.db").display()),
            "backup is from Postgres, but database.url is SQLite",
        ),
    };
    let url = installation.setting("database.url");
    installation.set("database.url", &other);
    refused(&installation, &["restore", FILE], message);
    installation.set("database.url", &url);

    // A restore without the sign-in key cannot end anything, so nothing may use its result.
    let key = installation.file(".vestry/sign-in.key");
    let aside = installation.file("aside");
    fs::rename(&key, &aside).unwrap();
    refused(
        &installation,
        &["restore", FILE],
        "sign-in key version 1 is missing, and nothing can be ended without it; add it, and restore again into a new database",
    );
    fs::rename(&aside, &key).unwrap();
    for command in [&["serve"][..], &["worker"], &["app", "list"]] {
        refused(
            &installation,
            command,
            "restore is unfinished; restore again into a new database",
        );
    }
    // Without the root key of wallets, all else works.
    let database = empty_database(&installation, "third.db").await;
    let half = exchange(&mut installation, database);
    let key = installation.file(".vestry/root.key");
    fs::rename(&key, &aside).unwrap();
    refused(
        &installation,
        &["restore", FILE],
        "restored, but root key version 1 is missing; wallets stay sealed",
    );
    fs::rename(&aside, &key).unwrap();
    block_in_place(|| installation.admin(&["vault", "verify"]));
    drop((old, half));
}

/// PR-83: a database that was set back by other means gets no traffic until it is recovered.
#[tokio::test(flavor = "multi_thread")]
async fn pr_83_an_old_database_gets_no_traffic() {
    let mut installation = Installation::sqlite();
    let anchor = installation.file("anchor");
    fs::create_dir(&anchor).unwrap();
    let store = format!("file:{}", anchor.display());
    installation.set("audit.sinks", &store);
    installation.set("audit.checkpoint_seconds", "1");
    installation.set("epoch.store", &store);
    let keys = block_in_place(|| installation.set_up());
    let Database::Sqlite(path) = &installation.database else {
        unreachable!("this installation is on SQLite");
    };
    let (path, old) = (path.clone(), installation.file("old.db"));
    let checkpoints = || {
        let files = fs::read_dir(&anchor).unwrap();
        let names = files.map(|file| file.unwrap().file_name());
        names
            .filter(|name| name.to_string_lossy().starts_with("checkpoint-"))
            .count()
    };
    let server = installation.serve().await;
    let api = server.api(&keys.test);
    new_owner_of(&api, "ada@example.com", WalletType::Ethereum).await;
    until(async || checkpoints() > 0).await;
    server.process.stop().await;
    // The file and its write-ahead log.
    let log = |of: &Path| of.with_extension("db-wal");
    let copy = |from: &Path, to: &Path| {
        fs::copy(from, to).unwrap();
        fs::copy(log(from), log(to)).unwrap();
    };
    copy(&path, &old);
    let server = installation.serve().await;
    let before = checkpoints();
    let owner = new_owner_of(
        &server.api(&keys.test),
        "bob@example.com",
        WalletType::Solana,
    )
    .await;
    until(async || checkpoints() > before).await;
    server.process.stop().await;
    copy(&old, &path);
    fs::remove_file(path.with_extension("db-shm")).unwrap();

    let server = installation.serve().await;
    let line = "ALARM: database is behind its audit checkpoints (possible rollback); calls return 503; run vestry recover";
    server.process.shows(line).await;
    let api = server.api(&keys.test);
    let ready = api.get("/readyz").await;
    assert_eq!(
        (ready.status, &ready.body["error"]["param"]),
        (503, &json!("epoch"))
    );
    assert_eq!(sign(&api, &owner, "hello").await.error(503), "unavailable");
    let refused = block_in_place(|| installation.run(&["app", "create", "Later"]));
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("database is behind its audit checkpoints"),
        "{refused:?}"
    );
    block_in_place(|| installation.run(&["app", "list"]).done());
    server.process.stop().await;
    let aside = installation.file("aside");
    fs::rename(&anchor, &aside).unwrap();
    let refused = block_in_place(|| installation.run(&["recover"]));
    let why = format!("epoch store {store} cannot be read; mount it, or set epoch.store to none");
    assert!(refused.stderr.contains(&why), "{refused:?}");
    fs::rename(&aside, &anchor).unwrap();
    let recovered = block_in_place(|| installation.run(&["recover"]).done());
    assert!(recovered.stdout.contains(&owner.wallet_id), "{recovered:?}");
    assert!(
        recovered.stdout.contains("Epoch 2 has begun."),
        "{recovered:?}"
    );
    let server = installation.serve().await;
    sign(&server.api(&keys.test), &owner, "hello").await.ok();
    server.process.stop().await;
}

/// PR-84: `recover` ends sessions, unless a reason is given to keep them.
#[tokio::test(flavor = "multi_thread")]
async fn pr_84_recover_ends_sessions_unless_they_are_kept() {
    let installation = Installation::sqlite();
    let keys = block_in_place(|| installation.set_up());
    let server = installation.serve().await;
    let api = server.api(&keys.test);
    let session = sign_in(&api, "ada@example.com").await;
    let verify = json!({ "session_token": session["session_token"] });
    let path = "/v1/auth/sessions/verify";
    let unexplained = block_in_place(|| installation.run(&["recover", "--keep-sessions"]));
    assert_eq!(unexplained.code, 2, "{unexplained:?}");
    let kept = [
        "recover",
        "--keep-sessions",
        "--reason",
        "failover of 15 January",
    ];
    let kept = block_in_place(|| installation.admin(&kept));
    assert_eq!(kept["ended"], Value::Null);
    api.post(path, &verify).await.ok();
    let output = block_in_place(|| installation.run(&["recover"]).done());
    assert!(
        output.stdout.starts_with("Ended 1 sessions, "),
        "{output:?}"
    );
    assert!(
        output.stdout.contains("Restart every replica"),
        "{output:?}"
    );
    assert_eq!(api.post(path, &verify).await.error(401), "invalid_session");
    sign_in(&api, "ada@example.com").await;
    let recorded: BTreeMap<_, _> = installation
        .database
        .pairs("SELECT detail AS one, outcome AS two FROM control_entries WHERE action = 'database.recover'")
        .await
        .into_iter()
        .collect();
    assert_eq!(recorded.len(), 2, "{recorded:?}");
    assert!(
        recorded
            .keys()
            .any(|detail| detail.contains("failover of 15 January"))
    );
    server.process.stop().await;
}

/// PR-79: a distributed database has its own message.
#[tokio::test(flavor = "multi_thread")]
async fn pr_79_a_distributed_database_is_not_dumped() {
    let Some(installation) = Installation::postgres().await else {
        return;
    };
    if !installation.database.is_distributed() {
        return;
    }
    block_in_place(|| installation.set_up());
    let refused = block_in_place(|| installation.run(&["backup", FILE]));
    assert!(
        refused.stderr.contains("cannot be dumped consistently"),
        "{refused:?}"
    );
    assert!(!Path::new(&installation.file(FILE)).exists());
}
