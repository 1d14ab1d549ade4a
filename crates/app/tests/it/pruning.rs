//! Export and removal of old audit log entries, and that the remaining log still verifies.

use std::collections::BTreeMap;
use std::io;

use vestry_app::audit::{AuditFinding, Exported, FindingKind, SourcedNote, TrustedKeys};
use vestry_app::{Principal, Refusal};
use vestry_contract::sealing::Recipient;
use vestry_domain::api_key::Scope;
use vestry_domain::audit::control::ControlAction;
use vestry_domain::audit::{AuditAction, AuditMarker};
use vestry_domain::ids::{AuditChainId, WalletId};
use vestry_domain::redirect::RedirectKind;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::store::{ChainLog, Store};

use crate::audit::findings;
use crate::changes::{detail, written};
use crate::harness::Harness;
use crate::wallet_export::to;
use crate::wallets::text;

/// A database with something to prune: signatures and changes, the newest of them ten seconds old.
struct Grown {
    harness: Harness,
    wallet: WalletId,
}

impl Grown {
    async fn new() -> Self {
        let harness = Harness::new().await.with_checkpoint_key().await;
        let test = harness.test().await;
        let wallet = harness.user(&test, "ada@example.com").await.wallets[0].id;
        let grown = Self { harness, wallet };
        for number in 0..3 {
            grown.goes_on(&format!("old-{number}")).await;
        }
        grown.harness.pass(10);
        grown
    }

    /// Makes a signature and a change.
    async fn goes_on(&self, name: &str) {
        let test = self.harness.test().await;
        let signed = self.harness.service.sign(&test, text(self.wallet, name));
        signed.await.unwrap();
        let url = format!("https://app.example.com/{name}");
        let world = self.harness.world(Environment::Live);
        let kind = RedirectKind::Login;
        let added =
            self.harness
                .service
                .add_redirect_url(Principal::cli(), world, kind, &url, false);
        added.await.unwrap();
    }

    /// Prunes everything that is at least a second old.
    async fn prune(&self) -> Result<Vec<(AuditChainId, i64)>, Refusal> {
        self.prune_before(self.harness.now()).await
    }

    /// Prunes entries before a time and returns the export: the chain and the position of each entry.
    async fn prune_before(&self, before: Timestamp) -> Result<Vec<(AuditChainId, i64)>, Refusal> {
        let service = &self.harness.service;
        let mut exported = Vec::new();
        let mut write = |entry: Exported<'_>| {
            exported.push(match entry {
                Exported::Use(entry) => (entry.chain, entry.sequence),
                Exported::Change(entry) => (entry.chain, entry.sequence),
            });
            Ok(())
        };
        let prunable = service
            .export_audit_log(Principal::cli(), before, &mut write, &|_| {})
            .await?;
        assert_eq!(prunable.entries(), u64::try_from(exported.len()).unwrap());
        service
            .prune_audit_log(Principal::cli(), &prunable, "00", &|_| {})
            .await?;
        Ok(exported)
    }

    /// The positions of the remaining entries, by chain.
    async fn places(&self) -> BTreeMap<AuditChainId, Vec<i64>> {
        let mut places = BTreeMap::<_, Vec<i64>>::new();
        for environment in Environment::ALL {
            let world = self.harness.world(environment);
            let mut read = self.harness.fake.read().await.unwrap();
            for head in read.audit_log().heads(&world).await.unwrap() {
                let log = read.audit_chains();
                let entries = log.entries(&world, ChainLog::Wallets, head.chain, 0, 1_000);
                let of_chain = places.entry(head.chain).or_default();
                of_chain.extend(
                    entries
                        .await
                        .unwrap()
                        .iter()
                        .map(|entry| entry.link().sequence),
                );
            }
            for entry in written(&self.harness, world).await {
                places.entry(entry.chain).or_default().push(entry.sequence);
            }
        }
        places
    }

    async fn restarts(&self) -> usize {
        let mut restarts = 0;
        for environment in Environment::ALL {
            let entries = written(&self.harness, self.harness.world(environment)).await;
            let restarted = entries.iter().map(|entry| entry.event.action);
            restarts += restarted
                .filter(|action| *action == ControlAction::ChainRestart)
                .count();
        }
        restarts
    }
}

/// Exactly the exported entries are removed, each chain keeps its end, and everything verifies as before, checkpoints included.
#[tokio::test]
async fn aud_2_aud_3_a_pruned_log_is_verified_from_its_new_start() {
    let grown = Grown::new().await;
    let harness = &grown.harness;
    let old = harness.service.make_checkpoint().await.unwrap().unwrap();
    grown.goes_on("young").await;
    let between = harness.service.make_checkpoint().await.unwrap().unwrap();
    let before = grown.places().await;

    let exported = grown.prune().await.unwrap();

    let mut expected = before.clone();
    for (chain, place) in &exported {
        let places = expected.get_mut(chain).unwrap();
        assert_eq!(places.remove(0), *place, "from the start");
        assert!(!places.is_empty(), "{chain} lost its end");
    }
    assert_eq!(grown.places().await, expected);
    // The wallet's chain and both chains of the control log.
    let chains: BTreeMap<_, _> = exported.iter().copied().collect();
    assert_eq!(chains.len(), 3, "{exported:?}");

    // Both this process and a new one continue where the chains end.
    let other = harness.other_process();
    let world = harness.world(Environment::Live);
    let url = "https://app.example.com/other";
    let added = other.add_redirect_url(Principal::cli(), world, RedirectKind::Login, url, false);
    added.await.unwrap();
    grown.goes_on("later").await;
    assert_eq!(
        (findings(harness).await, grown.restarts().await),
        (vec![], 0)
    );
    let notes = [old.note, between.note].map(|note| SourcedNote {
        place: "a file".to_owned(),
        note,
    });
    let report = harness
        .service
        .verify_audit_log_against(&notes, &TrustedKeys::Own, &|_| {});
    let report = report.await.unwrap();
    assert_eq!((report.findings, report.checkpoints), (vec![], 2));

    // And again, after the markers.
    harness.pass(10);
    assert!(!grown.prune().await.unwrap().is_empty());
    assert_eq!(findings(harness).await, []);
    assert_eq!(grown.prune().await.unwrap(), []);
}

/// Each pruned chain has an entry that says how many entries were removed, up to which position, and where they were exported.
#[tokio::test]
async fn aud_1_pruning_is_recorded() {
    let grown = Grown::new().await;
    let exported = grown.prune().await.unwrap();
    let mut through = BTreeMap::new();
    let mut entries = BTreeMap::<_, u64>::new();
    for (chain, place) in exported {
        through.insert(chain.to_string(), place);
        *entries.entry(chain.to_string()).or_default() += 1;
    }
    let log = written(&grown.harness, World::DEPLOYMENT).await;
    let mut chains = Vec::new();
    for entry in &log {
        assert_eq!(entry.event.action, ControlAction::AuditPrune);
        let chain = entry.event.subject.id.clone();
        let detail = detail(entry);
        assert_eq!(detail["through"], through[&chain]);
        assert_eq!(detail["entries"], entries[&chain]);
        assert_eq!(detail["file_sha256"], "00");
        assert_eq!(detail["before"], grown.harness.now().unix());
        chains.push(chain);
    }
    chains.sort();
    assert!(chains.iter().eq(through.keys()), "{chains:?}");
}

/// A process that has not written for a long time does not report its pruned entries as lost, unless the marker was forged.
#[tokio::test]
async fn aud_4_a_pruned_end_is_not_a_lost_end() {
    for (is_forged, restarts) in [(false, 0), (true, 1)] {
        let grown = Grown::new().await;
        let harness = &grown.harness;
        // This process remembers an end; another one continues the chain, and that end is pruned.
        let other = harness.other_process();
        let world = harness.world(Environment::Live);
        for name in ["one", "two"] {
            let url = format!("https://app.example.com/{name}");
            let added =
                other.add_redirect_url(Principal::cli(), world, RedirectKind::Login, &url, false);
            added.await.unwrap();
        }
        harness.pass(1);
        grown.prune().await.unwrap();
        harness.fake.edit_audit_markers(|markers| {
            for marker in markers.iter_mut().filter(|_| is_forged) {
                marker.mac.tag = vec![0; 32];
            }
        });
        grown.goes_on("later").await;
        assert_eq!(grown.restarts().await, restarts);
    }
}

/// An attacker with write access to the database but no key can neither shorten a chain nor hide that it was shortened.
#[tokio::test]
async fn aud_2_an_altered_marker_is_found() {
    type Edit = fn(&mut Vec<AuditMarker>);
    let edits: [(&str, Edit, &[&str]); 4] = [
        ("moved on", |all| all[0].sequence += 1, &["forged_marker"]),
        (
            "another hash",
            |all| all[0].hash[0] ^= 1,
            &["forged_marker"],
        ),
        ("gone", |all| drop(all.remove(0)), &["broken"]),
        (
            "the marker of another chain",
            |all| {
                let (world, chain) = (all[0].world, all[0].chain);
                all[0] = AuditMarker {
                    world,
                    chain,
                    ..all[1].clone()
                };
            },
            &["forged_marker"],
        ),
    ];
    for (what, edit, expected) in edits {
        let grown = Grown::new().await;
        grown.prune().await.unwrap();
        grown.harness.fake.edit_audit_markers(edit);
        let found = findings(&grown.harness).await;
        let kind = |finding: &AuditFinding| match finding.kind {
            FindingKind::ForgedMarker => "forged_marker",
            FindingKind::Broken { .. } => "broken",
            other => panic!("{what}: {other:?}"),
        };
        let kinds: Vec<_> = found.iter().map(kind).collect();
        assert_eq!(kinds, expected, "{what}");
    }
}

/// The marker of a pruned chain remains when everything else is deleted.
#[tokio::test]
async fn aud_3_a_deleted_pruned_chain_is_found() {
    let grown = Grown::new().await;
    grown.prune().await.unwrap();
    grown.harness.fake.edit_audit_log(|entries, heads| {
        entries.clear();
        heads.clear();
    });
    let found = findings(&grown.harness).await;
    let found: Vec<_> = found.iter().map(|finding| finding.kind).collect();
    assert_eq!(found, [FindingKind::NoHead]);
}

/// Whatever fails, no unexported entry is removed and no chain is broken. A second run completes the prune.
#[tokio::test]
async fn aud_2_no_failure_of_a_prune_breaks_a_chain() {
    for operations in 0.. {
        let grown = Grown::new().await;
        grown.harness.fake.fail_after(operations);
        let pruned = grown.prune().await;
        let was_reached = !grown.harness.fake.has_yet_to_fail();
        grown.harness.fake.fail_after(None);
        assert_eq!(
            findings(&grown.harness).await,
            [],
            "after {operations}, {pruned:?}"
        );
        grown.prune().await.unwrap();
        assert_eq!(findings(&grown.harness).await, [], "after {operations}");
        assert_eq!(grown.prune().await.unwrap(), []);
        if !was_reached {
            assert!(pruned.is_ok());
            return;
        }
    }
}

/// Export entries are kept, because they show that a wallet's key also exists elsewhere.
#[tokio::test]
async fn exports_are_not_pruned() {
    let grown = Grown::new().await;
    let harness = &grown.harness;
    harness.set(&[("wallet_export", "true")]).await;
    let exporter = harness.scoped(vec![Scope::WalletsExport]).await;
    let command = to(&Recipient::fresh(), grown.wallet);
    harness
        .service
        .export_wallet(&exporter, command)
        .await
        .unwrap();
    grown.goes_on("after").await;
    harness.pass(1);
    grown.prune().await.unwrap();
    let mut read = harness.fake.read().await.unwrap();
    let log = read.audit_log();
    let action = AuditAction::Export;
    assert!(
        log.has(&exporter.world, grown.wallet, action)
            .await
            .unwrap()
    );
    drop(read);
    assert_eq!(findings(harness).await, []);
}

/// Nothing is removed from a log that does not verify, for a time in the future, or if the export cannot be written.
#[tokio::test]
async fn unsafe_prunes_are_refused() {
    let grown = Grown::new().await;
    let harness = &grown.harness;
    let places = grown.places().await;
    let later = harness.now() + Seconds(1);
    let refused = grown.prune_before(later).await;
    assert!(matches!(refused, Err(Refusal::Invalid(_))), "{refused:?}");

    let mut full = |_: Exported<'_>| Err(io::Error::from(io::ErrorKind::StorageFull));
    let unwritten =
        harness
            .service
            .export_audit_log(Principal::cli(), harness.now(), &mut full, &|_| {});
    let unwritten = unwritten.await;
    assert!(matches!(unwritten, Err(Refusal::Fault(_))), "{unwritten:?}");

    let kept = harness.fake.kept();
    harness
        .fake
        .edit_audit_log(|entries, _| drop(entries.remove(1)));
    let refused = grown.prune().await;
    assert!(matches!(refused, Err(Refusal::NotNow(_))), "{refused:?}");
    harness.fake.set_back(kept);
    assert_eq!(grown.places().await, places);
}
