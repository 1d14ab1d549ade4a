//! Counters of the charts: which facts are counted, when it is written, and how long it is retained.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;
use vestry_app::identity::users::CreateUser;
use vestry_app::platform::{ActivityOfWorld, ActivityRange};
use vestry_app::{Caller, Principal, Service};
use vestry_domain::Environment;
use vestry_domain::activity::{Measure, Period};
use vestry_domain::event::Via;
use vestry_domain::test_clock::ClockChange;
use vestry_domain::timestamp::Seconds;
use vestry_ports::store::{Store, StoreError};

use crate::harness::Harness;

const CREATED: Measure = Measure::UserCreated(Via::Create);

async fn create(service: &Service, caller: &Caller) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let command = CreateUser {
        email: Some(format!("created-{number}@example.com")),
        ..CreateUser::default()
    };
    service.create_user(caller, command).await.unwrap();
}

async fn read(harness: &Harness, caller: &Caller, range: ActivityRange) -> ActivityOfWorld {
    let by = Principal::cli();
    let found = harness.service.activity(by, caller.world, range);
    found.await.unwrap()
}

/// The users that were created through the API, by the hours of the last day.
async fn created(harness: &Harness, caller: &Caller) -> Vec<u64> {
    let found = read(harness, caller, ActivityRange::Day).await;
    found.counts.get(&CREATED).cloned().unwrap_or_default()
}

/// Counts are written when the worker ends, and added hour by hour, by the machine's clock.
#[tokio::test]
async fn con_20_counts_are_added_by_the_hour() {
    let harness = Harness::new().await;
    let (test, live, service) = (harness.test().await, harness.live().await, &harness.service);
    let change = ClockChange {
        now: None,
        advance_seconds: Some(40 * 86_400),
        frozen: None,
    };
    service.set_test_clock(&test, change).await.unwrap();
    create(service, &test).await;
    let written = created(&harness, &test).await;
    assert!(written.is_empty(), "nothing is written yet");
    service.write_activity().await;
    create(service, &test).await;
    create(service, &live).await;
    service.write_activity().await;
    service.write_activity().await;
    harness.pass(3_600);
    create(service, &test).await;
    service.run_activity(std::future::ready(())).await;
    let (found, of_live) = (
        created(&harness, &test).await,
        created(&harness, &live).await,
    );
    assert_eq!((found.len(), &found[22..]), (24, &[2, 1][..]));
    assert_eq!(&of_live[22..], [1, 0]);
    for range in [
        ActivityRange::Week,
        ActivityRange::Month,
        ActivityRange::Year,
    ] {
        let found = read(&harness, &test, range).await;
        assert_eq!(found.counts[&CREATED].last(), Some(&3));
    }
}

/// Counts that cannot be written are kept, and those of other Apps are written.
#[tokio::test]
async fn con_20_a_failed_write_keeps_the_counts() {
    let harness = Harness::new().await;
    let (test, stranger) = (harness.test().await, harness.stranger().await);
    create(&harness.service, &test).await;
    create(&harness.service, &stranger).await;
    harness.store.refuse([StoreError::Busy]);
    harness.service.write_activity().await;
    let written = async || {
        [
            created(&harness, &test).await.iter().sum::<u64>(),
            created(&harness, &stranger).await.iter().sum(),
        ]
    };
    let first = written().await;
    assert_eq!(first.iter().sum::<u64>(), 1, "one of the two: {first:?}");
    harness.fake.set_unavailable(true);
    harness.service.write_activity().await;
    harness.fake.set_unavailable(false);
    create(&harness.service, &test).await;
    harness.service.write_activity().await;
    assert_eq!(written().await, [2, 1]);
}

/// A transaction that loses a race runs again, and counts once; one that is refused counts nothing.
#[tokio::test]
async fn con_20_only_commits_count() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    harness.fake.lose_commits(2);
    create(&harness.service, &test).await;
    let bad = CreateUser {
        email: Some("not an address".to_owned()),
        ..CreateUser::default()
    };
    harness.service.create_user(&test, bad).await.unwrap_err();
    harness.service.write_activity().await;
    assert_eq!(created(&harness, &test).await.last(), Some(&1));
}

/// Imported users are counted whether or not each has an event. A rehearsal counts nothing.
#[tokio::test]
async fn con_20_imported_users_are_counted() {
    let harness = Harness::new().await;
    let world = harness.world(Environment::Test);
    let test = harness.service.caller(Principal::cli(), world).await;
    let test = test.unwrap();
    for (number, is_rehearsal) in [(1, false), (2, true), (3, false)] {
        let lines = [1, 2].map(|line| {
            let email = format!("user-{number}-{line}@example.com");
            serde_json::from_value(json!({ "emails": [{ "email": email }] })).unwrap()
        });
        let import = harness.service.import_users(&test, is_rehearsal);
        let mut import = import.await.unwrap();
        if number == 3 {
            import = import.without_events();
        }
        import.take(&lines).await.unwrap();
        import.finish().await.unwrap();
    }
    harness.service.write_activity().await;
    let found = read(&harness, &test, ActivityRange::Week).await;
    let imported = Measure::UserCreated(Via::Import);
    assert_eq!(found.counts[&imported].last(), Some(&4));
}

/// Hours are retained for 35 days and days for 400.
#[tokio::test]
async fn con_20_old_counts_are_deleted() {
    let harness = Harness::new().await;
    let test = harness.test().await;
    create(&harness.service, &test).await;
    harness.service.write_activity().await;
    let start = harness.now();
    let kept = async || {
        let mut read = harness.store.read().await.unwrap();
        let mut kept = Vec::new();
        for period in [Period::Hour, Period::Day] {
            let until = start + Seconds(1);
            let from = period.start(start);
            let found = read.activity().read(&test.world, period, from, until);
            kept.push(!found.await.unwrap().is_empty());
        }
        kept
    };
    for (days, expected) in [
        (34, [true, true]),
        (36, [false, true]),
        (399, [false, true]),
        (401, [false, false]),
    ] {
        harness.clock.set(start + Seconds(days * 86_400));
        harness.sweep().await;
        assert_eq!(kept().await, expected, "after {days} days");
    }
}
