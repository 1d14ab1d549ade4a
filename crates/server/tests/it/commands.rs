//! Admin commands: exit codes, JSON, and their effect on a running service.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use vestry_domain::rfc3339;
use vestry_domain::timestamp::Seconds;

use crate::on_both_databases;
use crate::support::client::Api;
use crate::support::installation::{Installation, binary, text};
use crate::support::poll::until;
use crate::support::process::PATIENCE;

on_both_databases! {
    /// Two processes that change different settings at the same time: both changes are kept.
    parallel_changes_of_different_settings_are_kept => super::parallel_changes_of_different_settings_are_kept;
    /// Every command runs in a shell that exports API credentials.
    commands_ignore_exported_credentials => super::commands_ignore_exported_credentials;
}

async fn parallel_changes_of_different_settings_are_kept(installation: Installation) {
    let keys = installation.set_up();
    for round in 1..=12 {
        let settings = [
            "session_idle_minutes",
            "freshness_minutes",
            "new_users_per_hour",
        ];
        let changes = settings.map(|name| format!("{name}={}", 10 + round));
        let children = changes.each_ref().map(|change| {
            let mut command = installation.command(&["app", "set", &keys.app, change, "--json"]);
            command.stdout(Stdio::null()).spawn().unwrap()
        });
        for mut child in children {
            assert!(child.wait().unwrap().success(), "round {round}");
        }
        let app = installation.admin(&["app", "show", &keys.app]);
        for name in settings {
            assert_eq!(app["settings"][name], 10 + round, "{name} in round {round}");
        }
    }
}

async fn commands_ignore_exported_credentials(mut installation: Installation) {
    for name in ["VESTRY_KEY", "VESTRY_MANAGE_KEY", "VESTRY_WEBHOOK_SECRET"] {
        installation.set_variable(name, "sk_test_not_a_setting");
    }
    let keys = installation.set_up();
    installation.admin(&["app", "create", "Other"]);
    installation.admin(&["app", "set", &keys.app, "name=Shop"]);
    installation.admin(&["migrate"]);
    assert!(installation.run(&["check"]).code < 2);
    let server = installation.serve().await;
    let head = server.api(&keys.test).try_get("/v1/events/head").await;
    head.unwrap().ok();
    server.process.stop().await;
}

/// OPS-2.
#[test]
fn wrong_usage_exits_with_2() {
    let installation = Installation::sqlite();
    for arguments in [
        &["frobnicate"][..],
        &["app", "create"],
        &["key", "create", "user_1", "test"],
        &[
            "key",
            "create",
            "app_000000000000000000000000000",
            "staging",
        ],
        &[
            "app",
            "set",
            "app_000000000000000000000000000",
            "no-equals-sign",
        ],
        &["app", "show", "app_000000000000000000000000001"],
        &["key", "create", "app_000000000000000000000000001", "live"],
        &["dev", "--listen", "nowhere"],
        &["serve", "--in-haste"],
        &["openapi", "now"],
        &["signing-key", "rotate"],
        &["users", "import", "--app", "shop"],
        &["app"],
    ] {
        let output = installation.run(arguments);
        assert_eq!(output.code, 2, "{arguments:?}: {output:?}");
        assert_eq!(output.stdout, "");
        assert!(!output.stderr.is_empty());
        // M-19: for programs, the error is one JSON document.
        let output = installation.run(&[arguments, &["--json"]].concat());
        assert_eq!(output.code, 2, "{arguments:?}: {output:?}");
        let message = text(&output.json()["error"], "message");
        assert!(!message.is_empty() && !message.contains('\n'), "{message}");
        assert!(!output.stderr.is_empty());
    }
}

/// Help is not a failure, with or without `--json`.
#[test]
fn m_19_help_stays_help_under_json() {
    let installation = Installation::sqlite();
    for arguments in [
        &["--help"][..],
        &["app", "create", "--help"],
        &["--version"],
    ] {
        let output = installation.run(&[arguments, &["--json"]].concat()).done();
        assert!(output.stdout.contains("vestry"), "{output:?}");
        assert_eq!(output.stderr, "");
    }
}

#[test]
fn help_has_examples_and_exits_with_0() {
    let installation = Installation::sqlite();
    let output = installation.run(&["--help"]).done();
    for word in [
        "vestry dev",
        "vestry migrate",
        "redirect-url",
        "signing-key",
        "vault",
    ] {
        assert!(output.stdout.contains(word), "{word}");
    }
    let output = installation.run(&["key", "create", "--help"]).done();
    assert!(output.stdout.contains("vestry key create app_… live"));
}

/// OPS-7: an unknown setting is an error that names it.
#[test]
fn an_unknown_setting_is_named() {
    let mut installation = Installation::sqlite();
    fs::write(
        installation.file("vestry.toml"),
        "[http]\nlisten_on = \"x\"\n",
    )
    .unwrap();
    let output = installation.run(&["app", "list"]);
    assert_eq!(output.code, 1);
    assert!(output.stderr.contains("http.listen_on"), "{output:?}");
    fs::write(installation.file("vestry.toml"), "").unwrap();
    installation.set("mail.smpt.url", "x");
    let output = installation.run(&["serve"]);
    assert_eq!(output.code, 1);
    assert!(
        output.stderr.contains("VESTRY_MAIL__SMPT__URL"),
        "{output:?}"
    );
    assert!(
        output
            .stderr
            .contains("did you mean VESTRY_MAIL__SMTP__URL"),
        "{output:?}"
    );
}

#[test]
fn a_failure_prints_one_document() {
    let installation = Installation::sqlite();
    let output = installation.run(&["app", "list", "--json"]);
    assert_eq!(output.code, 1);
    let message = text(&output.json()["error"], "message");
    assert!(message.contains("vestry migrate"), "{message}");
    assert!(output.stderr.contains(&message));
    assert!(
        !installation.file(".vestry").exists(),
        "a failed command creates nothing"
    );
}

/// OPS-2.
#[tokio::test(flavor = "multi_thread")]
async fn every_admin_command_prints_one_document() {
    let installation = Installation::sqlite();
    let applied = installation.admin(&["migrate"]);
    assert_ne!(applied["applied"].as_array().unwrap().len(), 0);
    assert_eq!(installation.admin(&["migrate"]), json!({ "applied": [] }));
    let keys = installation.admin(&["vault", "init"]);
    let directory = PathBuf::from(text(&keys, "path"));
    let sign_in = PathBuf::from(text(&keys, "sign_in_path"));
    assert_eq!(sign_in, directory.with_file_name("sign-in.key"));
    let app = text(&installation.admin(&["app", "create", "My Shop"]), "id");
    assert_eq!(
        installation.admin(&["app", "list"])["apps"][0]["id"],
        app.as_str()
    );
    assert_eq!(
        installation.admin(&["app", "show", &app])["name"],
        "My Shop"
    );
    let set = installation.admin(&["app", "set", &app, "name=Shop", "session_idle_minutes=60"]);
    assert_eq!(set["name"], "Shop");
    assert_eq!(set["settings"]["session_idle_minutes"], 60);

    let made = installation.admin(&[
        "key",
        "create",
        &app,
        "live",
        "--scope",
        "users:read,wallets:sign",
    ]);
    assert_eq!(made["scopes"], json!(["users:read", "wallets:sign"]));
    let key = text(&made, "key");
    assert!(key.starts_with("sk_live_") && key.len() == 56);
    let listed = installation.admin(&["key", "list", &app]);
    assert_eq!(listed["keys"][0]["last_four"], &key[key.len() - 4..]);
    assert!(!listed.to_string().contains(&key), "a key is shown once");
    let id = text(&made, "id");
    let rotated = installation.admin(&["key", "rotate", &app, &id]);
    assert_eq!(rotated["scopes"], made["scopes"]);
    assert_eq!(
        installation.admin(&["key", "revoke", &app, &id])["revoked"],
        true
    );
    assert_eq!(
        installation.run(&["key", "revoke", &app, &id]).code,
        1,
        "only once"
    );
    let token = installation.admin(&["key", "create", &app, "test", "--public"]);
    assert!(text(&token, "key").starts_with("pk_test_"));

    let url = "https://shop.example.com/in";
    let added = installation.admin(&[
        "redirect-url",
        "add",
        &app,
        "live",
        url,
        "--kind",
        "login,invite",
        "--default",
    ]);
    assert_eq!(added["redirect_urls"].as_array().unwrap().len(), 2);
    let id = text(&added["redirect_urls"][0], "id");
    let all = [
        "redirect-url",
        "add",
        &app,
        "live",
        url,
        "--kind",
        "login,registration,invite",
    ];
    let again = installation.admin(&all);
    assert_eq!(again["redirect_urls"][0], added["redirect_urls"][0]);
    assert_eq!(again["redirect_urls"][2], added["redirect_urls"][1]);
    let third = text(&again["redirect_urls"][1], "id");
    installation.admin(&["redirect-url", "remove", &app, &third]);
    assert_eq!(
        installation
            .run(&[
                "redirect-url",
                "add",
                &app,
                "live",
                "http://shop.example.com/"
            ])
            .code,
        2
    );
    let pattern = "https://*.example.com/in";
    let add = ["redirect-url", "add", &app, "live", pattern];
    let as_default = installation.run(&[&add[..], &["--default"]].concat());
    assert_eq!(as_default.code, 2, "a wildcard cannot be the default");
    let kept = installation.admin(&add)["redirect_urls"][0].clone();
    assert_eq!(
        (&kept["url"], &kept["default"]),
        (&json!(pattern), &json!(false))
    );
    installation.admin(&["redirect-url", "remove", &app, &text(&kept, "id")]);
    assert_eq!(
        installation.admin(&["redirect-url", "remove", &app, &id])["removed"],
        true
    );
    let left = installation.admin(&["redirect-url", "list", &app]);
    assert_eq!(left["redirect_urls"].as_array().unwrap().len(), 1);

    let keys = installation.admin(&["signing-key", "list", &app]);
    assert_eq!(keys["signing_keys"].as_array().unwrap().len(), 2);
    assert!(!keys.to_string().contains("private"));
    let next = installation.admin(&["signing-key", "rotate", &app, "live"]);
    let (made, from) = (
        next["created_at"].as_i64().unwrap(),
        next["active_from"].as_i64().unwrap(),
    );
    assert_eq!(
        from - made,
        300,
        "S-13: published five minutes before it signs"
    );

    let status = installation.admin(&["vault", "status"]);
    for purpose in ["wallets", "secrets"] {
        let versions = json!([{ "version": 1, "app_keys": 2 }]);
        assert_eq!(status[purpose]["versions"], versions);
    }
    assert_eq!(installation.admin(&["vault", "verify"])["ok"], true);
    assert_eq!(
        installation.run(&["vault", "init"]).code,
        1,
        "a second root key would open nothing"
    );
    assert_eq!(installation.admin(&["check"])["ok"], true);
}

/// Output for people: the key alone on a line, and tables.
#[test]
fn without_json_people_can_read_it() {
    let installation = Installation::sqlite();
    let keys = installation.set_up();
    let output = installation
        .run(&["key", "create", &keys.app, "test"])
        .done();
    let first = output.stdout.lines().next().unwrap();
    assert!(
        first.starts_with("sk_test_") && first.len() == 56,
        "{output:?}"
    );
    assert!(!output.stderr.contains(first), "secrets are on stdout only");
    let output = installation.run(&["key", "list", &keys.app]).done();
    let head: Vec<&str> = output
        .stdout
        .lines()
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    assert_eq!(
        head,
        [
            "ID", "KEY", "NAME", "CREATED", "LAST", "USED", "STATE", "CAN"
        ]
    );
    assert_eq!(output.stdout.lines().count(), 4);
}

/// S-15: several keys at once; a revoked one stops within two seconds on a running service.
#[tokio::test(flavor = "multi_thread")]
async fn a_running_service_follows_the_keys() {
    let installation = Installation::sqlite();
    let keys = installation.set_up();
    let server = installation.serve().await;
    let old = server.api(&keys.live);
    old.get("/v1/wallets/list").await.ok();
    let id = installation.admin(&["key", "list", &keys.app])["keys"]
        .as_array()
        .unwrap()
        .iter()
        .find(|key| key["environment"] == "live")
        .map(|key| text(key, "id"))
        .unwrap();
    let new = text(
        &installation.admin(&["key", "rotate", &keys.app, &id]),
        "key",
    );
    let new = old.with_key(&new);
    new.get("/v1/wallets/list").await.ok();
    old.get("/v1/wallets/list").await.ok();

    installation.admin(&["key", "revoke", &keys.app, &id]);
    let revoked = std::time::Instant::now();
    let accepted_last = until_refused(&old).await;
    let after = accepted_last.map_or(std::time::Duration::ZERO, |sent| {
        sent.duration_since(revoked)
    });
    assert!(after.as_secs_f64() <= 2.0, "{after:?}");
    new.get("/v1/wallets/list").await.ok();
    server.process.stop().await;
}

/// The time of the last request that was still accepted.
async fn until_refused(api: &Api) -> Option<std::time::Instant> {
    tokio::time::timeout(PATIENCE, async {
        let mut accepted = None;
        loop {
            let sent = std::time::Instant::now();
            let answer = api.get("/v1/wallets/list").await;
            if answer.status == 401 {
                assert_eq!(answer.error(401), "invalid_api_key");
                return accepted;
            }
            answer.ok();
            accepted = Some(sent);
        }
    })
    .await
    .unwrap()
}

/// `serve` does not migrate on its own: it reports the missing schema and is not ready.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_without_a_schema_is_not_ready() {
    let Some(installation) = Installation::postgres().await else {
        return;
    };
    let server = installation.serve().await;
    let api = server.api("");
    assert_eq!(api.get("/livez").await.status, 200);
    assert_eq!(api.get("/readyz").await.status, 503);
    installation.admin(&["migrate"]);
    api.until_ready().await;
    server.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn serve_can_migrate_on_start() {
    let Some(mut installation) = Installation::postgres().await else {
        return;
    };
    installation.set("database.migrate_on_start", "true");
    let server = installation.serve().await;
    server.api("").until_ready().await;
    server.process.stop().await;
}

/// K8: "refuse live mode otherwise".
#[tokio::test(flavor = "multi_thread")]
async fn serve_refuses_a_database_that_can_lose_writes() {
    let mut installation = Installation::sqlite();
    installation.set_up();
    installation.set("database.synchronous", "normal");
    installation.set("database.allow_unsafe_durability", "false");
    let output = installation.run(&["serve"]);
    assert_eq!(output.code, 1);
    assert!(
        output.stderr.contains("database.allow_unsafe_durability"),
        "{output:?}"
    );
    let checked = installation.run(&["check", "--json"]);
    assert_eq!(checked.code, 1);
    let failed: Vec<Value> = checked.json()["checks"].as_array().unwrap().clone();
    let failed: Vec<_> = failed.iter().filter(|check| check["ok"] == false).collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0]["name"], "durability");
}

/// `disable` and `require` are honoured, with a warning if the database is on another machine.
#[tokio::test(flavor = "multi_thread")]
async fn m_3_an_unprotected_database_connection_logs_a_warning_at_startup() {
    let Some(mut installation) = Installation::postgres().await else {
        return;
    };
    installation.set_up();
    let here = installation.setting("database.url");
    let server = installation.serve().await;
    let output = server.process.stop().await;
    assert!(!output.contains("sslmode"), "{output}");

    // The same server, under another name.
    let away = here.replacen("postgres@127.0.0.1:", "postgres:hunter2@db.example:", 1);
    assert_ne!(away, here);
    installation.set(
        "database.url",
        &format!("{away}?hostaddr=127.0.0.1&sslmode=disable"),
    );
    let output = installation.serve().await.process.stop().await;
    let warning = output.lines().find(|line| line.contains("sslmode=disable"));
    let warning = warning.unwrap_or_else(|| panic!("no warning was logged:\n{output}"));
    assert!(warning.contains("\"WARN\""), "{warning}");
    for kept in ["hunter2", "db.example"] {
        assert!(!output.contains(kept), "{output}");
    }

    // No connection falls back to plaintext unless configured. The test server has no TLS.
    for mode in ["", "&sslmode=require", "&sslmode=verify-full"] {
        installation.set("database.url", &format!("{away}?hostaddr=127.0.0.1{mode}"));
        let refused = installation.run(&["serve"]);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains("TLS"), "{refused:?}");
        let warned = refused.stderr.contains("sslmode=require");
        assert_eq!(warned, mode == "&sslmode=require", "{refused:?}");
        assert!(!refused.stderr.contains("hunter2"), "{refused:?}");
    }
}

#[test]
fn serve_needs_its_public_url() {
    let mut installation = Installation::sqlite();
    installation.unset("http.base_url");
    let output = installation.run(&["serve"]);
    assert_eq!(output.code, 1);
    assert!(
        output.stderr.contains("VESTRY_HTTP__BASE_URL"),
        "{output:?}"
    );
}

#[test]
fn check_reports_failures() {
    let mut installation = Installation::sqlite();
    installation.set("mail.kind", "smtp");
    installation.set("mail.smtp.url", "smtp://127.0.0.1:1?tls=none");
    installation.set("mail.smtp.from", "Shop <no-reply@example.com>");
    installation.set("limits.store", "redis://127.0.0.1:1");
    let output = installation.run(&["check", "--json"]);
    assert_eq!(output.code, 1);
    let document = output.json();
    assert_eq!(document["ok"], false);
    let verdict = |name: &str| {
        let checks = document["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == name);
        check.unwrap_or_else(|| panic!("no {name} in {document}"))["ok"].clone()
    };
    assert_eq!(verdict("configuration"), true);
    assert_eq!(verdict("database"), false);
    assert_eq!(verdict("vault"), false);
    assert_eq!(verdict("sign_in_key"), false);
    assert_eq!(verdict("mail"), false);
    assert_eq!(verdict("limits"), false);
    let output = installation.run(&["check"]);
    assert_eq!(output.code, 1);
    assert!(output.stdout.contains("FAILED"));

    // What `serve` refuses.
    installation.set("console.enabled", "true");
    installation.set("console.base_url", "http://localhost:8080");
    let checked = installation.run(&["check"]).stdout;
    let served = installation.run(&["serve"]).stderr;
    for printed in [checked, served] {
        assert!(
            printed.contains("console.base_url must be https"),
            "{printed}"
        );
    }
}

/// PR-51: reports whether prepared statements work through the pooler, if there is one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn check_reports_the_connection_pooler() {
    let Some(mut installation) = Installation::postgres().await else {
        return;
    };
    let finding = |installation: &Installation| {
        let output = tokio::task::block_in_place(|| installation.run(&["check", "--json"])).json();
        let checks = output["checks"].as_array().unwrap();
        let found = checks.iter().find(|check| check["name"] == "pooler");
        found.map(|found| (found["ok"].clone(), found["detail"].to_string()))
    };
    let found = finding(&installation);
    assert_eq!(found.is_some(), installation.database.is_pooled());
    if let Some((ok, detail)) = found {
        assert_eq!(ok, true, "{detail}");
        assert!(detail.contains("prepared statement support"), "{detail}");
    }
    if let Some([losing, of_sessions]) = installation.database.other_pooler_urls() {
        for (url, is_ok, says) in [
            (losing, false, "max_prepared_statements"),
            (of_sessions, true, "session mode"),
        ] {
            installation.set("database.url", &url);
            let (ok, detail) = finding(&installation).unwrap();
            assert_eq!(ok, is_ok, "{detail}");
            assert!(detail.contains(says), "{detail}");
        }
    }
}

/// OPS-4: `vestry provider set|list|remove`.
#[test]
fn providers_are_set_listed_and_removed() {
    let mut installation = Installation::sqlite();
    installation.set("http.base_url", "https://id.example.com");
    let app = installation.set_up().app;
    let secret = installation.file("google.secret");
    fs::write(&secret, "the-client-secret\n").unwrap();
    let set = |name: &str, more: &[&str]| {
        let file = secret.to_str().unwrap();
        let mut arguments = vec!["provider", "set", &app, "live", name];
        arguments.extend(["--client-id", "client", "--client-secret-file", file]);
        arguments.extend(more);
        installation.run(&[&arguments[..], &["--json"]].concat())
    };
    let first = set("google", &[]).done().json();
    let callback = text(&first["providers"][0], "callback_url");
    assert!(callback.starts_with("https://id.example.com/v1/auth/oauth/callback/oauthcb_"));
    let again = set("google", &["--store-tokens"]).done();
    assert!(!again.stdout.contains("the-client-secret"));
    let again = again.json();
    assert_eq!(again["providers"][0]["callback_url"], callback.as_str());
    assert_eq!(again["providers"][0]["settings"]["store_tokens"], true);
    let refusals: [(&str, &[&str]); 6] = [
        ("test", &[]),
        ("acme", &[]),
        ("Acme", &["--issuer", "https://id.acme.example"]),
        ("acme", &["--issuer", "http://10.0.0.1"]),
        ("apple", &["--apple-team-id", "T"]),
        ("google", &["--trust-email-verified"]),
    ];
    for (name, more) in refusals {
        let refused = set(name, more);
        assert_eq!(refused.code, 2, "{name} {more:?}: {refused:?}");
    }
    set("acme", &["--issuer", "https://id.acme.example"]).done();
    let list = || installation.admin(&["provider", "list", &app]);
    assert_eq!(list()["providers"].as_array().unwrap().len(), 2);
    let remove = ["provider", "remove", &app, "live", "google"];
    assert_eq!(installation.admin(&remove)["removed"], true);
    assert_eq!(installation.run(&remove).code, 1);
    assert_eq!(list()["providers"][0]["provider"], "acme");
}

/// Without a configured public URL, that of `vestry dev` is used. Without either, the command fails with a hint.
#[tokio::test(flavor = "multi_thread")]
async fn m_19_callback_urls_are_complete_next_to_vestry_dev() {
    let mut installation = Installation::sqlite();
    installation.unset("http.base_url");
    let app = tokio::task::block_in_place(|| installation.set_up()).app;
    fs::write(installation.file("acme.secret"), "the-client-secret").unwrap();
    let set = [
        "provider",
        "set",
        &app,
        "test",
        "acme",
        "--issuer",
        "https://id.acme.example",
    ];
    let client = [
        "--client-id",
        "client",
        "--client-secret-file",
        "acme.secret",
    ];
    let set = [&set[..], &client].concat();
    let list = ["provider", "list", &app];
    for command in [&set[..], &list] {
        let refused = installation.run(command);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(
            refused.stderr.contains("http.base_url is not set"),
            "{refused:?}"
        );
    }
    assert_eq!(
        installation
            .run(&["provider", "remove", &app, "test", "acme"])
            .code,
        1,
        "no provider was stored"
    );

    let server = installation.dev(&[]).await;
    let callbacks = format!("{}/v1/auth/oauth/callback/oauthcb_", server.base_url);
    let made = installation.admin(&set);
    assert!(
        text(&made["providers"][0], "callback_url").starts_with(&callbacks),
        "{made}"
    );
    let output = installation.run(&list).done();
    assert!(output.stdout.contains(&callbacks), "{output:?}");
    // The configured URL takes precedence over that of `vestry dev`.
    installation.set("http.base_url", "https://id.example.com");
    let listed = installation.admin(&list);
    let callback = text(&listed["providers"][0], "callback_url");
    assert!(
        callback.starts_with("https://id.example.com/v1/"),
        "{callback}"
    );
    server.process.stop().await;
}

/// PR-37: each broken setup has its message, and a warning is no failure.
#[tokio::test(flavor = "multi_thread")]
async fn pr_37_check_names_each_broken_setup() {
    let mut installation = Installation::sqlite();
    installation.set_up();
    let findings = |installation: &Installation| -> Vec<(String, String, String)> {
        let document = installation.run(&["check", "--json"]).json();
        let checks = document["checks"].as_array().unwrap().iter();
        checks
            .map(|check| {
                let field = |name| text(check, name);
                (field("name"), field("severity"), field("detail"))
            })
            .collect()
    };
    let of = |installation: &Installation, name: &str| {
        let all = findings(installation);
        let found = all.into_iter().find(|(finding, ..)| finding == name);
        found
            .map(|(_, severity, detail)| (severity, detail))
            .unwrap()
    };
    assert_eq!(of(&installation, "database").0, "ok");
    installation.database.touch("ANALYZE").await;
    let replaced = "planner statistics were replaced by ANALYZE; run vestry migrate and restart";
    assert_eq!(
        of(&installation, "database"),
        ("warning".to_owned(), replaced.to_owned())
    );
    assert_eq!(installation.run(&["check"]).code, 0);
    installation.admin(&["migrate"]);
    assert_eq!(of(&installation, "database").0, "ok");
    let has_newer = "INSERT INTO __diesel_schema_migrations (version) VALUES ('99990101000000')";
    installation.database.execute(has_newer).await;
    let newer = "database was migrated by a newer release; upgrade this process";
    assert_eq!(
        of(&installation, "database"),
        ("warning".to_owned(), newer.to_owned())
    );
    assert_eq!(installation.run(&["check"]).code, 0);
    let is_behind = "DELETE FROM __diesel_schema_migrations";
    installation.database.execute(is_behind).await;
    let behind = "database is 1 migration behind; run vestry migrate";
    assert_eq!(
        of(&installation, "database"),
        ("failed".to_owned(), behind.to_owned())
    );

    let (cert, key) = (installation.file("cert.pem"), installation.file("key.pem"));
    fs::write(&cert, "").unwrap();
    let now = fs::metadata(&cert).unwrap().modified().unwrap();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let now = vestry_domain::Timestamp::from_unix(i64::try_from(now).unwrap());
    let certificate = |names: &[&str], days: i64| {
        let mut parameters = rcgen::CertificateParams::new(
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>(),
        )
        .unwrap();
        let date = rfc3339::format(now + Seconds(days * 86_400 + 3_600));
        let part = |range: std::ops::Range<usize>| date[range].parse().unwrap();
        let month = u8::try_from(part(5..7)).unwrap();
        let day = u8::try_from(part(8..10)).unwrap();
        parameters.not_after = rcgen::date_time_ymd(part(0..4), month, day);
        let key = rcgen::KeyPair::generate().unwrap();
        let pem = parameters.self_signed(&key).unwrap().pem();
        (pem, key.serialize_pem())
    };
    installation.set("http.tls.cert", cert.to_str().unwrap());
    installation.set("http.tls.key", key.to_str().unwrap());
    installation.set("http.base_url", "https://id.example.com");
    for (names, days, expected) in [
        (["id.example.com"], 400, None),
        (["*.example.com"], 400, None),
        (
            ["id.example.com"],
            9,
            Some((
                "warning",
                "certificate expires in 9 days; renew it and send SIGHUP",
            )),
        ),
        (
            ["id.example.com"],
            -2,
            Some((
                "failed",
                "certificate has expired; renew it and send SIGHUP",
            )),
        ),
        (
            ["other.example.com"],
            400,
            Some((
                "failed",
                "certificate does not cover id.example.com (http.base_url)",
            )),
        ),
    ] {
        let (pem, private) = certificate(&names, days);
        fs::write(&cert, pem).unwrap();
        fs::write(&key, private).unwrap();
        let (severity, detail) = of(&installation, "configuration");
        match expected {
            None => assert_eq!(severity, "ok", "{detail}"),
            // The certificate ends at midnight.
            Some(("warning", _)) => {
                assert_eq!(severity, "warning");
                let begins = detail.starts_with("certificate expires in 9 days")
                    || detail.starts_with("certificate expires in 8 days");
                assert!(begins, "{detail}");
            }
            Some((is, says)) => assert_eq!((severity.as_str(), detail.as_str()), (is, says)),
        }
    }
}

/// PR-37: `--live` asks a running service, and needs no settings.
#[tokio::test(flavor = "multi_thread")]
async fn pr_37_check_live_asks_a_running_service() {
    let installation = Installation::sqlite();
    installation.set_up();
    let server = installation.serve().await;
    let bare = |url: &str| {
        let output = std::process::Command::new(binary())
            .args(["check", "--live", url])
            .env_clear()
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap(), text)
    };
    let ask = |url: String| tokio::task::block_in_place(|| bare(&url));
    // On a busy machine the database may not answer in time at first.
    let is_ready = until(async || ask(server.base_url.clone()) == (0, String::new()));
    tokio::time::timeout(PATIENCE, is_ready).await.unwrap();
    server.process.stop().await;
    // No other test gets the port of a socket that is bound and does not listen.
    let closed = tokio::net::TcpSocket::new_v4().unwrap();
    closed.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}", closed.local_addr().unwrap());
    let expected = format!("vestry: {url} cannot be reached: connection refused\n");
    assert_eq!(ask(url), (1, expected));
    // Something else listens.
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", other.local_addr().unwrap());
    let answering = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut connection, _) = other.accept().unwrap();
        // A connection that is closed with unread data is reset, which can overtake the response.
        let mut request = [0; 4096];
        assert!(connection.read(&mut request).unwrap() > 0);
        connection
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
            .unwrap();
    });
    assert_eq!(
        ask(url.clone()),
        (1, format!("vestry: {url} is not a Vestry service\n"))
    );
    answering.join().unwrap();
}
