//! Failures common to all use cases, and retrying transactions.

use std::time::Duration;

use vestry_domain::envelope::KeyPurpose;
use vestry_ports::custody::CustodyError;
use vestry_ports::passwords::{BreachCheckUnavailable, HasherError};
use vestry_ports::store::StoreError;
use vestry_ports::tokens::TokenError;
use vestry_ports::vault::VaultError;

/// A failure that is not the caller's fault. The response is 500 or 503 and does not reveal the cause.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The server is at capacity for this kind of work (503 `unavailable`); retrying later is right.
    ///
    /// Callers can cause this at will, so it is not logged each time.
    #[error("the server is at capacity; try again later")]
    Overloaded,
    /// Too many messages of this kind wait to be delivered (503 `unavailable`); retrying later is right. Like [`Fault::Overloaded`], it is not
    /// logged each time.
    #[error("too many messages of this App are waiting; try again later")]
    TooManyWaiting,
    /// A dependency is down or overloaded (503 `unavailable`); retrying later is right.
    #[error("a dependency is unavailable")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The root key is missing (503 `sealed`).
    #[error("the vault is sealed")]
    Sealed(#[source] CustodyError),
    /// No transport for this kind of message is configured for live use (503 `unavailable`).
    #[error("no {0} transport is configured for live messages")]
    NoTransport(&'static str),
    /// An App key is wrapped by a root key version that wraps no other key.
    ///
    /// If the root key was rotated at that moment, wrapping the key again resolves it. If the local root key file is outdated, copy the new
    /// one.
    #[error(
        "root key version {1} no longer wraps any App key for {0}; if the root key file is outdated, replace it with the newest one"
    )]
    StaleRoot(KeyPurpose, u32),
    /// The transaction lost a race and can be retried with `fault::retried`.
    #[error("transaction conflicts persisted after all retries")]
    LostRace,
    /// Stored data failed authentication and must be investigated (500 `internal`).
    #[error("stored data failed authentication")]
    Tampered(#[source] CustodyError),
    /// A bug or corrupt data (500 `internal`).
    #[error("internal failure")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Retry => Self::LostRace,
            StoreError::Busy | StoreError::TooLong | StoreError::Unavailable(_) => {
                Self::Unavailable(Box::new(error))
            }
            StoreError::Corrupt { .. } | StoreError::Other(_) => Self::Internal(Box::new(error)),
        }
    }
}

impl From<CustodyError> for Fault {
    fn from(error: CustodyError) -> Self {
        match error {
            CustodyError::Store(store) => store.into(),
            CustodyError::Sealed(_) => Self::Sealed(error),
            CustodyError::Tampered { .. } => Self::Tampered(error),
            CustodyError::Refused(_) | CustodyError::Failed(_) => Self::Internal(Box::new(error)),
        }
    }
}

impl From<TokenError> for Fault {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Custody(custody) => custody.into(),
            TokenError::NotAuthentic => Self::Internal(Box::new(error)),
        }
    }
}

impl From<VaultError> for Fault {
    fn from(error: VaultError) -> Self {
        match error {
            VaultError::Missing(_) | VaultError::Unavailable(_) => {
                Self::Unavailable(Box::new(error))
            }
            VaultError::UnknownVersion(_) | VaultError::Corrupt => Self::Internal(Box::new(error)),
        }
    }
}

impl From<HasherError> for Fault {
    fn from(error: HasherError) -> Self {
        match error {
            HasherError::Busy => Self::Overloaded,
            HasherError::Failed(_) => Self::Internal(Box::new(error)),
        }
    }
}

impl From<BreachCheckUnavailable> for Fault {
    fn from(error: BreachCheckUnavailable) -> Self {
        Self::Unavailable(Box::new(error))
    }
}

/// Returns an error and its causes as one line for a log.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    std::iter::successors(error.source(), |cause| cause.source())
        .fold(error.to_string(), |line, cause| format!("{line}: {cause}"))
}

/// An error that may carry a [`Fault`].
pub(crate) trait MayLoseRace {
    /// Returns whether the transaction should be retried.
    fn lost_race(&self) -> bool;
}

impl MayLoseRace for Fault {
    fn lost_race(&self) -> bool {
        matches!(self, Self::LostRace | Self::StaleRoot(..))
    }
}

/// Maximum number of attempts of one transaction.
const MAX_TRIES: u32 = 10;

/// Runs a transaction, retrying with increasing delays while it loses races.
pub(crate) async fn retried<T, E, F>(mut transaction: impl FnMut() -> F) -> Result<T, E>
where
    E: MayLoseRace,
    F: Future<Output = Result<T, E>>,
{
    for tries in 1..MAX_TRIES {
        let outcome = transaction().await;
        if !outcome.as_ref().is_err_and(MayLoseRace::lost_race) {
            return outcome;
        }
        tokio::time::sleep(Duration::from_millis(1 << tries.min(7))).await;
    }
    transaction().await
}
