//! What operators set up and maintain: Apps, API keys, redirect URLs, providers, signing keys, webhooks, the vault, rotation and retention.

pub mod apps;
pub mod keys;
pub mod providers;
pub mod redirect_urls;
pub mod replays;
pub mod retention;
pub mod rotation;
pub mod signing_keys;
pub mod test_clock;
mod unlock;
pub mod vault;
pub mod webhooks;

pub use keys::NewApiKey;
pub use providers::ListedConnection;

use vestry_domain::Invalid;

use crate::kernel::fault::MayLoseRace;
use crate::{Fault, Refusal};

/// Reason why an admin command failed.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// A value is invalid.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The App, key, URL or other object does not exist.
    #[error("no such {0}")]
    NotFound(&'static str),
    /// An equal object already exists.
    #[error("this {0} already exists")]
    Exists(&'static str),
    /// The current state does not permit the command. The message says what to do first.
    #[error("{0}")]
    NotNow(&'static str),
    /// See [`Fault`].
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl MayLoseRace for AdminError {
    fn lost_race(&self) -> bool {
        matches!(self, Self::Fault(fault) if fault.lost_race())
    }
}

/// Used by operations that are also available through the API.
impl From<AdminError> for Refusal {
    fn from(error: AdminError) -> Self {
        match error {
            AdminError::Invalid(invalid) => invalid.into(),
            AdminError::NotFound(what) => Self::NotFound(what),
            AdminError::Exists(what) => Self::Taken(what.into()),
            AdminError::NotNow(what) => Invalid::value("state", what).into(),
            AdminError::Fault(fault) => fault.into(),
        }
    }
}

impl From<vestry_ports::store::StoreError> for AdminError {
    fn from(error: vestry_ports::store::StoreError) -> Self {
        Self::Fault(error.into())
    }
}
