//! The state of the deployment, for its operators.

use vestry_domain::Timestamp;
use vestry_domain::action::Action;
use vestry_domain::extent::Extent;
use vestry_domain::timestamp::Seconds;

use super::alarms::Alarm;
use super::root_keys::RootKeyStatus;
use crate::audit::SinkStatus;
use crate::{Principal, Refusal, Service};

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
    /// The sinks of audit checkpoints.
    pub sinks: Vec<SinkStatus>,
    /// What an operator has to act on; without the endpoints of Apps.
    pub alarms: Vec<Alarm>,
    /// Limits of the settings.
    pub limits: DeploymentLimits,
}

/// Limits of the settings of this process.
#[derive(Debug, Clone, Copy)]
pub struct DeploymentLimits {
    /// Requests per minute in a test environment; 0 means no limit.
    pub test_per_minute: u32,
    /// Requests per minute in a live environment; 0 means no limit.
    pub live_per_minute: u32,
    /// Maximum concurrent webhook requests of a process.
    pub webhooks_in_flight: usize,
    /// Minutes without a remote checkpoint after which wallet keys are blocked; `None` if they never are.
    pub anchor_minutes: Option<i64>,
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
        let keys = self.root_keys().await;
        let waiting_messages = self.ports.store.read().await?.outbox().waiting().await?;
        let newest = self.newest_checkpoint().await?;
        let progress = self.checkpoint_progress().await?;
        let sinks = progress.sinks.clone();
        let alarms = self.deployment_alarms(&keys, progress);
        let now = self.machine_time();
        Ok(DeploymentStatus {
            sinks,
            alarms,
            limits: DeploymentLimits {
                test_per_minute: self.settings.test_per_minute,
                live_per_minute: self.settings.live_per_minute,
                webhooks_in_flight: self.settings.webhooks_in_flight,
                anchor_minutes: self.settings.anchor_minutes(),
            },
            wallets_key: keys.wallets,
            secrets_key: keys.secrets,
            waiting_messages,
            checkpoint: newest.map(|newest| CheckpointAge {
                at: newest.at,
                age: now - newest.at,
            }),
        })
    }
}
