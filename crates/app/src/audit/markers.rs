//! The prune markers of chains.

use vestry_domain::World;
use vestry_domain::audit::AuditMarker;
use vestry_domain::ids::AuditChainId;
use vestry_ports::store::StoreError;

use crate::kernel::state::chain_macs::{held, marker_matches};
use crate::{Fault, Service};

/// The prune marker of a chain, not authenticated yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FoundMarker {
    /// A row that can be parsed.
    Whole(AuditMarker),
    /// A row that cannot be parsed, and that the service therefore did not write (PR-145).
    Unreadable,
}

impl Service {
    pub(super) async fn marker_of(
        &self,
        world: &World,
        chain: AuditChainId,
    ) -> Result<Option<FoundMarker>, Fault> {
        let mut read = self.ports.store.read().await?;
        match read.audit_chains().marker(world, chain).await {
            Ok(marker) => Ok(marker.map(FoundMarker::Whole)),
            Err(StoreError::Corrupt { .. }) => Ok(Some(FoundMarker::Unreadable)),
            Err(other) => Err(other.into()),
        }
    }

    /// Returns the prune marker of a chain, if the service wrote it.
    pub(super) async fn true_marker(
        &self,
        world: &World,
        chain: AuditChainId,
    ) -> Result<Option<AuditMarker>, Fault> {
        let Some(FoundMarker::Whole(marker)) = self.marker_of(world, chain).await? else {
            return Ok(None);
        };
        let is_ours = held(marker_matches(&*self.ports.sealer, &marker).await)?;
        Ok(is_ours.then_some(marker))
    }
}
