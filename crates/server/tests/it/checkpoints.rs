//! Checkpoints that running processes bring to a directory, against somebody who sets the database back (AUD-3, AUD-4).

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::on_both_databases;
use crate::support::journey::{new_owner, sign};
use crate::support::process::PATIENCE;
use crate::support::site::{Keys, Said, Site, text};

on_both_databases! {
    /// The logs as they were before: nothing but a checkpoint tells.
    aud_3_logs_that_were_set_back_are_found => super::logs_that_were_set_back_are_found;
    /// Two processes that run make one row of checkpoints, and a third one, a command, makes one of them.
    running_processes_make_checkpoints => super::running_processes_make_checkpoints;
}

/// Where the directory is that checkpoints are brought to.
fn anchor(site: &mut Site) -> PathBuf {
    let directory = site.file("anchor");
    fs::create_dir(&directory).unwrap();
    site.set("audit.sinks", &format!("file:{}", directory.display()));
    site.set("audit.checkpoint_seconds", "1");
    directory
}

fn verify(site: &Site, more: &[&str]) -> (i32, Value) {
    let arguments = [&["audit", "verify", "--json"], more].concat();
    let verified = site.run(&arguments);
    (verified.code, verified.json())
}

/// Something that has an entry.
fn change(site: &Site, keys: &Keys, name: &str) {
    let url = format!("https://app.example.com/{name}");
    site.admin(&["redirect-url", "add", &keys.app, "live", &url]);
}

fn list<'a>(document: &'a Value, name: &str) -> &'a Vec<Value> {
    document[name].as_array().unwrap()
}

/// The tables of which a copy is brought back: both logs.
const LOGS: [&str; 4] = [
    "audit_entries",
    "audit_chains",
    "control_entries",
    "control_chains",
];

async fn logs_that_were_set_back_are_found(mut site: Site) {
    let directory = anchor(&mut site);
    let directory = directory.to_str().unwrap().to_owned();
    let keys = site.set_up();
    let server = site.serve().await;
    let api = server.api(&keys.live);
    let owner = new_owner(&api, "ada@example.com").await;
    sign(&api, &owner, "kept").await.ok();
    for table in LOGS {
        let name = format!("kept_{table}");
        site.database.copy(table, &name).await;
    }

    sign(&api, &owner, "lost").await.ok();
    change(&site, &keys, "lost");
    let made = site.admin(&["audit", "checkpoint"]);
    let key = text(&site.admin(&["audit", "key"]), "key");
    assert_eq!(verify(&site, &["--against", &directory]).0, 0);
    server.process.stop().await;
    for table in LOGS {
        let (cleared, restored) = (
            format!("DELETE FROM {table}"),
            format!("INSERT INTO {table} SELECT * FROM kept_{table}"),
        );
        site.database.execute(&cleared).await;
        site.database.execute(&restored).await;
    }

    let (code, alone) = verify(&site, &[]);
    assert_eq!((code, &alone["flaws"]), (0, &json!([])), "nothing shows");
    // Under the key of the vault, and under the one that somebody kept.
    for more in [&[][..], &["--key", &key]] {
        let (code, found) = verify(&site, &[&["--against", &directory], more].concat());
        assert_eq!(code, 1, "{found}");
        let said: Vec<_> = list(&found, "flaws")
            .iter()
            .map(|flaw| text(flaw, "flaw"))
            .collect();
        assert_eq!(
            said.len(),
            2,
            "the wallets' and the control chain: {said:?}"
        );
        for said in said {
            assert!(said.starts_with("it ends at "), "{said}");
        }
    }
    // One checkpoint by itself says the same, wherever it was kept.
    let alone = site.file("mailed.txt");
    fs::write(&alone, text(&made, "note")).unwrap();
    let (code, found) = verify(&site, &["--against", alone.to_str().unwrap()]);
    assert_eq!((code, list(&found, "flaws").len()), (1, 2), "{found}");

    // A start sees it, says so, and goes on.
    let mut server = site.serve().await;
    let alarm = "ALARM: the database does not bear out what the sink has: run `vestry audit verify --against`";
    // It looks before it makes one.
    server.process.logged("a checkpoint of the audit log").await;
    let said = server.process.output();
    let said = said.lines().find(|line| line.contains(alarm));
    assert!(
        said.is_some_and(|said| said.contains(r#""flaws":2,"#)),
        "{said:?}"
    );
    sign(&server.api(&keys.live), &owner, "later").await.ok();
    change(&site, &keys, "later");
    server.process.stop().await;
    acknowledge(&site, &directory);
}

/// Explains all that is found, one after the other.
fn acknowledge(site: &Site, directory: &str) {
    let against = ["--against", directory];
    let (_, found) = verify(site, &against);
    let flaws = list(&found, "flaws");
    assert_eq!(flaws.len(), 2, "{found}");
    let explain = |about: &str| -> Said {
        let arguments = [
            "audit",
            "acknowledge",
            about,
            "--reason",
            "restored a backup",
        ];
        site.run(&[&arguments[..], &against, &["--json"]].concat())
    };
    for flaw in flaws {
        explain(&text(flaw, "about")).done();
    }
    let (code, after) = verify(site, &against);
    assert_eq!((code, &after["flaws"]), (0, &json!([])));
    let acknowledged = list(&after, "acknowledged");
    assert_eq!(acknowledged.len(), 2);
    for known in acknowledged {
        assert_eq!(known["reason"], "restored a backup");
    }
    // Nothing is found there any more.
    assert_eq!(explain(&text(&flaws[0], "about")).code, 1);
}

async fn running_processes_make_checkpoints(mut site: Site) {
    let directory = anchor(&mut site);
    let directory = directory.to_str().unwrap().to_owned();
    let keys = site.set_up();
    let servers = [site.serve().await, site.serve().await];
    let apis = servers.each_ref().map(|server| server.api(&keys.live));
    let mut owners = Vec::new();
    for (number, api) in apis.iter().enumerate() {
        owners.push(new_owner(api, &format!("user{number}@example.com")).await);
    }
    let rounds = async {
        for round in 0.. {
            for (api, owner) in apis.iter().zip(&owners) {
                sign(api, owner, "test").await.ok();
            }
            change(&site, &keys, &round.to_string());
            site.admin(&["audit", "checkpoint"]);
            // Those that the commands made, and some that a process made.
            if fs::read_dir(&directory).unwrap().count() > round + 4 {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, rounds).await.unwrap();
    let [one, other] = servers;
    one.process.stop().await;
    other.process.stop().await;
    let (code, found) = verify(&site, &["--against", &directory]);
    assert_eq!((code, &found["flaws"]), (0, &json!([])));
    let notes = fs::read_dir(&directory).unwrap().count();
    assert_eq!(found["checkpoints"], json!(notes));
}
