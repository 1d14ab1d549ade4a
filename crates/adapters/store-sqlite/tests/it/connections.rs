//! Connections to the file.

use deadpool::managed::Manager as _;
use diesel::result::{DatabaseErrorKind, Error};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use tokio::runtime::Handle;
use vestry_ports::store::StoreError;

use vestry_store_rows::settings::{Database, Settings};
use vestry_store_sqlite::{Manager, Role, classify};

async fn pragma(role: Role, name: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vestry.db");
    let settings = Settings::new(Database::Sqlite(path.clone()));
    let open = async |role| {
        let manager = Manager::new(&path, role, &settings, Handle::current());
        manager.create().await.unwrap()
    };
    let _writer = open(Role::Writer).await;
    let mut connection = open(role).await;
    let query = format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}");
    let query = diesel::dsl::sql::<diesel::sql_types::Text>(&query);
    query.get_result(&mut connection).await.unwrap()
}

/// K8: the one that writes waits for the disk, under write-ahead logging, with foreign keys.
#[tokio::test]
async fn the_writer_is_durable() {
    assert_eq!(pragma(Role::Writer, "synchronous").await, "2");
    assert_eq!(pragma(Role::Writer, "journal_mode").await, "wal");
    assert_eq!(pragma(Role::Writer, "foreign_keys").await, "1");
    assert_eq!(pragma(Role::Limiter, "synchronous").await, "1");
}

/// The readers could not write if a query tried to.
#[tokio::test]
async fn a_reader_cannot_write() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vestry.db");
    let settings = Settings::new(Database::Sqlite(path.clone()));
    let open = async |role| {
        let manager = Manager::new(&path, role, &settings, Handle::current());
        manager.create().await.unwrap()
    };
    let mut writer = open(Role::Writer).await;
    let create = "CREATE TABLE t (x INTEGER)";
    writer.batch_execute(create).await.unwrap();
    let mut reader = open(Role::Reader).await;
    for statement in [
        "INSERT INTO t VALUES (1)",
        "DROP TABLE t",
        "CREATE TABLE u (x)",
    ] {
        let refused = reader.batch_execute(statement).await.unwrap_err();
        assert!(refused.to_string().contains("readonly"), "{refused}");
    }
    writer
        .batch_execute("INSERT INTO t VALUES (1)")
        .await
        .unwrap();
}

#[test]
fn errors_are_told_apart() {
    for (message, expected) in [
        ("database is locked", "Busy"),
        ("database table is locked: users", "Busy"),
        ("database or disk is full", "Unavailable"),
        ("disk I/O error", "Unavailable"),
        ("unable to open database file", "Unavailable"),
        ("database disk image is malformed", "Other"),
        ("no such table: users", "Other"),
        ("the statement took longer than it may", "TooLong"),
    ] {
        let error = Error::DatabaseError(DatabaseErrorKind::Unknown, Box::new(message.to_owned()));
        let name = match classify(error, None) {
            StoreError::Busy => "Busy",
            StoreError::Unavailable(_) => "Unavailable",
            StoreError::TooLong => "TooLong",
            StoreError::Retry | StoreError::Corrupt { .. } => "another",
            StoreError::Other(_) => "Other",
        };
        assert_eq!(name, expected, "{message}");
    }
}
