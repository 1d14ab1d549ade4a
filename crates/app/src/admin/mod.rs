//! What an operator sets up from the command line: Apps, keys, redirect URLs.

pub mod apps;
pub mod keys;
pub mod providers;
pub mod redirect_urls;
pub mod replays;
pub mod signing_keys;
mod unlock;
pub mod webhooks;

pub use keys::NewApiKey;
pub use providers::ListedConnection;

use vestry_domain::Invalid;

use crate::fault::MayLoseRace;
use crate::{Fault, Refusal};

/// Why an admin command did nothing.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// A value was refused.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// There is no such App, key or URL.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// It exists already.
    #[error("this {0} exists already")]
    Exists(&'static str),
    /// Something else has to happen first; says what.
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

/// Of what a caller with a key may do as well.
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
