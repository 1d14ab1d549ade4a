//! The audit log, against tampering with the database (S8) and against killed processes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::{Value, json};
use vestry_domain::{Timestamp, rfc3339};

use crate::on_both_databases;
use crate::support::flow::{new_owner, sign, sign_in};
use crate::support::installation::Installation;

on_both_databases! {
    /// S8: `vestry audit verify` reports every alteration and removal, and exits with 1.
    s8_an_altered_log_is_found => super::an_altered_log_is_found;
    /// A killed process leaves a complete chain with every acknowledged entry.
    a_killed_process_leaves_a_whole_log => super::a_killed_process_leaves_a_whole_log;
    /// Entries removed from the database are in the file. The running service continues the chains.
    aud_2_what_is_pruned_is_in_the_file => super::pruned_entries_are_in_the_file;
    /// PR-7: the disk is full where the log is.
    aud_5_what_the_log_cannot_take_is_refused => super::calls_that_cannot_be_logged_are_refused;
}

fn verify(installation: &Installation) -> (i32, Value) {
    let verified = installation.run(&["audit", "verify", "--json"]);
    (verified.code, verified.json())
}

async fn an_altered_log_is_found(installation: Installation) {
    let keys = installation.set_up();
    let server = installation.serve().await;
    let api = server.api(&keys.live);
    let owner = new_owner(&api, "ada@example.com").await;
    for message in ["one", "two", "three"] {
        sign(&api, &owner, message).await.ok();
    }
    let (code, whole) = verify(&installation);
    assert_eq!((code, &whole["ok"]), (0, &Value::Bool(true)));
    // The wallet chain of this process, and the control chains of both environments: creating the App with its keys, and one more key each.
    assert_eq!(
        (&whole["chains"], &whole["entries"]),
        (&3.into(), &(4 + 6).into())
    );
    for table in COPIED {
        let copy = format!("CREATE TABLE kept_{table} AS SELECT * FROM {table}");
        installation.database.touch(&copy).await;
    }
    for (statements, finding) in DAMAGES {
        for statement in *statements {
            installation.database.execute(statement).await;
        }
        let (code, found) = verify(&installation);
        assert_eq!(code, 1, "{statements:?}");
        let findings = found["flaws"].as_array().unwrap();
        assert_eq!(findings.len(), 1, "{statements:?}: {findings:?}");
        let output = findings[0]["flaw"].as_str().unwrap();
        assert!(output.contains(finding), "{statements:?}: {output}");
        for table in COPIED {
            let clear = format!("DELETE FROM {table}");
            installation.database.touch(&clear).await;
            let restore = format!("INSERT INTO {table} SELECT * FROM kept_{table}");
            installation.database.execute(&restore).await;
        }
        assert_eq!(verify(&installation), (0, whole.clone()), "not restored");
    }
    server.process.stop().await;
}

/// The tables of the log.
const COPIED: [&str; 4] = [
    "audit_entries",
    "audit_chains",
    "control_entries",
    "control_chains",
];

/// An attack on the log, and the expected finding.
const DAMAGES: &[(&[&str], &str)] = &[
    (
        &["UPDATE audit_entries SET action = 'create' WHERE sequence = 2"],
        "entry 2 was altered",
    ),
    (
        &["UPDATE audit_entries SET happened_at = happened_at + 1 WHERE sequence = 4"],
        "entry 4 was altered",
    ),
    (
        &[
            "UPDATE audit_entries SET mac = (SELECT mac FROM kept_audit_entries WHERE sequence = 3) \
           WHERE sequence = 1",
        ],
        "entry 1 was altered",
    ),
    // A value that no entry ever has.
    (
        &["UPDATE audit_entries SET action = 'stolen' WHERE sequence = 3"],
        "entry 3 was altered",
    ),
    (
        &["UPDATE audit_entries SET mac_key_version = 9 WHERE sequence = 2"],
        "entry 2 was altered",
    ),
    (
        &["UPDATE audit_chains SET mac_key_version = 9"],
        "chain head was altered",
    ),
    (&["DELETE FROM audit_entries WHERE sequence = 1"], "entry 1"),
    (&["DELETE FROM audit_entries WHERE sequence = 3"], "entry 3"),
    (
        &["DELETE FROM audit_entries WHERE sequence = 4"],
        "ends at entry 3, but its head says 4",
    ),
    (
        &[
            "DELETE FROM audit_entries WHERE sequence = 4",
            "UPDATE audit_chains SET sequence = 3, \
             hash = (SELECT hash FROM kept_audit_entries WHERE sequence = 3)",
        ],
        "chain head was altered",
    ),
    (&["DELETE FROM audit_chains"], "chain head is missing"),
    (
        &["UPDATE audit_chains SET sequence = 2"],
        "chain head was altered",
    ),
    // An entry of the first format, and a payload that was not signed.
    (
        &["UPDATE audit_entries SET format = 1 WHERE sequence = 2"],
        "entry 2 was altered",
    ),
    (
        &["UPDATE audit_entries SET payload = hash WHERE sequence = 2"],
        "entry 2 was altered",
    ),
    (
        &["UPDATE control_entries SET detail = '{}' WHERE sequence = 2 AND environment = 'live'"],
        "entry 2 was altered",
    ),
    (
        &["DELETE FROM control_entries WHERE sequence = 1 AND environment = 'test'"],
        "entry 1",
    ),
    (
        &[
            "DELETE FROM control_entries WHERE sequence = 3 AND environment = 'live'",
            "UPDATE control_chains SET sequence = 2, \
             hash = (SELECT hash FROM kept_control_entries WHERE sequence = 2 AND environment = 'live') \
             WHERE environment = 'live'",
        ],
        "chain head was altered",
    ),
    (
        &["DELETE FROM control_chains WHERE environment = 'test'"],
        "chain head is missing",
    ),
];

async fn a_killed_process_leaves_a_whole_log(installation: Installation) {
    let keys = installation.set_up();
    let mut signed: u64 = 0;
    for round in 0..2 {
        let mut server = installation.serve().await;
        let api = server.api(&keys.live);
        let owner = new_owner(&api, &format!("user{round}@example.com")).await;
        for _ in 0..5 {
            sign(&api, &owner, "test").await.ok();
        }
        signed += 6;
        server.process.kill().await;
    }
    let (code, found) = verify(&installation);
    assert_eq!(code, 0, "{found}");
    // Includes the six entries of both control chains.
    assert_eq!(found["chains"], 2 + 2);
    assert_eq!(found["entries"], signed + 6);
}

async fn pruned_entries_are_in_the_file(installation: Installation) {
    let keys = installation.set_up();
    let server = installation.serve().await;
    let api = server.api(&keys.live);
    let owner = new_owner(&api, "ada@example.com").await;
    let directory = tempfile::tempdir().unwrap();
    let mut removed = 0;
    let (mut files, mut seen) = (0, 0);
    let wallet = format!("/v1/wallets/{}/audit", owner.wallet_id);
    // The second of the newest entry is left for the next time.
    while seen < 10 {
        sign(&api, &owner, "test").await.ok();
        let newest = &api.get(&wallet).await.ok()["entries"][0];
        let newest = Timestamp::from_unix(newest["created_at"].as_i64().unwrap());
        let file = directory.path().join(files.to_string());
        let (before, file) = (rfc3339::format(newest), file.to_str().unwrap());
        let prune = [
            "audit", "prune", "--before", &before, "--to", file, "--json",
        ];
        let pruned = installation.run(&prune);
        assert_eq!(pruned.code, 0, "{pruned:?}");
        let entries = pruned.json()["entries"].as_u64().unwrap();
        if entries == 0 {
            assert!(!Path::new(file).exists(), "an empty file is left");
            continue;
        }
        let exported = fs::read(file).unwrap();
        let mode = fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let hash = digest(&SHA256, &exported);
        assert_eq!(pruned.json()["sha256"], hex::encode(hash));
        let lines = String::from_utf8(exported).unwrap();
        let lines: Vec<Value> = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(u64::try_from(lines.len()).unwrap(), entries);
        seen += lines
            .iter()
            .filter(|line| line["action"] == "sign_message")
            .count();
        removed += entries;
        files += 1;
        let again = installation.run(&prune);
        assert_eq!(
            (again.code, Path::new(file).exists()),
            (2, true),
            "{again:?}"
        );
    }
    let (code, found) = verify(&installation);
    assert_eq!(code, 0, "{found}");
    let shown = api.get(&wallet).await.ok();
    assert!(shown["entries"].as_array().unwrap().len() < 10, "{shown}");
    let restarted =
        "SELECT id AS one, action AS two FROM control_entries WHERE action = 'chain.restart'";
    assert_eq!(installation.database.pairs(restarted).await, []);

    for before in ["2100-01-01", "January", "2026-02-30"] {
        let refused = installation.run(&["audit", "prune", "--before", before, "--to", "never"]);
        assert_eq!(refused.code, 2, "{refused:?}");
    }
    let chains = found["chains"].clone();
    // PR-145: a marker that cannot be read is a finding of its chain too, and the verification goes on.
    for damage in ["sequence = sequence + 1", "mac_key_version = -1"] {
        let statement = format!("UPDATE audit_markers SET {damage}");
        installation.database.execute(&statement).await;
        let (code, found) = verify(&installation);
        let findings = found["flaws"].as_array().unwrap();
        let output = findings
            .iter()
            .all(|finding| finding["flaw"].as_str().unwrap().contains("prune marker"));
        assert!(code == 1 && output && removed > 0, "{damage}: {found}");
        assert!(!findings.is_empty(), "{damage}");
        assert_eq!(found["chains"], chains, "{damage}");
    }
    server.process.stop().await;
}

/// AUD-5: while no entry can be written, calls that need one fail: no key is used, no setting changes. Sign-in and reads still work.
async fn calls_that_cannot_be_logged_are_refused(installation: Installation) {
    let keys = installation.set_up();
    let server = installation.serve().await;
    let api = server.api(&keys.test);
    let owner = new_owner(&api, "ada@example.com").await;
    sign(&api, &owner, "before").await.ok();
    let wallet = format!("/v1/wallets/{}", owner.wallet_id);
    let tables = ["audit_entries", "control_entries"];
    for table in tables {
        installation.database.fill(table).await;
    }

    let refused = sign(&api, &owner, "during").await;
    assert_eq!(refused.error(503), "unavailable");
    for (path, body) in [
        (format!("{wallet}/disable"), json!({})),
        (
            "/v1/auth/users/create".to_owned(),
            json!({"email": "bob@example.com"}),
        ),
        (
            format!("/v1/auth/users/{}/unlock", owner.user_id),
            json!({}),
        ),
    ] {
        let refused = api.post(&path, &body).await;
        assert_eq!(refused.error(503), "unavailable", "{path}");
    }
    let set = installation.run(&["app", "set", &keys.app, "name=Other"]);
    assert_eq!(set.code, 1, "{set:?}");
    let made = installation.run(&["key", "create", &keys.app, "live"]);
    assert_eq!(made.code, 1, "{made:?}");

    let session = sign_in(&api, "ada@example.com").await;
    let token = json!({"session_token": session["session_token"]});
    api.post("/v1/auth/sessions/verify", &token).await.ok();
    assert_eq!(api.get(&wallet).await.ok()["is_disabled"], false);
    let user = format!("/v1/auth/users/{}", owner.user_id);
    api.get(&user).await.ok();

    for table in tables {
        installation.database.clear(table).await;
    }
    sign(&api, &owner, "after").await.ok();
    let app = installation.admin(&["app", "show", &keys.app]);
    assert_eq!(app["name"], "Shop");
    let noted = api.get(&format!("{wallet}/audit")).await.ok();
    let entries = noted["entries"].as_array().unwrap();
    // A chain was restarted. Within a second, the IDs of two chains are in no particular order.
    let mut actions: Vec<_> = entries
        .iter()
        .map(|entry| entry["action"].as_str().unwrap())
        .collect();
    actions.sort_unstable();
    assert_eq!(actions, ["create", "sign_message", "sign_message"]);
    assert_eq!(verify(&installation).0, 0);
    server.process.stop().await;
}
