//! `vestry recover`: what a database that was set back gets back, and what must end in it.

use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, Detail, Subject};
use vestry_domain::envelope::KeyPurpose;
use vestry_domain::extent::Extent;
use vestry_domain::{Invalid, World, totp};
use vestry_ports::store::EndedByRecovery;

use super::from_journal::FromJournal;
use crate::kernel::fault::retried;
use crate::{Fault, Principal, Refusal, Service};

/// Maximum length of a reason in bytes. A longer one would be recorded as a hash.
const MAX_REASON: usize = 200;

/// Result of a recovery.
#[derive(Debug, Clone)]
pub struct Recovered {
    /// The part that comes from the journal of `epoch.store`.
    pub journal: FromJournal,
    /// What ended; `None` if sessions were kept.
    pub ended: Option<EndedByRecovery>,
    /// Number of environments whose event log was restarted.
    pub event_logs: u64,
    /// The epoch that began; `None` without checkpoints.
    pub epoch: Option<i64>,
}

impl Service {
    /// Inserts lost wallets again, ends everything that lives for a short time, in all Apps, restarts the event logs, and begins an epoch.
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
        let mut journal = self.recover_from_journal(by).await?;
        let ended = retried(|| self.end_short_lived(by, kept_because, &journal)).await?;
        let event_logs = self.restart_event_logs().await?;
        // Last, so that a recovery that was interrupted is seen as such.
        let epoch = match self.raise_epoch().await {
            Err(Fault::Sealed(_)) => {
                let why = "no epoch has begun: the root key of wallets is missing; add it, and run vestry recover again";
                journal.refused.push(why.to_owned());
                None
            }
            epoch => epoch?,
        };
        Ok(Recovered {
            journal,
            ended,
            event_logs,
            epoch,
        })
    }

    async fn end_short_lived(
        &self,
        by: &Principal,
        kept_because: Option<&str>,
        journal: &FromJournal,
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
        let detail = match journal.wallets.len() {
            0 => detail,
            wallets => detail
                .with("wallets", wallets)
                .with("users", journal.users.len())
                .with("apps", journal.apps.len()),
        };
        let action = ControlAction::DatabaseRecover;
        let source = by.at(World::DEPLOYMENT);
        change.note(self.done(&source, action, Subject::database(), &detail));
        change.commit().await?;
        Ok(ended)
    }
}
