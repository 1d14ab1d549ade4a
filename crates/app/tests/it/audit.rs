//! The audit log: what is recorded, that it is recorded before the response, and what verification finds.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use serde_json::json;
use vestry_app::audit::{AuditFinding, FindingKind, ListAudit};
use vestry_app::wallets::{CallMethod, SignError, SignMessage};
use vestry_app::{Caller, Fault, Refusal};
use vestry_contract::race::race;
use vestry_domain::audit::control::{ControlAction, ControlFilter};
use vestry_domain::audit::{AuditAction, AuditEntry, AuditHead, AuditStep, ResultHash};
use vestry_domain::event::Actor;
use vestry_domain::ids::WalletId;
use vestry_domain::wallet::{AddressForm, WalletType};
use vestry_ports::store::{Store, StoreError};

use crate::harness::Harness;
use crate::tamper::{store, unstored};
use crate::wallets::text;

pub(crate) async fn entries(
    harness: &Harness,
    caller: &Caller,
    wallet_id: WalletId,
) -> Vec<AuditEntry> {
    let query = ListAudit {
        wallet_id,
        limit: Some(100),
        starting_after: None,
    };
    let page = harness.service.list_audit(caller, query).await.unwrap();
    assert!(!page.has_more);
    page.entries
}

pub(crate) fn actions(entries: &[AuditEntry]) -> Vec<AuditAction> {
    entries.iter().map(|entry| entry.event.action).collect()
}

pub(crate) async fn findings(harness: &Harness) -> Vec<AuditFinding> {
    harness
        .service
        .verify_audit_log(&|_| {})
        .await
        .unwrap()
        .findings
}

#[tokio::test]
async fn every_use_of_a_key_is_recorded() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.user(&test, "ada@example.com").await;
    let wallet = user.wallets[0].id;
    harness.pass(5);
    let signed = harness.service.sign(&test, text(wallet, "hi")).await;
    let signed = signed.unwrap();
    let call = CallMethod {
        wallet_id: wallet,
        method: "personal_sign".to_owned(),
        params: json!({"message": "hi"}).as_object().unwrap().clone(),
    };
    let called = harness.service.sign(&test, call).await.unwrap();
    harness.service.disable_wallet(&test, wallet).await.unwrap();
    harness.service.disable_wallet(&test, wallet).await.unwrap();
    harness.service.enable_wallet(&test, wallet).await.unwrap();

    let noted = entries(&harness, &test, wallet).await;
    use AuditAction::{Create, Disable, Enable, Rpc, SignMessage};
    assert_eq!(actions(&noted), [Enable, Disable, Rpc, SignMessage, Create]);
    assert_eq!(noted[2].event.detail, "personal_sign");
    assert_eq!(noted[2].event.result, Some(ResultHash::of(&called.signed)));
    assert_eq!(noted[3].event.result, Some(ResultHash::of(&signed.signed)));
    for entry in &noted {
        assert_eq!(entry.event.actor, Actor::ApiKey(test.key().unwrap().id));
        assert_eq!(entry.chain, noted[0].chain);
    }
    assert_eq!(noted[3].event.at, harness.now());
    assert_eq!(findings(&harness).await, []);
}

#[tokio::test]
async fn a_created_wallet_is_recorded_once() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.walletless(&test, "ada@example.com").await;
    for _ in 0..2 {
        let made = harness
            .service
            .create_wallet(&test, user, WalletType::Solana, AddressForm::Usual)
            .await;
        let noted = entries(&harness, &test, made.unwrap().id).await;
        assert_eq!(actions(&noted), [AuditAction::Create]);
    }
}

/// A refused request uses no key and is not recorded; tampering is.
#[tokio::test]
async fn a_refusal_is_not_recorded_and_an_alarm_is() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let mut row = unstored(&harness, &test, "ada@example.com").await;
    row.1.ciphertext[20] ^= 1;
    let wallet = store(&harness, &row).await;
    let wrong = SignMessage {
        wallet_id: wallet,
        request: vestry_domain::signing::MessageRequest {
            message: "0x".to_owned(),
            encoding: Some("morse".to_owned()),
            format: None,
        },
    };
    let refused = harness.service.sign(&test, wrong).await;
    assert!(matches!(refused, Err(SignError::Refused(_))), "{refused:?}");
    assert_eq!(entries(&harness, &test, wallet).await, []);
    let refused = harness.service.sign(&test, text(wallet, "hi")).await;
    assert!(
        matches!(
            refused,
            Err(SignError::Common(Refusal::Fault(Fault::Tampered(_))))
        ),
        "{refused:?}"
    );
    let noted = entries(&harness, &test, wallet).await;
    assert_eq!(actions(&noted), [AuditAction::Tampered]);
    assert_eq!(noted[0].event.detail, "wallet key");
}

/// The next signature is withheld because its entry cannot be written. The one after it succeeds, and only that one is in the log.
async fn loses_one_signature(harness: &Harness, test: &Caller, wallet: WalletId) {
    let refused = harness.service.sign(test, text(wallet, "hi")).await;
    assert!(
        matches!(
            refused,
            Err(SignError::Common(Refusal::Fault(Fault::Unavailable(_))))
        ),
        "{refused:?}"
    );
    harness.pass(1);
    let signed = harness.service.sign(test, text(wallet, "hi")).await;
    signed.unwrap();
    let noted = entries(harness, test, wallet).await;
    assert_eq!(
        actions(&noted),
        [AuditAction::SignMessage, AuditAction::Create]
    );
    // It is unknown whether the first entry was written, so a new chain was started.
    assert_ne!(noted[0].chain, noted[1].chain);
    assert_eq!(findings(harness).await, []);
}

/// A deleted wallet's history remains in the log and ends with the destruction of its key.
#[tokio::test]
async fn the_log_outlives_the_wallet() {
    let harness = Harness::new().await;
    let (test, live) = (harness.test().await, harness.live().await);
    let user = harness.user(&test, "ada@example.com").await;
    let (owner, wallet) = (user.profile.user.id, user.wallets[0].id);
    harness
        .service
        .sign(&test, text(wallet, "hi"))
        .await
        .unwrap();
    harness.service.delete_user(&test, owner).await.unwrap();
    use AuditAction::{Create, Delete, SignMessage};
    let noted = entries(&harness, &test, wallet).await;
    assert_eq!(actions(&noted), [Delete, SignMessage, Create]);
    assert_eq!(noted[0].event.actor, Actor::ApiKey(test.key().unwrap().id));
    assert_eq!(findings(&harness).await, []);
    let query = ListAudit {
        wallet_id: wallet,
        limit: None,
        starting_after: None,
    };
    let elsewhere = harness.service.list_audit(&live, query).await;
    assert!(matches!(elsewhere, Err(Refusal::NotFound("wallet"))));
}

#[tokio::test]
async fn no_key_is_destroyed_without_an_entry() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let user = harness.user(&test, "ada@example.com").await;
    let (owner, wallet) = (user.profile.user.id, user.wallets[0].id);
    // The first transaction reads the keys that exist; the second one writes the log.
    harness.store.let_through(1);
    harness.store.refuse([StoreError::Busy]);
    let refused = harness.service.delete_user(&test, owner).await;
    assert!(matches!(
        refused,
        Err(Refusal::Fault(Fault::Unavailable(_)))
    ));
    harness
        .service
        .sign(&test, text(wallet, "hi"))
        .await
        .unwrap();
}

/// A wallet created while its user is being deleted is deleted with an entry of its own.
#[tokio::test]
async fn a_wallet_created_during_the_deletion_is_recorded() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let owner = harness.walletless(&test, "ada@example.com").await;
    let made = Arc::new(Mutex::new(None));
    let (other, caller, known) = (
        harness.other_process(),
        Arc::clone(&test),
        Arc::clone(&made),
    );
    harness.store.before_next_begin(async move {
        let (solana, usual) = (WalletType::Solana, AddressForm::Usual);
        let wallet = other.create_wallet(&caller, owner, solana, usual).await;
        *known.lock().unwrap() = Some(wallet.unwrap().id);
    });
    harness.service.delete_user(&test, owner).await.unwrap();
    let wallet = made.lock().unwrap().take().unwrap();
    // Two processes within one second: in any order.
    let noted: HashSet<_> = actions(&entries(&harness, &test, wallet).await)
        .into_iter()
        .collect();
    assert_eq!(noted, [AuditAction::Create, AuditAction::Delete].into());
}

#[tokio::test]
async fn nothing_is_signed_without_an_entry() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let wallet = harness.user(&test, "ada@example.com").await.wallets[0].id;
    harness.store.refuse([StoreError::Busy]);
    loses_one_signature(&harness, &test, wallet).await;
}

/// A panic while the log is being written fails the signatures that wait for it, but no later ones.
#[tokio::test]
async fn a_panic_while_writing_leaves_the_log_writable() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let wallet = harness.user(&test, "ada@example.com").await.wallets[0].id;
    harness
        .store
        .before_next_begin(async { panic!("panic injected by the test") });
    loses_one_signature(&harness, &test, wallet).await;
}

/// Commits that lose a race are retried and leave every entry exactly once.
#[tokio::test]
async fn lost_commits_are_retried() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let wallet = harness.user(&test, "ada@example.com").await.wallets[0].id;
    harness.fake.lose_commits(3);
    harness
        .service
        .sign(&test, text(wallet, "hi"))
        .await
        .unwrap();
    assert_eq!(entries(&harness, &test, wallet).await.len(), 2);
    assert_eq!(findings(&harness).await, []);
}

/// Concurrent signatures share commits and wallet reads, and each has its own position in one chain.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_signatures_share_reads_and_commits() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let wallet = harness.user(&test, "ada@example.com").await.wallets[0].id;
    let before = harness.service.verify_audit_log(&|_| {}).await.unwrap();
    harness.store.count();
    let tasks = (0..300).map(|number| {
        let (service, test) = (Arc::clone(&harness.service), Arc::clone(&test));
        async move {
            let message = text(wallet, &number.to_string());
            service.sign(&test, message).await.unwrap();
        }
    });
    race(tasks).await;
    let (reads, commits) = harness.store.count();
    assert!(
        reads < 300 && commits < 300,
        "{reads} reads and {commits} commits for 300 signatures"
    );
    let report = harness.service.verify_audit_log(&|_| {}).await.unwrap();
    assert_eq!(report.chains, before.chains);
    assert_eq!(report.entries, before.entries + 300);
    assert_eq!(report.findings, []);
}

/// Two processes write separate chains into one log.
#[tokio::test]
async fn processes_write_separate_chains() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let wallet = harness.user(&test, "ada@example.com").await.wallets[0].id;
    let before = harness.service.verify_audit_log(&|_| {}).await.unwrap();
    let other = harness.other_process();
    for service in [&harness.service, &other, &harness.service] {
        service.sign(&test, text(wallet, "hi")).await.unwrap();
    }
    let report = harness.service.verify_audit_log(&|_| {}).await.unwrap();
    assert_eq!(report.chains, before.chains + 1);
    assert_eq!(report.entries, before.entries + 3);
    assert_eq!(report.findings, []);
}

#[tokio::test]
async fn a_log_stays_in_its_environment() {
    let harness = Harness::new().await;
    let (test, live, stranger) = (
        harness.test().await,
        harness.live().await,
        harness.stranger().await,
    );
    let wallet_id = harness.user(&test, "ada@example.com").await.wallets[0].id;
    let query = |limit| ListAudit {
        wallet_id,
        limit,
        starting_after: None,
    };
    for caller in [&live, &stranger] {
        let refused = harness.service.list_audit(caller, query(None)).await;
        assert!(
            matches!(refused, Err(Refusal::NotFound("wallet"))),
            "{refused:?}"
        );
    }
    for limit in [9, 101] {
        let refused = harness.service.list_audit(&test, query(Some(limit))).await;
        assert!(matches!(refused, Err(Refusal::Invalid(_))), "{refused:?}");
    }
}

/// Everything that an attacker with write access to the database but no key can do (S8).
#[tokio::test]
async fn s8_tampering_with_the_log_is_found() {
    type Forge = fn(&[AuditEntry], &AuditHead) -> (Vec<AuditEntry>, Vec<AuditHead>, FindingKind);
    let forgeries: [(&str, Forge); 5] = [
        ("an entry after the end", |entries, head| {
            let mut last = entries.last().unwrap().clone();
            last.sequence += 1;
            last.previous = head.hash;
            last.hash = AuditEntry::digest(
                last.format,
                last.id,
                last.chain,
                last.sequence,
                &last.event,
                &last.previous,
            );
            (vec![last], vec![], FindingKind::Broken { sequence: 4 })
        }),
        ("a head rolled back", |entries, head| {
            let back = AuditHead {
                sequence: 2,
                hash: entries[1].hash,
                ..head.clone()
            };
            (vec![], vec![back], FindingKind::ForgedHead)
        }),
        (
            "a head that uses the keyed hash of its entry",
            |entries, head| {
                let mac = entries[2].mac.clone();
                (
                    vec![],
                    vec![AuditHead {
                        mac,
                        ..head.clone()
                    }],
                    FindingKind::ForgedHead,
                )
            },
        ),
        ("a forged chain", |entries, _| {
            let mut first = entries[0].clone();
            first.chain = vestry_domain::ids::Id::new(first.event.at, [9; 16]);
            (vec![first], vec![], FindingKind::NoHead)
        }),
        ("a forged chain and head", |entries, head| {
            let mut first = entries[0].clone();
            first.chain = vestry_domain::ids::Id::new(first.event.at, [9; 16]);
            let forged = AuditHead {
                chain: first.chain,
                sequence: 1,
                hash: first.hash,
                ..head.clone()
            };
            (vec![first], vec![forged], FindingKind::ForgedHead)
        }),
    ];
    for (what, forge) in forgeries {
        let harness = Harness::new().await;
        let test = harness.test().await;
        let wallet = harness.user(&test, "ada@example.com").await.wallets[0].id;
        for message in ["one", "two"] {
            let signed = harness.service.sign(&test, text(wallet, message)).await;
            signed.unwrap();
        }
        let mut written = entries(&harness, &test, wallet).await;
        written.reverse();
        let mut view = harness.fake.read().await.unwrap();
        let heads = view.audit_log().heads(&test.world).await.unwrap();
        drop(view);
        let (forged, forged_heads, expected) = forge(&written, &heads[0]);
        let steps = forged_heads.into_iter().map(|forged| {
            let is_same = heads[0].chain == forged.chain;
            let after = is_same.then_some((heads[0].sequence, heads[0].hash));
            let (after, after_hash) = after.unwrap_or((0, [0; 32]));
            AuditStep {
                head: forged,
                after,
                after_hash,
            }
        });
        let steps: Vec<_> = steps.collect();
        let mut tx = harness.fake.begin().await.unwrap();
        let left = tx.audit_log().append(&forged, &steps).await.unwrap();
        assert_eq!(left, []);
        tx.commit().await.unwrap();
        let found = findings(&harness).await;
        let found: Vec<FindingKind> = found.into_iter().map(|found| found.kind).collect();
        assert_eq!(found, [expected], "{what}");
    }
}

/// A database rollback under a running service leaves two sound chains of a wallet's uses. An entry of the control chain names the
/// abandoned one (AUD-4).
#[tokio::test]
async fn aud_4_lost_signatures_leave_no_finding() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    let wallet = harness.user(&test, "ada@example.com").await.wallets[0].id;
    let sign = async |message: &str| {
        let signed = harness.service.sign(&test, text(wallet, message)).await;
        signed.unwrap();
        harness.pass(1);
    };
    sign("kept").await;
    let kept = harness.fake.kept();
    sign("lost").await;
    let lost = entries(&harness, &test, wallet).await.remove(0);
    harness.fake.set_back(kept);
    sign("after").await;
    sign("later").await;
    let noted = entries(&harness, &test, wallet).await;
    use AuditAction::{Create, SignMessage};
    assert_eq!(
        actions(&noted),
        [SignMessage, SignMessage, SignMessage, Create]
    );
    assert_eq!(noted[0].chain, noted[1].chain);
    assert_ne!(noted[1].chain, lost.chain);
    assert_eq!(noted[1].sequence, 1);
    assert_eq!(noted[2].chain, lost.chain);
    assert_eq!(findings(&harness).await, []);
    let mut read = harness.fake.read().await.unwrap();
    let restarts = ControlFilter {
        actions: vec![ControlAction::ChainRestart],
        ..ControlFilter::default()
    };
    let page = read.control_log().page(&test.world, &restarts, None, 10);
    let page = page.await.unwrap();
    let named: Vec<_> = page.iter().map(|entry| &entry.event.subject.id).collect();
    assert!(named.contains(&&lost.chain.to_string()), "{named:?}");
}
