//! What the errors of the server are to a caller.

use diesel::result::{DatabaseErrorKind, Error};
use vestry_ports::store::StoreError;

use vestry_store_postgres::classify;

fn database_error(kind: DatabaseErrorKind, message: &str) -> Error {
    Error::DatabaseError(kind, Box::new(message.to_owned()))
}

/// R14, K4, K5: what a caller branches on.
#[test]
fn errors_are_told_apart() {
    use DatabaseErrorKind as Kind;
    for (kind, message, expected) in [
        (
            Kind::SerializationFailure,
            "could not serialize access due to concurrent update",
            "Retry",
        ),
        (
            Kind::SerializationFailure,
            "restart transaction: …",
            "Retry",
        ),
        (Kind::Unknown, "deadlock detected", "Retry"),
        (
            Kind::Unknown,
            "cannot set transaction read-write mode during recovery",
            "Unavailable",
        ),
        (
            Kind::Unknown,
            "canceling statement due to lock timeout",
            "Busy",
        ),
        (
            Kind::Unknown,
            "canceling statement due to statement timeout",
            "TooLong",
        ),
        (
            Kind::Unknown,
            "terminating connection due to administrator command",
            "Unavailable",
        ),
        (
            Kind::Unknown,
            "terminating connection due to idle-in-transaction timeout",
            "Unavailable",
        ),
        (
            Kind::Unknown,
            "the database system is shutting down",
            "Unavailable",
        ),
        (
            Kind::Unknown,
            "could not extend file \"base/1/2\": No space left on device",
            "Unavailable",
        ),
        (
            Kind::ReadOnlyTransaction,
            "cannot execute INSERT in a read-only transaction",
            "Unavailable",
        ),
        (
            Kind::UnableToSendCommand,
            "connection closed",
            "Unavailable",
        ),
        (
            Kind::UniqueViolation,
            "duplicate key value violates unique constraint \"x_key\"",
            "Other",
        ),
        (Kind::Unknown, "relation \"users\" does not exist", "Other"),
    ] {
        let name = match classify(database_error(kind, message), None) {
            StoreError::Busy => "Busy",
            StoreError::TooLong => "TooLong",
            StoreError::Unavailable(_) => "Unavailable",
            StoreError::Retry => "Retry",
            StoreError::Corrupt { .. } => "Corrupt",
            StoreError::Other(_) => "Other",
        };
        assert_eq!(name, expected, "{message}");
    }
}
