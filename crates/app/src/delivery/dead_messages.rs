//! Messages that could not be handled (PR-73): they are kept for seven days, encrypted, for operators to look at, queue again or delete.

use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, Detail, Subject};
use vestry_domain::ids::JobId;
use vestry_domain::message::DeadJob;
use vestry_domain::{Timestamp, rfc3339};

use crate::kernel::change::Change;
use crate::kernel::fault::retried;
use crate::kernel::refusal::has_common;
use crate::{Caller, Refusal, Service};

/// Messages in a list.
const MOST: i64 = 1_000;

/// Reason why a message was not queued again.
#[derive(Debug, thiserror::Error)]
pub enum RetryMessageError {
    /// It can no longer be delivered in time.
    #[error("message expired at {}; ask the App to send it again", rfc3339::format(*.0))]
    Expired(Timestamp),
    /// See [`Refusal`].
    #[error(transparent)]
    Common(Refusal),
}

has_common!(RetryMessageError);

impl Service {
    /// Returns the newest thousand dead messages of an environment, newest first, without their content.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn dead_messages(&self, caller: &Caller) -> Result<Vec<DeadJob>, Refusal> {
        caller.authorize(Action::ManageDeadMessages)?;
        let mut read = self.ports.store.read().await?;
        Ok(read.outbox().dead(&caller.world, MOST).await?)
    }

    /// Returns a dead message without its content.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn dead_message(&self, caller: &Caller, id: JobId) -> Result<DeadJob, Refusal> {
        caller.authorize(Action::ManageDeadMessages)?;
        let mut read = self.ports.store.read().await?;
        let found = read.outbox().find_dead(&caller.world, id).await?;
        found.ok_or(Refusal::NotFound("dead message"))
    }

    /// Queues a dead message again. A worker sends it within a second or so.
    ///
    /// # Errors
    /// [`RetryMessageError`].
    pub async fn retry_dead_message(
        &self,
        caller: &Caller,
        id: JobId,
    ) -> Result<DeadJob, RetryMessageError> {
        let job = self.dead_message(caller, id).await?;
        let now = self.ports.clock.machine();
        let is_revived = retried(|| async {
            let mut tx = self.begin_change([caller.world]).await?;
            let is_revived = tx.outbox().revive(&caller.world, id, now).await?;
            if is_revived {
                self.note_message(&mut tx, caller, ControlAction::OutboxRetry, &job);
                tx.commit().await?;
            }
            Ok::<_, Refusal>(is_revived)
        });
        match is_revived.await? {
            true => Ok(job),
            false if job.deliver_before <= now => {
                Err(RetryMessageError::Expired(job.deliver_before))
            }
            // Another operator was faster.
            false => Err(Refusal::NotFound("dead message").into()),
        }
    }

    /// Deletes a dead message.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn drop_dead_message(&self, caller: &Caller, id: JobId) -> Result<DeadJob, Refusal> {
        let job = self.dead_message(caller, id).await?;
        retried(|| async {
            let mut tx = self.begin_change([caller.world]).await?;
            if !tx.outbox().drop_dead(&caller.world, id).await? {
                return Err(Refusal::NotFound("dead message"));
            }
            self.note_message(&mut tx, caller, ControlAction::OutboxDrop, &job);
            Ok(tx.commit().await?)
        })
        .await?;
        Ok(job)
    }

    fn note_message(
        &self,
        tx: &mut Change<'_>,
        caller: &Caller,
        action: ControlAction,
        job: &DeadJob,
    ) {
        let detail = Detail::default()
            .with("job_id", job.id.to_string())
            .with("error", job.fault.as_str());
        let subject = Subject::world(&caller.world);
        tx.note(self.done(&caller.into(), action, subject, &detail));
    }
}
