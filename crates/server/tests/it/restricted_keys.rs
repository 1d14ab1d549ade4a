//! Restricted keys: changes reach every process within a second, and the commands that make them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::block_in_place;

use crate::on_both_databases;
use crate::races::Field;
use crate::support::client::{Answer, Api};
use crate::support::flow::{Owner, new_owner, sign, sign_in};
use crate::support::installation::{Installation, text};

on_both_databases! {
    /// RK-2, RK-5
    rk_2_rk_5_narrowing_holds_everywhere_within_a_second => super::narrowing_holds_everywhere_within_a_second;
    /// RK-3
    rk_3_no_process_replays_what_is_refused_now => super::no_process_replays_what_is_refused_now;
}

/// Parallel signers for each process.
const BUSY: usize = 8;
const SECOND: Duration = Duration::from_secs(1);

fn admin(installation: &Installation, arguments: &[&str]) -> Value {
    block_in_place(|| installation.admin(arguments))
}

/// Signs until a call is refused. Returns when the last successful call began.
async fn sign_until_refused(
    api: Api,
    owner: Owner,
    begun: UnboundedSender<()>,
) -> (Instant, Answer) {
    let mut last = Instant::now();
    loop {
        let asked = Instant::now();
        let answer = sign(&api, &owner, "x").await;
        if answer.status != 200 {
            return (last, answer);
        }
        last = asked;
        // Sending fails once every signer has started.
        let _heard = begun.send(());
    }
}

async fn narrowing_holds_everywhere_within_a_second(installation: Installation) {
    let field = Field::start(&installation).await;
    let app = field.keys.app.clone();
    let full = field.clients(&field.keys.test);
    let owner = new_owner(&full[0], "ada@example.com").await;
    let session = text(&sign_in(&full[0], "ada@example.com").await, "session_token");
    for (change, status, code) in [
        (&["--require-session"][..], 401, "invalid_session"),
        (&["--operation", "getUser"], 403, "key_not_allowed"),
        (&["--ip-allow", "203.0.113.0/24"], 403, "key_not_allowed"),
        (
            &["--user", "user_000000000000000000000000000"],
            404,
            "not_found",
        ),
        (&["--wallet-type", "solana"], 403, "key_not_allowed"),
        // The command checks that the time is still to come, so a second could be too short.
        (&["--expires-in", "2s"], 401, "invalid_api_key"),
    ] {
        let made = admin(&installation, &["key", "create", &app, "test"]);
        let (id, key) = (text(&made, "id"), text(&made, "key"));
        let clients = field.clients(&key);
        let mut signing = Vec::new();
        for api in clients.iter().cycle().take(BUSY * clients.len()) {
            let (begun, mut has_begun) = unbounded_channel();
            let signer = sign_until_refused(api.clone(), owner.clone(), begun);
            signing.push(tokio::spawn(signer));
            has_begun.recv().await.unwrap();
        }
        let update = [&["key", "update", app.as_str(), id.as_str()], change].concat();
        admin(&installation, &update);
        let ended = Instant::now();
        for signer in signing {
            let (last, refused) = signer.await.unwrap();
            assert_eq!(refused.error(status), code, "{change:?}");
            let late = last.saturating_duration_since(ended);
            // An expiry takes its two seconds first.
            let allowed = if code == "invalid_api_key" {
                3 * SECOND
            } else {
                SECOND
            };
            assert!(
                late <= allowed,
                "{change:?}: a signature began after {late:?}"
            );
        }
        if code != "invalid_session" {
            continue;
        }
        for api in &clients {
            let present = api.presenting(&session);
            sign(&present, &owner, "x").await.ok();
        }
    }
    // RK-2: the session ends in one process, and the key signs in none.
    let signer = ["key", "create", app.as_str(), "test", "--preset", "signer"];
    let signer = field.clients(&text(&admin(&installation, &signer), "key"));
    for api in &signer {
        sign(&api.presenting(&session), &owner, "x").await.ok();
    }
    let ended = json!({ "session_token": session });
    full[0]
        .delete("/v1/auth/sessions/delete", &ended)
        .await
        .ok();
    for api in &signer {
        let refused = sign(&api.presenting(&session), &owner, "x").await;
        assert_eq!(refused.error(401), "invalid_session");
    }
    field.stop("RK-5", 6, BUSY).await;
}

async fn no_process_replays_what_is_refused_now(installation: Installation) {
    let field = Field::start(&installation).await;
    let app = field.keys.app.clone();
    let full = field.clients(&field.keys.test);
    let owner = new_owner(&full[0], "ada@example.com").await;
    for (number, (change, status)) in [
        (&["--require-session"][..], 401),
        (&["--user", "user_000000000000000000000000000"], 404),
        (&["--wallet", "wallet_000000000000000000000000000"], 404),
        (&["--wallet-type", "solana"], 403),
        (&["--scope", "wallets:read"], 403),
        (&["--operation", "getUser"], 403),
    ]
    .into_iter()
    .enumerate()
    {
        let made = admin(&installation, &["key", "create", &app, "test"]);
        let id = text(&made, "id");
        let name = format!("sign-{number}");
        let clients = field.clients(&text(&made, "key"));
        let clients: Vec<Api> = clients.iter().map(|api| api.keyed(&name)).collect();
        let first = sign(&clients[0], &owner, "x").await.ok();
        for api in &clients {
            assert_eq!(sign(api, &owner, "x").await.ok(), first);
        }
        let update = [&["key", "update", app.as_str(), id.as_str()], change].concat();
        admin(&installation, &update);
        let ended = Instant::now();
        for api in &clients {
            // A process may know the key as it was for the rest of the second.
            let refused = loop {
                let asked = Instant::now();
                let answer = sign(api, &owner, "x").await;
                if answer.status != 200 {
                    break answer;
                }
                assert!(
                    asked.saturating_duration_since(ended) <= SECOND,
                    "RK-3: {change:?}"
                );
            };
            assert_eq!(refused.status, status, "{change:?}: {}", refused.text);
        }
    }
    field.stop("RK-3", 6, 1).await;
}

/// What a key can do is chosen by options, shown in words and in JSON, and changed one field at a time.
#[test]
fn keys_are_restricted_by_options() {
    let installation = Installation::sqlite();
    let app = installation.set_up().app;
    let (user, wallet) = (
        "user_000000000000000000000000000",
        "wallet_000000000000000000000000000",
    );
    let made = installation.admin(&[
        "key",
        "create",
        &app,
        "live",
        "--name",
        "treasury",
        "--scope",
        "wallets:sign,wallets:read",
        "--expires-in",
        "90d",
        "--ip-allow",
        "203.0.113.0/24,2001:db8::1",
        "--operation",
        "signMessage,getWallet",
        "--user",
        user,
        "--wallet",
        wallet,
        "--wallet-type",
        "ethereum,XLM",
        "--require-session",
    ]);
    let expected = json!({
        "name": "treasury", "scopes": ["wallets:sign", "wallets:read"], "ip_allow": ["203.0.113.0/24", "2001:db8::1/128"],
        "operations": ["signMessage", "getWallet"], "user_ids": [user], "wallet_ids": [wallet], "wallet_types": ["ethereum", "XLM"],
        "require_session": true, "created_by": "cli", "last_used_at": null, "last_uses": {}
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&made[name], value, "{name}");
    }
    let lifetime = made["expires_at"].as_i64().unwrap() - made["created_at"].as_i64().unwrap();
    assert!(
        (90 * 86_400..=90 * 86_400 + 60).contains(&lifetime),
        "{lifetime}"
    );
    let id = text(&made, "id");
    let listed = installation.run(&["key", "list", &app]).done().stdout;
    for words in [
        "treasury",
        "active until",
        "wallets:sign wallets:read; only signMessage getWallet; only user user_0",
        "only ethereum XLM wallets",
        "signs only with the owner's session",
        "only from 203.0.113.0/24 2001:db8::1/128",
    ] {
        assert!(listed.contains(words), "{words}: {listed}");
    }
    let changed = installation.admin(&[
        "key",
        "update",
        &app,
        &id,
        "--name",
        "cold",
        "--clear",
        "user_ids,ip_allow",
    ]);
    assert_eq!(
        (
            &changed["name"],
            changed.get("user_ids"),
            changed.get("ip_allow")
        ),
        (&json!("cold"), None, None)
    );
    assert_eq!(changed["wallet_ids"], json!([wallet]));
    let rotated = installation.admin(&["key", "rotate", &app, &id]);
    for name in [
        "name",
        "scopes",
        "expires_at",
        "operations",
        "wallet_ids",
        "wallet_types",
        "require_session",
    ] {
        assert_eq!(rotated[name], changed[name], "RK-6: {name}");
    }
    for (preset, words) in [
        (
            "sign-in",
            "users:read users:write auth:write sessions:write wallets:read wallets:write",
        ),
        (
            "signer",
            "wallets:read wallets:sign; signs only with the owner's session",
        ),
        ("read-only", "users:read wallets:read events:read"),
        ("full", "everything except wallets:export, audit:read"),
    ] {
        let output = installation
            .run(&["key", "create", &app, "test", "--preset", preset])
            .done();
        assert!(
            output.stdout.contains(&format!("It can: {words}")),
            "{output:?}"
        );
        assert_eq!(
            output.stderr, "",
            "only a key that was not limited by choice has a warning"
        );
    }
    let full = installation.run(&["key", "create", &app, "test"]).done();
    assert!(
        full.stderr
            .starts_with("warning: this key can do everything"),
        "{full:?}"
    );
}

/// Bad input is refused with the name of the option or field, and changes nothing.
#[test]
fn a_typing_error_never_widens_a_key() {
    let installation = Installation::sqlite();
    let app = installation.set_up().app;
    let made = installation.admin(&["key", "create", &app, "test", "--preset", "signer"]);
    let id = text(&made, "id");
    let many = vec!["203.0.113.1"; 51].join(",");
    for (options, named) in [
        (&["--scope", "wallets:sing"][..], "scope"),
        (&["--scope", ""], "scope"),
        (&["--operation", "signmessage"], "operation"),
        (&["--wallet-type", "ethereumm"], "wallet-type"),
        (&["--preset", "signin"], "preset"),
        (&["--preset", "signer", "--scope", "users:read"], "preset"),
        (&["--ip-allow", "0.0.0.0/0"], "ip-allow"),
        (&["--ip-allow", "203.0.113.7/24"], "ip-allow"),
        (&["--ip-allow", "everywhere"], "ip-allow"),
        (&["--ip-allow", &many], "ip_allow"),
        (&["--user", "user_1"], "user"),
        (&["--wallet", "user_000000000000000000000000000"], "wallet"),
        (&["--expires-at", "1"], "expires_at"),
        (&["--expires-at", "tomorrow"], "expires-at"),
        (&["--expires-at", "99999999999"], "expires_at"),
        (&["--expires-in", "90"], "expires-in"),
        (&["--expires-in", "6000d"], "expires_at"),
        (&["--expires-in", "1d", "--expires-at", "1"], "expires-"),
        (&["--name", "a\nb"], "name"),
        (&["--restrict", "x"], "--restrict"),
    ] {
        for command in [
            &["key", "update", &app, &id][..],
            &["key", "create", &app, "test"],
        ] {
            let output = installation.run(&[command, options].concat());
            assert_eq!(output.code, 2, "{options:?}: {output:?}");
            assert!(
                output.stderr.contains(named),
                "{options:?}: {}",
                output.stderr
            );
        }
    }
    let unknown = installation.run(&["key", "update", &app, &id, "--clear", "require_sessions"]);
    assert_eq!(unknown.code, 2, "{unknown:?}");
    let public = ["key", "create", &app, "test", "--public"];
    for options in [
        &["--scope", "users:read"][..],
        &["--ip-allow", "203.0.113.1"],
        &["--require-session"],
        &["--preset", "read-only"],
    ] {
        let output = installation.run(&[&public[..], options].concat());
        assert_eq!(output.code, 2, "{options:?}: {output:?}");
    }
    installation
        .run(&[&public[..], &["--name", "shop", "--expires-in", "1d"]].concat())
        .done();
    let keys = installation.admin(&["key", "list", &app])["keys"].clone();
    let unchanged = keys
        .as_array()
        .unwrap()
        .iter()
        .find(|key| key["id"] == id.as_str())
        .unwrap();
    assert_eq!(
        (&unchanged["scopes"], &unchanged["require_session"]),
        (&made["scopes"], &json!(true))
    );
    assert_eq!(keys.as_array().unwrap().len(), 4, "no other key was made");
}
