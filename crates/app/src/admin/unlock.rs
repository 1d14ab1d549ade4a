//! `users unlock`: somebody was kept from signing in by another person's guesses.

use vestry_domain::World;
use vestry_domain::ids::UserId;

use super::AdminError;
use crate::fault::retried;
use crate::{Service, guard};

impl Service {
    /// Ends every wait of a user and forgets what led to it: wrong codes, links, passwords, authenticator and recovery codes
    /// (attack 24). What an end user's address (`device_fingerprint.ip`) has to wait for stays, and so do limits on sending.
    ///
    /// # Errors
    /// There is no such user, or see [`Fault`](crate::Fault).
    pub async fn unlock_user(&self, world: World, id: UserId) -> Result<(), AdminError> {
        retried(|| self.try_to_unlock(&world, id)).await
    }

    async fn try_to_unlock(&self, world: &World, id: UserId) -> Result<(), AdminError> {
        let mut tx = self.ports.store.begin().await?;
        if !tx.users().lock(world, id).await? {
            return Err(AdminError::NotFound("user"));
        }
        guard::forget_all_of(&mut *tx, world, id).await?;
        Ok(tx.commit().await?)
    }
}
