//! `sessions/delete_all` with `all`, and `vestry sessions end-all`: signs everyone out.

use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, Detail, Subject};
use vestry_domain::event::EndReason;
use vestry_domain::ids::SessionId;
use vestry_ports::store::EndedSome;

use super::ended;
use crate::kernel::fault::retried;
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
        let (mut count, mut after) = (0, None);
        loop {
            let step = paced(retried(|| self.end_some(caller, after))).await?;
            count += step.count();
            after = step.last;
            if after.is_none() {
                return Ok(count);
            }
        }
    }

    async fn end_some(
        &self,
        caller: &Caller,
        after: Option<SessionId>,
    ) -> Result<EndedSome, Fault> {
        let world = caller.world;
        let now = self.now(&world);
        let mut tx = self.ports.store.begin().await?;
        let step = tx.sessions().delete_some(&world, after, STEP, now).await?;
        let facts = ended(None, step.ids.clone(), EndReason::AppWide);
        self.emit(&mut *tx, caller, facts).await?;
        tx.commit().await?;
        Ok(step)
    }
}
