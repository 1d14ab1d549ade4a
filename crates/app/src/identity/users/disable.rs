//! `users/{user_id}/disable` and `enable`: whether a user may sign in.

use vestry_domain::action::Action;
use vestry_domain::event::{EndReason, Fact};
use vestry_domain::ids::UserId;
use vestry_domain::text;
use vestry_domain::user::{UserDisabled, UserProfile};

use super::get::FullUser;
use crate::identity::sessions::ended;
use crate::kernel::fault::retried;
use crate::{Caller, Refusal, Service};

impl Service {
    /// Disables sign-in for a user until it is enabled again, and ends all its sessions (S-5).
    ///
    /// A user who is already disabled keeps the original time and reason.
    ///
    /// # Errors
    /// [`Refusal`]; [`Refusal::Invalid`] when the reason is over 255 characters or holds a control character.
    pub async fn disable_user(
        &self,
        caller: &Caller,
        id: UserId,
        reason: &str,
    ) -> Result<FullUser, Refusal> {
        let disabled = UserDisabled {
            at: self.now(&caller.world),
            reason: text::name("reason", reason)?,
        };
        self.switch_user(caller, id, Some(disabled)).await
    }

    /// Allows a user to sign in again with the same methods as before.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn enable_user(&self, caller: &Caller, id: UserId) -> Result<FullUser, Refusal> {
        self.switch_user(caller, id, None).await
    }

    async fn switch_user(
        &self,
        caller: &Caller,
        id: UserId,
        disabled: Option<UserDisabled>,
    ) -> Result<FullUser, Refusal> {
        caller.authorize(Action::SwitchUser)?;
        let id = caller.visible_user(id);
        let found = self.full_user(&caller.world, id).await?;
        let found = found.ok_or(Refusal::NotFound("user"))?;
        let switched = retried(|| self.try_to_switch_user(caller, id, disabled.as_ref()));
        Ok(FullUser {
            profile: switched.await?,
            ..found
        })
    }

    async fn try_to_switch_user(
        &self,
        caller: &Caller,
        id: UserId,
        disabled: Option<&UserDisabled>,
    ) -> Result<UserProfile, Refusal> {
        let world = &caller.world;
        let now = self.now(world);
        let mut tx = self.ports.store.begin().await?;
        let mut facts = Vec::new();
        match disabled {
            Some(disabled) => {
                let is_changed = tx.users().disable(world, id, disabled).await?;
                facts.extend(is_changed.then(|| Fact::user_disabled(id)));
                // After the user is locked: a concurrent sign-in has either finished, or will find the user disabled. This also runs for a
                // user disabled earlier, so that a repeated call ends every session.
                let over = tx.sessions().delete_all(world, id, now).await?;
                facts.extend(ended(Some(id), over, EndReason::UserDisabled));
            }
            None => {
                let is_changed = tx.users().enable(world, id, now).await?;
                facts.extend(is_changed.then(|| Fact::user_enabled(id)));
            }
        }
        let profile = tx.users().profile(world, id).await?;
        let profile = profile.ok_or(Refusal::NotFound("user"))?;
        self.emit(&mut *tx, caller, facts).await?;
        caller.commit_last(tx).await?;
        Ok(profile)
    }
}
