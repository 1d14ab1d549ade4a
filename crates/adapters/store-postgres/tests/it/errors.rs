//! Classification of server errors.

use diesel::result::{DatabaseErrorKind, Error};
use vestry_ports::store::StoreError;

use vestry_store_postgres::classify;

fn database_error(kind: DatabaseErrorKind, message: &str) -> Error {
    Error::DatabaseError(kind, Box::new(message.to_owned()))
}

/// R14, K4, K5: the cases that callers distinguish.
#[test]
fn errors_are_classified() {
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
            Kind::Unknown,
            "canceling statement due to user request",
            "Unavailable",
        ),
        (Kind::Unknown, "out of memory", "Unavailable"),
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
        assert_eq!(class(kind, message), expected, "{message}");
    }
}

fn class(kind: DatabaseErrorKind, message: &str) -> &'static str {
    match classify(database_error(kind, message), None) {
        StoreError::Busy => "Busy",
        StoreError::TooLong => "TooLong",
        StoreError::Unavailable(_) => "Unavailable",
        StoreError::Retry => "Retry",
        StoreError::Corrupt { .. } => "Corrupt",
        StoreError::Other(_) => "Other",
    }
}

/// PR-57: what the coordinator of a Citus cluster reports if the server of an App dies, in the words of Citus 13.2 and of libpq.
#[test]
fn pr_57_an_unreachable_cluster_server_is_unavailable() {
    for message in [
        "connection to the remote node postgres@10.0.0.2:5432 failed with the following error: Connection refused",
        "connection to the remote node postgres@10.0.0.2:5432 failed",
        "connection establishment for node 10.0.0.2:5432 failed",
        "could not establish any connections to the node 10.0.0.2:5432 after 30000 ms",
        "could not connect to any active placements",
        "failure on connection marked as essential: 10.0.0.2:5432",
        "failed to assign 1 task(s) to worker nodes",
        "could not commit transaction for shard 102008 on at least one active node",
        "failed to prepare transaction 'citus_0_12_3_4' on host 10.0.0.2:5432",
        "terminating connection due to administrator command",
        "terminating connection because of crash of another server process",
        "the database system is shutting down",
        "the database system is starting up",
        "server closed the connection unexpectedly\n\tThis probably means the server terminated abnormally\n\tbefore or while processing the request.",
        "could not receive data from server: Connection reset by peer",
        "could not send data to server: Broken pipe",
        "no connection to the server",
        "connection not open",
        "SSL connection has been closed unexpectedly",
        "SSL SYSCALL error: EOF detected",
        "",
    ] {
        let class = class(DatabaseErrorKind::Unknown, message);
        assert_eq!(class, "Unavailable", "{message}");
    }
}
