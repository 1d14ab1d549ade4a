//! `users/webauthn_credentials/{id}/delete`: a passkey goes.

use vestry_domain::api_key::Scope;
use vestry_domain::ids::{UserId, WebauthnCredentialId};
use vestry_domain::message::CredentialChange;
use vestry_ports::store::StoreError;

use crate::fault::{may_lose_race, retried};
use crate::users::credentials::AnnouncedChange;
use crate::users::last_way::one_remains;
use crate::{Caller, Fault, NotAllowed, Service};

/// A passkey that was removed.
#[derive(Debug)]
pub struct DeletedPasskey {
    /// Whose it was.
    pub user_id: UserId,
}

/// Why no passkey was removed.
#[derive(Debug, thiserror::Error)]
pub enum DeletePasskeyError {
    /// See [`NotAllowed`].
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    /// No such passkey in this world.
    #[error("the passkey does not exist")]
    NotFound,
    /// The user could not sign in any more.
    #[error("it is the last way to sign in")]
    LastWay,
    /// See [`Fault`].
    #[error(transparent)]
    Fault(#[from] Fault),
}

may_lose_race!(DeletePasskeyError);

impl From<StoreError> for DeletePasskeyError {
    fn from(error: StoreError) -> Self {
        Self::Fault(error.into())
    }
}

impl Service {
    /// Removes a passkey, ends the user's sessions unless the App set otherwise, and tells the owner (S-6).
    ///
    /// # Errors
    /// [`DeletePasskeyError`].
    pub async fn delete_passkey(
        &self,
        caller: &Caller,
        id: WebauthnCredentialId,
    ) -> Result<DeletedPasskey, DeletePasskeyError> {
        caller.require(Scope::UsersWrite)?;
        let mut read = self.ports.store.read().await?;
        let passkey = read.passkeys().find(&caller.world, id).await?;
        drop(read);
        let user_id = passkey.ok_or(DeletePasskeyError::NotFound)?.user_id;
        let change = CredentialChange::PasskeyRemoved;
        let change = self.announce(caller, user_id, change).await?;
        retried(|| self.remove_passkey(caller, id, user_id, &change)).await?;
        self.outbox_bell.notify_one();
        Ok(DeletedPasskey { user_id })
    }

    async fn remove_passkey(
        &self,
        caller: &Caller,
        id: WebauthnCredentialId,
        user: UserId,
        change: &AnnouncedChange,
    ) -> Result<(), DeletePasskeyError> {
        let world = &caller.world;
        let now = self.now(world);
        let mut tx = self.ports.store.begin().await?;
        // Two that go at once shall not each count on the other one.
        if !tx.users().lock(world, user).await? || !tx.passkeys().remove(world, id).await? {
            return Err(DeletePasskeyError::NotFound);
        }
        if !one_remains(&mut *tx, world, user).await? {
            return Err(DeletePasskeyError::LastWay);
        }
        self.carry_out(&mut *tx, caller, change, None, now).await?;
        Ok(self.commit_last(tx).await?)
    }
}
