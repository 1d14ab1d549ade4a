//! `users/{user_id}/delete`: deletes a user and everything that belongs to it, at once.

use std::collections::HashSet;

use vestry_domain::action::Action;
use vestry_domain::audit::AuditAction;
use vestry_domain::event::{EndReason, Fact};
use vestry_domain::ids::{UserId, WalletId};

use crate::identity::lockout;
use crate::identity::sessions::ended;
use crate::kernel::fault::retried;
use crate::kernel::run::About;
use crate::{Caller, Refusal, Service};

impl Service {
    /// Deletes a user with identifiers, credentials, sessions (S-5), wallets and their keys, in one transaction.
    ///
    /// This is irreversible: assets in the user's wallets can never be moved again. The destruction of a key is recorded before it happens.
    ///
    /// # Errors
    /// [`Refusal`]; nothing is deleted then.
    pub async fn delete_user(&self, caller: &Caller, id: UserId) -> Result<(), Refusal> {
        caller.authorize(Action::DeleteUser)?;
        let id = caller.visible_user(id);
        // The response says which user was deleted, and nothing else about the user.
        caller.is_about(About::NoUser);
        let mut noted = HashSet::new();
        loop {
            let unnoted = retried(|| self.try_to_delete_user(caller, id, &noted)).await?;
            if unnoted.is_empty() {
                return Ok(());
            }
            for wallet in unnoted {
                self.note_use(caller, wallet, AuditAction::Delete).await?;
                noted.insert(wallet);
            }
        }
    }

    /// Deletes a user if the destruction of all its keys was recorded.
    ///
    /// Otherwise deletes nothing and returns the keys that were not recorded. The keys found by the deletion itself count, not those of an
    /// earlier read.
    async fn try_to_delete_user(
        &self,
        caller: &Caller,
        id: UserId,
        noted: &HashSet<WalletId>,
    ) -> Result<Vec<WalletId>, Refusal> {
        let world = &caller.world;
        let mut tx = self.ports.store.begin().await?;
        lockout::forget_failures_of(&mut *tx, world, id).await?;
        // Not locked: a session that starts now is deleted with the user, but not listed.
        let sessions = tx.sessions().of_user(world, id).await?;
        let deleted = tx.users().delete(world, id).await?;
        let mut keys = deleted.ok_or(Refusal::NotFound("user"))?;
        tx.idempotency().erase(world, id).await?;
        keys.retain(|wallet| !noted.contains(wallet));
        if keys.is_empty() {
            let ids = sessions.iter().map(|session| session.id).collect();
            let over = ended(Some(id), ids, EndReason::UserDeleted);
            let facts = over.into_iter().chain([Fact::user_deleted(id)]);
            self.emit(&mut *tx, caller, facts).await?;
            caller.commit_last(tx).await?;
        }
        Ok(keys)
    }
}
