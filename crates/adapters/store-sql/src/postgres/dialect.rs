//! What only Postgres does.

use std::time::Duration;

use diesel::result::{DatabaseErrorKind, Error};
use diesel_async::AsyncPgConnection;
use diesel_async::pooled_connection::PoolableConnection;
use tokio::runtime::Handle;
use vestry_ports::store::StoreError;

pub(crate) use super::lists::{append_to_audit_log, commit_to_audit_log, wallets_with_keys};
pub(crate) use super::manager::Manager;

pub(crate) type Conn = AsyncPgConnection;

/// Everything here is correct under READ COMMITTED; another default of the database is not inherited by accident.
pub(crate) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// How long undoing may take before the connection is given up, which undoes as well.
pub(crate) const ROLLBACK_TIMEOUT: Duration = Duration::from_secs(5);

/// 1 when diesel's book of migrations exists, else 0.
pub(crate) const COUNT_BOOKS_OF_MIGRATIONS: &str = "SELECT count(*) FROM information_schema.tables \
     WHERE table_schema = current_schema() AND table_name = '__diesel_schema_migrations'";

/// Leases jobs that are due; those that another worker is leasing at this moment are passed over. The parameters are the
/// owner, the end of the lease, the time and the most jobs.
pub(crate) const CLAIM: &str = "\
    WITH due AS ( \
        SELECT app_id, environment, id FROM outbox \
        WHERE ended_at IS NULL AND due_at <= $3 ORDER BY due_at, id LIMIT $4 FOR UPDATE SKIP LOCKED \
    ) \
    UPDATE outbox SET attempts = outbox.attempts + 1, lease_owner = $1, due_at = $2 FROM due \
    WHERE outbox.app_id = due.app_id AND outbox.environment = due.environment AND outbox.id = due.id \
    RETURNING outbox.app_id, outbox.environment, outbox.id, outbox.channel, outbox.payload_key_version, \
        outbox.payload, outbox.not_before, outbox.deliver_before, outbox.attempts, outbox.due_at, outbox.created_at";

/// The port's name for an error of the database.
///
/// diesel keeps the SQLSTATE of only a few errors. The others are known by their message, which is untranslated unless
/// somebody set `lc_messages`; what is missed then is still an error, only a less exact one.
pub(crate) fn classify(error: Error, connection: Option<&mut Conn>) -> StoreError {
    let Error::DatabaseError(kind, information) = &error else {
        return StoreError::Other(Box::new(error));
    };
    match kind {
        // 40001, and 23503: what a row belongs to went away between looking and writing.
        DatabaseErrorKind::SerializationFailure | DatabaseErrorKind::ForeignKeyViolation => {
            StoreError::Retry
        }
        // 25006 is what an old primary says after a failover.
        DatabaseErrorKind::UnableToSendCommand
        | DatabaseErrorKind::ClosedConnection
        | DatabaseErrorKind::ReadOnlyTransaction => StoreError::Unavailable(Box::new(error)),
        DatabaseErrorKind::Unknown => match Trouble::of(information.message()) {
            Some(Trouble::Deadlock) => StoreError::Retry,
            Some(Trouble::Waited) => StoreError::Busy,
            Some(Trouble::Gone) => StoreError::Unavailable(Box::new(error)),
            None if connection.is_some_and(PoolableConnection::is_broken) => {
                StoreError::Unavailable(Box::new(error))
            }
            None => StoreError::Other(Box::new(error)),
        },
        _ => StoreError::Other(Box::new(error)),
    }
}

/// Troubles that diesel does not tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    /// 40P01.
    Deadlock,
    /// 55P03 and 57014: a lock was not to be had in time.
    Waited,
    /// 57P01, 57P02, 57P03, 53100: the server goes down, comes up, or has no room.
    Gone,
}

impl Trouble {
    fn of(message: &str) -> Option<Self> {
        let is = |beginning: &str| message.starts_with(beginning);
        if is("deadlock detected") {
            Some(Self::Deadlock)
        } else if is("canceling statement due to lock timeout")
            || is("canceling statement due to statement timeout")
        {
            Some(Self::Waited)
        } else if is("terminating connection")
            || is("the database system is")
            || message.contains("No space left on device")
        {
            Some(Self::Gone)
        } else {
            None
        }
    }
}

/// Loads three queries in the time of one round trip.
///
/// A macro, because the compiler cannot see that a future is `Send` which holds a generic query and `&Conn`.
macro_rules! load_three {
    ($conn:expr, $first:expr, $second:expr, $third:expr) => {{
        use futures_util::FutureExt;
        let conn: &$crate::postgres::dialect::Conn = $conn;
        let first = RunQueryDsl::load($first, &mut &*conn).boxed();
        let second = RunQueryDsl::load($second, &mut &*conn).boxed();
        let third = RunQueryDsl::load($third, &mut &*conn).boxed();
        async move { futures_util::try_join!(first, second, third) }
    }};
}
pub(crate) use load_three;

/// Rows that nobody else removes before the transaction ends.
macro_rules! held {
    ($query:expr) => {
        $query.for_key_share()
    };
}
pub(crate) use held;

/// Rows that nobody else changes before the transaction ends.
macro_rules! kept {
    ($query:expr) => {
        $query.for_share()
    };
}
pub(crate) use kept;

/// Closes a connection. The server undoes what it had open.
pub(crate) fn close(connection: Conn, _runtime: &Handle) {
    drop(connection);
}

#[cfg(test)]
mod tests;
