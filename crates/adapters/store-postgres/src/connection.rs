//! Error classification, and closing connections.

use diesel::result::{DatabaseErrorKind, Error};
use vestry_ports::store::StoreError;

use super::failover;

pub use super::conn::Conn;

/// Maps a database error to the port's error.
///
/// diesel keeps the SQLSTATE of only a few errors. The others are recognised by their message, which is untranslated unless `lc_messages`
/// is set. An unrecognised message still is an error, only a less exact one.
pub fn classify(error: Error, connection: Option<&mut Conn>) -> StoreError {
    let Error::DatabaseError(kind, information) = &error else {
        return StoreError::Other(Box::new(error));
    };
    match kind {
        // 40001, and 23503: the parent row was deleted between the read and the write.
        DatabaseErrorKind::SerializationFailure | DatabaseErrorKind::ForeignKeyViolation => {
            StoreError::Retry
        }
        // An old primary reports 25006 after a failover.
        DatabaseErrorKind::ReadOnlyTransaction => {
            failover::write_unconfirmed();
            StoreError::Unavailable(Box::new(error))
        }
        DatabaseErrorKind::UnableToSendCommand | DatabaseErrorKind::ClosedConnection => {
            StoreError::Unavailable(Box::new(error))
        }
        DatabaseErrorKind::Unknown => match Trouble::of(information.message()) {
            Some(Trouble::Deadlock) => StoreError::Retry,
            Some(Trouble::Waited) => {
                failover::lock_timed_out();
                StoreError::Busy
            }
            Some(Trouble::Late) => StoreError::TooLong,
            Some(Trouble::Gone) => StoreError::Unavailable(Box::new(error)),
            Some(Trouble::Standby) => {
                failover::write_unconfirmed();
                StoreError::Unavailable(Box::new(error))
            }
            None if connection.is_some_and(Conn::is_broken) => {
                StoreError::Unavailable(Box::new(error))
            }
            None => StoreError::Other(Box::new(error)),
        },
        _ => StoreError::Other(Box::new(error)),
    }
}

/// The message of Citus for a deadlock over several servers.
const DISTRIBUTED_DEADLOCK: &str =
    "canceling the transaction since it was involved in a distributed deadlock";

/// How messages begin if the coordinator of a Citus cluster cannot reach the server of an App.
///
/// For a connection that breaks during a statement, Citus reports the text of libpq and the SQLSTATE of an internal error.
const WORKER_IS_AWAY: [&str; 19] = [
    // Citus: no connection, or no working one.
    "connection to the remote node",
    "connection establishment for node",
    "could not establish any connections to the node",
    "could not connect to any active placements",
    "cannot connect to",
    "failure on connection marked as essential",
    "failed to assign",
    "Adding wait event for node",
    "modifying wait event for node",
    "postmaster was shut down",
    // Citus: at the end of a transaction.
    "could not commit transaction for shard",
    "failed to prepare transaction",
    // libpq.
    "server closed the connection unexpectedly",
    "could not receive data from server",
    "could not send data to server",
    "no connection to the server",
    "connection not open",
    "lost synchronization with server",
    "SSL ",
];

/// Errors that diesel does not distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    /// 40P01.
    Deadlock,
    /// 55P03: lock timeout.
    Waited,
    /// 57014: statement timeout.
    Late,
    /// 57P01, 57P02, 57P03, 53100, 53200: the server is shutting down, starting, or out of space; or the server of a cluster that has the
    /// App is. 57014 without a time limit: an operator cancelled the statement (`pg_cancel_backend`).
    Gone,
    /// 0A000: a transaction tried to write on a standby.
    Standby,
}

impl Trouble {
    fn of(message: &str) -> Option<Self> {
        let is = |beginning: &str| message.starts_with(beginning);
        if is("deadlock detected") || is(DISTRIBUTED_DEADLOCK) {
            Some(Self::Deadlock)
        } else if is("canceling statement due to lock timeout") {
            Some(Self::Waited)
        } else if is("canceling statement due to statement timeout") {
            Some(Self::Late)
        } else if is("cannot set transaction read-write mode during recovery") {
            Some(Self::Standby)
        } else if is("terminating connection")
            || is("the database system is")
            || is("canceling statement due to user request")
            || is("out of memory")
            || is("out of shared memory")
            // libpq may have no message for a broken connection.
            || message.is_empty()
            || WORKER_IS_AWAY.into_iter().any(is)
            || message.contains("No space left on device")
        {
            Some(Self::Gone)
        } else {
            None
        }
    }
}

/// Closes a connection. The server rolls back its open transaction.
pub(crate) fn close(connection: Conn) {
    drop(connection);
}
