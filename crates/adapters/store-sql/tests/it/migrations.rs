//! Migrations, by many at once, and what `ready` says about them.

use std::sync::Arc;

use vestry_contract::race::race;
use vestry_ports::store::{Store, StoreError};
use vestry_store_sql::{MissingMigrations, migrate};

use crate::places::{self, Place, on_both};

on_both! { sqlite, postgres:
    eight_processes_migrate_an_empty_database_once
    migrating_again_does_nothing
    ready_names_what_is_missing
}

/// K10: eight that start together on an empty database. One applies everything, in order; the others find it done.
async fn eight_processes_migrate_an_empty_database_once(place: &Place) {
    let settings = Arc::new(place.settings.clone());
    let applied = race((0..8).map(|_| {
        let settings = Arc::clone(&settings);
        async move { migrate(&settings).await.unwrap() }
    }))
    .await;
    let by_somebody: Vec<_> = applied
        .iter()
        .filter(|versions| !versions.is_empty())
        .collect();
    assert_eq!(by_somebody.len(), 1, "{applied:?}");
    assert!(
        by_somebody[0].len() >= 6 && by_somebody[0].is_sorted(),
        "{applied:?}"
    );
    place.connect().await.ready().await.unwrap();
}

async fn migrating_again_does_nothing(place: &Place) {
    assert!(!migrate(&place.settings).await.unwrap().is_empty());
    assert!(migrate(&place.settings).await.unwrap().is_empty());
}

async fn ready_names_what_is_missing(place: &Place) {
    let store = place.connect().await;
    let all = missing(&store).await;
    assert_eq!(migrate(&place.settings).await.unwrap(), all);
    store.ready().await.unwrap();
    place
        .execute("DELETE FROM __diesel_schema_migrations WHERE version = '20261121000003'")
        .await;
    assert_eq!(missing(&store).await, ["20261121000003"]);
}

async fn missing(store: &dyn Store) -> Vec<String> {
    match store.ready().await {
        Err(StoreError::Other(cause)) => {
            let missing = cause.downcast::<MissingMigrations>().unwrap();
            assert!(missing.to_string().contains(&missing.0[0]));
            missing.0
        }
        other => panic!("{other:?}"),
    }
}

/// DB-4: the lock of a process that died while it migrated expires.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lock_of_a_dead_process_expires() {
    let Some(place) = places::postgres().await else {
        return;
    };
    place
        .execute(
            "CREATE TABLE migration_lock (name TEXT COLLATE \"C\" NOT NULL, holder TEXT NOT NULL, \
                 expires_at INT8 NOT NULL, CONSTRAINT migration_lock_name_key PRIMARY KEY (name)); \
             INSERT INTO migration_lock VALUES \
                 ('migrations', 'dead', EXTRACT(EPOCH FROM clock_timestamp())::INT8 + 1)",
        )
        .await;
    assert!(!migrate(&place.settings).await.unwrap().is_empty());
    place.connect().await.ready().await.unwrap();
}
