//! E-mail addresses and phone numbers.

use vestry_domain::code::MethodId;
use vestry_domain::email::{Email, EmailIdentity};
use vestry_domain::ids::{EmailId, PhoneNumberId, UserId};
use vestry_domain::phone::PhoneNumber;
use vestry_domain::user::{User, UserEmail, UserPhone};
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::StoreResult;

/// Outcome of adding an object that is unique in the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attached {
    /// It now belongs to this user.
    Yes,
    /// It already belongs to another user, or to this one. The transaction stays usable.
    Taken,
    /// The user has reached the limit for this kind. The transaction stays usable.
    Full,
}

/// Outcome of moving a claim to another user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    /// It now belongs to the other user.
    Yes,
    /// There is no such claim: it is verified, or does not exist. Nothing changed.
    Gone,
    /// The other user has reached the limit for this kind. Nothing changed.
    Full,
}

/// An address or a number of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identifier {
    /// An e-mail address.
    Email(UserEmail),
    /// A phone number.
    Phone(UserPhone),
}

impl Identifier {
    /// The id.
    pub const fn id(&self) -> MethodId {
        match self {
            Self::Email(email) => MethodId::Email(email.id),
            Self::Phone(phone) => MethodId::Phone(phone.id),
        }
    }

    /// The user that it belongs to.
    pub const fn user_id(&self) -> UserId {
        match self {
            Self::Email(email) => email.user_id,
            Self::Phone(phone) => phone.user_id,
        }
    }

    /// The identity of the address, or the number: unique in the world.
    pub fn identity(&self) -> &str {
        match self {
            Self::Email(email) => email.email.identity().as_str(),
            Self::Phone(phone) => phone.number.as_str(),
        }
    }

    /// The address, unless it is a number.
    pub fn email(self) -> Option<UserEmail> {
        match self {
            Self::Email(email) => Some(email),
            Self::Phone(_) => None,
        }
    }

    /// The number, unless it is an address.
    pub fn phone(self) -> Option<UserPhone> {
        match self {
            Self::Phone(phone) => Some(phone),
            Self::Email(_) => None,
        }
    }
}

impl From<UserEmail> for Identifier {
    fn from(email: UserEmail) -> Self {
        Self::Email(email)
    }
}

impl From<UserPhone> for Identifier {
    fn from(phone: UserPhone) -> Self {
        Self::Phone(phone)
    }
}

/// E-mail addresses and phone numbers of users. Every method stays within the given world.
#[port]
pub trait Identifiers: Send {
    /// Adds an identifier; the unique index decides. The user is locked, so that parallel calls never add more than
    /// [`MAX_EMAILS`](vestry_domain::user::MAX_EMAILS) or [`MAX_PHONE_NUMBERS`](vestry_domain::user::MAX_PHONE_NUMBERS).
    async fn attach(&mut self, world: &World, identifier: Identifier) -> StoreResult<Attached>;
    /// An identifier by its id.
    async fn find(&mut self, world: &World, id: MethodId) -> StoreResult<Option<Identifier>>;
    /// An address by its identity, with its owner.
    async fn email_by_identity(
        &mut self,
        world: &World,
        identity: &EmailIdentity,
    ) -> StoreResult<Option<(UserEmail, User)>>;
    /// A number, with its owner.
    async fn phone_by_number(
        &mut self,
        world: &World,
        number: &PhoneNumber,
    ) -> StoreResult<Option<(UserPhone, User)>>;
    /// Locks the owner of an identifier like [`Users::lock`](super::Users::lock); `None` if there is none. The identifier may have moved to
    /// another user in the meantime, which reading it afterwards shows.
    async fn lock_owner(&mut self, world: &World, id: MethodId) -> StoreResult<Option<User>>;
    /// Records the pending owner: the user who gets a claimed identifier once it is verified from outside. It replaces none or `seen`.
    /// `false`, without any change, if the identifier is verified or deleted, or has another pending owner.
    async fn set_pending_owner(
        &mut self,
        world: &World,
        id: MethodId,
        pending_owner: UserId,
        seen: Option<UserId>,
    ) -> StoreResult<bool>;
    /// Marks an address as verified in the spelling that was proved, and removes its pending owner. Does nothing if it is already verified,
    /// or if the spelling has a different identity.
    async fn verify_email(
        &mut self,
        world: &World,
        id: EmailId,
        spelling: &Email,
        at: Timestamp,
    ) -> StoreResult<()>;
    /// Marks a number as verified; see [`verify_email`](Self::verify_email).
    async fn verify_phone(
        &mut self,
        world: &World,
        id: PhoneNumberId,
        at: Timestamp,
    ) -> StoreResult<()>;
    /// Moves an unverified identifier to another user. Pending codes and links stay with the users for whom they were created. The caller
    /// has locked the other user.
    async fn move_to(&mut self, world: &World, id: MethodId, to: UserId) -> StoreResult<Moved>;
    /// Removes an identifier; `false` if there is none.
    async fn remove(&mut self, world: &World, id: MethodId) -> StoreResult<bool>;

    /// Adds an address; see [`attach`](Self::attach).
    async fn attach_email(&mut self, world: &World, email: &UserEmail) -> StoreResult<Attached> {
        self.attach(world, email.clone().into()).await
    }

    /// Adds a number; see [`attach`](Self::attach).
    async fn attach_phone(&mut self, world: &World, phone: &UserPhone) -> StoreResult<Attached> {
        self.attach(world, phone.clone().into()).await
    }

    /// An address by its id.
    async fn email(&mut self, world: &World, id: EmailId) -> StoreResult<Option<UserEmail>> {
        let found = self.find(world, MethodId::Email(id)).await?;
        Ok(found.and_then(Identifier::email))
    }

    /// A number by its id.
    async fn phone(&mut self, world: &World, id: PhoneNumberId) -> StoreResult<Option<UserPhone>> {
        let found = self.find(world, MethodId::Phone(id)).await?;
        Ok(found.and_then(Identifier::phone))
    }
}
