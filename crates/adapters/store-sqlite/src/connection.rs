//! Error classification, and closing connections.

use std::sync::mpsc::channel;

use diesel::result::{DatabaseErrorKind, Error};
use diesel::{QueryResult, SqliteConnection};
use diesel_async::sync_connection_wrapper::SyncConnectionWrapper;
use futures_util::future::BoxFuture;
use vestry_ports::store::StoreError;

use super::statement_deadline::TOO_LATE;
use super::thread::OwnThread;

/// A connection of this store.
pub type Conn = SyncConnectionWrapper<SqliteConnection, OwnThread>;

/// Maps a database error to the port's error. SQLite's messages are never translated and never contain values.
pub fn classify(error: Error, _connection: Option<&mut Conn>) -> StoreError {
    let Error::DatabaseError(kind, information) = &error else {
        return StoreError::Other(Box::new(error));
    };
    let message = information.message();
    match kind {
        DatabaseErrorKind::Unknown if message.contains("is locked") => StoreError::Busy,
        DatabaseErrorKind::Unknown if message.contains(TOO_LATE) => StoreError::TooLong,
        // The parent row was deleted between the read and the write.
        DatabaseErrorKind::ForeignKeyViolation => StoreError::Retry,
        DatabaseErrorKind::UnableToSendCommand => StoreError::Unavailable(Box::new(error)),
        DatabaseErrorKind::Unknown if is_trouble_with_the_file(message) => {
            StoreError::Unavailable(Box::new(error))
        }
        _ => StoreError::Other(Box::new(error)),
    }
}

/// SQLITE_FULL, SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM and SQLITE_PROTOCOL: they may be transient or need an operator,
/// and no request is to blame.
fn is_trouble_with_the_file(message: &str) -> bool {
    [
        "database or disk is full",
        "disk I/O error",
        "unable to open database file",
        "attempt to write a readonly database",
        "access permission denied",
        "locking protocol",
    ]
    .iter()
    .any(|trouble| message.starts_with(trouble))
}

/// Closes a connection without waiting.
pub(crate) fn close(connection: Conn) {
    drop(closed(connection));
}

/// Closes a connection on its own thread and waits for that: the last connection to close a file checkpoints its write-ahead log.
pub(crate) fn closed(mut connection: Conn) -> BoxFuture<'static, QueryResult<()>> {
    // The last owner of the connection closes it, so its thread waits until it is the only one.
    let (let_go, is_alone) = channel::<()>();
    let closed = connection.spawn_blocking(move |_| {
        let _is_alone = is_alone.recv();
        Ok(())
    });
    drop(connection);
    drop(let_go);
    closed
}
