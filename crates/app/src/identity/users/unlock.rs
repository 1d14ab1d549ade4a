//! `users/{user_id}/unlock` and `vestry users unlock`: ends a lockout caused by another person's guesses.

use vestry_domain::action::Action;
use vestry_domain::audit::control::{ControlAction, Detail};
use vestry_domain::event::Fact;
use vestry_domain::ids::UserId;

use super::get::FullUser;
use crate::identity::lockout;
use crate::kernel::fault::retried;
use crate::{Caller, Refusal, Service};

impl Service {
    /// Ends every lockout of a user, resets the counters behind it, and returns the user.
    ///
    /// That covers wrong codes, links, passwords, authenticator and recovery codes, and messages sent to the user's addresses and numbers
    /// (attack 24, M-5). A lockout of an end user's IP address (`device_fingerprint.ip`) is kept.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn unlock_user(&self, caller: &Caller, id: UserId) -> Result<FullUser, Refusal> {
        caller.authorize(Action::UnlockUser)?;
        let id = caller.visible_user(id);
        retried(|| self.try_to_unlock(caller, id)).await?;
        let user = self.full_user(&caller.world, id).await?;
        user.ok_or(Refusal::NotFound("user"))
    }

    async fn try_to_unlock(&self, caller: &Caller, id: UserId) -> Result<(), Refusal> {
        let world = caller.world;
        let mut tx = self.begin_change([world]).await?;
        if !tx.users().lock(&world, id).await? {
            return Err(Refusal::NotFound("user"));
        }
        let quota = self.send_quota(&world, self.now(&world));
        lockout::unlock(&mut *tx, &quota, id).await?;
        tx.note(self.done(
            &caller.into(),
            ControlAction::UserUnlock,
            id,
            &Detail::default(),
        ));
        self.emit(&mut *tx, caller, [Fact::user_unlocked(id)])
            .await?;
        Ok(tx.commit().await?)
    }
}
