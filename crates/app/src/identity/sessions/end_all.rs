//! `sessions/delete_all` with `all`, and `vestry sessions end-all`: signs everyone out.

use vestry_domain::World;
use vestry_domain::api_key::Scope;
use vestry_domain::audit::control::{ControlAction, Detail, Subject};
use vestry_domain::event::EndReason;
use vestry_domain::ids::SessionId;
use vestry_ports::store::EndedSome;

use super::ended;
use crate::delivery::events::Source;
use crate::kernel::fault::retried;
use crate::kernel::throttle::paced;
use crate::platform::AdminError;
use crate::{Caller, Fault, Refusal, Service};

/// Sessions ended per transaction, so that other writers get a turn.
const STEP: i64 = 500;

impl Service {
    /// Ends all sessions of the caller's world and returns their number. Sessions started concurrently may be included.
    ///
    /// # Errors
    /// [`Refusal`]; some sessions may have ended by then.
    pub async fn delete_every_session(&self, caller: &Caller) -> Result<u64, Refusal> {
        caller.require(Scope::SessionsWrite)?;
        Ok(self.end_all(|| caller.into()).await?)
    }

    /// The same for an operator.
    ///
    /// # Errors
    /// [`AdminError`]; some sessions may have ended by then.
    pub async fn end_all_sessions_of(&self, world: World) -> Result<u64, AdminError> {
        self.show_app(world.app_id).await?;
        Ok(self.end_all(|| Source::cli(world)).await?)
    }

    async fn end_all<'a>(&self, by: impl Fn() -> Source<'a> + Sync) -> Result<u64, Fault> {
        let source = by();
        let (action, subject) = (ControlAction::SessionsEndAll, Subject::world(&source.world));
        let event = self.done(&source, action, subject, &Detail::default());
        self.record_change(event).await?;
        let (mut count, mut after) = (0, None);
        loop {
            let step = paced(retried(|| self.end_some(by(), after))).await?;
            count += step.count();
            after = step.last;
            if after.is_none() {
                return Ok(count);
            }
        }
    }

    async fn end_some(&self, by: Source<'_>, after: Option<SessionId>) -> Result<EndedSome, Fault> {
        let world = by.world;
        let now = self.now(&world);
        let mut tx = self.ports.store.begin().await?;
        let step = tx.sessions().delete_some(&world, after, STEP, now).await?;
        let told = ended(None, step.ids.clone(), EndReason::AppWide);
        self.emit(&mut *tx, by, told).await?;
        tx.commit().await?;
        Ok(step)
    }
}
