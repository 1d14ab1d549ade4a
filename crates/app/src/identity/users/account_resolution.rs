//! Account resolution for steps that accept anyone who verifies an address or a number (CL-2 to CL-4).

use vestry_domain::World;
use vestry_domain::code::MethodId;
use vestry_domain::event::{Fact, Via};
use vestry_domain::ids::UserId;
use vestry_domain::user::{User, UserEmail, UserPhone};
use vestry_ports::store::{Repositories, StoreResult};

/// How a user relates to an identifier that is about to be verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resolution {
    /// The user exists: the identifier's owner, or the pending owner that an earlier step created for it.
    Known,
    /// The user is new and gets the identifier at once.
    New,
    /// The user is new and gets the identifier once it is verified; until then it stays a claim of an owned account.
    PendingOwner {
        /// The pending owner named before, which is gone or belongs to someone by now.
        instead_of: Option<UserId>,
    },
}

/// The relevant facts about an identifier that was found.
pub(crate) struct FoundIdentifier {
    pub(crate) owner: User,
    pub(crate) verified: bool,
    pub(crate) pending_owner: Option<UserId>,
    pub(crate) of_owned: bool,
}

impl FoundIdentifier {
    pub(crate) fn email(email: &UserEmail, owner: User) -> Self {
        Self {
            owner,
            verified: email.verified,
            pending_owner: email.pending_owner,
            of_owned: email.of_owned,
        }
    }

    pub(crate) fn phone(phone: &UserPhone, owner: User) -> Self {
        Self {
            owner,
            verified: phone.verified,
            pending_owner: phone.pending_owner,
            of_owned: phone.of_owned,
        }
    }
}

/// The user that a proof from outside will sign in; `new` creates a user if one is needed.
pub(crate) async fn resolve_account(
    read: &mut dyn Repositories,
    found: FoundIdentifier,
    new: impl FnOnce() -> User + Send,
) -> StoreResult<(User, Resolution)> {
    if found.verified || !found.owner.is_owned {
        return Ok((found.owner, Resolution::Known));
    }
    let instead_of = found.pending_owner;
    if let Some(id) = instead_of {
        let profile = read.users().profile(&found.owner.world, id).await?;
        let pending_owner = profile.map(|profile| profile.user);
        if let Some(user) = pending_owner.filter(|user| !user.is_owned) {
            return Ok((user, Resolution::Known));
        }
    }
    Ok((new(), Resolution::PendingOwner { instead_of }))
}

impl Resolution {
    /// Whether the user is new.
    pub(crate) const fn is_new(self) -> bool {
        !matches!(self, Self::Known)
    }

    /// The events to emit once it is stored. A pending owner gets the identifier only with its proof.
    pub(crate) fn facts(self, user: UserId, method: MethodId, via: Via) -> Vec<Fact> {
        match self {
            Self::Known => Vec::new(),
            Self::New => vec![Fact::user_created(user, via), added(user, method)],
            Self::PendingOwner { .. } => vec![Fact::user_created(user, via)],
        }
    }

    /// Stores a pending owner; `false` when the identifier has changed since it was read.
    pub(crate) async fn store_pending_owner(
        self,
        tx: &mut dyn Repositories,
        world: &World,
        user: &User,
        method: MethodId,
    ) -> StoreResult<bool> {
        let Self::PendingOwner { instead_of } = self else {
            return Ok(true);
        };
        tx.users().insert(user).await?;
        tx.identifiers()
            .set_pending_owner(world, method, user.id, instead_of)
            .await
    }
}

/// The event for an identifier added to this user.
pub(super) fn added(user: UserId, method: MethodId) -> Fact {
    match method {
        MethodId::Email(id) => Fact::email_added(user, id),
        MethodId::Phone(id) => Fact::phone_number_added(user, id),
    }
}

/// The event for an identifier removed from this user.
pub(super) fn removed(user: UserId, method: MethodId) -> Fact {
    match method {
        MethodId::Email(id) => Fact::email_removed(user, id),
        MethodId::Phone(id) => Fact::phone_number_removed(user, id),
    }
}

/// The event for a verified identifier of this user.
pub(super) fn verified(user: UserId, method: MethodId) -> Fact {
    match method {
        MethodId::Email(id) => Fact::email_verified(user, id),
        MethodId::Phone(id) => Fact::phone_number_verified(user, id),
    }
}
