//! `vestry backup` and `vestry recover`: what the log says of a backup, and what must end once the database was set back.

use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, ControlFilter, Detail, Subject};
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::extent::Extent;
use vestry_domain::{Invalid, Timestamp, World, totp};
use vestry_ports::store::{EndedByRecovery, Store, StoreResult};

use crate::kernel::fault::retried;
use crate::{Fault, Principal, Refusal, Service};

/// Maximum length of a reason in bytes. A longer one would be recorded as a hash.
const MAX_REASON: usize = 200;

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

/// Result of a recovery.
#[derive(Debug, Clone, Copy)]
pub struct Recovered {
    /// What ended; `None` if sessions were kept.
    pub ended: Option<EndedByRecovery>,
    /// Number of environments whose event log was restarted.
    pub event_logs: u64,
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

    /// Ends everything that lives for a short time, in all Apps, and restarts the event logs.
    ///
    /// The data was valid at an earlier moment. Otherwise, a code that was used since then, or a session that ended, would work again. With
    /// `keep_sessions`, a reason, only the event logs are restarted.
    ///
    /// # Errors
    /// [`Refusal`]. Repeating it is safe.
    pub async fn recover(
        &self,
        by: &Principal,
        keep_sessions: Option<&str>,
    ) -> Result<Recovered, Refusal> {
        by.authorize(Action::RecoverDatabase, Extent::Deployment)?;
        let kept_because = keep_sessions.map(str::trim);
        if kept_because.is_some_and(|reason| reason.is_empty() || reason.len() > MAX_REASON) {
            let message = format!("reason must be 1 to {MAX_REASON} bytes long");
            return Err(Invalid::value("reason", message).into());
        }
        self.hold_deployment_key(KeyPurpose::Secrets).await?;
        let ended = retried(|| self.end_short_lived(by, kept_because)).await?;
        let event_logs = self.restart_event_logs().await?;
        Ok(Recovered { ended, event_logs })
    }

    async fn end_short_lived(
        &self,
        by: &Principal,
        kept_because: Option<&str>,
    ) -> Result<Option<EndedByRecovery>, Fault> {
        let now = self.machine_time();
        let mut change = self.begin_change([World::DEPLOYMENT]).await?;
        let (ended, detail) = match kept_because {
            Some(reason) => (None, Detail::default().with("kept_sessions", reason)),
            None => {
                let ended = change.recovery().end_short_lived(now, totp::step_at(now));
                let ended = ended.await?;
                let detail = Detail::default()
                    .with("sessions", ended.sessions)
                    .with("messages", ended.messages);
                (Some(ended), detail)
            }
        };
        let action = ControlAction::DatabaseRecover;
        let source = by.at(World::DEPLOYMENT);
        change.note(self.done(&source, action, Subject::database(), &detail));
        change.commit().await?;
        Ok(ended)
    }
}
