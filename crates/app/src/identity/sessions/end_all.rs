//! `sessions/delete_all` with `all`, `vestry sessions end-all` and `vestry app disable`: signs everyone out.

use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, Detail, Subject};
use vestry_domain::event::EndReason;
use vestry_domain::ids::SessionId;
use vestry_ports::store::EndedSome;

use super::ended;
use crate::kernel::fault::retried;
use crate::kernel::source::Source;
use crate::kernel::throttle::paced;
use crate::{Caller, Fault, Refusal, Service};

/// Sessions ended per transaction, so that other writers get a turn.
const STEP: i64 = 500;

impl Service {
    /// Ends all sessions of the caller's world and returns their number. Sessions started concurrently may be included.
    ///
    /// # Errors
    /// [`Refusal`]; some sessions may have ended by then.
    pub async fn delete_every_session(&self, caller: &Caller) -> Result<u64, Refusal> {
        caller.authorize(Action::DeleteEverySession)?;
        let (action, subject) = (ControlAction::SessionsEndAll, Subject::world(&caller.world));
        let event = self.done(&caller.into(), action, subject, &Detail::default());
        self.record_change(event).await?;
        Ok(self.end_sessions_in(&caller.into()).await?)
    }

    /// Ends all sessions of an environment, in one transaction for each [`STEP`], and returns their number.
    pub(crate) async fn end_sessions_in(&self, source: &Source<'_>) -> Result<u64, Fault> {
        let (mut count, mut after) = (0, None);
        loop {
            let step = paced(retried(|| self.end_some(source, after))).await?;
            count += step.count();
            after = step.last;
            if after.is_none() {
                return Ok(count);
            }
        }
    }

    async fn end_some(
        &self,
        source: &Source<'_>,
        after: Option<SessionId>,
    ) -> Result<EndedSome, Fault> {
        let world = source.world;
        let now = self.now(&world);
        let mut tx = self.ports.store.begin().await?;
        let step = tx.sessions().delete_some(&world, after, STEP, now).await?;
        let facts = ended(None, step.ids.clone(), EndReason::AppWide);
        self.emit(&mut *tx, source.clone(), facts).await?;
        tx.commit().await?;
        Ok(step)
    }
}
