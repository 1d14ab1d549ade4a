//! Failures that are not the database's, and those of the pools.

use deadpool::managed::{PoolError, TimeoutType};
use vestry_ports::store::StoreError;

/// Something was asked of a unit of work that it does not do. A bug in the caller.
#[derive(Debug, thiserror::Error)]
pub enum Misuse {
    /// A write through a view.
    #[error("a view for reading cannot write")]
    ReadOnly,
    /// A statement after a failed or abandoned one.
    #[error("this unit of work failed before and must be dropped")]
    Dead,
}

impl From<Misuse> for StoreError {
    fn from(misuse: Misuse) -> Self {
        Self::Other(Box::new(misuse))
    }
}

/// A cause that is only text.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Cause(pub String);

/// A commit took too long: nobody knows whether it happened.
pub fn unanswered() -> StoreError {
    let cause = "the database did not say in time whether it has committed";
    StoreError::Unavailable(Box::new(Cause(cause.to_owned())))
}

/// Why a pool gave no connection.
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
