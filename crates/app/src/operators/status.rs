//! The state of the deployment, for its operators.

use std::time::Duration;

use vestry_domain::Timestamp;
use vestry_domain::action::Action;
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::extent::Extent;
use vestry_domain::timestamp::Seconds;

use crate::{Principal, Refusal, Service};

/// How long a vault may take to respond.
const PATIENCE: Duration = Duration::from_millis(500);

/// The state of a deployment whose database is ready.
#[derive(Debug, Clone)]
pub struct DeploymentStatus {
    /// The root key of wallets; `None` while it is unavailable.
    pub wallets_key: Option<RootKeyStatus>,
    /// The root key of all other secrets; `None` while it is unavailable.
    pub secrets_key: Option<RootKeyStatus>,
    /// Number of messages that are not sent yet.
    pub waiting_messages: i64,
    /// The newest audit checkpoint.
    pub checkpoint: Option<CheckpointAge>,
}

/// A root key that can be used.
#[derive(Debug, Clone)]
pub struct RootKeyStatus {
    /// The kind of vault, such as `local`.
    pub kind: &'static str,
    /// The version that wraps new keys.
    pub version: u32,
}

/// An audit checkpoint in the database.
#[derive(Debug, Clone, Copy)]
pub struct CheckpointAge {
    /// When it was made.
    pub at: Timestamp,
    /// How long ago that was.
    pub age: Seconds,
}

impl Service {
    /// Returns the state of the deployment.
    ///
    /// # Errors
    /// [`Refusal`]; a fault if the database is not reachable or has pending migrations.
    pub async fn deployment_status(&self, by: &Principal) -> Result<DeploymentStatus, Refusal> {
        by.authorize(Action::ReadStatus, Extent::Deployment)?;
        self.ready().await?;
        let (wallets_key, secrets_key) = tokio::join!(
            self.root_key_status(KeyPurpose::Wallets),
            self.root_key_status(KeyPurpose::Secrets),
        );
        let waiting_messages = self.ports.store.read().await?.outbox().waiting().await?;
        let newest = self.newest_checkpoint().await?;
        let now = self.machine_time();
        Ok(DeploymentStatus {
            wallets_key,
            secrets_key,
            waiting_messages,
            checkpoint: newest.map(|newest| CheckpointAge {
                at: newest.at,
                age: now - newest.at,
            }),
        })
    }

    async fn root_key_status(&self, purpose: KeyPurpose) -> Option<RootKeyStatus> {
        let status = self.ports.vaults.of(purpose).status();
        let status = tokio::time::timeout(PATIENCE, status).await.ok()?.ok()?;
        Some(RootKeyStatus {
            kind: status.kind,
            version: status.primary_version,
        })
    }
}
