//! `users/idp_providers/{id}/delete`: a link to an identity provider goes.

use vestry_domain::api_key::Scope;
use vestry_domain::ids::{ProviderLinkId, UserId};
use vestry_domain::message::CredentialChange;
use vestry_ports::store::StoreError;

use crate::fault::{may_lose_race, retried};
use crate::users::credentials::AnnouncedChange;
use crate::users::last_way::one_remains;
use crate::{Caller, Fault, NotAllowed, Service};

/// A link that was removed.
#[derive(Debug)]
pub struct DeletedProviderLink {
    /// Whose it was.
    pub user_id: UserId,
}

/// Why no link was removed.
#[derive(Debug, thiserror::Error)]
pub enum DeleteProviderLinkError {
    /// See [`NotAllowed`].
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    /// No such link in this world.
    #[error("the link does not exist")]
    NotFound,
    /// The user could not sign in any more.
    #[error("it is the last way to sign in")]
    LastWay,
    /// See [`Fault`].
    #[error(transparent)]
    Fault(#[from] Fault),
}

may_lose_race!(DeleteProviderLinkError);

impl From<StoreError> for DeleteProviderLinkError {
    fn from(error: StoreError) -> Self {
        Self::Fault(error.into())
    }
}

impl Service {
    /// Removes a link, ends the user's sessions unless the App set otherwise, and tells the owner (S-6).
    ///
    /// # Errors
    /// [`DeleteProviderLinkError`].
    pub async fn delete_provider_link(
        &self,
        caller: &Caller,
        id: ProviderLinkId,
    ) -> Result<DeletedProviderLink, DeleteProviderLinkError> {
        caller.require(Scope::UsersWrite)?;
        let mut read = self.ports.store.read().await?;
        let link = read.provider_links().find(&caller.world, id).await?;
        drop(read);
        let user_id = link.ok_or(DeleteProviderLinkError::NotFound)?.user_id;
        let change = CredentialChange::ProviderRemoved;
        let change = self.announce(caller, user_id, change).await?;
        retried(|| self.remove_provider_link(caller, id, user_id, &change)).await?;
        self.outbox_bell.notify_one();
        Ok(DeletedProviderLink { user_id })
    }

    async fn remove_provider_link(
        &self,
        caller: &Caller,
        id: ProviderLinkId,
        user: UserId,
        change: &AnnouncedChange,
    ) -> Result<(), DeleteProviderLinkError> {
        let world = &caller.world;
        let now = self.now(world);
        let mut tx = self.ports.store.begin().await?;
        // Two that go at once shall not each count on the other one.
        if !tx.users().lock(world, user).await? || !tx.provider_links().remove(world, id).await? {
            return Err(DeleteProviderLinkError::NotFound);
        }
        if !one_remains(&mut *tx, world, user).await? {
            return Err(DeleteProviderLinkError::LastWay);
        }
        self.carry_out(&mut *tx, caller, change, None, now).await?;
        Ok(self.commit_last(tx).await?)
    }
}
