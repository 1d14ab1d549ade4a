//! Who is taken in by a step that takes in anybody who proves an address or a number (CL-2 to CL-4).

use vestry_domain::World;
use vestry_domain::code::MethodId;
use vestry_domain::event::{Fact, Via};
use vestry_domain::ids::UserId;
use vestry_domain::user::{User, UserEmail, UserPhone};
use vestry_ports::store::{Repositories, StoreResult};

/// How a user comes to an identifier that is about to be proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The user is there: the owner of the identifier, or the successor that an earlier step made for it.
    Known,
    /// The user is new and gets the identifier at once.
    New,
    /// The user is new and gets the identifier with its proof; until then it stays the claim of a founded account.
    Successor {
        /// The one that was named before, and is gone or has become somebody's.
        instead_of: Option<UserId>,
    },
}

/// An identifier that was found, as far as this matters.
pub(crate) struct Found {
    pub(crate) owner: User,
    pub(crate) verified: bool,
    pub(crate) successor: Option<UserId>,
    pub(crate) of_founded: bool,
}

impl Found {
    pub(crate) fn email(email: &UserEmail, owner: User) -> Self {
        Self {
            owner,
            verified: email.verified,
            successor: email.successor,
            of_founded: email.of_founded,
        }
    }

    pub(crate) fn phone(phone: &UserPhone, owner: User) -> Self {
        Self {
            owner,
            verified: phone.verified,
            successor: phone.successor,
            of_founded: phone.of_founded,
        }
    }
}

/// Whom a proof of it from outside will sign in; `new` makes a user where there has to be one.
pub(crate) async fn whom(
    read: &mut dyn Repositories,
    found: Found,
    new: impl FnOnce() -> User + Send,
) -> StoreResult<(User, Arrival)> {
    if found.verified || !found.owner.founded {
        return Ok((found.owner, Arrival::Known));
    }
    let instead_of = found.successor;
    if let Some(id) = instead_of {
        let successor = read.users().profile(&found.owner.world, id).await?;
        let waiting = successor.map(|profile| profile.user);
        if let Some(user) = waiting.filter(|user| !user.founded) {
            return Ok((user, Arrival::Known));
        }
    }
    Ok((new(), Arrival::Successor { instead_of }))
}

impl Arrival {
    /// Whether the user is new.
    pub(crate) const fn is_new(self) -> bool {
        !matches!(self, Self::Known)
    }

    /// What is told of it, once it is stored. A successor gets the identifier with its proof only.
    pub(crate) fn told(self, user: UserId, method: MethodId, via: Via) -> Vec<Fact> {
        match self {
            Self::Known => Vec::new(),
            Self::New => vec![Fact::user_created(user, via), added(user, method)],
            Self::Successor { .. } => vec![Fact::user_created(user, via)],
        }
    }

    /// Stores a successor; `false` when the identifier has changed since it was looked at.
    pub(crate) async fn store_successor(
        self,
        tx: &mut dyn Repositories,
        world: &World,
        user: &User,
        method: MethodId,
    ) -> StoreResult<bool> {
        let Self::Successor { instead_of } = self else {
            return Ok(true);
        };
        tx.users().insert(user).await?;
        tx.users()
            .name_successor(world, method, user.id, instead_of)
            .await
    }
}

/// An identifier is this user's now.
pub(super) fn added(user: UserId, method: MethodId) -> Fact {
    match method {
        MethodId::Email(id) => Fact::email_added(user, id),
        MethodId::Phone(id) => Fact::phone_number_added(user, id),
    }
}

/// An identifier is this user's no more.
pub(super) fn removed(user: UserId, method: MethodId) -> Fact {
    match method {
        MethodId::Email(id) => Fact::email_removed(user, id),
        MethodId::Phone(id) => Fact::phone_number_removed(user, id),
    }
}

/// An identifier of this user was proved.
pub(super) fn verified(user: UserId, method: MethodId) -> Fact {
    match method {
        MethodId::Email(id) => Fact::email_verified(user, id),
        MethodId::Phone(id) => Fact::phone_number_verified(user, id),
    }
}
