//! `users/totps/{id}/delete`.

use vestry_domain::action::Action;
use vestry_domain::event::Fact;
use vestry_domain::ids::{TotpId, UserId};
use vestry_domain::message::CredentialChange;
use vestry_domain::totp::Totp;

use crate::identity::users::notices::CredentialChangeNotice;
use crate::identity::users::second_factor::require_second_factor;
use crate::kernel::fault::retried;
use crate::{Caller, Refusal, Service};

impl Service {
    /// Removes an authenticator app with its recovery codes; answers whose it was. One that was never verified proved nothing,
    /// and its removal changes nothing for its user.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn delete_totp(&self, caller: &Caller, id: TotpId) -> Result<UserId, Refusal> {
        caller.authorize(Action::DeleteTotp)?;
        let mut read = self.ports.store.read().await?;
        let found = read.totps().find(&caller.world, id).await?;
        drop(read);
        // An app whose time for a first code has passed no longer exists, for this call as for all others.
        let now = self.now(&caller.world);
        let totp = found.filter(|totp| totp.is_alive(now) && caller.reaches_user(totp.user_id));
        let totp = totp.ok_or(Refusal::NotFound("totp"))?;
        let removed = CredentialChange::TotpRemoved;
        let change = self.prepare_notice(caller, totp.user_id, removed).await?;
        retried(|| self.remove_totp(caller, &totp, &change)).await?;
        Ok(totp.user_id)
    }

    async fn remove_totp(
        &self,
        caller: &Caller,
        totp: &Totp,
        change: &CredentialChangeNotice,
    ) -> Result<(), Refusal> {
        let world = &caller.world;
        let now = self.now(world);
        let mut tx = self.ports.store.begin().await?;
        let user = totp.user_id;
        // Two concurrent removals must not each count on the other factor remaining. Before its sessions end, the removal waits for a
        // concurrent verification of its code.
        if !tx.users().lock(world, user).await? || !tx.totps().remove(world, totp.id).await? {
            return Err(Refusal::NotFound("totp"));
        }
        require_second_factor(&mut *tx, caller, user).await?;
        if totp.verified {
            let fact = Fact::totp_removed(totp.user_id, totp.id);
            self.emit(&mut *tx, caller, [fact]).await?;
            self.apply_with_notice(&mut *tx, caller, change, None, now)
                .await?;
        }
        caller.commit_last(tx).await?;
        Ok(())
    }
}
