//! Who is calling: a world, its settings and its rights.

use vestry_domain::api_key::{ApiKey, Scope};
use vestry_domain::app::{App, AppSettings};
use vestry_domain::{Environment, World};

use crate::{Fault, Refusal};

/// A request whose key is known and not revoked.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The App and environment that the key opens.
    pub world: World,
    /// The key.
    pub key: ApiKey,
    /// The App.
    pub app: App,
}

/// Why a key opens nothing.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticateError {
    /// Not a key, an unknown one, or a revoked one; the answer does not tell which.
    #[error("the API key is not valid")]
    Unknown,
    /// See [`Fault`].
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Caller {
    /// The App's settings.
    pub const fn settings(&self) -> &AppSettings {
        &self.app.settings
    }

    /// Whether this is the test world.
    pub fn is_test(&self) -> bool {
        self.world.environment == Environment::Test
    }

    /// Refuses a call that the key's scopes do not cover.
    ///
    /// # Errors
    /// [`Refusal::NotAllowed`].
    pub fn require(&self, scope: Scope) -> Result<(), Refusal> {
        if self.key.allows(scope) {
            Ok(())
        } else {
            Err(Refusal::NotAllowed(scope))
        }
    }
}
