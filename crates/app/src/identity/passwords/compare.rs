//! Password comparison at equal cost for every user (P-10).

use vestry_domain::World;
use vestry_domain::ids::UserId;
use vestry_domain::password::{Password, PasswordHash, StoredPassword};
use vestry_domain::user::ShownStatus;
use vestry_ports::passwords::HasherError;
use vestry_ports::store::{Repositories, StoreError};

use crate::identity::password_seal;
use crate::{Fault, Service};

/// A password that matched when it was compared.
pub(crate) struct RightPassword {
    /// The row that it was compared with.
    seen: StoredPassword,
    /// The row to write: the same, or rehashed with the current parameters.
    renewed: StoredPassword,
}

impl Service {
    /// Refuses requests while the hashing queue is full.
    ///
    /// Check this first in a verify call. In a flood most requests are rejected, and the cost of a rejection slows down everyone else (P-7,
    /// attack 22). A free place now is not reserved.
    ///
    /// # Errors
    /// [`Fault::Overloaded`].
    pub fn require_room_to_hash(&self) -> Result<(), Fault> {
        match self.ports.passwords.has_room() {
            true => Ok(()),
            false => Err(HasherError::Busy.into()),
        }
    }

    /// Compares a password. `None` for a wrong password, an unknown user, a user without a password, and a user who may not sign in.
    ///
    /// All of them cost one hash with the current parameters. A weaker hash, or one from another service, costs its own price plus one
    /// current hash, right or wrong. A stronger one of the same scheme costs its own price.
    pub(crate) async fn compare_password(
        &self,
        world: &World,
        user: UserId,
        presented: &Password,
    ) -> Result<Option<RightPassword>, Fault> {
        let mut read = self.ports.store.read().await?;
        // One query, which takes nearly as long when nothing is found.
        let holder = read.passwords().holder(world, user).await?;
        drop(read);
        let (hasher, sealer) = (&self.ports.passwords, &*self.ports.sealer);
        let holder = holder.filter(|holder| may_sign_in(holder.status));
        let Some(seen) = holder.and_then(|holder| holder.password) else {
            // Sealing costs as much as opening.
            let (nobody, now) = (PasswordHash::of_nobody(), self.now(world));
            password_seal::seal(sealer, world, user, &nobody, now).await?;
            hasher.pretend(presented).await?;
            return Ok(None);
        };
        let hash = password_seal::open(sealer, world, user, &seen.sealed).await?;
        let is_right = hasher.verify(presented, &hash).await?;
        let mut renewed = seen.clone();
        if hasher.is_outdated(&hash) {
            if is_right {
                // The rules for new passwords do not apply: this one was accepted when it was set.
                let hash = hasher.hash(presented).await?;
                let now = self.now(world);
                renewed = password_seal::seal(sealer, world, user, &hash, now).await?;
            } else {
                hasher.pretend(presented).await?;
            }
        }
        Ok(is_right.then_some(RightPassword { seen, renewed }))
    }
}

impl RightPassword {
    /// The row that was compared with.
    pub(crate) const fn seen(&self) -> &StoredPassword {
        &self.seen
    }

    /// Locks the row until the transaction ends and stores a renewed hash; `false` if the row has changed.
    ///
    /// A password change that commits earlier is noticed here. A later one will find and end the session about to be created (I5).
    pub(crate) async fn lock_unchanged(
        &self,
        tx: &mut dyn Repositories,
    ) -> Result<bool, StoreError> {
        let seen = Some(&self.seen.sealed);
        tx.passwords().swap(&self.renewed, seen).await
    }
}

/// Whether a user can sign in with a password.
const fn may_sign_in(status: ShownStatus) -> bool {
    match status {
        // A pending user with a password was imported with it and must first verify an identifier: nothing else activates a pending user.
        // The response does not reveal this (P-10).
        ShownStatus::Pending | ShownStatus::Disabled => false,
        ShownStatus::Active => true,
    }
}
