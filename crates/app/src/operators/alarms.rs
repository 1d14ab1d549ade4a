//! Alarms: states of the deployment that an operator has to act on.

use vestry_domain::Timestamp;
use vestry_domain::action::Action;
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::extent::Extent;
use vestry_domain::timestamp::Seconds;
use vestry_domain::webhook::Endpoint;

use super::root_keys::RootKeys;
use crate::audit::SinkStatus;
use crate::audit::checkpoint::CheckpointProgress;
use crate::{Fault, Principal, Refusal, Service};

/// Maximum number of failing endpoints that are read.
const MAX_ENDPOINTS: i64 = 1_000;

/// A state that an operator has to act on.
#[derive(Debug, Clone)]
pub enum Alarm {
    /// A root key is unavailable.
    VaultUnavailable(KeyPurpose),
    /// This process has failed to sequence events for this long.
    SequencingStalled(Seconds),
    /// Audit checkpoints are no longer made.
    CheckpointsStopped {
        /// The last round.
        since: Timestamp,
    },
    /// A sink has not stored checkpoints for long.
    SinkBehind {
        /// The sink.
        sink: SinkStatus,
        /// When the oldest checkpoint that it lacks was made.
        since: Timestamp,
        /// Minutes after which wallet keys are blocked without a sink; `None` if they never are.
        blocks_after: Option<i64>,
    },
    /// A live webhook endpoint is failing, or was disabled because it failed.
    EndpointFailing(Box<Endpoint>),
}

impl Alarm {
    /// Whether the deployment as a whole is affected.
    pub const fn is_critical(&self) -> bool {
        match self {
            Self::VaultUnavailable(_)
            | Self::SequencingStalled(_)
            | Self::CheckpointsStopped { .. } => true,
            Self::SinkBehind { blocks_after, .. } => blocks_after.is_some(),
            Self::EndpointFailing(_) => false,
        }
    }
}

impl Service {
    /// Returns the alarms that an operator may see: those of the deployment, and those of the operator's Apps.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub async fn alarms(&self, by: &Principal) -> Result<Vec<Alarm>, Refusal> {
        let mut alarms = Vec::new();
        if by.may(Action::ReadStatus, Extent::Deployment) {
            let (keys, progress) = (self.root_keys().await, self.checkpoint_progress().await?);
            alarms.extend(self.deployment_alarms(&keys, progress));
        }
        alarms.extend(self.endpoint_alarms(by).await?);
        Ok(alarms)
    }

    /// The alarms that are not about an App.
    pub(super) fn deployment_alarms(
        &self,
        keys: &RootKeys,
        progress: CheckpointProgress,
    ) -> Vec<Alarm> {
        let stalled = self.sequencing_stalled_for();
        let stalled = stalled.and_then(|stalled| i64::try_from(stalled.as_secs()).ok());
        let overdue = self.machine_time() - self.checkpoint_patience();
        let stopped = progress.round.filter(|round| *round < overdue);
        let blocks_after = self.settings.anchor_minutes();
        let behind = progress.sinks.into_iter().filter_map(|sink| {
            let since = sink.waiting_since.filter(|since| *since < overdue)?;
            Some(Alarm::SinkBehind {
                sink,
                since,
                blocks_after,
            })
        });
        let stalled = stalled.map(|seconds| Alarm::SequencingStalled(Seconds(seconds)));
        let stopped = stopped.map(|since| Alarm::CheckpointsStopped { since });
        let unavailable = keys.unavailable().map(Alarm::VaultUnavailable);
        let events = stalled.into_iter().chain(stopped);
        unavailable.chain(events).chain(behind).collect()
    }

    async fn endpoint_alarms(&self, by: &Principal) -> Result<Vec<Alarm>, Fault> {
        if !by.may_somewhere(Action::ReadWebhooks) {
            return Ok(Vec::new());
        }
        let mut read = self.ports.store.read().await?;
        let failing = read.webhook_endpoints().failing(MAX_ENDPOINTS).await?;
        let visible = failing
            .into_iter()
            .filter(|endpoint| by.may(Action::ReadWebhooks, endpoint.world));
        Ok(visible
            .map(|endpoint| Alarm::EndpointFailing(Box::new(endpoint)))
            .collect())
    }
}
