//! What can go wrong in every use case alike, and running a transaction again.

use std::time::Duration;

use vestry_domain::envelope::KeyPurpose;
use vestry_ports::custody::CustodyError;
use vestry_ports::passwords::{BreachCheckUnavailable, HasherError};
use vestry_ports::store::StoreError;
use vestry_ports::tokens::TokenError;
use vestry_ports::vault::VaultError;

/// A failure that is not the caller's: the answer is 500 or 503 and says nothing about the cause.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// More work of a kind was asked for than the machine takes in; trying again later is right (503 `unavailable`). Nothing
    /// failed: a caller can bring it about as often as it likes, and it is not logged each time.
    #[error("as much of this is under way as the machine takes in")]
    Overloaded,
    /// Something we depend on is away or overloaded; trying again later is right (503 `unavailable`).
    #[error("a dependency is not available")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// No root key (503 `sealed`).
    #[error("the vault is sealed")]
    Sealed(#[source] CustodyError),
    /// No transport for this kind of message is configured for live use (503 `unavailable`).
    #[error("no {0} transport is configured for live messages")]
    NoTransport(&'static str),
    /// An App key was wrapped by a version of the root key that no other is under any more. Wrapping it again is the remedy when
    /// the root key was rotated in that moment; when the file here is an old one, bringing the new one is.
    #[error(
        "no App key for {0} is under version {1} of its root key any more: if this is not the newest root key file, copy that here"
    )]
    StaleRoot(KeyPurpose, u32),
    /// The transaction lost against another one and can be run again; `fault::retried` does.
    #[error("the transaction lost against others too often")]
    LostRace,
    /// Stored data failed its authentication; somebody must look (500 `internal`).
    #[error("stored data failed its authentication")]
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
            VaultError::Unavailable(_) => Self::Unavailable(Box::new(error)),
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

/// An error and its causes as one line for a log.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    std::iter::successors(error.source(), |cause| cause.source())
        .fold(error.to_string(), |line, cause| format!("{line}: {cause}"))
}

/// An error that may carry a [`Fault`].
pub(crate) trait MayLoseRace {
    /// Whether running the transaction again is the remedy.
    fn lost_race(&self) -> bool;
}

impl MayLoseRace for Fault {
    fn lost_race(&self) -> bool {
        matches!(self, Self::LostRace | Self::StaleRoot(..))
    }
}

/// How often one transaction is run at most.
const MOST_TRIES: u32 = 10;

/// Runs a transaction, and again while it loses against others, waiting a little longer each time.
pub(crate) async fn retried<T, E, F>(mut transaction: impl FnMut() -> F) -> Result<T, E>
where
    E: MayLoseRace,
    F: Future<Output = Result<T, E>>,
{
    for tries in 1..MOST_TRIES {
        let outcome = transaction().await;
        if !outcome.as_ref().is_err_and(MayLoseRace::lost_race) {
            return outcome;
        }
        tokio::time::sleep(Duration::from_millis(1 << tries.min(7))).await;
    }
    transaction().await
}
