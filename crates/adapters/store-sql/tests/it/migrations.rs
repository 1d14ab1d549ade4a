//! Concurrent migrations, and how `ready` reports missing ones.

use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::NoTls;
use vestry_contract::race::race;
use vestry_ports::store::{Store, StoreError};
use vestry_store_sql::{MissingMigrations, migrate};

use crate::places::{self, Ground, Place, on_both};

on_both! { sqlite, postgres:
    eight_processes_migrate_an_empty_database_once
    migrating_again_does_nothing
    ready_names_what_is_missing
}

/// K10: eight processes start together on an empty database. One applies everything, in order; the others find it done.
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
    assert_eq!(
        *by_somebody[0],
        vestry_store_sqlite::versions().unwrap(),
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
        .execute("DELETE FROM __diesel_schema_migrations")
        .await;
    assert_eq!(missing(&store).await, all);
}

/// The value that xtask configures (`default_pool_size`).
const SESSIONS_OF_POOLER: usize = 4;

/// PR-51: a setting made for a pooled session is inherited by its next client. Without a pooler every session is new, and this test shows
/// little.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn migrations_set_nothing_for_a_postgres_session() {
    let Some(place) = places::postgres().await else {
        return;
    };
    assert!(!migrate(&place.settings).await.unwrap().is_empty());
    let Ground::Server(server) = &place.ground else {
        panic!("this is not Postgres");
    };
    let is_set = "DO $$ BEGIN IF EXISTS (SELECT FROM pg_settings WHERE source = 'session' AND name IN ('lock_timeout', \
                  'statement_timeout', 'idle_in_transaction_session_timeout', 'default_transaction_isolation', \
                  'default_transaction_read_only')) THEN RAISE 'a setting was changed'; END IF; END $$";
    // All sessions of the pooler, one for each open transaction.
    let mut open = Vec::new();
    for _ in 0..SESSIONS_OF_POOLER {
        let (client, connection) = tokio_postgres::connect(&server.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute("BEGIN").await.unwrap();
        client.batch_execute(is_set).await.unwrap();
        open.push(client);
    }
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

/// DB-4: the lock of a process that died during a migration expires.
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

/// PR-86: a migration that cannot get a lock is rolled back and tried again, and one whose process has lost the migration lock is not
/// committed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pr_86_a_migration_waits_briefly_and_keeps_its_lock() {
    let Some(place) = places::postgres().await else {
        return;
    };
    let Ground::Server(server) = &place.ground else {
        panic!("this is not Postgres");
    };
    // A finished migration leaves the table of versions, which a transaction then keeps the next one from writing.
    assert!(!migrate(&place.settings).await.unwrap().is_empty());
    let (blocker, connection) = tokio_postgres::connect(&server.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let tables = "SELECT string_agg(format('DROP TABLE %I CASCADE', tablename), ';') FROM pg_tables \
                  WHERE schemaname = current_schema() AND tablename NOT IN ('__diesel_schema_migrations', 'migration_lock')";
    let drop: String = blocker.query_one(tables, &[]).await.unwrap().get(0);
    blocker.batch_execute(&drop).await.unwrap();
    let unapplied = "DELETE FROM __diesel_schema_migrations";
    blocker.batch_execute(unapplied).await.unwrap();

    let block = "BEGIN; LOCK TABLE __diesel_schema_migrations IN SHARE MODE";
    blocker.batch_execute(block).await.unwrap();
    let settings = place.settings.clone();
    let migrating = tokio::spawn(async move { migrate(&settings).await });
    let (watch, connection) = tokio_postgres::connect(&server.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    let is_waiting = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted \
                      AND relation = '__diesel_schema_migrations'::regclass)";
    let mut looks = tokio::time::interval(Duration::from_millis(50));
    for expected in [true, false, true] {
        loop {
            looks.tick().await;
            let row = watch.query_one(is_waiting, &[]).await.unwrap();
            if row.get::<_, bool>(0) == expected {
                break;
            }
        }
    }
    let steal = "UPDATE migration_lock SET holder = 'thief'";
    watch.batch_execute(steal).await.unwrap();
    blocker.batch_execute("COMMIT").await.unwrap();
    let Err(StoreError::Other(lost)) = migrating.await.unwrap() else {
        panic!("it was committed without the lock");
    };
    let expected =
        "migration lock was lost; stopped before the first step; run vestry migrate again";
    assert_eq!(lost.to_string(), expected);
    watch
        .batch_execute("DELETE FROM migration_lock")
        .await
        .unwrap();
    assert!(!migrate(&place.settings).await.unwrap().is_empty());
    place.connect().await.ready().await.unwrap();
}
