//! Process protection (S4, S5) and a sealed vault (F5).

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;

use serde_json::json;
use vestry_contract::fakes::SeededEntropy;
use vestry_vault_local::LocalVault;

use crate::support::client::Api;
use crate::support::flow::{new_owner, sign_in};
use crate::support::installation::{Installation, binary, text};
use crate::support::poll::until;
use crate::support::process::{PATIENCE, Process};

/// A user ID that is not root's and owns nothing.
const SOMEBODY: u32 = 65_534;

/// S4: no core file. The kernel assigns the files of a process that is not dumpable to root. No other process of the same user can then
/// attach to it or read its memory or environment.
#[tokio::test(flavor = "multi_thread")]
async fn no_core_file_and_no_attaching_process() {
    let installation = Installation::sqlite();
    installation.set_up();
    let mut command = installation.command(&["serve"]);
    let me = fs::metadata("/proc/self").unwrap().uid();
    if me == 0 {
        // Root owns everything anyway; the service must run as another user for the difference to show.
        let copy = installation.file("vestry");
        // Copied by another program: a forked child of another test could hold the file open for writing, and such a file cannot run.
        let copied = std::process::Command::new("cp")
            .arg(binary())
            .arg(&copy)
            .status();
        assert!(copied.unwrap().success());
        for path in [
            installation.path().to_owned(),
            copy.clone(),
            installation.file(".vestry"),
        ] {
            chown(&path, Some(SOMEBODY), None).unwrap();
        }
        for entry in fs::read_dir(installation.file(".vestry")).unwrap() {
            chown(entry.unwrap().path(), Some(SOMEBODY), None).unwrap();
        }
        command = installation.command_of(&copy, &["serve"]);
        command.uid(SOMEBODY);
    }
    let mut process = Process::start(&mut command);
    process.logged("ready").await;
    let facts = format!("/proc/{}", process.id());
    let status = fs::read_to_string(format!("{facts}/status")).unwrap();
    let uid = status
        .lines()
        .find_map(|line| line.strip_prefix("Uid:"))
        .unwrap();
    assert_ne!(
        uid.split_whitespace().next(),
        Some("0"),
        "it does not run as root here"
    );
    assert_eq!(fs::metadata(format!("{facts}/mem")).unwrap().uid(), 0);
    let limits = fs::read_to_string(format!("{facts}/limits")).unwrap();
    let core = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"))
        .unwrap();
    assert_eq!(
        core.split_whitespace().skip(4).take(2).collect::<Vec<_>>(),
        ["0", "0"]
    );
    process.stop().await;
}

/// With unlimited locked memory, no page of the service is swapped. With a limit, the log reports it.
#[tokio::test(flavor = "multi_thread")]
async fn memory_is_locked_or_the_log_reports_it() {
    let installation = Installation::sqlite();
    installation.set_up();
    let server = installation.serve().await;
    let status = fs::read_to_string(format!("/proc/{}/status", server.process.id())).unwrap();
    let locked = status
        .lines()
        .find_map(|line| line.strip_prefix("VmLck:"))
        .unwrap();
    let is_locked = !locked.trim().starts_with("0 ");
    let is_logged = server.process.stop().await.contains("cannot lock memory");
    assert_ne!(is_locked, is_logged, "{is_locked}");
}

/// S5: no secret on the command line of a running service.
#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_holds_no_secret() {
    let installation = Installation::sqlite();
    let server = installation.dev(&[]).await;
    let line = fs::read(format!("/proc/{}/cmdline", server.process.id())).unwrap();
    let words: Vec<_> = line.split(|byte| *byte == 0).skip(1).collect();
    let words: Vec<_> = words.into_iter().map(String::from_utf8_lossy).collect();
    assert_eq!(words, ["dev", "--listen", "127.0.0.1:0", ""]);
    server.process.stop().await;
}

/// F5: started without its root key, a service refuses calls that need a wallet key, still signs users in, creates no new key, and recovers
/// when the key is back.
#[tokio::test(flavor = "multi_thread")]
async fn a_sealed_service_is_ready_and_heals_without_a_restart() {
    let installation = Installation::sqlite();
    let keys = installation.set_up();
    let allow = ["app", "set", &keys.app, "wallet_export=true"];
    installation.admin(&allow);
    let exporter = [
        "key",
        "create",
        &keys.app,
        "live",
        "--scope",
        "wallets:export",
    ];
    let exporter = text(&installation.admin(&exporter), "key");
    let server = installation.serve().await;
    let owner = new_owner(&server.api(&keys.live), "first@example.com").await;
    server.process.stop().await;
    let (key, elsewhere) = (
        installation.file(".vestry/root.key"),
        installation.file("root.key"),
    );
    fs::rename(&key, &elsewhere).unwrap();
    let server = installation.serve().await;
    server.process.shows("vault is sealed").await;
    let api = server.api(&keys.live);
    api.until_ready().await;
    let wallet = format!("/v1/wallets/{}", owner.wallet_id);
    assert_eq!(api.get(&wallet).await.error(503), "sealed");
    let address = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94";
    let sealed = json!({
        "public_address": address, "wallet_type": "ethereum", "encryption_type": "HPKE",
        "entropy_type": "private_key",
    });
    let method = json!({ "method": "personal_sign", "params": { "message": "hi" } });
    let recipient = json!({
        "recipient_public_key": "CQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "entropy_type": "private_key",
    });
    let user = json!({ "user_id": owner.user_id, "wallet_type": "solana" });
    for (path, body) in [
        (format!("{wallet}/sign_message"), json!({ "message": "hi" })),
        (format!("{wallet}/rpc"), method),
        (format!("{wallet}/disable"), json!({})),
        (format!("{wallet}/enable"), json!({})),
        ("/v1/wallets/create".to_owned(), user),
        ("/v1/wallets/import/begin".to_owned(), sealed),
    ] {
        assert_eq!(api.post(&path, &body).await.error(503), "sealed", "{path}");
    }
    let path = format!("{wallet}/export");
    let refused = server.api(&exporter).post(&path, &recipient).await;
    assert_eq!(refused.error(503), "sealed");
    let body = json!({ "email": "ada@example.com" });
    let refused = api.post("/v1/auth/users/create", &body).await;
    assert_eq!(refused.error(503), "sealed");
    assert!(refused.headers.contains_key("retry-after"));
    // With a test key, because live mail is not configured here.
    signs_in(&server.api(&keys.test), "ada@example.com").await;
    assert!(!key.exists(), "no new key was made");

    fs::rename(&elsewhere, &key).unwrap();
    new_owner(&api, "ada@example.com").await;
    server.process.stop().await;
}

/// The reverse: without the sign-in key no user can sign in, and nothing is signed, because it could not be recorded.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_without_its_sign_in_key_heals_without_a_restart() {
    let installation = Installation::sqlite();
    let keys = installation.set_up();
    // The root key is tried on the deployment's own key, which is created with the first entry of its audit log.
    let create = [
        "manage-key",
        "create",
        "terraform",
        "--app",
        "all",
        "--environment",
        "test,live",
        "--expires-in",
        "1d",
        "--scope",
        "apps:write",
    ];
    installation.admin(&create);
    let server = installation.serve().await;
    let owner = new_owner(&server.api(&keys.live), "first@example.com").await;
    server.process.stop().await;
    let (key, elsewhere) = (
        installation.file(".vestry/sign-in.key"),
        installation.file("sign-in.key"),
    );
    fs::rename(&key, &elsewhere).unwrap();
    let server = installation.serve().await;
    server.process.shows("sign-in key is unavailable").await;
    let api = server.api(&keys.test);
    api.until_ready().await;
    let sent = api
        .post(LOGIN, &json!({ "email": "ada@example.com" }))
        .await;
    assert_eq!(sent.error(503), "sealed");
    let wallet = format!("/v1/wallets/{}", owner.wallet_id);
    let live = server.api(&keys.live);
    live.get(&wallet).await.ok();
    let message = json!({ "message": "hi" });
    let signed = live.post(&format!("{wallet}/sign_message"), &message).await;
    assert_eq!(signed.error(503), "sealed");
    assert!(!key.exists(), "no new key was made");

    // PR-124: the service is ready, and says why the key cannot be used.
    let shows = async |reason: Option<&str>| {
        let state = reason.map_or("ok", |_reason| "unavailable");
        let is_shown = until(async || {
            let ready = api.get("/readyz").await.body;
            ready["sign_in_key"] == state && ready["sign_in_key_reason"].as_str() == reason
        });
        let shown = tokio::time::timeout(PATIENCE, is_shown).await;
        assert!(shown.is_ok(), "{reason:?}");
    };
    shows(Some("missing")).await;
    LocalVault::create(&key, &SeededEntropy::fresh()).unwrap();
    shows(Some("mismatch")).await;
    fs::write(&key, "{}").unwrap();
    shows(Some("unreadable")).await;
    fs::rename(&elsewhere, &key).unwrap();
    shows(None).await;
    signs_in(&api, "ada@example.com").await;
    live.post(&format!("{wallet}/sign_message"), &message)
        .await
        .ok();
    server.process.stop().await;
}

const LOGIN: &str = "/v1/auth/otps/email/login_or_create";

/// Signs in by code, then uses the session.
async fn signs_in(api: &Api, email: &str) {
    let signed_in = sign_in(api, email).await;
    let session = json!({ "session_token": signed_in["session_token"] });
    api.post("/v1/auth/sessions/verify", &session).await.ok();
}

/// A root key that is readable by others, or damaged, is refused.
#[test]
fn an_invalid_root_key_is_reported() {
    let installation = Installation::sqlite();
    installation.set_up();
    for name in ["root.key", "sign-in.key"] {
        let key = installation.file(".vestry").join(name);
        let good = fs::read(&key).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
        let output = installation.run(&["vault", "status"]);
        assert_eq!(output.code, 1);
        assert!(output.stdout.contains("chmod 600"), "{output:?}");
        assert!(output.stdout.contains(name), "{output:?}");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&key, "{}").unwrap();
        assert_eq!(installation.run(&["vault", "status"]).code, 1);
        fs::write(&key, good).unwrap();
        assert_eq!(installation.run(&["vault", "status"]).code, 0);
    }
}
