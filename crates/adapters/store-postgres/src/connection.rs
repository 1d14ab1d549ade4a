//! A connection, what its errors mean, and how it ends.

use diesel::result::{DatabaseErrorKind, Error};
use vestry_ports::store::StoreError;

use super::primary;

pub use super::conn::Conn;

/// The port's name for an error of the database.
///
/// diesel keeps the SQLSTATE of only a few errors. The others are known by their message, which is untranslated unless
/// somebody set `lc_messages`; what is missed then is still an error, only a less exact one.
pub fn classify(error: Error, connection: Option<&mut Conn>) -> StoreError {
    let Error::DatabaseError(kind, information) = &error else {
        return StoreError::Other(Box::new(error));
    };
    match kind {
        // 40001, and 23503: what a row belongs to went away between looking and writing.
        DatabaseErrorKind::SerializationFailure | DatabaseErrorKind::ForeignKeyViolation => {
            StoreError::Retry
        }
        // 25006 is what an old primary says after a failover.
        DatabaseErrorKind::ReadOnlyTransaction => {
            primary::did_not_write();
            StoreError::Unavailable(Box::new(error))
        }
        DatabaseErrorKind::UnableToSendCommand | DatabaseErrorKind::ClosedConnection => {
            StoreError::Unavailable(Box::new(error))
        }
        DatabaseErrorKind::Unknown => match Trouble::of(information.message()) {
            Some(Trouble::Deadlock) => StoreError::Retry,
            Some(Trouble::Waited) => {
                primary::waited_in_vain();
                StoreError::Busy
            }
            Some(Trouble::Late) => StoreError::TooLong,
            Some(Trouble::Gone) => StoreError::Unavailable(Box::new(error)),
            Some(Trouble::Standby) => {
                primary::did_not_write();
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

/// What Citus says of a deadlock over several servers.
const DISTRIBUTED_DEADLOCK: &str =
    "canceling the transaction since it was involved in a distributed deadlock";

/// How messages begin when the server of an App cannot be reached through the coordinator of a Citus cluster.
///
/// Citus reports a connection that breaks during a statement with the text of libpq and the SQLSTATE of an internal error.
const WORKER_IS_AWAY: [&str; 19] = [
    // Citus: no connection, or none that works.
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

/// Troubles that diesel does not tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    /// 40P01.
    Deadlock,
    /// 55P03: a lock was not to be had in time.
    Waited,
    /// 57014: a statement took longer than it may.
    Late,
    /// 57P01, 57P02, 57P03, 53100, 53200: the server goes down, comes up, or has no room; or one of a cluster does, which has the App.
    /// 57014 without a time limit: an operator cancelled the statement (`pg_cancel_backend`).
    Gone,
    /// 0A000: a standby is told that a transaction writes.
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
            // libpq may have nothing to say of a connection that broke.
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

/// Closes a connection. The server undoes what it had open.
pub(crate) fn close(connection: Conn) {
    drop(connection);
}
