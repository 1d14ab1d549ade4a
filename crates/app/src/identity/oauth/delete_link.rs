//! `users/idp_providers/{id}/delete`: removing a link to an identity provider.

use vestry_domain::action::Action;
use vestry_domain::event::Fact;
use vestry_domain::ids::{ProviderLinkId, UserId};
use vestry_domain::message::CredentialChange;
use vestry_domain::provider::ProviderLink;

use crate::identity::users::last_sign_in_method::one_remains;
use crate::identity::users::notices::CredentialChangeNotice;
use crate::kernel::fault::retried;
use crate::{Caller, Refusal, Service};

/// A link that was removed.
#[derive(Debug)]
pub struct DeletedProviderLink {
    /// The user it belonged to.
    pub user_id: UserId,
}

impl Service {
    /// Removes a link, ends the user's sessions unless the App set otherwise, and notifies the owner (S-6).
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn delete_provider_link(
        &self,
        caller: &Caller,
        id: ProviderLinkId,
    ) -> Result<DeletedProviderLink, Refusal> {
        caller.authorize(Action::DeleteProviderLink)?;
        let mut read = self.ports.store.read().await?;
        let link = read.provider_links().find(&caller.world, id).await?;
        drop(read);
        let link = link.filter(|link| caller.reaches_user(link.user_id));
        let link = link.ok_or(Refusal::NotFound("idp_provider"))?;
        let user_id = link.user_id;
        let change = CredentialChange::ProviderRemoved;
        let change = self.prepare_notice(caller, user_id, change).await?;
        retried(|| self.remove_provider_link(caller, &link, &change)).await?;
        Ok(DeletedProviderLink { user_id })
    }

    async fn remove_provider_link(
        &self,
        caller: &Caller,
        link: &ProviderLink,
        change: &CredentialChangeNotice,
    ) -> Result<(), Refusal> {
        let world = &caller.world;
        let (id, user) = (link.id, link.user_id);
        let now = self.now(world);
        let mut tx = self.ports.store.begin().await?;
        // Two concurrent removals must not each count on the other credential remaining.
        if !tx.users().lock(world, user).await? || !tx.provider_links().remove(world, id).await? {
            return Err(Refusal::NotFound("idp_provider"));
        }
        if !one_remains(&mut *tx, caller, user).await? {
            return Err(Refusal::LastSignInMethod);
        }
        let fact = Fact::oauth_link_removed(user, id, link.provider.clone());
        self.emit(&mut *tx, caller, [fact]).await?;
        self.apply_with_notice(&mut *tx, caller, change, None, now)
            .await?;
        Ok(caller.commit_last(tx).await?)
    }
}
