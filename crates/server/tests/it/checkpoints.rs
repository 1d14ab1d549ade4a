//! Checkpoints in a directory, written by running processes, against rollbacks of the database (AUD-3, AUD-4).

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::{JoinHandle, block_in_place};
use vestry_contract::rng;

use crate::on_both_databases;
use crate::support::client::Api;
use crate::support::cluster::Programs;
use crate::support::flow::{Owner, new_owner, sign};
use crate::support::installation::{CommandOutput, Installation, Keys, text};
use crate::support::poll::until;
use crate::support::process::PATIENCE;
use crate::support::proxy::behind_a_proxy;

on_both_databases! {
    /// A rollback of the logs: only a checkpoint reveals it.
    aud_3_logs_that_were_set_back_are_found => super::logs_that_were_set_back_are_found;
    /// Deleted or edited rows, in every table that could mislead a verification.
    aud_11_a_verification_goes_by_rows_and_checkpoints => super::a_verification_goes_by_rows_and_checkpoints;
    /// Edited progress of a sink raises an alarm, and the sink still gets the next checkpoint.
    aud_10_edited_progress_silences_no_sink => super::edited_progress_silences_no_sink;
    /// Two running processes write one sequence of checkpoints, and a command adds one to it.
    running_processes_make_checkpoints => super::running_processes_make_checkpoints;
}

/// The directory of checkpoints.
fn anchor(installation: &mut Installation) -> PathBuf {
    let directory = installation.file("anchor");
    fs::create_dir(&directory).unwrap();
    installation.set("audit.sinks", &format!("file:{}", directory.display()));
    installation.set("audit.checkpoint_seconds", "1");
    directory
}

fn verify(installation: &Installation, more: &[&str]) -> (i32, Value) {
    let arguments = [&["audit", "verify", "--json"], more].concat();
    let verified = installation.run(&arguments);
    (verified.code, verified.json())
}

/// A call that is recorded in the audit log.
fn change(installation: &Installation, keys: &Keys, name: &str) {
    let url = format!("https://app.example.com/{name}");
    installation.admin(&["redirect-url", "add", &keys.app, "live", &url]);
}

fn list<'a>(document: &'a Value, name: &str) -> &'a Vec<Value> {
    document[name].as_array().unwrap()
}

/// The tables that are rolled back: both logs.
const LOGS: [&str; 4] = [
    "audit_entries",
    "audit_chains",
    "control_entries",
    "control_chains",
];

async fn logs_that_were_set_back_are_found(mut installation: Installation) {
    let directory = anchor(&mut installation);
    let directory = directory.to_str().unwrap().to_owned();
    installation.set("outbound.allowed_networks", "127.0.0.0/8");
    let keys = installation.set_up();
    let server = installation.serve().await;
    let api = server.api(&keys.live);
    let owner = new_owner(&api, "ada@example.com").await;
    sign(&api, &owner, "kept").await.ok();
    for table in LOGS {
        let name = format!("kept_{table}");
        installation.database.copy(table, &name).await;
    }

    sign(&api, &owner, "lost").await.ok();
    change(&installation, &keys, "lost");
    // A running process may then create another checkpoint, for later changes only. Startup checks the newest one.
    server.process.stop().await;
    let made = installation.admin(&["audit", "checkpoint"]);
    let key = text(&installation.admin(&["audit", "key"]), "key");
    assert_eq!(verify(&installation, &["--against", &directory]).0, 0);
    for table in LOGS {
        let (cleared, restored) = (
            format!("DELETE FROM {table}"),
            format!("INSERT INTO {table} SELECT * FROM kept_{table}"),
        );
        installation.database.execute(&cleared).await;
        installation.database.execute(&restored).await;
    }

    // The checkpoints in the database reveal it too.
    let (code, alone) = verify(&installation, &[]);
    assert_eq!((code, list(&alone, "flaws").len()), (1, 2), "{alone}");
    // With the vault's key, and with a separately stored key.
    for more in [&[][..], &["--key", &key]] {
        let (code, found) = verify(&installation, &[&["--against", &directory], more].concat());
        assert_eq!(code, 1, "{found}");
        let output: Vec<_> = list(&found, "flaws")
            .iter()
            .map(|finding| text(finding, "flaw"))
            .collect();
        assert_eq!(
            output.len(),
            2,
            "the wallets' and the control chain: {output:?}"
        );
        for output in output {
            assert!(output.starts_with("ends at "), "{output}");
        }
    }
    // A single checkpoint reveals it too, wherever it was stored.
    let alone = installation.file("mailed.txt");
    fs::write(&alone, text(&made, "note")).unwrap();
    let (code, found) = verify(&installation, &["--against", alone.to_str().unwrap()]);
    assert_eq!((code, list(&found, "flaws").len()), (1, 2), "{found}");
    let giving = gives_back(text(&made, "note"));
    let (code, found) = verify(&installation, &["--against", &giving]);
    assert_eq!((code, list(&found, "flaws").len()), (1, 2), "{found}");
    let second = installation.run(&["audit", "verify", "--against", &giving]);
    assert_eq!(second.code, 1, "the URL responds once: {second:?}");

    // Startup detects and reports it, and continues.
    let mut server = installation.serve().await;
    let alarm = "ALARM: database contradicts the checkpoint in an audit sink (possible rollback or tampering); run `vestry audit verify --against`";
    // It checks before it creates a checkpoint.
    server.process.logged("audit log checkpoint").await;
    server.process.shows(alarm).await;
    let output = server.process.output();
    let output = output.lines().find(|line| line.contains(alarm));
    assert!(
        output.is_some_and(|output| output.contains(r#""flaws":2,"#)),
        "{output:?}"
    );
    sign(&server.api(&keys.live), &owner, "later").await.ok();
    change(&installation, &keys, "later");
    server.process.stop().await;
    acknowledge(&installation, &directory);
}

/// Acknowledges all findings, one by one.
fn acknowledge(installation: &Installation, directory: &str) {
    let against = ["--against", directory];
    let (_, found) = verify(installation, &against);
    let findings = list(&found, "flaws");
    assert_eq!(findings.len(), 2, "{found}");
    let explain = |about: &str| -> CommandOutput {
        let arguments = [
            "audit",
            "acknowledge",
            about,
            "--reason",
            "restored a backup",
        ];
        installation.run(&[&arguments[..], &against, &["--json"]].concat())
    };
    for finding in findings {
        explain(&text(finding, "about")).done();
    }
    let (code, after) = verify(installation, &against);
    assert_eq!((code, &after["flaws"]), (0, &json!([])));
    let acknowledged = list(&after, "acknowledged");
    assert_eq!(acknowledged.len(), 2);
    for known in acknowledged {
        assert_eq!(known["reason"], "restored a backup");
    }
    // No findings are left.
    assert_eq!(explain(&text(&findings[0], "about")).code, 1);
}

/// A change to the database, and how to undo it.
struct Attack {
    name: &'static str,
    statements: Vec<String>,
    undone: Vec<String>,
}

impl Attack {
    fn new<const N: usize, const M: usize>(
        name: &'static str,
        statements: [String; N],
        undone: [String; M],
    ) -> Self {
        Self {
            name,
            statements: statements.into(),
            undone: undone.into(),
        }
    }

    /// An attack that changes the rows of a table, which is refilled afterwards.
    fn on(name: &'static str, table: &str, statement: &str) -> Self {
        let undone = [
            format!("DELETE FROM {table}"),
            format!("INSERT INTO {table} SELECT * FROM kept_{table}"),
        ];
        Self::new(name, [statement.to_owned()], undone)
    }
}

/// Attacks on a database with the events of one App and the entries of another.
async fn attacks(installation: &Installation, app: &str, other: &str) -> Vec<Attack> {
    let world = format!("app_id = '{app}' AND environment = 'test'");
    let events = format!(
        "SELECT id AS one, CAST(position AS TEXT) AS two FROM events WHERE {world} ORDER BY position"
    );
    let events = installation.database.pairs(&events).await;
    let (id, position) = &events[events.len() / 2];
    let gone =
        |table: &str, column: &str| format!("DELETE FROM {table} WHERE {column} = '{other}'");
    let back = |table: &str, column: &str| {
        format!("INSERT INTO {table} SELECT * FROM kept_{table} WHERE {column} = '{other}'")
    };
    let raised = [
        format!("DELETE FROM events WHERE {world} AND position > {position}"),
        format!(
            "UPDATE event_heads SET log = log + 1, position = {position}, newest_id = '{id}' WHERE {world}"
        ),
    ];
    let lowered = [
        format!(
            "INSERT INTO events SELECT * FROM kept_events WHERE {world} AND position > {position}"
        ),
        "DELETE FROM event_heads".to_owned(),
        "INSERT INTO event_heads SELECT * FROM kept_event_heads".to_owned(),
    ];
    let altered = [
        format!("UPDATE control_entries SET request_id = 'altered' WHERE app_id = '{other}'"),
        gone("api_keys", "app_id"),
        gone("app_keys", "app_id"),
        gone("signing_keys", "app_id"),
        gone("apps", "id"),
    ];
    let restored = [
        back("apps", "id"),
        back("signing_keys", "app_id"),
        back("app_keys", "app_id"),
        back("api_keys", "app_id"),
        gone("control_entries", "app_id"),
        back("control_entries", "app_id"),
    ];
    vec![
        Attack::new(
            "all events are deleted",
            ["DELETE FROM events".to_owned()],
            ["INSERT INTO events SELECT * FROM kept_events".to_owned()],
        ),
        Attack::new("the log is cut and its number raised", raised, lowered),
        Attack::new(
            "an App is deleted and its entries altered",
            altered,
            restored,
        ),
        Attack::on(
            "the number of a sink is raised",
            "checkpoint_sinks",
            "UPDATE checkpoint_sinks SET number = 1000000000",
        ),
        Attack::on(
            "the time of a sink is moved",
            "checkpoint_sinks",
            "UPDATE checkpoint_sinks SET taken_at = taken_at + 100000",
        ),
        Attack::on(
            "the newest checkpoint is deleted",
            "checkpoints",
            "DELETE FROM checkpoints WHERE number = (SELECT MAX(number) FROM checkpoints)",
        ),
        Attack::on(
            "a checkpoint gets another number",
            "checkpoints",
            "UPDATE checkpoints SET number = 1000000000 WHERE number = (SELECT MAX(number) FROM checkpoints)",
        ),
    ]
}

async fn a_verification_goes_by_rows_and_checkpoints(mut installation: Installation) {
    let directory = anchor(&mut installation);
    let directory = directory.to_str().unwrap().to_owned();
    let keys = installation.set_up();
    let other = installation.new_app();
    let server = installation.serve().await;
    let api = server.api(&keys.test);
    let owner = new_owner(&api, "ada@example.com").await;
    sign(&api, &owner, "hi").await.ok();
    // The events have been sequenced.
    let page = api.get("/v1/events?limit=1000&wait=30").await.ok();
    assert!(list(&page, "events").len() > 1, "{page}");
    server.process.stop().await;
    for _ in 0..2 {
        installation.admin(&["audit", "checkpoint"]);
    }
    for table in [
        "control_entries",
        "apps",
        "app_keys",
        "api_keys",
        "signing_keys",
        "events",
        "event_heads",
        "checkpoints",
        "checkpoint_sinks",
    ] {
        installation
            .database
            .copy(table, &format!("kept_{table}"))
            .await;
    }
    let whole = |name: &str| {
        for more in [&[][..], &["--against", &directory]] {
            let (code, found) = verify(&installation, more);
            assert_eq!((code, &found["flaws"]), (0, &json!([])), "{name}: {found}");
        }
    };
    whole("before");
    for attack in attacks(&installation, &keys.app, &other.app).await {
        for statement in &attack.statements {
            installation.database.execute(statement).await;
        }
        for more in [&[][..], &["--against", &directory]] {
            let (code, found) = verify(&installation, more);
            let name = attack.name;
            assert_eq!(code, 1, "{name}: {found}");
            assert_ne!(found["flaws"], json!([]), "{name}: {found}");
        }
        for statement in &attack.undone {
            installation.database.execute(statement).await;
        }
        whole(attack.name);
    }
}

async fn edited_progress_silences_no_sink(mut installation: Installation) {
    let directory = anchor(&mut installation);
    let keys = installation.set_up();
    let mut server = installation.serve().await;
    change(&installation, &keys, "before");
    installation.admin(&["audit", "checkpoint"]);
    for edit in [
        "UPDATE checkpoint_sinks SET number = 1000000000",
        "UPDATE checkpoint_sinks SET taken_at = taken_at + 1000000000",
    ] {
        installation.database.execute(edit).await;
        let alarm = "ALARM: recorded progress of an audit sink is wrong (possible tampering or rollback); missing checkpoints are re-sent; run `vestry audit verify --against`";
        let output = server.process.logged(alarm).await;
        assert!(
            text(&output, "sink") == "log" || text(&output, "sink").starts_with("file:"),
            "{output}"
        );
        change(&installation, &keys, "after");
        let made = installation.admin(&["audit", "checkpoint"]);
        let number = made["number"].as_i64().unwrap();
        let file = directory.join(format!("checkpoint-{number:012}.txt"));
        assert_eq!(
            fs::read_to_string(file).unwrap(),
            text(&made, "note"),
            "{edit}"
        );
    }
    server.process.stop().await;
}

async fn running_processes_make_checkpoints(mut installation: Installation) {
    let directory = anchor(&mut installation);
    let directory = directory.to_str().unwrap().to_owned();
    let keys = installation.set_up();
    let servers = [installation.serve().await, installation.serve().await];
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
            change(&installation, &keys, &round.to_string());
            installation.admin(&["audit", "checkpoint"]);
            // Those created by the commands, and some created by a process.
            if fs::read_dir(&directory).unwrap().count() > round + 4 {
                break;
            }
        }
    };
    tokio::time::timeout(PATIENCE, rounds).await.unwrap();
    let [one, other] = servers;
    one.process.stop().await;
    other.process.stop().await;
    let (code, found) = verify(&installation, &["--against", &directory]);
    assert_eq!((code, &found["flaws"]), (0, &json!([])));
    let notes = fs::read_dir(&directory).unwrap().count();
    assert_eq!(found["checkpoints"], json!(notes));
}

/// How often the database loses its last commits; the first figure of EV-A2.
const FAILOVERS: usize = 3;
/// Signatures of each process between two steps.
const SIGNATURES: u64 = 5;

/// A client that signs continuously, whatever the responses.
struct Signer {
    signed: watch::Receiver<u64>,
    stop: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

impl Signer {
    fn start(api: &Api, owner: &Owner) -> Self {
        let (counted, signed) = watch::channel(0);
        let stop = Arc::new(AtomicBool::new(false));
        let (api, owner, is_over) = (api.clone(), owner.clone(), Arc::clone(&stop));
        let task = tokio::spawn(async move {
            while !is_over.load(SeqCst) {
                if sign(&api, &owner, "on and on").await.status == 200 {
                    counted.send_modify(|count| *count += 1);
                }
            }
        });
        Self { signed, stop, task }
    }

    /// Waits for a number of further signatures.
    async fn go_on(&mut self) {
        let enough = *self.signed.borrow_and_update() + SIGNATURES;
        let signed = self.signed.wait_for(|count| *count >= enough);
        let signed = tokio::time::timeout(PATIENCE, signed).await;
        signed.expect("it signs again").unwrap();
    }

    async fn end(self) {
        self.stop.store(true, SeqCst);
        self.task.await.unwrap();
    }
}

/// EV-A2: a standby without the last commits takes over while two processes sign. The remaining data is valid (no false finding), a
/// checkpoint names exactly the missing entries, and the service continues.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ev_a2_aud_4_entries_lost_in_a_failover_are_reported() {
    let Some(programs) = Programs::find().await else {
        return;
    };
    let (mut primary, proxy, installation) = behind_a_proxy(&programs).await;
    let keys = block_in_place(|| installation.set_up());
    let servers = [installation.serve().await, installation.serve().await];
    let apis = servers.each_ref().map(|server| server.api(&keys.live));
    let mut owners = Vec::new();
    for (number, api) in apis.iter().enumerate() {
        owners.push(new_owner(api, &format!("user{number}@example.com")).await);
    }
    // The checkpoint key is created when a process starts. It signs nothing for a minute, and must not be lost (PR-144).
    let age = "UPDATE app_keys SET created_at = created_at - 3600 WHERE purpose = 'audit'";
    let aged = until(async || installation.database.touch(age).await == 1);
    tokio::time::timeout(PATIENCE, aged).await.unwrap();
    block_in_place(|| installation.admin(&["audit", "checkpoint"]));
    for round in 0..rng::rounds(FAILOVERS) {
        let mut signers: Vec<_> = apis
            .iter()
            .zip(&owners)
            .map(|(api, owner)| Signer::start(api, owner))
            .collect();
        for signer in &mut signers {
            signer.go_on().await;
        }
        let standby = primary.standby();
        standby.start();
        primary.is_followed_by(&standby).await;
        standby.stop();
        for signer in &mut signers {
            signer.go_on().await;
        }
        block_in_place(|| change(&installation, &keys, &format!("lost-{round}")));
        let made = block_in_place(|| installation.admin(&["audit", "checkpoint"]));
        proxy.close();
        primary.stop();
        standby.start();
        standby.promote();
        proxy.route_to(&standby.socket());
        for signer in &mut signers {
            signer.go_on().await;
        }
        for signer in signers {
            signer.end().await;
        }
        primary = standby;
        let lost = lost(&installation, &text(&made, "note")).await;
        // The chains of both processes, and the control chain.
        assert_eq!(lost.len(), 3, "round {round}: {lost:?}");
        block_in_place(|| {
            let (code, sound) = verify(&installation, &[]);
            assert_eq!((code, &sound["flaws"]), (0, &json!([])), "round {round}");
            let kept = installation.file("kept.txt");
            fs::write(&kept, text(&made, "note")).unwrap();
            let (code, found) = verify(&installation, &["--against", kept.to_str().unwrap()]);
            // In addition to the chains, events that had been sequenced by then.
            let is_of_chain = |finding: &&Value| finding.get("chain").is_some();
            let findings = list(&found, "flaws").iter().filter(is_of_chain);
            let named: BTreeSet<_> = findings.map(|finding| text(finding, "about")).collect();
            assert_eq!((code, named), (1, lost), "round {round}: {found}");
        });
    }
    for server in servers {
        server.process.stop().await;
    }
}

/// The chains for which the database lacks what a checkpoint states.
async fn lost(installation: &Installation, note: &str) -> BTreeSet<String> {
    let hash = installation.database.hex("hash");
    let mut there = Vec::new();
    for table in ["audit_entries", "control_entries"] {
        let entries = format!("SELECT chain AS one, {hash} AS two FROM {table}");
        there.extend(installation.database.pairs(&entries).await);
    }
    let there: HashSet<_> = there.into_iter().collect();
    let lines = note.lines().filter_map(|line| line.strip_prefix("chain "));
    let stated = lines.map(|line| {
        let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
        (words[2].clone(), words[4].clone())
    });
    let missing = stated.filter(|end| !there.contains(end));
    missing.map(|(chain, _)| chain).collect()
}

/// A URL that serves this note once.
fn gives_back(note: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/newest", listener.local_addr().unwrap());
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let read = stream.read(&mut request).unwrap();
        assert!(request[..read].starts_with(b"GET /newest "));
        let length = note.len();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        stream
            .write_all(format!("{head}{note}").as_bytes())
            .unwrap();
    });
    url
}
