//! Users, e-mail addresses and phone numbers.

use std::time::Duration;

use vestry_domain::code::MethodId;
use vestry_domain::email::{Email, EmailIdentity};
use vestry_domain::ids::{EmailId, PhoneNumberId, UserId, WalletId};
use vestry_domain::passkey::Passkey;
use vestry_domain::phone::PhoneNumber;
use vestry_domain::provider::ProviderLink;
use vestry_domain::search::UserFilter;
use vestry_domain::totp::Totp;
use vestry_domain::user::{User, UserDisabled, UserEmail, UserPhone, UserProfile};
use vestry_domain::wallet::StoredWallet;
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::StoreResult;

/// Outcome of attaching something that is unique in the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attached {
    /// It is this user's now.
    Yes,
    /// Another user, or this one, has it already. The transaction is still good.
    Taken,
    /// The user has as many of the kind as a user may have. The transaction is still good.
    Full,
}

/// Outcome of moving a claim to another user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moved {
    /// It belongs to the other user now.
    Yes,
    /// There is no such claim: it is verified, or does not exist. Nothing changed.
    Gone,
    /// The other user has as many of the kind as a user may have. Nothing changed.
    Full,
}

/// A user with everything that is attached to it.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeUser {
    /// The user with its identifiers.
    pub profile: UserProfile,
    /// Its wallets, oldest first.
    pub wallets: Vec<StoredWallet>,
    /// Its authenticator apps, oldest first; those too that expired before their first code.
    pub totps: Vec<Totp>,
    /// Its passkeys, oldest first.
    pub passkeys: Vec<Passkey>,
    /// Its links to identity providers, oldest first.
    pub provider_links: Vec<ProviderLink>,
    /// What the service that it was imported from knows it by.
    pub external_key: Option<String>,
}

/// What a user has, as far as it matters to whoever proves an address or number of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holdings {
    /// An address or number is verified.
    pub proved: bool,
    /// There is something that somebody can come in by, or know a key of: a credential, one that is being added, a link that was not
    /// used, a session that has not ended, or a wallet.
    pub planted: bool,
}

/// A page of users.
#[derive(Debug, Clone, PartialEq)]
pub struct UserPage {
    /// Newest first; [`Users::find_all_whole`] reads them.
    pub users: Vec<UserId>,
    /// How many there are in all that fit the filter.
    pub total: i64,
}

/// Users and their identifiers. Every method stays within the given world.
#[port]
pub trait Users: Send {
    /// Adds a user.
    async fn insert(&mut self, user: &User) -> StoreResult<()>;
    /// A user with its identifiers.
    async fn profile(&mut self, world: &World, id: UserId) -> StoreResult<Option<UserProfile>>;
    /// Users with everything that is attached to them: for each in the order asked, in one round trip. They may be of several
    /// worlds, and the same may be asked for twice.
    async fn find_all_whole(
        &mut self,
        wanted: &[(World, UserId)],
    ) -> StoreResult<Vec<Option<WholeUser>>>;
    /// Users that fit the filter, or all, newest first, after (older than) a user, at most `limit`. `after` is a place in the
    /// order of the ids: whether there is such a user does not matter. The total counts the filter, not the page; without a
    /// filter and by status alone it costs the same however many users there are, but for those who are disabled. `now` says which authenticator apps are still
    /// waited for: those whose time is over are not there.
    ///
    /// A filter is given up with [`StoreError::TooLong`](super::StoreError::TooLong) once it takes longer than `within`, in a view;
    /// a transaction is not to be ended by what it looks for.
    async fn search(
        &mut self,
        world: &World,
        filter: Option<&UserFilter>,
        after: Option<UserId>,
        limit: i64,
        now: Timestamp,
        within: Duration,
    ) -> StoreResult<UserPage>;
    /// Keeps everybody else from locking, updating or deleting the user until the transaction ends, and says whether there is
    /// one. What is read afterwards stays true.
    async fn lock(&mut self, world: &World, id: UserId) -> StoreResult<bool>;
    /// Locks the owner of an address or number like [`lock`](Self::lock); `None` when there is none. The identifier may have moved
    /// to another user meanwhile: what is read of it afterwards says so.
    async fn lock_owner(&mut self, world: &World, method: MethodId) -> StoreResult<Option<User>>;
    /// What a user has. While the user is locked nobody adds a credential to it or signs in to it.
    async fn holdings(&mut self, world: &World, id: UserId) -> StoreResult<Holdings>;
    /// Writes names, metadata and `updated_at`; `false` when there is no such user.
    async fn update(&mut self, user: &User) -> StoreResult<bool>;
    /// Locks the user like [`lock`](Self::lock) and notes when it signs in, if it may; `false` when it is disabled, or there is none.
    async fn admit(&mut self, world: &World, id: UserId, at: Timestamp) -> StoreResult<bool>;
    /// Notes since when and why a user may not sign in; `false`, and nothing changes, when it is noted already, or there is no such
    /// user.
    async fn disable(
        &mut self,
        world: &World,
        id: UserId,
        disabled: &UserDisabled,
    ) -> StoreResult<bool>;
    /// Lets a user sign in again; `false`, and nothing changes, when it may, or there is no such user.
    async fn enable(&mut self, world: &World, id: UserId, at: Timestamp) -> StoreResult<bool>;
    /// Deletes a user and every row that belongs to it: identifiers and their codes, credentials, sessions, wallets and their
    /// keys. Messages stay, those sent and those still to be sent, and so do counters of sends. Answers the wallets whose keys went; `None` when
    /// there is no such user.
    async fn delete(&mut self, world: &World, id: UserId) -> StoreResult<Option<Vec<WalletId>>>;
    /// Users of the world by id, after a user, at most `limit`: for an export. Which comes first does not matter, but the order
    /// is always the same, and `after` may be a user that is gone.
    async fn walk(
        &mut self,
        world: &World,
        after: Option<UserId>,
        limit: i64,
    ) -> StoreResult<Vec<UserId>>;
    /// Notes that something of the account is proved: it is founded, and a pending user is active. Does nothing to one that is both.
    async fn found(&mut self, world: &World, id: UserId, at: Timestamp) -> StoreResult<()>;

    /// Notes who gets a claimed address or number once it is proved from outside, in the place of nobody or of `seen`. `false`, and
    /// nothing happens, when it is verified or gone, or another successor stands there.
    async fn name_successor(
        &mut self,
        world: &World,
        method: MethodId,
        successor: UserId,
        seen: Option<UserId>,
    ) -> StoreResult<bool>;

    /// Attaches an address, decided by the unique index on its identity. The user is locked, so that parallel calls never attach more than
    /// [`MOST_EMAILS`](vestry_domain::user::MOST_EMAILS).
    async fn attach_email(&mut self, world: &World, email: &UserEmail) -> StoreResult<Attached>;
    /// An address by its identity, with the owner.
    async fn email_by_identity(
        &mut self,
        world: &World,
        identity: &EmailIdentity,
    ) -> StoreResult<Option<(UserEmail, User)>>;
    /// An address by its id.
    async fn email(&mut self, world: &World, id: EmailId) -> StoreResult<Option<UserEmail>>;
    /// Marks an address as verified in the spelling that was proved, which ends the wait for a successor. Does nothing when it is
    /// verified, or when the spelling is that of another identity.
    async fn verify_email(
        &mut self,
        world: &World,
        id: EmailId,
        spelling: &Email,
        at: Timestamp,
    ) -> StoreResult<()>;
    /// Hands an address that is not verified over to another user. Codes and links that are under way stay those of the users
    /// for whom they were made. The caller has locked the other user.
    async fn move_email(&mut self, world: &World, id: EmailId, to: UserId) -> StoreResult<Moved>;

    /// Detaches an address; `false` when there is none.
    async fn remove_email(&mut self, world: &World, id: EmailId) -> StoreResult<bool>;

    /// Attaches a number, decided by the unique index. The user is locked, so that parallel calls never attach more than
    /// [`MOST_PHONE_NUMBERS`](vestry_domain::user::MOST_PHONE_NUMBERS).
    async fn attach_phone(&mut self, world: &World, phone: &UserPhone) -> StoreResult<Attached>;
    /// A number, with the owner.
    async fn phone_by_number(
        &mut self,
        world: &World,
        number: &PhoneNumber,
    ) -> StoreResult<Option<(UserPhone, User)>>;
    /// A number by its id.
    async fn phone(&mut self, world: &World, id: PhoneNumberId) -> StoreResult<Option<UserPhone>>;
    /// Marks a number as verified; see [`verify_email`](Self::verify_email).
    async fn verify_phone(
        &mut self,
        world: &World,
        id: PhoneNumberId,
        at: Timestamp,
    ) -> StoreResult<()>;
    /// Hands a number that is not verified over to another user; see [`move_email`](Self::move_email).
    async fn move_phone(
        &mut self,
        world: &World,
        id: PhoneNumberId,
        to: UserId,
    ) -> StoreResult<Moved>;
    /// Detaches a number; `false` when there is none.
    async fn remove_phone(&mut self, world: &World, id: PhoneNumberId) -> StoreResult<bool>;
}
