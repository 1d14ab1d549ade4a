//! PR-84: what a recovery ends, records and restarts.

use serde_json::{Value, json};
use vestry_app::Principal;
use vestry_app::platform::TakenBackup;
use vestry_domain::World;
use vestry_domain::audit::control::{ControlAction, ControlFilter};
use vestry_domain::event::EventKind;
use vestry_ports::meter::Gauge;
use vestry_ports::store::{EventFilter, PositionRange, Store};

use crate::harness::Harness;

/// The details of the deployment's entries with this action, newest first.
async fn details(harness: &Harness, action: ControlAction) -> Vec<Value> {
    let filter = ControlFilter {
        actions: vec![action],
        ..ControlFilter::default()
    };
    let mut read = harness.store.read().await.unwrap();
    let log = read.control_log();
    let page = log
        .page(&World::DEPLOYMENT, &filter, None, 10)
        .await
        .unwrap();
    page.iter()
        .map(|entry| serde_json::from_str(&entry.event.detail).unwrap())
        .collect()
}

#[tokio::test]
async fn pr_84_a_recovery_ends_sessions_and_restarts_event_logs() {
    let harness = Harness::new().await;
    let caller = harness.test().await;
    harness.sign_in(&caller, "ada@example.com", 60).await;
    harness.service.sequence_all().await.unwrap();
    let service = &harness.service;
    let recovered = service.recover(Principal::cli(), None).await.unwrap();
    let ended = recovered.ended.unwrap();
    assert_eq!(ended.sessions, 1);
    assert!(recovered.event_logs >= 1, "{recovered:?}");
    let again = service.recover(Principal::cli(), None).await.unwrap();
    assert_eq!(again.ended.unwrap().sessions, 0);
    let recorded = details(&harness, ControlAction::DatabaseRecover).await;
    assert_eq!(recorded.len(), 2);
    assert_eq!(recorded[1]["sessions"], 1);

    let mut read = harness.store.read().await.unwrap();
    let head = read.events().head(&caller.world).await.unwrap();
    let all = PositionRange {
        from: 1,
        to: head.position(),
        descending: true,
    };
    let restarted = EventFilter {
        kinds: vec![EventKind::LogRestarted],
        ..EventFilter::default()
    };
    let restarted = read.events().page(&caller.world, all, &restarted, 10);
    assert_eq!(restarted.await.unwrap().len(), 2, "one for each recovery");
    drop(read);
    // A process that has seen the log before goes on with the new one.
    harness.sign_in(&caller, "ada@example.com", 60).await;
    harness.service.sequence_all().await.unwrap();
}

#[tokio::test]
async fn pr_84_sessions_are_kept_for_a_reason() {
    let harness = Harness::new().await;
    let caller = harness.test().await;
    let session = harness.sign_in(&caller, "ada@example.com", 60).await;
    let service = &harness.service;
    for bad in ["", " ", &"x".repeat(201)] {
        service
            .recover(Principal::cli(), Some(bad))
            .await
            .unwrap_err();
    }
    let kept = service
        .recover(Principal::cli(), Some(" failover "))
        .await
        .unwrap();
    assert!(kept.ended.is_none());
    let recorded = details(&harness, ControlAction::DatabaseRecover).await;
    assert_eq!(recorded, [json!({"kept_sessions": "failover"})]);
    let mut read = harness.store.read().await.unwrap();
    let found = read
        .sessions()
        .find(&caller.world, session.session.id)
        .await;
    assert!(found.unwrap().unwrap().deleted_at.is_none());
}

/// PR-30: the newest recorded backup is measured.
#[tokio::test]
async fn pr_30_a_backup_is_recorded_and_measured() {
    let harness = Harness::new().await;
    let service = &harness.service;
    assert_eq!(service.last_backup().await.unwrap(), None);
    let backup = TakenBackup {
        taken_at: harness.now(),
        bytes: 17,
        sha256: "ab".repeat(32),
    };
    harness.pass(60);
    service
        .record_backup(Principal::cli(), &backup)
        .await
        .unwrap();
    let at = harness.now();
    assert_eq!(service.last_backup().await.unwrap(), Some(at));
    let recorded = details(&harness, ControlAction::DatabaseBackup).await;
    assert_eq!(recorded[0]["bytes"], 17);
    service.measure().await;
    let measured = harness.gauges.value(Gauge::BackupSucceeded);
    assert_eq!(measured.to_string(), at.unix().to_string());
}
