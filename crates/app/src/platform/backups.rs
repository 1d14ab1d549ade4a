//! `vestry backup`: what the audit log says of backups.

use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, ControlFilter, Detail, Subject};
use vestry_domain::extent::Extent;
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{Store, StoreResult};

use crate::{Fault, Principal, Refusal, Service};

/// A complete backup.
#[derive(Debug, Clone)]
pub struct TakenBackup {
    /// The moment that it shows.
    pub taken_at: Timestamp,
    /// Length of the file.
    pub bytes: u64,
    /// SHA-256 of the data in it, in hexadecimal digits.
    pub sha256: String,
}

/// Returns when the newest recorded backup was completed.
///
/// # Errors
/// [`StoreError`](vestry_ports::store::StoreError).
pub async fn last_backup(store: &dyn Store) -> StoreResult<Option<Timestamp>> {
    let filter = ControlFilter {
        actions: vec![ControlAction::DatabaseBackup],
        ..ControlFilter::default()
    };
    let mut read = store.read().await?;
    let log = read.control_log();
    let page = log.page(&World::DEPLOYMENT, &filter, None, 1).await?;
    Ok(page.first().map(|entry| entry.event.at))
}

impl Service {
    /// Records a complete backup in the audit log.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn record_backup(&self, by: &Principal, backup: &TakenBackup) -> Result<(), Refusal> {
        by.authorize(Action::BackUpDatabase, Extent::Deployment)?;
        let detail = Detail::default()
            .with("taken_at", backup.taken_at.unix())
            .with("bytes", backup.bytes)
            .with("sha256", backup.sha256.as_str());
        let action = ControlAction::DatabaseBackup;
        let event = self.done(
            &by.at(World::DEPLOYMENT),
            action,
            Subject::database(),
            &detail,
        );
        Ok(self.record_for_deployment(event).await?)
    }

    /// See [`last_backup`].
    ///
    /// # Errors
    /// See [`Fault`].
    pub async fn last_backup(&self) -> Result<Option<Timestamp>, Fault> {
        Ok(last_backup(&*self.ports.store).await?)
    }
}
