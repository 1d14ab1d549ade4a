//! Comparing a password with that of a user, at the same price whoever the user is (P-10).

use vestry_domain::World;
use vestry_domain::ids::UserId;
use vestry_domain::password::{Password, PasswordHash, StoredPassword};
use vestry_domain::user::ShownStatus;
use vestry_ports::passwords::HasherError;
use vestry_ports::store::{Repositories, StoreError};

use crate::{Fault, Service};

/// A password that was right when it was compared.
pub(crate) struct RightPassword {
    /// The row that it was compared with.
    seen: StoredPassword,
    /// What the row shall be: the same, or a hash of the current parameters.
    renewed: StoredPassword,
}

impl Service {
    /// Refuses while as many passwords wait to be hashed as may. To be asked before anything else is done for a verify: in a
    /// flood most are turned away, and what that costs is what slows down everybody else (P-7, attack 22). That there is room
    /// now keeps nobody a place.
    ///
    /// # Errors
    /// [`Fault::Overloaded`].
    pub fn require_room_to_hash(&self) -> Result<(), Fault> {
        match self.ports.passwords.has_room() {
            true => Ok(()),
            false => Err(HasherError::Busy.into()),
        }
    }

    /// Compares. `None` for a wrong password as for an unknown user, one without a password, and one who may not sign in.
    ///
    /// All of them cost one hash of the current parameters. A weaker hash, or one of another service, costs what it costs and
    /// one of the current ones besides, right or wrong; a stronger one of the same scheme costs what it costs.
    pub(crate) async fn compare_password(
        &self,
        world: &World,
        user: UserId,
        presented: &Password,
    ) -> Result<Option<RightPassword>, Fault> {
        let mut read = self.ports.store.read().await?;
        // In one look, which takes nearly as long where there is nothing to find.
        let holder = read.passwords().holder(world, user).await?;
        drop(read);
        let hasher = &self.ports.passwords;
        let holder = holder.filter(|holder| may_sign_in(holder.status));
        let Some(seen) = holder.and_then(|holder| holder.password) else {
            // A seal costs as much to make as to open.
            let (nobody, now) = (PasswordHash::of_nobody(), self.now(world));
            self.seal_password(world, user, &nobody, now).await?;
            hasher.pretend(presented).await?;
            return Ok(None);
        };
        let hash = self.open_password(world, user, &seen.sealed).await?;
        let is_right = hasher.verify(presented, &hash).await?;
        let mut renewed = seen.clone();
        if hasher.is_outdated(&hash) {
            if is_right {
                // The rule for new passwords is not asked: this one was accepted when it was set.
                let hash = hasher.hash(presented).await?;
                let now = self.now(world);
                renewed = self.seal_password(world, user, &hash, now).await?;
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

    /// Holds the row until the transaction ends, and renews its hash; `false` when it is another one by now. A change of the
    /// password that commits before is noticed, and one after will find the session that is about to be made (I5).
    pub(crate) async fn hold(&self, tx: &mut dyn Repositories) -> Result<bool, StoreError> {
        let seen = Some(&self.seen.sealed);
        tx.passwords().swap(&self.renewed, seen).await
    }
}

/// Whether a user can sign in with a password.
const fn may_sign_in(status: ShownStatus) -> bool {
    match status {
        // A pending user who has a password was imported with it, and has to prove an identifier first: no other way than
        // such a proof lets a pending user in. The answer does not tell (P-10).
        ShownStatus::Pending | ShownStatus::Disabled => false,
        ShownStatus::Active => true,
    }
}
