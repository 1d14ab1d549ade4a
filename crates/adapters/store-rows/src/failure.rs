//! Errors of the store's own code and of its connection pools, as opposed to database errors.

use deadpool::managed::{PoolError, TimeoutType};
use vestry_ports::store::StoreError;

/// A call that the unit of work does not support. A bug in the caller.
#[derive(Debug, thiserror::Error)]
pub enum Misuse {
    /// A write through a read-only view.
    #[error("cannot write through a read-only view")]
    ReadOnly,
    /// A statement after a failed or abandoned one.
    #[error("this unit of work has already failed and must be dropped")]
    Dead,
}

impl From<Misuse> for StoreError {
    fn from(misuse: Misuse) -> Self {
        Self::Other(Box::new(misuse))
    }
}

/// An error cause that consists of text only.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Cause(pub String);

/// Returns the error of a commit that timed out: its outcome is unknown.
pub fn unanswered() -> StoreError {
    let cause = "timed out waiting for the commit; its outcome is unknown";
    StoreError::Unavailable(Box::new(Cause(cause.to_owned())))
}

/// Returns the reason why a pool provided no connection.
pub fn of_pool(error: PoolError<StoreError>) -> StoreError {
    match error {
        PoolError::Timeout(TimeoutType::Wait) => StoreError::Busy,
        PoolError::Backend(cause) => cause,
        PoolError::Timeout(TimeoutType::Create | TimeoutType::Recycle)
        | PoolError::Closed
        | PoolError::NoRuntimeSpecified
        | PoolError::PostCreateHook(_) => {
            StoreError::Unavailable(Box::new(Cause(error.to_string())))
        }
    }
}
