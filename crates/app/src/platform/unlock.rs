//! `users unlock`: ends a lockout caused by another person's guesses.

use vestry_domain::World;
use vestry_domain::audit::control::{ControlAction, Detail};
use vestry_domain::event::Fact;
use vestry_domain::ids::UserId;

use super::AdminError;
use crate::Service;
use crate::delivery::events::Source;
use crate::identity::lockout;
use crate::kernel::fault::retried;

impl Service {
    /// Ends every lockout of a user and resets the counters behind it.
    ///
    /// That covers wrong codes, links, passwords, authenticator and recovery codes, and messages sent to the user's addresses and numbers
    /// (attack 24, M-5). A lockout of an end user's IP address (`device_fingerprint.ip`) is kept.
    ///
    /// # Errors
    /// The user does not exist, or see [`Fault`](crate::Fault).
    pub async fn unlock_user(&self, world: World, id: UserId) -> Result<(), AdminError> {
        self.unlock_by(|| Source::cli(world), id).await
    }

    pub(crate) async fn unlock_by<'a>(
        &self,
        by: impl Fn() -> Source<'a> + Sync,
        id: UserId,
    ) -> Result<(), AdminError> {
        retried(|| self.try_to_unlock(by(), id)).await
    }

    async fn try_to_unlock(&self, by: Source<'_>, id: UserId) -> Result<(), AdminError> {
        let world = by.world;
        self.show_app(world.app_id).await?;
        let mut tx = self.begin_change([world]).await?;
        if !tx.users().lock(&world, id).await? {
            return Err(AdminError::NotFound("user"));
        }
        let quota = self.send_quota(&world, self.now(&world));
        lockout::unlock(&mut *tx, &quota, id).await?;
        tx.note(self.done(&by, ControlAction::UserUnlock, id, &Detail::default()));
        self.emit(&mut *tx, by, [Fact::user_unlocked(id)]).await?;
        Ok(tx.commit().await?)
    }
}
