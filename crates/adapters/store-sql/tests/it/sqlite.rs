//! Properties of a SQLite file.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::sql_types::Text;
use diesel::{QueryableByName, RunQueryDsl};
use vestry_contract::samples::Samples;
use vestry_domain::limits::Limit;
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::limiter::RateLimiter;
use vestry_ports::store::{Store, StoreError};
use vestry_store_sql::{CopyError, Database, Settings, SqlStore, Synchronous};

use crate::places::{self, Ground};
use crate::plans;

/// The files contain everything but the root key: no other user of the machine may read them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_owner_may_read_the_files() {
    let place = places::migrated_sqlite().await.unwrap();
    let store = place.connect().await;
    let mut tx = store.begin().await.unwrap();
    tx.apps().insert(&Samples::fresh().app()).await.unwrap();
    tx.commit().await.unwrap();
    let Ground::Directory(directory) = &place.ground else {
        panic!("the file has a parent directory");
    };
    let mut seen = 0;
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", entry.path().display());
        seen += 1;
    }
    // The file, its log and its index.
    assert_eq!(seen, 3);
}

/// `.cargo/config.toml` gives the reason for each.
#[test]
fn sqlite_is_built_with_the_required_options() {
    #[derive(QueryableByName)]
    struct Made {
        #[diesel(sql_type = Text)]
        compile_options: String,
    }
    let mut conn = plans::unwatched(Path::new(":memory:"));
    let made = diesel::sql_query("SELECT compile_options FROM pragma_compile_options");
    let made: Vec<Made> = made.load(&mut conn).unwrap();
    let is_made = |with: &str| made.iter().any(|made| made.compile_options == with);
    assert!(is_made("ENABLE_QPSG"));
    assert!(is_made("DEFAULT_MEMSTATUS=0"));
    assert!(!is_made("ENABLE_MEMORY_MANAGEMENT"));
}

/// K8: the weaker setting is reported as a finding; the default has none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn weaker_durability_is_found() {
    let place = places::sqlite().await.unwrap();
    assert!(place.connect().await.durability_findings().is_empty());
    let mut settings = place.settings.clone();
    settings.synchronous = Synchronous::Normal;
    let store = SqlStore::connect(&settings).await.unwrap();
    assert_eq!(store.durability_findings().len(), 1);
}

/// K9: a backup made during an open transaction is a complete database with exactly the committed data.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_contains_exactly_the_committed_data() {
    let place = places::migrated_sqlite().await.unwrap();
    let store = place.connect().await;
    let mut samples = Samples::fresh();
    let (committed, open) = (samples.app(), samples.app());
    let mut tx = store.begin().await.unwrap();
    tx.apps().insert(&committed).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = store.begin().await.unwrap();
    tx.apps().insert(&open).await.unwrap();

    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("it's a backup.db");
    let scratch = elsewhere.path().join("scratch");
    let (kept, read) = (file.clone(), scratch.clone());
    let contents = vestry_store_sql::dump(&place.settings, &scratch, move |contents, data| {
        let mode = std::fs::metadata(&read)?.permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        std::io::copy(data, &mut std::fs::File::create_new(&kept)?)?;
        Ok(contents)
    });
    let contents = contents.await.unwrap();
    assert_eq!(contents.rows["apps"], 2, "with the built-in one");
    assert!(!scratch.exists(), "it is removed");
    std::fs::write(&scratch, "").unwrap();
    let again = vestry_store_sql::dump(&place.settings, &scratch, |_, _| Ok(())).await;
    assert!(matches!(again, Err(CopyError::Io(_))), "{again:?}");
    tx.commit().await.unwrap();

    let copy = SqlStore::connect(&Settings::new(Database::Sqlite(file)))
        .await
        .unwrap();
    copy.ready().await.unwrap();
    let mut view = copy.read().await.unwrap();
    assert_eq!(view.apps().list().await.unwrap(), [committed]);
}

/// Polls until the store reports that the file is missing, or present.
async fn until(store: &SqlStore, is_there: bool) {
    let asked = async { while store.ready().await.is_ok() != is_there {} };
    let answered = tokio::time::timeout(Duration::from_secs(60), asked).await;
    answered
        .unwrap_or_else(|_elapsed| panic!("K12: timed out waiting for file present: {is_there}"));
}

/// K12: once the file is deleted or replaced, nothing is read or written, neither by open nor by new connections.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn k12_a_replaced_file_is_not_used() {
    let place = places::migrated_sqlite().await.unwrap();
    let Database::Sqlite(path) = &place.settings.database else {
        panic!("this is SQLite");
    };
    let aside = path.with_extension("aside");
    for replaced in [false, true] {
        let store = place.connect().await;
        until(&store, true).await;
        if replaced {
            std::fs::rename(path, &aside).unwrap();
            std::fs::copy(&aside, path).unwrap();
        } else {
            std::fs::rename(path, &aside).unwrap();
        }
        until(&store, false).await;
        for refused in [
            store.ready().await,
            store.read().await.map(drop),
            store.begin().await.map(drop),
        ] {
            assert!(
                matches!(refused, Err(StoreError::Unavailable(_))),
                "{refused:?}"
            );
        }
        let limiter = store.rate_limiter();
        let world = World::new(Samples::fresh().app().id, Environment::Live);
        let start = Timestamp::from_unix(1_800_000_000);
        let refused = limiter.hit(&world, Limit::per_minute(1), start).await;
        assert!(refused.is_err(), "{refused:?}");
        assert_eq!(path.exists(), replaced, "the file was recreated");
        std::fs::rename(&aside, path).unwrap();
        until(&store, true).await;
    }
}

/// K12: a path is used literally, even with characters that have a meaning in a URI.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_can_contain_any_character() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("50% of #1 & co?mode=memory.db");
    let settings = Settings::new(Database::Sqlite(path.clone()));
    let store = SqlStore::connect(&settings).await.unwrap();
    drop(store.begin().await.unwrap());
    assert!(path.exists());
}

/// K7: SQLite's refusal to write to a read-only file.
#[test]
fn k7_a_read_only_database_is_unavailable() {
    let mut conn = plans::unwatched(Path::new(":memory:"));
    let set_up = "CREATE TABLE t (a INTEGER); PRAGMA query_only = ON";
    conn.batch_execute(set_up).unwrap();
    let refused = conn.batch_execute("INSERT INTO t VALUES (1)").unwrap_err();
    let refused = vestry_store_sqlite::classify(refused, None);
    assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
}
