//! What only a SQLite file has.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use diesel::sql_types::Text;
use diesel::{QueryableByName, RunQueryDsl};
use vestry_contract::samples::Samples;
use vestry_ports::store::Store;
use vestry_store_sql::{BackupError, Database, Settings, SqlStore, Synchronous};

use crate::places::{self, Ground};
use crate::plans;

/// The files hold everything but the root key: nobody else on the machine may read them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_owner_may_read_the_files() {
    let place = places::migrated_sqlite().await.unwrap();
    let store = place.connect().await;
    let mut tx = store.begin().await.unwrap();
    tx.apps().insert(&Samples::fresh().app()).await.unwrap();
    tx.commit().await.unwrap();
    let Ground::Directory(directory) = &place.ground else {
        panic!("a file lies in a directory");
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

/// `.cargo/config.toml` says why each.
#[test]
fn sqlite_is_built_as_it_should_be() {
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

/// K8: the weaker setting is named as a finding; the default has none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn weaker_durability_is_found() {
    let place = places::sqlite().await.unwrap();
    assert!(place.connect().await.durability_findings().is_empty());
    let mut settings = place.settings.clone();
    settings.synchronous = Synchronous::Normal;
    let store = SqlStore::connect(&settings).await.unwrap();
    assert_eq!(store.durability_findings().len(), 1);
}

/// K9: a backup taken while a transaction is open is a database of its own, with what was committed and nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_holds_what_was_committed() {
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
    store.backup_into(&file).await.unwrap();
    let mode = std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let again = store.backup_into(&file).await;
    assert!(matches!(again, Err(BackupError::File(_))), "{again:?}");
    tx.commit().await.unwrap();

    let copy = SqlStore::connect(&Settings::new(Database::Sqlite(file)))
        .await
        .unwrap();
    copy.ready().await.unwrap();
    let mut view = copy.read().await.unwrap();
    assert_eq!(view.apps().list().await.unwrap(), [committed]);
}
