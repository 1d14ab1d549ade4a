//! Checkpoints: with a copy outside the database, a rollback or deletion is found, and a checkpoint cannot be forged.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use ed25519_dalek::{Signature, VerifyingKey};
use serde_json::json;
use tempfile::TempDir;
use vestry_app::audit::{About, AuditFinding, AuditReport, FindingKind, SourcedNote, TrustedKeys};
use vestry_app::identity::users::CreateUser;
use vestry_app::operators::Alarm;
use vestry_app::wallets::SignError;
use vestry_app::{Fault, Principal, Refusal, Service};
use vestry_checkpoint_sinks::{FileSink, LogSink, notes_at};
use vestry_contract::race::race;
use vestry_domain::audit::checkpoint::{Checkpoint, Line, SignedNote, VerifierKey};
use vestry_domain::audit::control::{ControlAction, ControlEntry, Outcome, SubjectKind};
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::event::{Actor, Position};
use vestry_domain::ids::WalletId;
use vestry_domain::provider::{ConnectionSettings, ProviderName};
use vestry_domain::redirect::RedirectKind;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, Secret, Timestamp, World};
use vestry_ports::anchors::{CheckpointSink, SinkError};
use vestry_ports::port;
use vestry_ports::store::{SinkProgress, Store, StoredCheckpoint};

use crate::audit::findings;
use crate::changes::{detail, written};
use crate::harness::{Harness, ISSUER_HOST};
use crate::wallets::text;

/// A test harness whose service writes checkpoints to a directory.
struct Anchored {
    harness: Harness,
    service: Arc<Service>,
    directory: TempDir,
}

impl Anchored {
    async fn new() -> Self {
        let harness = Harness::new().await.with_checkpoint_key().await;
        let directory = TempDir::new().unwrap();
        let service = harness.process_with_sinks(vec![sink_in(directory.path())]);
        Self {
            harness,
            service,
            directory,
        }
    }

    /// The same with another sink that can be made to fail.
    async fn with_shelf() -> (Self, Arc<Shelf>) {
        let mut anchored = Self::new().await;
        let shelf = Arc::new(Shelf::default());
        let directory = sink_in(anchored.directory.path());
        anchored.service = anchored
            .harness
            .process_with_sinks(vec![shelf.clone(), directory]);
        (anchored, shelf)
    }

    /// Makes a change in the live environment.
    async fn change(&self, name: &str) {
        let url = format!("https://app.example.com/{name}");
        let world = self.harness.world(Environment::Live);
        let added = self.service.add_redirect_url(
            Principal::cli(),
            world,
            RedirectKind::Login,
            &url,
            false,
        );
        added.await.unwrap();
        self.harness.pass(1);
    }

    /// Runs one period of the checkpoint process.
    async fn period(&self) {
        self.service.checkpoint_round("this process").await.unwrap();
        self.harness.pass(60);
    }

    fn notes(&self) -> Vec<SourcedNote> {
        found(self.directory.path())
    }

    async fn verify(&self) -> AuditReport {
        against(&self.service, &self.notes(), &TrustedKeys::Own).await
    }

    async fn numbers(&self) -> Vec<i64> {
        let notes = self.notes();
        notes.iter().map(|note| stated(&note.note).number).collect()
    }
}

fn sink_in(directory: &Path) -> Arc<dyn CheckpointSink> {
    Arc::new(FileSink::new(directory))
}

fn found(directory: &Path) -> Vec<SourcedNote> {
    let notes = notes_at(directory).unwrap().into_iter();
    notes
        .map(|(place, note)| SourcedNote { place, note })
        .collect()
}

fn stated(note: &str) -> Checkpoint {
    Checkpoint::parse(&SignedNote::parse(note).unwrap().text).unwrap()
}

async fn against(service: &Service, notes: &[SourcedNote], keys: &TrustedKeys) -> AuditReport {
    let report = service.verify_audit_log_against(notes, keys, &|_| {});
    report.await.unwrap()
}

async fn length(harness: &Harness, world: World) -> i64 {
    i64::try_from(written(harness, world).await.len()).unwrap()
}

/// Entries about the log itself, oldest first.
async fn of_log(harness: &Harness) -> Vec<ControlEntry> {
    written(harness, World::DEPLOYMENT).await
}

async fn sign(harness: &Harness, wallet: WalletId) {
    let test = harness.test().await;
    harness
        .service
        .sign(&test, text(wallet, "hi"))
        .await
        .unwrap();
}

/// Each checkpoint names the chains that grew since the one before; the first names them all. Without growth there is no checkpoint.
#[tokio::test]
async fn a_checkpoint_names_the_chains_that_grew() {
    let anchored = Anchored::new().await;
    let harness = &anchored.harness;
    let test = harness.test().await;
    let user = harness.user(&test, "ada@example.com").await;
    let wallet = user.wallets[0].id;
    harness.service.sequence_all().await.unwrap();
    anchored.period().await;
    anchored.period().await;
    let [first] = &anchored.notes()[..] else {
        panic!("nothing happened twice");
    };
    let first = stated(&first.note);
    assert_eq!(
        (first.number, first.previous, &*first.deployment),
        (1, Checkpoint::NONE_BEFORE, ISSUER_HOST)
    );
    let chains = |checkpoint: &Checkpoint| {
        let lines = checkpoint.lines.iter();
        let worlds = lines.filter_map(|line| match line {
            Line::Chain { world, .. } => Some(world.environment),
            _ => None,
        });
        worlds.collect::<Vec<_>>()
    };
    // A wallet's chain in test, and the control chains.
    assert_eq!(
        chains(&first),
        [Environment::Test, Environment::Live, Environment::Test]
    );
    assert!(matches!(first.lines.last(), Some(Line::Events { position, .. }) if *position > 0));

    sign(harness, wallet).await;
    anchored.period().await;
    let second = stated(&anchored.notes()[1].note);
    let before = SignedNote::parse(&anchored.notes()[0].note).unwrap();
    assert_eq!(second.previous, Checkpoint::hash_of(&before.text));
    let [Line::Chain { sequence: 2, .. }] = &second.lines[..] else {
        panic!("{:?}", second.lines);
    };
    let report = anchored.verify().await;
    assert_eq!((report.findings, report.checkpoints), (vec![], 2));
}

/// Losses from a failover are named chain by chain. Without a checkpoint none of them would be visible, and nothing false is reported.
#[tokio::test]
async fn aud_3_aud_4_rolled_back_chains_are_named() {
    let anchored = Anchored::new().await;
    let harness = &anchored.harness;
    let test = harness.test().await;
    let user = harness.user(&test, "ada@example.com").await;
    let wallet = user.wallets[0].id;
    harness.service.sequence_all().await.unwrap();
    anchored.period().await;
    let kept = harness.fake.kept();
    let survived = length(harness, harness.world(Environment::Live)).await;

    anchored.change("lost").await;
    anchored.change("lost-too").await;
    sign(harness, wallet).await;
    // Another process has chains of its own, and this one is lost entirely.
    let bob = CreateUser {
        email: Some("bob@example.com".to_owned()),
        ..CreateUser::default()
    };
    anchored.service.create_user(&test, bob).await.unwrap();
    harness.service.sequence_all().await.unwrap();
    anchored.period().await;
    // In no checkpoint, so its loss cannot be detected.
    anchored.change("unstated").await;
    harness.fake.set_back(kept);

    assert_eq!(findings(harness).await, []);
    let report = anchored.verify().await;
    assert_eq!(report.checkpoints, 2);
    let lost = |finding: &AuditFinding| match (&finding.about, finding.kind) {
        (
            About::Chain(world, _),
            FindingKind::SetBack {
                found,
                stated,
                checkpoint: 2,
            },
        ) => format!("chain of {} {found:?} {stated}", world.environment),
        (About::Events(world), FindingKind::SetBack { checkpoint: 2, .. }) => {
            format!("events of {}", world.environment)
        }
        other => format!("{other:?}"),
    };
    let mut named: Vec<_> = report.findings.iter().map(lost).collect();
    named.sort();
    assert_eq!(
        named,
        [
            format!("chain of live Some({survived}) {}", survived + 2),
            "chain of test None 1".to_owned(),
            "chain of test Some(1) 2".to_owned(),
            "events of live".to_owned(),
            "events of test".to_owned(),
        ]
    );

    // The service continues, in processes that saw the loss and in one that did not. The losses stay named.
    sign(harness, wallet).await;
    anchored.change("later").await;
    let other = harness.other_process();
    other.sequence_all().await.unwrap();
    anchored.period().await;
    assert_eq!(findings(harness).await, []);
    let report = anchored.verify().await;
    let about: Vec<_> = report
        .findings
        .iter()
        .map(|finding| finding.about.clone())
        .collect();
    assert_eq!(about.len(), 5, "{:?}", report.findings);
}

/// Asserts that without the checkpoints of the database the keys alone find nothing.
async fn assert_keys_find_nothing(harness: &Harness, what: &str) {
    let kept = harness.fake.kept();
    harness.fake.edit_checkpoints(|checkpoints, sinks| {
        checkpoints.clear();
        sinks.clear();
    });
    assert_eq!(findings(harness).await, [], "{what}");
    harness.fake.set_back(kept);
}

/// If a chain is deleted with all references to it, the keys find nothing; a checkpoint does.
#[tokio::test]
async fn aud_3_a_deleted_chain_is_found() {
    type Delete = fn(&Harness, World);
    let deletions: [(&str, Delete); 3] = [
        ("an entire control chain", |harness, world| {
            harness
                .fake
                .edit_control_entries(|all| all.retain(|entry| entry.event.world != world));
            harness
                .fake
                .edit_control_heads(|heads| heads.retain(|head| head.world != world));
        }),
        ("an entire wallet chain", |harness, world| {
            harness.fake.edit_audit_log(|entries, heads| {
                entries.retain(|entry| entry.event.world != world);
                heads.retain(|head| head.world != world);
            });
        }),
        ("both", |harness, world| {
            harness.fake.edit_audit_log(|entries, heads| {
                entries.retain(|entry| entry.event.world != world);
                heads.retain(|head| head.world != world);
            });
            harness
                .fake
                .edit_control_entries(|all| all.retain(|entry| entry.event.world != world));
            harness
                .fake
                .edit_control_heads(|heads| heads.retain(|head| head.world != world));
        }),
    ];
    let anchored = Anchored::new().await;
    let harness = &anchored.harness;
    let test = harness.test().await;
    harness.user(&test, "ada@example.com").await;
    anchored.period().await;
    let whole = harness.fake.kept();
    for (what, delete) in deletions {
        delete(harness, test.world);
        assert_keys_find_nothing(harness, what).await;
        // The checkpoint in the database states as much as the external one.
        let inside = findings(harness).await;
        let found = anchored.verify().await.findings;
        assert_eq!(inside, found, "{what}");
        let expected = if what == "both" { 2 } else { 1 };
        assert_eq!(found.len(), expected, "{what}: {found:?}");
        for finding in found {
            assert!(
                matches!(
                    finding.kind,
                    FindingKind::SetBack {
                        found: None,
                        checkpoint: 1,
                        ..
                    }
                ),
                "{what}: {finding:?}"
            );
        }
        harness.fake.set_back(whole.clone());
        assert_eq!(anchored.verify().await.findings, [], "{what}");
    }
}

/// Cutting a chain and writing another end requires a root key. Here a process with the root key and an old copy of the database does it.
/// The checkpoint names the earlier end.
#[tokio::test]
async fn aud_8_the_root_keys_cannot_undo_a_checkpoint() {
    let anchored = Anchored::new().await;
    let harness = &anchored.harness;
    let kept = harness.fake.kept();
    anchored.change("true").await;
    anchored.period().await;
    harness.fake.set_back(kept);
    // A process that never saw the other history.
    let other = harness.other_process();
    let world = harness.world(Environment::Live);
    let url = "https://app.example.com/false";
    let added = other.add_redirect_url(Principal::cli(), world, RedirectKind::Login, url, false);
    added.await.unwrap();
    assert_eq!(findings(harness).await, []);
    let found = anchored.verify().await.findings;
    let sequence = length(harness, world).await;
    let [
        AuditFinding {
            about: About::Chain(of, _),
            kind,
        },
    ] = &found[..]
    else {
        panic!("{found:?}");
    };
    assert_eq!(
        (*of, *kind),
        (
            world,
            FindingKind::OtherEntry {
                sequence,
                checkpoint: 1
            }
        )
    );
}

/// The whole database is replaced: nothing that the checkpoint states is there, and an operator who kept the key can see that.
#[tokio::test]
async fn aud_3_another_database_is_found() {
    let anchored = Anchored::new().await;
    anchored.change("there").await;
    anchored.period().await;
    let key = anchored.service.checkpoint_key().await.unwrap();
    let notes = anchored.notes();
    let lines = stated(&notes[0].note).lines.len();

    let other = Harness::new().await;
    let keys = TrustedKeys::These(vec![key.to_string().parse().unwrap()]);
    let report = against(&other.service, &notes, &keys).await;
    let is_gone = |finding: &AuditFinding| matches!(finding.kind, FindingKind::SetBack { .. });
    assert!(report.findings.iter().all(is_gone), "{:?}", report.findings);
    assert_eq!(report.findings.len(), lines);
    // Under this database's key it is not a valid checkpoint.
    let report = against(&other.service, &notes, &TrustedKeys::Own).await;
    let findings: Vec<_> = report.findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(findings, [FindingKind::NotSigned]);
    assert_eq!(report.checkpoints, 0);
}

/// AUD-8: another Ed25519 implementation accepts the signed text under the printed key.
#[tokio::test]
async fn aud_8_a_checkpoint_verifies_elsewhere() {
    let anchored = Anchored::new().await;
    anchored.period().await;
    let key = anchored.service.checkpoint_key().await.unwrap();
    let note = SignedNote::parse(&anchored.notes()[0].note).unwrap();
    let theirs = VerifyingKey::from_bytes(&key.key).unwrap();
    let signature = Signature::from_slice(&note.signatures[0].signature).unwrap();
    let text = note.text.as_bytes();
    theirs.verify_strict(text, &signature).unwrap();
    assert!(theirs.verify_strict(&text[1..], &signature).is_err());
}

/// AUD-8: nothing is accepted from a checkpoint that no trusted key signed.
#[tokio::test]
async fn aud_8_a_forged_checkpoint_states_nothing() {
    let anchored = Anchored::new().await;
    anchored.period().await;
    let own = anchored.service.checkpoint_key().await.unwrap();
    let note = anchored.notes().remove(0).note;
    let other = Anchored::new().await;
    other.change("more").await;
    other.period().await;
    let strange = other.notes().remove(0).note;

    let edited = note.replacen(
        &format!("{ISSUER_HOST}\n1 "),
        &format!("{ISSUER_HOST}\n7 "),
        1,
    );
    assert_ne!(edited, note);
    let signature = |note: &str| note.rsplit_once("\n\n").unwrap().1.to_owned();
    let text = |note: &str| note.rsplit_once("\n\n").unwrap().0.to_owned();
    let crossed = format!("{}\n\n{}", text(&strange), signature(&note));
    let renamed = note.replacen(ISSUER_HOST, "id.example.org", 1);
    for (what, forged, kind) in [
        ("edited", &*edited, FindingKind::NotSigned),
        ("from another deployment", &*strange, FindingKind::NotSigned),
        (
            "with the signature of another checkpoint",
            &*crossed,
            FindingKind::NotSigned,
        ),
        ("under another name", &*renamed, FindingKind::NotSigned),
        ("no note", "hello\n", FindingKind::NoCheckpoint),
        ("nothing", "", FindingKind::NoCheckpoint),
        (
            "without a signature",
            &*text(&note),
            FindingKind::NoCheckpoint,
        ),
    ] {
        let found = SourcedNote {
            place: "a file".to_owned(),
            note: forged.to_owned(),
        };
        for keys in [TrustedKeys::Own, TrustedKeys::These(vec![own.clone()])] {
            let report = against(&anchored.service, std::slice::from_ref(&found), &keys).await;
            let expected = AuditFinding {
                about: About::Note("a file".to_owned()),
                kind,
            };
            assert_eq!(
                (report.checkpoints, report.findings),
                (0, vec![expected]),
                "{what}"
            );
        }
    }
    // A different key with the right name.
    let wrong = VerifierKey::new(
        ISSUER_HOST,
        other.service.checkpoint_key().await.unwrap().key,
    );
    let keys = TrustedKeys::These(vec![wrong.unwrap()]);
    let report = against(&anchored.service, &anchored.notes(), &keys).await;
    assert_eq!(report.findings[0].kind, FindingKind::NotSigned);
}

/// Two processes use each number once and write a single sequence of checkpoints.
#[tokio::test]
async fn parallel_processes_write_one_sequence_of_checkpoints() {
    let anchored = Anchored::new().await;
    let other = anchored
        .harness
        .process_with_sinks(vec![sink_in(anchored.directory.path())]);
    let processes = [anchored.service.clone(), other];
    for round in 0..6 {
        anchored.change(&round.to_string()).await;
        let made = race((0..4).map(|number| {
            let service = processes[number % 2].clone();
            async move {
                let made = service.make_checkpoint().await;
                service.bring_to_sinks().await;
                made
            }
        }))
        .await;
        assert!(made.iter().all(Result::is_ok), "{made:?}");
    }
    let numbers = anchored.numbers().await;
    assert!(numbers.len() >= 6, "{numbers:?}");
    let expected: Vec<_> = (1..).take(numbers.len()).collect();
    assert_eq!(numbers, expected);
    assert_eq!(anchored.verify().await.findings, []);
    assert_eq!(of_log(&anchored.harness).await, []);
}

/// PR-147: a start also finds a loss that the newest checkpoint does not name.
#[tokio::test]
async fn pr_147_a_start_compares_all_checkpoints_since_the_last_full_one() {
    let anchored = Anchored::new().await;
    let harness = &anchored.harness;
    let world = harness.world(Environment::Live);
    anchored.change("a").await;
    let mut heads = Vec::new();
    harness
        .fake
        .edit_control_heads(|found| heads.clone_from(found));
    anchored.change("b").await;
    anchored.period().await;
    let test = harness.test().await;
    harness.user(&test, "ada@example.com").await;
    anchored.period().await;
    let newest = anchored.notes().pop().unwrap();
    let is_of_live = |line: &Line| matches!(line, Line::Chain { world: of, .. } if *of == world);
    assert!(!stated(&newest.note).lines.iter().any(is_of_live));
    // The last change in the live environment is gone.
    harness.fake.edit_control_heads(|found| {
        found.retain(|head| head.world != world);
        found.extend(heads.into_iter().filter(|head| head.world == world));
    });
    harness.fake.edit_control_entries(|entries| {
        let last = entries.iter().rposition(|entry| entry.event.world == world);
        entries.remove(last.unwrap());
    });
    let sink = sink_in(anchored.directory.path());
    harness.process_with_sinks(vec![sink]).look_at_sinks().await;
    let found = of_log(harness).await.pop().unwrap();
    assert_eq!(found.event.action, ControlAction::AuditFindingReport);
    let detail = detail(&found);
    let first = detail["first"].as_str().unwrap();
    assert!(
        first.contains("ends at") && first.contains("checkpoint 1"),
        "{first}"
    );
}

/// PR-144: a key that a failover could lose signs nothing.
#[tokio::test]
async fn pr_144_a_young_key_signs_no_checkpoint() {
    let harness = Harness::new().await;
    let service = &harness.service;
    for (passed, left) in [(0, 60), (59, 1)] {
        harness.pass(passed);
        let wait = service.checkpoint_key_ripens_in().await.unwrap();
        assert_eq!(wait, Seconds(left));
        assert!(service.make_checkpoint().await.unwrap().is_none());
    }
    harness.pass(1);
    let made = service.make_checkpoint().await.unwrap();
    assert_eq!(made.map(|made| made.number), Some(1));
}

/// PR-146: a process that stops returns the lease, and another one continues in its next period.
#[tokio::test]
async fn pr_146_a_process_that_stops_returns_the_lease() {
    let anchored = Anchored::new().await;
    let harness = &anchored.harness;
    let other = harness.process_with_sinks(vec![sink_in(anchored.directory.path())]);
    anchored.change("a").await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let service = harness.process_of_seconds(vec![sink_in(anchored.directory.path())]);
    let running = tokio::spawn(async move {
        let stopped = async { stopped.await.unwrap() };
        service.run_checkpoints(stopped).await;
    });
    let mut looks = tokio::time::interval(std::time::Duration::from_millis(20));
    let directory = anchored.directory.path();
    while std::fs::read_dir(directory).unwrap().next().is_none() {
        looks.tick().await;
    }
    let lease_ends = || {
        let mut ends = None;
        harness
            .fake
            .edit_leases(|leases| ends = leases.get("checkpoint").map(|(_, ends)| *ends));
        ends.unwrap()
    };
    assert!(lease_ends() > harness.now());
    stop.send(()).unwrap();
    running.await.unwrap();
    assert!(lease_ends() <= harness.now());
    anchored.change("b").await;
    other.checkpoint_round("other").await.unwrap();
    assert_eq!(anchored.numbers().await, [1, 2]);
}

/// One process makes the checkpoints; the other takes over when it is gone.
#[tokio::test]
async fn one_process_makes_them() {
    let anchored = Anchored::new().await;
    let harness = &anchored.harness;
    let other = harness.process_with_sinks(vec![sink_in(anchored.directory.path())]);
    anchored.change("a").await;
    anchored.service.checkpoint_round("first").await.unwrap();
    anchored.change("b").await;
    other.checkpoint_round("second").await.unwrap();
    assert_eq!(anchored.numbers().await, [1]);
    harness.pass(121);
    other.checkpoint_round("second").await.unwrap();
    assert_eq!(anchored.numbers().await, [1, 2]);
    // It had not seen what the first one named.
    assert!(stated(&anchored.notes()[1].note).lines.len() > 1);
    assert_eq!(anchored.verify().await.findings, []);
}

/// A test sink that can be made to fail.
#[derive(Default)]
pub(crate) struct Shelf {
    kept: Mutex<BTreeMap<i64, String>>,
    is_closed: AtomicBool,
}

impl Shelf {
    fn numbers(&self) -> Vec<i64> {
        self.kept.lock().unwrap().keys().copied().collect()
    }
}

#[port]
impl CheckpointSink for Shelf {
    fn name(&self) -> &str {
        "shelf"
    }

    async fn put(&self, number: i64, note: &str) -> Result<(), SinkError> {
        if self.is_closed.load(Ordering::SeqCst) {
            return Err(SinkError::Unavailable("closed by the test".into()));
        }
        let mut kept = self.kept.lock().unwrap();
        let there = kept.entry(number).or_insert_with(|| note.to_owned());
        if there == note {
            Ok(())
        } else {
            Err(SinkError::Differs { number })
        }
    }

    async fn newest(&self) -> Result<Option<String>, SinkError> {
        Ok(self.kept.lock().unwrap().values().next_back().cloned())
    }

    async fn since(&self, number: i64) -> Result<Vec<String>, SinkError> {
        let kept = self.kept.lock().unwrap();
        Ok(kept.range(number..).map(|(_, note)| note.clone()).collect())
    }
}

/// A failing sink does not delay the others. It is reported once after ten periods and receives everything when it recovers.
#[tokio::test]
async fn a_failing_sink_is_reported_and_catches_up() {
    let (anchored, shelf) = Anchored::with_shelf().await;
    shelf.is_closed.store(true, Ordering::SeqCst);
    for period in 1..=10 {
        anchored.change(&period.to_string()).await;
        anchored.period().await;
    }
    assert_eq!(
        of_log(&anchored.harness).await,
        [],
        "it may be a short failure"
    );
    for _ in 0..5 {
        anchored.period().await;
    }
    let noted = of_log(&anchored.harness).await;
    let [entry] = &noted[..] else {
        panic!("not one entry: {noted:?}");
    };
    let event = &entry.event;
    assert_eq!(
        (event.action, event.outcome, &event.actor),
        (
            ControlAction::AuditSinkFail,
            Outcome::Failed,
            &Actor::System
        )
    );
    assert_eq!(
        (event.subject.kind, &*event.subject.id),
        (SubjectKind::AuditSink, "shelf")
    );
    assert!(shelf.numbers().is_empty());
    shelf.is_closed.store(false, Ordering::SeqCst);
    anchored.period().await;
    assert_eq!(shelf.numbers(), anchored.numbers().await);
    // A later failure is a new one, with its own start time.
    shelf.is_closed.store(true, Ordering::SeqCst);
    anchored.change("again").await;
    anchored.period().await;
    assert_eq!(of_log(&anchored.harness).await.len(), 1);
    assert_eq!(findings(&anchored.harness).await, []);
}

/// The status of the deployment tells what each sink has, and alarms about a sink that is behind and about rounds that have stopped.
#[tokio::test]
async fn the_status_tells_of_sinks_and_stopped_rounds() {
    let (anchored, shelf) = Anchored::with_shelf().await;
    let status = |of: Arc<Service>| async move {
        let status = of.deployment_status(Principal::cli()).await.unwrap();
        let sinks = status.sinks.iter();
        let lacks: Vec<_> = sinks.map(|sink| sink.waiting_since.is_some()).collect();
        let alarms = status.alarms.iter().map(|alarm| match alarm {
            Alarm::SinkBehind { sink, .. } => sink.name.clone(),
            Alarm::CheckpointsStopped { .. } => "stopped".to_owned(),
            other => format!("{other:?}"),
        });
        (lacks, alarms.collect::<Vec<_>>())
    };
    anchored.change("first").await;
    anchored.period().await;
    let all_well = (vec![false, false], vec![]);
    assert_eq!(status(anchored.service.clone()).await, all_well);

    shelf.is_closed.store(true, Ordering::SeqCst);
    anchored.change("second").await;
    anchored.period().await;
    let late = (vec![true, false], vec![]);
    assert_eq!(status(anchored.service.clone()).await, late);
    for _ in 0..12 {
        anchored.period().await;
    }
    let behind = (vec![true, false], vec!["shelf".to_owned()]);
    assert_eq!(status(anchored.service.clone()).await, behind);

    shelf.is_closed.store(false, Ordering::SeqCst);
    anchored.period().await;
    assert_eq!(status(anchored.service.clone()).await, all_well);
    anchored.harness.pass(3_600);
    let stopped = (vec![false, false], vec!["stopped".to_owned()]);
    assert_eq!(status(anchored.service.clone()).await, stopped);
}

/// A service that blocks keys without an anchor, with a wallet to try it on.
struct Guarded {
    harness: Harness,
    service: Arc<Service>,
    shelf: Arc<Shelf>,
    wallet: WalletId,
}

impl Guarded {
    async fn new() -> Self {
        let harness = Harness::new().await.with_checkpoint_key().await;
        let shelf = Arc::new(Shelf::default());
        let sinks: Vec<Arc<dyn CheckpointSink>> = vec![Arc::new(LogSink::default()), shelf.clone()];
        let service = harness.process_that_requires_an_anchor(sinks, Seconds(600));
        let test = harness.test().await;
        let wallet = harness.user(&test, "ann@example.com").await.wallets[0].id;
        Self {
            harness,
            service,
            shelf,
            wallet,
        }
    }

    async fn signs(&self) -> bool {
        let test = self
            .service
            .authenticate(self.harness.test_key())
            .await
            .unwrap();
        match self.service.sign(&test, text(self.wallet, "hi")).await {
            Ok(_) => true,
            Err(SignError::Common(Refusal::Fault(Fault::Unavailable(_)))) => false,
            Err(other) => panic!("{other:?}"),
        }
    }

    async fn round(&self) {
        self.service.checkpoint_round("this process").await.unwrap();
    }
}

/// Where an anchor is required, keys are blocked once no sink has stored a checkpoint for the configured time, whatever else happens.
///
/// The next checkpoint unblocks them. Time in which nothing happened does not count.
#[tokio::test]
async fn aud_5_keys_are_blocked_without_a_required_anchor() {
    let guarded = Guarded::new().await;
    let (harness, shelf) = (&guarded.harness, &guarded.shelf);
    assert!(guarded.signs().await, "a process that has just started");
    harness.pass(601);
    assert!(!guarded.signs().await);
    let test = guarded
        .service
        .authenticate(harness.test_key())
        .await
        .unwrap();
    assert!(
        guarded
            .service
            .get_wallet(&test, guarded.wallet)
            .await
            .is_ok()
    );
    guarded.round().await;
    harness.pass(5);
    assert!(guarded.signs().await);
    // Only that happens.
    guarded.round().await;
    for _ in 0..3 {
        harness.pass(500);
        guarded.round().await;
    }
    harness.pass(500);
    assert!(guarded.signs().await);
    shelf.is_closed.store(true, Ordering::SeqCst);
    harness.pass(110);
    guarded.round().await;
    harness.pass(5);
    assert!(!guarded.signs().await);
    shelf.is_closed.store(false, Ordering::SeqCst);
    guarded.round().await;
    harness.pass(5);
    assert!(guarded.signs().await);
}

/// The same against an attacker who can write to the database: no edit of a sink's progress unblocks a key.
#[tokio::test]
async fn aud_5_aud_10_edited_progress_is_no_anchor() {
    type Edit = fn(&mut BTreeMap<(World, String), SinkProgress>, Timestamp);
    fn shelf(sinks: &mut BTreeMap<(World, String), SinkProgress>) -> &mut SinkProgress {
        let mut sinks = sinks.values_mut();
        sinks.find(|progress| progress.sink == "shelf").unwrap()
    }
    let edits: [(&str, Edit); 6] = [
        ("a moved time", |sinks, now| shelf(sinks).at = now),
        ("a time in the future", |sinks, now| {
            shelf(sinks).at = now + Seconds(1_000_000);
        }),
        ("a raised number", |sinks, _| {
            shelf(sinks).number = 1_000_000_000
        }),
        ("both", |sinks, now| {
            let progress = shelf(sinks);
            (progress.number, progress.at) = (1_000_000_000, now);
        }),
        ("the position of the log", |sinks, _| {
            let log = sinks.values().find(|progress| progress.sink == "log");
            let log = log.unwrap().clone();
            assert!(log.at > shelf(sinks).at, "the log accepts everything");
            *shelf(sinks) = SinkProgress {
                sink: "shelf".to_owned(),
                ..log
            };
        }),
        ("the row is gone", |sinks, _| {
            sinks.retain(|(_, sink), _| sink != "shelf")
        }),
    ];
    let guarded = Guarded::new().await;
    let harness = &guarded.harness;
    guarded.round().await;
    harness.pass(5);
    // The log has something that the sink lacks.
    assert!(guarded.signs().await);
    guarded.shelf.is_closed.store(true, Ordering::SeqCst);
    harness.pass(601);
    guarded.round().await;
    let whole = harness.fake.kept();
    for (what, edit) in edits {
        harness
            .fake
            .edit_checkpoints(|_, sinks| edit(sinks, harness.now()));
        assert!(!guarded.signs().await, "{what}");
        // The result of a check is cached for some seconds.
        harness.pass(6);
        assert!(!guarded.signs().await, "{what}, later");
        harness.fake.set_back(whole.clone());
    }
    guarded.shelf.is_closed.store(false, Ordering::SeqCst);
    guarded.round().await;
    harness.pass(6);
    assert!(guarded.signs().await);
}

/// If the clock was ahead when the sink stored a checkpoint, keys stay blocked until that time comes.
#[tokio::test]
async fn aud_5_an_anchor_in_the_future_counts_as_never() {
    let mut guarded = Guarded::new().await;
    guarded.round().await;
    guarded.harness.pass(100_000);
    guarded.round().await;
    guarded.harness.pass(-100_000);
    // A process with no memory of the sink having been in time.
    let sinks: Vec<Arc<dyn CheckpointSink>> =
        vec![Arc::new(LogSink::default()), guarded.shelf.clone()];
    guarded.service = guarded
        .harness
        .process_that_requires_an_anchor(sinks, Seconds(600));
    assert!(guarded.signs().await, "a process that has just started");
    guarded.harness.pass(601);
    assert!(!guarded.signs().await);
}

/// An edit of a sink's progress withholds no checkpoint from it, is recorded, and is then corrected.
#[tokio::test]
async fn aud_10_edited_progress_silences_no_sink() {
    type Edit = fn(&mut SinkProgress);
    let edits: [(&str, Edit); 3] = [
        ("number", |progress| progress.number = 1_000_000_000),
        ("time", |progress| {
            progress.at = progress.at + Seconds(1 << 40)
        }),
        ("mac", |progress| progress.mac.tag[3] ^= 1),
    ];
    let anchored = Anchored::new().await;
    let harness = &anchored.harness;
    let mut alarms = 0;
    for (what, edit) in edits {
        anchored.change(what).await;
        anchored.period().await;
        assert_eq!(anchored.verify().await.findings, [], "{what}");
        harness.fake.edit_checkpoints(|_, sinks| {
            sinks.values_mut().for_each(edit);
        });
        let found = findings(&anchored.harness).await;
        assert_eq!(found, [], "{what}: a service without that sink");
        let report = anchored.verify().await;
        assert!(
            report
                .findings
                .iter()
                .any(|finding| finding.kind == FindingKind::ForgedProgress),
            "{what}: {:?}",
            report.findings
        );
        let before = anchored.numbers().await;
        anchored.change(&format!("{what}-later")).await;
        anchored.period().await;
        let after = anchored.numbers().await;
        assert_eq!(after.len(), before.len() + 1, "{what}");
        let noted = of_log(harness).await;
        let found = noted.iter().rev();
        let found: Vec<_> = found
            .filter(|entry| entry.event.action == ControlAction::AuditFindingReport)
            .collect();
        alarms += 1;
        assert_eq!(found.len(), alarms, "{what}: {noted:?}");
        let first = detail(found[0])["first"].as_str().unwrap().to_owned();
        assert!(first.contains("was altered"), "{what}: {first}");
        assert_eq!(anchored.verify().await.findings, [], "{what}, afterwards");
    }
}

/// Checkpoints deleted after the sink received them: its progress is beyond the newest one. That is recorded, and no number is reused.
#[tokio::test]
async fn aud_10_progress_beyond_the_newest_checkpoint_is_reported() {
    let anchored = Anchored::new().await;
    let harness = &anchored.harness;
    for name in ["a", "b", "c"] {
        anchored.change(name).await;
        anchored.period().await;
    }
    harness.fake.edit_checkpoints(|checkpoints, _| {
        checkpoints.retain(|(_, number), _| *number < 2);
    });
    let found = anchored.verify().await.findings;
    let beyond = AuditFinding {
        about: About::Checkpoint(3),
        kind: FindingKind::NotInDatabase { newest: 1 },
    };
    assert!(found.contains(&beyond), "{found:?}");
    anchored.change("d").await;
    anchored.period().await;
    assert_eq!(anchored.numbers().await, [1, 2, 3, 4]);
    let noted = of_log(harness).await;
    let found = noted
        .iter()
        .find(|entry| entry.event.action == ControlAction::AuditFindingReport);
    let first = detail(found.unwrap())["first"].clone();
    assert_eq!(
        first,
        json!(
            "checkpoint 3: not in the database, whose newest checkpoint is 1 (possible rollback)"
        )
    );
}

/// Forged checkpoint rows reach no sink and do not displace genuine ones.
#[tokio::test]
async fn aud_10_planted_checkpoints_reach_no_sink() {
    let anchored = Anchored::new().await;
    let harness = &anchored.harness;
    for name in ["a", "b"] {
        anchored.change(name).await;
        anchored.period().await;
    }
    harness.fake.edit_checkpoints(|checkpoints, _| {
        let last = checkpoints.values().next_back().unwrap().clone();
        for (number, note) in [(3, last.note.clone()), (4, "no note\n".to_owned())] {
            let planted = StoredCheckpoint {
                number,
                note,
                ..last.clone()
            };
            checkpoints.insert((World::DEPLOYMENT, number), planted);
        }
    });
    let found = anchored.verify().await.findings;
    for number in [3, 4] {
        let forged = AuditFinding {
            about: About::Checkpoint(number),
            kind: FindingKind::ForgedCheckpoint,
        };
        assert!(found.contains(&forged), "{found:?}");
    }
    anchored.change("c").await;
    anchored.period().await;
    assert_eq!(anchored.numbers().await, [1, 2, 5]);
    anchored.change("d").await;
    anchored.period().await;
    assert_eq!(anchored.numbers().await, [1, 2, 5, 6]);
}

/// A checkpoint deleted before delivery is missed: the next one names everything again.
#[tokio::test]
async fn aud_10_a_deleted_checkpoint_is_missed() {
    let anchored = Anchored::new().await;
    let harness = &anchored.harness;
    anchored.change("a").await;
    anchored.period().await;
    anchored.change("b").await;
    anchored.service.make_checkpoint().await.unwrap().unwrap();
    harness.fake.edit_checkpoints(|checkpoints, _| {
        checkpoints.retain(|(_, number), _| *number < 2);
    });
    anchored.service.bring_to_sinks().await;
    anchored.period().await;
    let all = stated(&anchored.notes()[0].note).lines.len();
    assert!(stated(&anchored.notes()[1].note).lines.len() >= all);
}

/// Checkpoints are not blocked by a lease without end, nor by a holder that keeps the lease without doing the work.
#[tokio::test]
async fn aud_10_a_held_lease_silences_nothing() {
    let anchored = Anchored::new().await;
    let harness = &anchored.harness;
    let hold = |until: Timestamp| {
        harness.fake.edit_leases(|leases| {
            leases.insert("checkpoint".to_owned(), ("nobody".to_owned(), until));
        });
    };
    anchored.change("a").await;
    hold(Timestamp::from_unix(i64::MAX));
    anchored.period().await;
    assert_eq!(anchored.numbers().await, [1]);
    for period in 1..=20 {
        anchored.change(&period.to_string()).await;
        hold(harness.now() + Seconds(60));
        anchored.period().await;
        let made = anchored.numbers().await.len();
        if made > 1 {
            assert!((10..=13).contains(&period), "after {period} periods");
            assert_eq!(anchored.verify().await.findings, []);
            return;
        }
    }
    panic!("the lease is believed for ever");
}

/// Reused numbers leave the sink unchanged. That is reported once, and the next checkpoint names everything.
#[tokio::test]
async fn a_conflicting_sink_is_reported() {
    let anchored = Anchored::new().await;
    let harness = &anchored.harness;
    anchored.change("a").await;
    anchored.period().await;
    let kept = harness.fake.kept();
    for name in ["b", "c"] {
        anchored.change(name).await;
        anchored.period().await;
    }
    let whole = anchored.notes();
    harness.fake.set_back(kept);
    for name in ["d", "e", "f"] {
        anchored.change(name).await;
        anchored.period().await;
    }
    let differs: Vec<_> = of_log(harness)
        .await
        .iter()
        .filter(|entry| entry.event.action == ControlAction::AuditSinkConflict)
        .map(detail)
        .collect();
    assert_eq!(differs, [json!({"number": 2}), json!({"number": 3})]);
    let notes = anchored.notes();
    assert_eq!(notes.len(), 4);
    for (before, now) in whole.iter().zip(&notes) {
        assert_eq!(before.note, now.note, "{}", now.place);
    }
    let last = stated(&notes[3].note);
    assert_eq!(last.number, 4);
    // The control chain of the live environment twice, that of the deployment, and that of the test environment.
    assert!(last.lines.len() >= 4, "{:?}", last.lines);
    let found = anchored.verify().await.findings;
    assert!(
        found
            .iter()
            .any(|finding| finding.about == About::Checkpoint(4)
                && finding.kind == FindingKind::OtherBefore),
        "{found:?}"
    );
    assert!(
        found
            .iter()
            .any(|finding| matches!(finding.kind, FindingKind::SetBack { .. })),
        "{found:?}"
    );
}

/// A process checks the contents of its sinks when it starts.
#[tokio::test]
async fn aud_3_a_start_after_a_restore_is_recorded() {
    let anchored = Anchored::new().await;
    let harness = &anchored.harness;
    anchored.change("a").await;
    anchored.period().await;
    let kept = harness.fake.kept();
    anchored.change("b").await;
    anchored.period().await;
    let start = async || {
        let sink = sink_in(anchored.directory.path());
        harness.process_with_sinks(vec![sink]).look_at_sinks().await;
    };
    start().await;
    assert_eq!(of_log(harness).await, [], "all is well");
    harness.fake.set_back(kept);
    start().await;
    let noted = of_log(harness).await;
    let [entry] = &noted[..] else {
        panic!("{noted:?}");
    };
    assert_eq!(entry.event.action, ControlAction::AuditFindingReport);
    let detail = detail(entry);
    assert_eq!(
        (&detail["checkpoint"], &detail["flaws"]),
        (&json!(2), &json!(2))
    );
    let first = detail["first"].as_str().unwrap();
    assert!(
        first.contains("ends at") && first.contains("checkpoint 2"),
        "{first}"
    );
    // The service continues.
    anchored.change("c").await;
    anchored.period().await;
}

/// An acknowledged finding stays listed and no longer fails verification; later findings do.
#[tokio::test]
async fn an_acknowledged_finding_is_set_aside() {
    let anchored = Anchored::new().await;
    let harness = &anchored.harness;
    let kept = harness.fake.kept();
    anchored.change("lost").await;
    anchored.period().await;
    harness.fake.set_back(kept);
    let notes = anchored.notes();
    let found = anchored.verify().await.findings;
    let [finding] = &found[..] else {
        panic!("{found:?}");
    };
    let about = finding.about.to_string();
    let acknowledge = async |about: &str, reason: &str| {
        let keys = &TrustedKeys::Own;
        let service = &anchored.service;
        service
            .acknowledge_finding(Principal::cli(), about, reason, &notes, keys, &|_| {})
            .await
    };
    for reason in ["", "  ", &"x".repeat(201), &"\"".repeat(150)] {
        let refused = acknowledge(&about, reason).await;
        assert!(matches!(refused, Err(Refusal::Invalid(_))), "{refused:?}");
    }
    let refused = acknowledge("auditchain_nobody", "because").await;
    assert!(
        matches!(refused, Err(Refusal::NotFound("finding"))),
        "{refused:?}"
    );
    assert_eq!(of_log(harness).await, []);

    let reason = "failover of 2027-01-15, \"ticket 17\"";
    let done = acknowledge(&about, reason).await.unwrap();
    assert_eq!(done, found);
    let noted = of_log(harness).await;
    assert_eq!(noted.len(), 1);
    assert_eq!(
        noted[0].event.action,
        ControlAction::AuditFindingAcknowledge
    );
    assert_eq!(noted[0].event.actor, Actor::Cli);
    let report = anchored.verify().await;
    assert_eq!(report.findings, []);
    assert_eq!(report.acknowledged.len(), 1);
    assert_eq!(
        (
            &report.acknowledged[0].finding,
            &*report.acknowledged[0].reason
        ),
        (finding, reason)
    );

    // An attacker who can write to the database but has no key cannot acknowledge anything.
    harness.fake.edit_control_entries(|entries| {
        let mut acknowledged = entries.iter_mut();
        let entry = acknowledged
            .find(|entry| entry.event.world == World::DEPLOYMENT)
            .unwrap();
        entry.event.subject.id = about.clone();
        entry.event.detail = entry.event.detail.replace("ticket 17", "ticket 18");
    });
    let report = anchored.verify().await;
    assert!(report.findings.contains(finding), "{:?}", report.findings);
    assert_eq!(report.acknowledged, []);
}

/// Without the root key there are no checkpoints, and no checkpoint key is created.
#[tokio::test]
async fn without_the_root_key_none_is_made() {
    let harness = Harness::new().await;
    std::fs::remove_file(harness.root_key(KeyPurpose::Wallets)).unwrap();
    let refused = harness.service.make_checkpoint().await;
    assert!(matches!(refused, Err(Fault::Sealed(_))), "{refused:?}");
    let mut read = harness.fake.read().await.unwrap();
    let key = read
        .app_keys()
        .newest(&World::DEPLOYMENT, KeyPurpose::Audit)
        .await
        .unwrap();
    assert!(key.is_none());
}

/// AUD-7: data that leaves the machine reveals nothing about any person.
#[tokio::test]
async fn aud_7_a_checkpoint_holds_ids_and_hashes_only() {
    let anchored = Anchored::new().await;
    let harness = &anchored.harness;
    let test = harness.test().await;
    let user = harness.user(&test, "canary@example.com").await;
    let (_, code) = harness.fresh_code(&test, "canary-two@example.com").await;
    let wallet = &user.wallets[0];
    let signed = harness
        .service
        .sign(&test, text(wallet.id, "a canary message"));
    signed.await.unwrap();
    let secret = Secret::new("canary-secret-of-google".to_owned());
    let google = ProviderName::parse("google").unwrap();
    let set = harness.service.set_provider(
        Principal::cli(),
        test.world,
        google,
        "client",
        &secret,
        ConnectionSettings::default(),
    );
    set.await.unwrap();
    harness.service.sequence_all().await.unwrap();
    anchored.period().await;
    let note = anchored.notes().remove(0).note;
    let own = anchored.service.checkpoint_key().await.unwrap();
    for canary in [
        "canary",
        &*code,
        &wallet.public_address,
        harness.test_key(),
        "client",
        // The key itself is for an operator who wants to keep it, not for someone who finds a note. Its base64 may contain a plus sign.
        own.to_string().splitn(3, '+').nth(2).unwrap(),
    ] {
        assert!(!note.contains(canary), "{canary} in {note}");
    }
}

/// A root key rotation includes the deployment's keys. The checkpoint key is unchanged, both before and after there is a deployment log.
#[tokio::test]
async fn the_key_stays_when_root_keys_are_rotated() {
    let anchored = Anchored::new().await;
    let (harness, service) = (&anchored.harness, &anchored.service);
    anchored.period().await;
    let before = service.checkpoint_key().await.unwrap();
    for is_logged in [false, true] {
        if is_logged {
            // A database rollback that has an entry.
            let kept = harness.fake.kept();
            anchored.change("lost").await;
            anchored.period().await;
            harness.fake.set_back(kept);
            service.look_at_sinks().await;
            assert_eq!(
                of_log(harness).await.last().unwrap().event.action,
                ControlAction::AuditFindingReport
            );
        }
        let rotated = service
            .vault_rotate_root(Principal::cli(), &|_, _| {})
            .await
            .unwrap();
        assert!(rotated.failed.is_empty(), "{rotated:?}");
        assert_eq!(service.vault_retire(Principal::cli()).await.unwrap(), 0);
        harness.pass(3_600);
        let other = harness.other_process();
        assert_eq!(other.checkpoint_key().await.unwrap(), before);
        let verified = other.vault_verify(&|_| {}).await.unwrap();
        assert!(verified.failed_app_keys.is_empty(), "{verified:?}");
        assert_eq!(findings(harness).await, []);
    }
    let rewrapped = of_log(harness).await;
    let rewrapped = rewrapped
        .iter()
        .filter(|entry| entry.event.action == ControlAction::AppKeyRewrap);
    // The checkpoint key and the log key, each time.
    assert_eq!(rewrapped.count(), 4);
}

/// Acknowledging an altered entry or head covers no later change to the same chain.
#[tokio::test]
async fn aud_10_an_acknowledgement_covers_nothing_later() {
    type Edit = fn(&mut Vec<ControlEntry>, usize);
    let alter: Edit = |entries, at| entries[at].event.request_id = Some("altered".to_owned());
    for (what, is_head) in [("an entry", false), ("the head", true)] {
        let harness = Harness::new().await;
        let world = harness.world(Environment::Live);
        for name in ["a", "b", "c", "d"] {
            let url = format!("https://app.example.com/{name}");
            let added = harness.service.add_redirect_url(
                Principal::cli(),
                world,
                RedirectKind::Login,
                &url,
                false,
            );
            added.await.unwrap();
        }
        let places: Vec<usize> = {
            let mut places = Vec::new();
            harness.fake.edit_control_entries(|entries| {
                let of_world = entries.iter().enumerate();
                let of_world = of_world.filter(|(_, entry)| entry.event.world == world);
                places.extend(of_world.map(|(at, _)| at));
            });
            places
        };
        if is_head {
            harness.fake.edit_control_heads(|heads| {
                let mut heads = heads.iter_mut();
                let head = heads.find(|head| head.world == world).unwrap();
                head.mac.tag[0] ^= 1;
            });
        } else {
            harness
                .fake
                .edit_control_entries(|entries| alter(entries, places[0]));
        }
        let found = findings(&harness).await;
        let [finding] = &found[..] else {
            panic!("{what}: {found:?}");
        };
        let about = finding.about.to_string();
        let keys = &TrustedKeys::Own;
        let done = harness.service.acknowledge_finding(
            Principal::cli(),
            &about,
            "a test",
            &[],
            keys,
            &|_| {},
        );
        done.await.unwrap();
        assert_eq!(findings(&harness).await, [], "{what}");
        let kept = harness.fake.kept();
        harness
            .fake
            .edit_control_entries(|entries| alter(entries, places[2]));
        assert_eq!(findings(&harness).await, found, "{what}, and another entry");
        harness.fake.set_back(kept);
        harness
            .fake
            .edit_control_entries(|entries| drop(entries.remove(*places.last().unwrap())));
        let after = findings(&harness).await;
        assert!(!after.is_empty(), "{what}, and the end is cut");
    }
}

/// An event log that gets a new number after a failover is not a finding: its event and an entry say so. A log that was cut and renumbered
/// is one, even if the event was forged.
#[tokio::test]
async fn aud_11_e_9_a_higher_log_number_needs_its_event() {
    let anchored = Anchored::new().await;
    let harness = &anchored.harness;
    let test = harness.test().await;
    harness.user(&test, "ann@example.com").await;
    harness.service.sequence_all().await.unwrap();
    let survived = harness.fake.kept();
    harness.user(&test, "bob@example.com").await;
    harness.service.sequence_all().await.unwrap();
    anchored.period().await;
    let whole = harness.fake.kept();
    let about_events = |report: &AuditReport| {
        let findings = report.findings.iter();
        let findings = findings.filter(|finding| matches!(finding.about, About::Events(_)));
        findings.map(|finding| finding.kind).collect::<Vec<_>>()
    };

    // A failover that the process detects.
    harness.fake.set_back(survived);
    harness.user(&test, "cat@example.com").await;
    harness.service.sequence_all().await.unwrap();
    assert_eq!(about_events(&anchored.verify().await), []);
    let control = written(harness, test.world).await;
    let entry = control.last().unwrap();
    assert_eq!(entry.event.action, ControlAction::ChainRestart);
    assert_eq!(detail(entry), json!({"log": 2}));
    let mut restarted = Vec::new();
    harness.fake.edit_events(|events, heads| {
        let of_world = events
            .iter()
            .filter(|event| event.event.world == test.world);
        restarted.extend(of_world.filter(|event| event.log == 2).cloned());
        restarted.truncate(1);
        assert_eq!(heads[&test.world].log, 2);
    });
    let [restarted] = &restarted[..] else {
        panic!("no event says so");
    };

    // The same by hand: cut, renumbered, and with the event.
    harness.fake.set_back(whole.clone());
    for is_made_up in [false, true] {
        harness.fake.edit_events(|events, heads| {
            let place = restarted.position;
            events.retain(|event| event.event.world != test.world || event.position < place);
            let head = heads.get_mut(&test.world).unwrap();
            head.log = 2;
            let mut newest = events
                .iter()
                .filter(|event| event.event.world == test.world)
                .max_by_key(|event| event.position)
                .unwrap()
                .clone();
            if is_made_up {
                newest = restarted.clone();
                events.push(newest.clone());
            } else {
                // Also the number of the event that is now last.
                let mut last = events
                    .iter_mut()
                    .filter(|event| event.event.id == newest.event.id);
                last.next().unwrap().log = 2;
            }
            head.newest = Some(Position {
                position: newest.position,
                id: newest.event.id,
            });
        });
        let found = about_events(&anchored.verify().await);
        assert!(
            found.contains(&FindingKind::NotRestarted { log: 2 }),
            "made up: {is_made_up}: {found:?}"
        );
        harness.fake.set_back(whole.clone());
    }
}
