//! `GET audit`: lists changes to the App, its keys and its settings, newest first.

use vestry_domain::Invalid;
use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlEntry, ControlFilter};
use vestry_domain::ids::AuditEntryId;

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

/// A page of entries.
#[derive(Debug, Clone)]
pub struct ChangePage {
    /// The entries, newest first.
    pub entries: Vec<ControlEntry>,
    /// Whether there is a next page.
    pub has_more: bool,
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
    ) -> Result<ChangePage, Refusal> {
        caller.authorize(Action::ReadAuditLog)?;
        let limit = query.limit.unwrap_or(50);
        if !(10..=100).contains(&limit) {
            let message = "limit must be a whole number from 10 to 100";
            return Err(Invalid::value("limit", message).into());
        }
        let mut read = self.ports.store.read().await?;
        let log = read.control_log();
        let after = query.starting_after;
        let found = log.page(&caller.world, &query.filter, after, limit + 1);
        let mut entries = found.await?;
        drop(read);
        let shown = usize::try_from(limit).unwrap_or(usize::MAX);
        let has_more = entries.len() > shown;
        entries.truncate(shown);
        for entry in &entries {
            self.is_as_written(entry).await?;
        }
        Ok(ChangePage { entries, has_more })
    }

    /// Returns whether the service wrote this entry.
    pub(super) async fn is_authentic(&self, entry: &ControlEntry) -> Result<bool, Fault> {
        let place = entry.sequence.saturating_sub(1);
        let (sealer, world) = (&*self.ports.sealer, &entry.event.world);
        Ok(entry.follows(place, &entry.previous)
            && entry_matches(sealer, world, &entry.hash, &entry.mac).await?)
    }

    async fn is_as_written(&self, entry: &ControlEntry) -> Result<(), Fault> {
        if self.is_authentic(entry).await? {
            return Ok(());
        }
        Err(Fault::Internal(
            "an audit log entry was altered; run `vestry audit verify`".into(),
        ))
    }
}
