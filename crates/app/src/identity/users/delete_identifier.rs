//! `users/emails/{email_id}/delete` and `users/phone_numbers/{pn_id}/delete`.

use vestry_domain::World;
use vestry_domain::action::Action;
use vestry_domain::code::MethodId;
use vestry_domain::ids::{EmailId, PhoneNumberId, UserId};
use vestry_domain::link::LinkPurpose;
use vestry_domain::message::CredentialChange;
use vestry_ports::store::{Repositories, StoreError};

use super::account_resolution::removed;
use super::last_sign_in_method::{count_ways, one_remains};
use super::notices::CredentialChangeNotice;
use crate::kernel::fault::retried;
use crate::{Caller, Refusal, Service};

impl Service {
    /// Removes an address from its user, and returns that user.
    ///
    /// # Errors
    /// [`Refusal`]; nothing changes then.
    pub async fn delete_email(&self, caller: &Caller, id: EmailId) -> Result<UserId, Refusal> {
        self.delete_identifier(caller, MethodId::Email(id)).await
    }

    /// Removes a number from its user, and returns that user.
    ///
    /// # Errors
    /// [`Refusal`]; nothing changes then.
    pub async fn delete_phone_number(
        &self,
        caller: &Caller,
        id: PhoneNumberId,
    ) -> Result<UserId, Refusal> {
        self.delete_identifier(caller, MethodId::Phone(id)).await
    }

    async fn delete_identifier(
        &self,
        caller: &Caller,
        method: MethodId,
    ) -> Result<UserId, Refusal> {
        caller.authorize(Action::DeleteIdentifier)?;
        let (kind, change) = match method {
            MethodId::Email(_) => ("email", CredentialChange::EmailRemoved),
            MethodId::Phone(_) => ("phone_number", CredentialChange::PhoneRemoved),
        };
        loop {
            let mut read = self.ports.store.read().await?;
            let owner = owner(&mut *read, &caller.world, method).await?;
            drop(read);
            let owner = owner.filter(|owner| caller.reaches_user(*owner));
            let user = owner.ok_or(Refusal::NotFound(kind))?;
            // The removed address is notified too: it is the one that an intruder would remove.
            let change = self.prepare_notice(caller, user, change).await?;
            let deletion = || self.try_to_delete_identifier(caller, user, method, kind, &change);
            if retried(deletion).await? {
                return Ok(user);
            }
        }
    }

    /// `false`: it has moved to another user since it was read; retry from the lookup.
    async fn try_to_delete_identifier(
        &self,
        caller: &Caller,
        user: UserId,
        method: MethodId,
        kind: &'static str,
        change: &CredentialChangeNotice,
    ) -> Result<bool, Refusal> {
        let world = &caller.world;
        let now = self.now(world);
        let mut tx = self.ports.store.begin().await?;
        // Its pending proofs go first: a verify call locks its code before it locks anything of the user.
        forget_proofs(&mut *tx, world, method).await?;
        if !tx.users().lock(world, user).await? {
            return Err(Refusal::NotFound(kind));
        }
        match owner(&mut *tx, world, method).await? {
            Some(owner) if owner == user => {}
            Some(_) => return Ok(false),
            None => return Err(Refusal::NotFound(kind)),
        }
        let ways = count_ways(&mut *tx, caller, user).await?;
        let is_removed = tx.identifiers().remove(world, method).await?;
        if !is_removed {
            return Err(Refusal::NotFound(kind));
        }
        // An identifier that cannot sign anyone in can always be removed: a claim of an owned account.
        let was_a_way = count_ways(&mut *tx, caller, user).await? < ways;
        if was_a_way && !one_remains(&mut *tx, caller, user).await? {
            return Err(Refusal::LastSignInMethod);
        }
        let fact = removed(user, method);
        self.emit(&mut *tx, caller, [fact]).await?;
        self.apply_with_notice(&mut *tx, caller, change, None, now)
            .await?;
        caller.commit_last(tx).await?;
        Ok(true)
    }
}

async fn owner(
    read: &mut dyn Repositories,
    world: &World,
    method: MethodId,
) -> Result<Option<UserId>, StoreError> {
    let identifier = read.identifiers().find(world, method).await?;
    Ok(identifier.map(|identifier| identifier.user_id()))
}

/// Deletes every pending proof of the identifier, and the failures counted for it.
pub(super) async fn forget_proofs(
    tx: &mut dyn Repositories,
    world: &World,
    method: MethodId,
) -> Result<(), StoreError> {
    tx.codes().forget(world, method).await?;
    if let MethodId::Email(email) = method {
        for purpose in LinkPurpose::ALL {
            tx.links().forget(world, email, purpose).await?;
        }
    }
    tx.lockouts().reset(world, &method.to_string()).await
}
