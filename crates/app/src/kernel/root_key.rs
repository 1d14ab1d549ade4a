//! Whether the root keys can be used.

use std::time::{Duration, Instant};

use vestry_domain::World;
use vestry_domain::envelope::KeyPurpose;
use vestry_ports::custody::CustodyError;
use vestry_ports::meter::Timed;
use vestry_ports::vault::VaultError;

use crate::{Fault, Service};

/// How long the database may take to return the key that the root key is tried on.
const PATIENCE: Duration = Duration::from_millis(250);

/// Why a root key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RootKeyTrouble {
    /// There is none.
    #[error("the root key is missing")]
    Missing(#[source] VaultError),
    /// There is one that cannot be read.
    #[error("the root key cannot be read")]
    Unreadable(#[source] VaultError),
    /// It does not open the keys of this database. It belongs to another one, or another process rotated it.
    #[error("the root key does not open the keys of this database")]
    Mismatch,
}

impl RootKeyTrouble {
    /// The name that probes show.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Missing(_) => "missing",
            Self::Unreadable(_) => "unreadable",
            Self::Mismatch => "mismatch",
        }
    }
}

impl From<VaultError> for RootKeyTrouble {
    fn from(error: VaultError) -> Self {
        match error {
            VaultError::Missing(_) => Self::Missing(error),
            VaultError::Unavailable(_) => Self::Unreadable(error),
            VaultError::UnknownVersion(_) | VaultError::Corrupt => Self::Mismatch,
        }
    }
}

impl Service {
    /// Checks that the root key of this purpose can be used. While the database is away, it checks only that there is one.
    ///
    /// This is never part of readiness: App keys that are already unwrapped keep working, and so does everything under the other root key.
    ///
    /// # Errors
    /// The reason why it cannot.
    pub async fn has_root_key(&self, purpose: KeyPurpose) -> Result<(), RootKeyTrouble> {
        let begun = Instant::now();
        let status = self.ports.vaults.of(purpose).status().await;
        self.meter().time(Timed::Vault(purpose), begun.elapsed());
        status?;
        match tokio::time::timeout(PATIENCE, self.opens_deployment_key(purpose)).await {
            Ok(Ok(false)) => Err(RootKeyTrouble::Mismatch),
            Ok(Ok(true) | Err(_)) | Err(_) => Ok(()),
        }
    }

    /// Returns whether the root key opens the newest key of the deployment, if there is one.
    async fn opens_deployment_key(&self, purpose: KeyPurpose) -> Result<bool, Fault> {
        let purpose = match purpose.root() {
            // The key that signs checkpoints is the deployment's only one under the root key of wallets.
            KeyPurpose::Wallets => KeyPurpose::Audit,
            other => other,
        };
        let mut read = self.ports.store.read().await?;
        let newest = read.app_keys().newest(&World::DEPLOYMENT, purpose).await?;
        drop(read);
        match newest {
            None => Ok(true),
            Some(key) => match self.ports.custodian.opens_app_key(&key).await {
                // It was read a moment ago.
                Err(CustodyError::Sealed(_)) => Ok(true),
                opened => Ok(opened?),
            },
        }
    }
}
