//! The audit log against somebody who writes the database (S8), and against a process that is killed.

use serde_json::Value;

use crate::on_both_databases;
use crate::support::journey::{new_owner, sign};
use crate::support::site::Site;

on_both_databases! {
    /// S8: whatever is altered or taken out, `vestry audit verify` says so and exits with 1.
    s8_an_altered_log_is_found => super::an_altered_log_is_found;
    /// A killed process leaves a whole chain behind, with every answer that it gave.
    a_killed_process_leaves_a_whole_log => super::a_killed_process_leaves_a_whole_log;
}

fn verify(site: &Site) -> (i32, Value) {
    let verified = site.run(&["audit", "verify", "--json"]);
    (verified.code, verified.json())
}

async fn an_altered_log_is_found(site: Site) {
    let keys = site.set_up();
    let server = site.serve().await;
    let api = server.api(&keys.live);
    let owner = new_owner(&api, "ada@example.com").await;
    for message in ["one", "two", "three"] {
        sign(&api, &owner, message).await.ok();
    }
    let (code, whole) = verify(&site);
    assert_eq!((code, &whole["ok"]), (0, &Value::Bool(true)));
    // The wallets' of this process, and what was done to the App in either world: making it with its keys, and another key each.
    assert_eq!(
        (&whole["chains"], &whole["entries"]),
        (&3.into(), &(4 + 6).into())
    );
    // Copies that the verification does not come to: there is no such App.
    for (table, columns) in COPIED {
        let copy = format!(
            "INSERT INTO {table} (app_id, {columns}) SELECT 'kept', {columns} FROM {table}"
        );
        site.database.execute(&copy).await;
    }
    for (statements, finding) in DAMAGES {
        for statement in *statements {
            site.database.execute(statement).await;
        }
        let (code, found) = verify(&site);
        assert_eq!(code, 1, "{statements:?}");
        let flaws = found["flaws"].as_array().unwrap();
        assert_eq!(flaws.len(), 1, "{statements:?}: {flaws:?}");
        let said = flaws[0]["flaw"].as_str().unwrap();
        assert!(said.contains(finding), "{statements:?}: {said}");
        let app = &keys.app;
        for (table, columns) in COPIED {
            // There is one row at least: what a damage takes out whole, it takes to another App.
            let clear = format!("DELETE FROM {table} WHERE app_id <> 'kept'");
            site.database.execute(&clear).await;
            let restore = format!(
                "INSERT INTO {table} (app_id, {columns}) SELECT '{app}', {columns} FROM {table} WHERE app_id = 'kept'"
            );
            site.database.execute(&restore).await;
        }
        assert_eq!(verify(&site), (0, whole.clone()), "not restored");
    }
    server.process.stop().await;
}

/// The tables of the log, and their columns besides the App.
const COPIED: [(&str, &str); 4] = [
    (
        "audit_entries",
        "environment, chain, sequence, id, wallet_id, action, detail, api_key_id, result, happened_at, previous, hash, mac_key_version, mac, format, payload, request_id",
    ),
    (
        "audit_chains",
        "environment, chain, sequence, hash, mac_key_version, mac",
    ),
    (
        "control_entries",
        "environment, chain, sequence, id, actor_kind, actor_id, action, subject_kind, subject_id, detail, outcome, request_id, \
         happened_at, previous, hash, mac_key_version, mac",
    ),
    (
        "control_chains",
        "environment, number, chain, sequence, hash, mac_key_version, mac",
    ),
];

/// What somebody does to the log, and what is said of it.
const DAMAGES: &[(&[&str], &str)] = &[
    (
        &["UPDATE audit_entries SET action = 'create' WHERE sequence = 2 AND app_id <> 'kept'"],
        "entry 2 was altered",
    ),
    (
        &[
            "UPDATE audit_entries SET happened_at = happened_at + 1 WHERE sequence = 4 AND app_id <> 'kept'",
        ],
        "entry 4 was altered",
    ),
    (
        &[
            "UPDATE audit_entries SET mac = (SELECT mac FROM audit_entries WHERE sequence = 3 AND app_id = 'kept') \
           WHERE sequence = 1 AND app_id <> 'kept'",
        ],
        "entry 1 was altered",
    ),
    // What no entry ever says.
    (
        &["UPDATE audit_entries SET action = 'stolen' WHERE sequence = 3 AND app_id <> 'kept'"],
        "entry 3 was altered",
    ),
    (
        &["UPDATE audit_entries SET mac_key_version = 9 WHERE sequence = 2 AND app_id <> 'kept'"],
        "entry 2 was altered",
    ),
    (
        &["UPDATE audit_chains SET mac_key_version = 9 WHERE app_id <> 'kept'"],
        "record of how far the chain goes was altered",
    ),
    (
        &["DELETE FROM audit_entries WHERE sequence = 1 AND app_id <> 'kept'"],
        "entry 1",
    ),
    (
        &["DELETE FROM audit_entries WHERE sequence = 3 AND app_id <> 'kept'"],
        "entry 3",
    ),
    (
        &["DELETE FROM audit_entries WHERE sequence = 4 AND app_id <> 'kept'"],
        "ends at entry 3, and its record says 4",
    ),
    (
        &[
            "DELETE FROM audit_entries WHERE sequence = 4 AND app_id <> 'kept'",
            "UPDATE audit_chains SET sequence = 3, \
             hash = (SELECT hash FROM audit_entries WHERE sequence = 3 AND app_id = 'kept') WHERE app_id <> 'kept'",
        ],
        "record of how far the chain goes was altered",
    ),
    (
        &["UPDATE audit_chains SET app_id = 'gone' WHERE app_id <> 'kept'"],
        "record of how far the chain goes is gone",
    ),
    (
        &["UPDATE audit_chains SET sequence = 2 WHERE app_id <> 'kept'"],
        "record of how far the chain goes was altered",
    ),
    // An entry of before the second format, and a payload that was not signed.
    (
        &["UPDATE audit_entries SET format = 1 WHERE sequence = 2 AND app_id <> 'kept'"],
        "entry 2 was altered",
    ),
    (
        &["UPDATE audit_entries SET payload = hash WHERE sequence = 2 AND app_id <> 'kept'"],
        "entry 2 was altered",
    ),
    (
        &[
            "UPDATE control_entries SET detail = '{}' WHERE sequence = 2 AND environment = 'live' AND app_id <> 'kept'",
        ],
        "entry 2 was altered",
    ),
    (
        &[
            "DELETE FROM control_entries WHERE sequence = 1 AND environment = 'test' AND app_id <> 'kept'",
        ],
        "entry 1",
    ),
    (
        &[
            "DELETE FROM control_entries WHERE sequence = 3 AND environment = 'live' AND app_id <> 'kept'",
            "UPDATE control_chains SET sequence = 2, \
             hash = (SELECT hash FROM control_entries WHERE sequence = 2 AND environment = 'live' AND app_id = 'kept') \
             WHERE environment = 'live' AND app_id <> 'kept'",
        ],
        "record of how far the chain goes was altered",
    ),
    (
        &[
            "UPDATE control_chains SET app_id = 'gone' WHERE environment = 'test' AND app_id <> 'kept'",
        ],
        "record of how far the chain goes is gone",
    ),
];

async fn a_killed_process_leaves_a_whole_log(site: Site) {
    let keys = site.set_up();
    let mut signed: u64 = 0;
    for round in 0..2 {
        let mut server = site.serve().await;
        let api = server.api(&keys.live);
        let owner = new_owner(&api, &format!("user{round}@example.com")).await;
        for _ in 0..5 {
            sign(&api, &owner, "test").await.ok();
        }
        signed += 6;
        server.process.kill().await;
    }
    let (code, found) = verify(&site);
    assert_eq!(code, 0, "{found}");
    // With the six entries of both control chains.
    assert_eq!(found["chains"], 2 + 2);
    assert_eq!(found["entries"], signed + 6);
}
