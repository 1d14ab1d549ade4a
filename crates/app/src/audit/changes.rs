//! `GET audit`: lists changes to the App, its keys and its settings, newest first.

use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlEntry, ControlFilter};
use vestry_domain::ids::AuditEntryId;

use super::list::{AuditPage, require_authentic};
use crate::kernel::page::PageSize;
use crate::kernel::state::chain_macs::entry_matches;
use crate::{Caller, Fault, Refusal, Service};

/// Query parameters.
#[derive(Debug, Clone, Default)]
pub struct ListChanges {
    /// Filter on entries.
    pub filter: ControlFilter,
    /// 10 to 100; 50 when absent.
    pub limit: Option<i64>,
    /// The last entry of the previous page.
    pub starting_after: Option<AuditEntryId>,
}

impl Service {
    /// Lists the entries of the caller's environment.
    ///
    /// Each entry is checked against its keyed hash. Only [`Service::verify_audit_log`] detects missing entries.
    ///
    /// # Errors
    /// [`Refusal`]; a tampered entry is a [`Fault`].
    pub async fn list_changes(
        &self,
        caller: &Caller,
        query: ListChanges,
    ) -> Result<AuditPage<ControlEntry>, Refusal> {
        caller.authorize(Action::ReadAuditLog)?;
        let size = PageSize::check(query.limit)?;
        let mut read = self.ports.store.read().await?;
        let log = read.control_log();
        let after = query.starting_after;
        let found = log.page(&caller.world, &query.filter, after, size.rows());
        let mut entries = found.await?;
        drop(read);
        let has_more = size.cut(&mut entries);
        for entry in &entries {
            require_authentic(self.is_authentic(entry).await?)?;
        }
        Ok(AuditPage { entries, has_more })
    }

    /// Returns whether the service wrote this entry.
    pub(super) async fn is_authentic(&self, entry: &ControlEntry) -> Result<bool, Fault> {
        let place = entry.sequence.saturating_sub(1);
        let (sealer, world) = (&*self.ports.sealer, &entry.event.world);
        Ok(entry.follows(place, &entry.previous)
            && entry_matches(sealer, world, &entry.hash, &entry.mac).await?)
    }
}
