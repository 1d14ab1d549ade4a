//! Units of work and their connections.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use vestry_contract::race::race;
use vestry_contract::samples::Samples;
use vestry_domain::limits::Limit;
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::store::{Store, StoreError, Tx};
use vestry_store_sql::SqlStore;

use crate::places::{Place, on_both};

const NOW: Timestamp = Timestamp::from_unix(1_800_000_000);

on_both! { migrated_sqlite, migrated_postgres:
    many_tasks_begin_and_commit
    two_processes_share_a_database
    a_dropped_transaction_leaves_a_clean_connection
    an_abandoned_statement_discards_its_connection
    a_failed_transaction_cannot_be_committed
    waiting_for_a_connection_is_bounded
    long_subjects_are_counted
    clocks_that_jump_back_do_not_block_a_window_forever
}

/// Returns an arbitrary world; nothing in these tests needs its App.
fn a_world() -> World {
    World::new(Samples::fresh().app().id, Environment::Test)
}

async fn fail_once(store: &dyn Store, world: &World, subject: &str) -> i64 {
    let mut tx = store.begin().await.unwrap();
    let failures = tx.lockouts().fail(world, subject, NOW).await.unwrap();
    tx.commit().await.unwrap();
    failures
}

async fn many_transactions(stores: Vec<Arc<SqlStore>>) {
    let (world, tasks, each) = (a_world(), 32_usize, 6);
    let counts = race((0..tasks).map(|task| {
        let store = Arc::clone(&stores[task % stores.len()]);
        async move {
            let mut last = 0;
            for _ in 0..each {
                last = fail_once(&*store, &world, "everybody").await;
            }
            last
        }
    }))
    .await;
    assert_eq!(
        counts.into_iter().max(),
        Some(i64::try_from(tasks).unwrap() * each)
    );
}

/// 32 tasks commit six transactions each; none is lost, refused or duplicated.
async fn many_tasks_begin_and_commit(place: &Place) {
    many_transactions(vec![Arc::new(place.connect().await)]).await;
}

/// The same from two independent pools.
async fn two_processes_share_a_database(place: &Place) {
    let stores = vec![
        Arc::new(place.connect().await),
        Arc::new(place.connect().await),
    ];
    many_transactions(stores).await;
}

/// With a single connection, each following transaction runs on the one that was dropped, sees nothing of it and waits for none of its
/// locks.
async fn a_dropped_transaction_leaves_a_clean_connection(place: &Place) {
    let mut settings = place.settings.clone();
    settings.connections = 1;
    settings.readers = 1;
    let store = SqlStore::connect(&settings).await.unwrap();
    let world = a_world();
    for _ in 0..30 {
        let mut tx = store.begin().await.unwrap();
        let failures = tx.lockouts().fail(&world, "subject", NOW).await.unwrap();
        assert_eq!(failures, 1);
        drop(tx);
    }
    let mut view = store.read().await.unwrap();
    let blocked = view.lockouts().blocked_until(&world, "subject").await;
    assert_eq!(blocked.unwrap(), None);
}

/// After the future of a call is dropped halfway, its connection is not reused, and its place in the pool is free.
async fn an_abandoned_statement_discards_its_connection(place: &Place) {
    let mut settings = place.settings.clone();
    settings.connections = 1;
    let store = SqlStore::connect(&settings).await.unwrap();
    let world = a_world();
    for _ in 0..10 {
        let mut tx = store.begin().await.unwrap();
        {
            let mut failure = pin!(tx.lockouts().fail(&world, "subject", NOW));
            // Sent, without a result yet: the first poll only submits the statement.
            let _sent = futures_util::poll!(failure.as_mut());
        }
        drop(tx);
        // A view's statement is abandoned in the same way.
        let mut view = store.read().await.unwrap();
        {
            let mut waiting = pin!(view.outbox().waiting());
            let _sent = futures_util::poll!(waiting.as_mut());
        }
        drop(view);
    }
    assert_eq!(fail_once(&store, &world, "subject").await, 1);
}

/// Postgres would answer the COMMIT of a failed transaction with a silent ROLLBACK.
async fn a_failed_transaction_cannot_be_committed(place: &Place) {
    let store = place.connect().await;
    let app = Samples::fresh().app();
    let mut tx = store.begin().await.unwrap();
    tx.apps().insert(&app).await.unwrap();
    let again = tx.apps().insert(&app).await;
    assert!(matches!(again, Err(StoreError::Other(_))), "{again:?}");
    let after = tx.apps().find(app.id).await;
    assert!(matches!(after, Err(StoreError::Other(_))), "{after:?}");
    let committed = Tx::commit(tx).await;
    assert!(
        matches!(committed, Err(StoreError::Other(_))),
        "{committed:?}"
    );
    let mut view = store.read().await.unwrap();
    assert_eq!(view.apps().find(app.id).await.unwrap(), None);
}

/// A caller that does not get a connection in time gets a "database busy" error.
async fn waiting_for_a_connection_is_bounded(place: &Place) {
    let mut settings = place.settings.clone();
    settings.connections = 1;
    settings.acquire_timeout = Duration::from_millis(50);
    let store = SqlStore::connect(&settings).await.unwrap();
    let first = store.begin().await.unwrap();
    let second = store.begin().await.err();
    assert!(matches!(second, Some(StoreError::Busy)), "{second:?}");
    first.commit().await.unwrap();
    assert_eq!(fail_once(&store, &a_world(), "subject").await, 1);
}

/// A subject can be user-supplied text; an index entry of Postgres holds about 2,700 bytes.
async fn long_subjects_are_counted(place: &Place) {
    let store = place.connect().await;
    let world = a_world();
    let mut samples = Samples::fresh();
    let limit = Limit {
        most: 1,
        window: Seconds(60),
    };
    let (one, other) = (samples.letters(5_000), samples.letters(5_000));
    let mut tx = store.begin().await.unwrap();
    for (subject, admitted) in [(&one, true), (&other, true), (&one, false)] {
        let verdict = tx
            .quotas()
            .consume(&world, "sends", subject, limit, NOW)
            .await;
        assert_eq!(verdict.unwrap().admitted, admitted);
    }
    assert_eq!(tx.lockouts().fail(&world, &one, NOW).await.unwrap(), 1);
    assert_eq!(tx.lockouts().fail(&world, &one, NOW).await.unwrap(), 2);
    tx.commit().await.unwrap();
}

/// F8: a window opened by a clock far in the future does not block.
async fn clocks_that_jump_back_do_not_block_a_window_forever(place: &Place) {
    let store = place.connect().await;
    let world = a_world();
    let limit = Limit {
        most: 1,
        window: Seconds(60),
    };
    let mut tx = store.begin().await.unwrap();
    for (jump, admitted) in [
        (86_400, true),
        (86_400, false),
        (86_390, false),
        (0, true),
        (0, false),
    ] {
        let now = NOW + Seconds(jump);
        let verdict = tx
            .quotas()
            .consume(&world, "sends", "subject", limit, now)
            .await;
        assert_eq!(verdict.unwrap().admitted, admitted, "{jump}");
    }
}
