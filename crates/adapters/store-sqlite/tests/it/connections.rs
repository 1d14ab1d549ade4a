//! Connections to the file.

use std::cell::OnceCell;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use deadpool::managed::Manager as _;
use diesel::connection::SimpleConnection as _;
use diesel::result::{DatabaseErrorKind, Error};
use diesel::{QueryResult, SqliteConnection};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use vestry_ports::store::StoreError;

use vestry_store_rows::settings::{Database, Settings};
use vestry_store_sqlite::{Manager, Role, classify};

async fn pragma(role: Role, name: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vestry.db");
    let settings = Settings::new(Database::Sqlite(path.clone()));
    let open = async |role| {
        let manager = Manager::new(&path, role, &settings);
        manager.create().await.unwrap()
    };
    let _writer = open(Role::Writer).await;
    let mut connection = open(role).await;
    let query = format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}");
    let query = diesel::dsl::sql::<diesel::sql_types::Text>(&query);
    query.get_result(&mut connection).await.unwrap()
}

/// K8: the writing connection waits for the disk, with write-ahead logging and foreign keys.
#[tokio::test]
async fn the_writer_is_durable() {
    assert_eq!(pragma(Role::Writer, "synchronous").await, "2");
    assert_eq!(pragma(Role::Writer, "journal_mode").await, "wal");
    assert_eq!(pragma(Role::Writer, "foreign_keys").await, "1");
    assert_eq!(pragma(Role::Limiter, "synchronous").await, "1");
}

/// Readers could not write even if a query tried to.
#[tokio::test]
async fn a_reader_cannot_write() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vestry.db");
    let settings = Settings::new(Database::Sqlite(path.clone()));
    let open = async |role| {
        let manager = Manager::new(&path, role, &settings);
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

/// Thread-local data must not accumulate over time.
#[tokio::test]
async fn a_connection_uses_a_single_thread() {
    let directory = tempfile::tempdir().unwrap();
    let settings = Settings::new(Database::Sqlite(directory.path().join("vestry.db")));
    let open = async |role| {
        let manager = Manager::new(&directory.path().join("vestry.db"), role, &settings);
        manager.create().await.unwrap()
    };
    let mut writer = open(Role::Writer).await;
    let mut reader = open(Role::Reader).await;
    let thread = |_: &mut SqliteConnection| Ok(std::thread::current().id());
    let own = writer.spawn_blocking(thread).await.unwrap();
    assert_ne!(reader.spawn_blocking(thread).await.unwrap(), own);

    // Its result is dropped, and it still runs before the calls after it.
    drop(writer.spawn_blocking(|conn| conn.batch_execute("CREATE TABLE t (x INTEGER)")));
    let insert = "INSERT INTO t VALUES (1)";
    SimpleAsyncConnection::batch_execute(&mut writer, insert)
        .await
        .unwrap();

    let panicked = writer.spawn_blocking(|_| -> QueryResult<()> { panic!("on purpose") });
    let error = classify(panicked.await.unwrap_err(), None);
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    assert_eq!(writer.spawn_blocking(thread).await.unwrap(), own);

    // Thread-local data are dropped when the thread ends.
    thread_local!(static HELD: OnceCell<Sender<()>> = const { OnceCell::new() });
    let (held, ends) = channel();
    let hold = writer.spawn_blocking(move |_| Ok(HELD.with(|own| own.set(held).is_ok())));
    assert!(hold.await.unwrap());
    drop(writer);
    let ended = ends.recv_timeout(Duration::from_secs(60));
    assert_eq!(ended, Err(RecvTimeoutError::Disconnected));
}

#[test]
fn errors_are_classified() {
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
