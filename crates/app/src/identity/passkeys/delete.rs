//! `users/webauthn_credentials/{id}/delete`: removes a passkey.

use vestry_domain::action::Action;
use vestry_domain::event::Fact;
use vestry_domain::ids::{UserId, WebauthnCredentialId};
use vestry_domain::message::CredentialChange;

use crate::identity::users::last_sign_in_method::one_remains;
use crate::identity::users::notices::CredentialChangeNotice;
use crate::identity::users::second_factor::require_second_factor;
use crate::kernel::fault::retried;
use crate::{Caller, Refusal, Service};

/// A passkey that was removed.
#[derive(Debug)]
pub struct DeletedPasskey {
    /// The user it belonged to.
    pub user_id: UserId,
}

impl Service {
    /// Removes a passkey, ends the user's sessions unless the App set otherwise, and notifies the owner (S-6).
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn delete_passkey(
        &self,
        caller: &Caller,
        id: WebauthnCredentialId,
    ) -> Result<DeletedPasskey, Refusal> {
        caller.authorize(Action::DeletePasskey)?;
        let mut read = self.ports.store.read().await?;
        let passkey = read.passkeys().find(&caller.world, id).await?;
        drop(read);
        let user_id = passkey
            .filter(|passkey| caller.reaches_user(passkey.user_id))
            .ok_or(Refusal::NotFound("webauthn_credential"))?
            .user_id;
        let change = CredentialChange::PasskeyRemoved;
        let change = self.prepare_notice(caller, user_id, change).await?;
        retried(|| self.remove_passkey(caller, id, user_id, &change)).await?;
        Ok(DeletedPasskey { user_id })
    }

    async fn remove_passkey(
        &self,
        caller: &Caller,
        id: WebauthnCredentialId,
        user: UserId,
        change: &CredentialChangeNotice,
    ) -> Result<(), Refusal> {
        let world = &caller.world;
        let now = self.now(world);
        let mut tx = self.ports.store.begin().await?;
        // Two concurrent removals must not each count on the other credential remaining.
        if !tx.users().lock(world, user).await? || !tx.passkeys().remove(world, id).await? {
            return Err(Refusal::NotFound("webauthn_credential"));
        }
        if !one_remains(&mut *tx, caller, user).await? {
            return Err(Refusal::LastSignInMethod);
        }
        require_second_factor(&mut *tx, caller, user).await?;
        let fact = Fact::passkey_removed(user, id);
        self.emit(&mut *tx, caller, [fact]).await?;
        self.apply_with_notice(&mut *tx, caller, change, None, now)
            .await?;
        Ok(caller.commit_last(tx).await?)
    }
}
