//! Users.

use std::time::Duration;

use vestry_domain::ids::{UserId, WalletId};
use vestry_domain::passkey::Passkey;
use vestry_domain::provider::ProviderLink;
use vestry_domain::search::UserFilter;
use vestry_domain::totp::Totp;
use vestry_domain::user::{User, UserDisabled, UserProfile};
use vestry_domain::wallet::StoredWallet;
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::StoreResult;

/// A user with all attached objects.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeUser {
    /// The user and their identifiers.
    pub profile: UserProfile,
    /// Wallets, oldest first.
    pub wallets: Vec<StoredWallet>,
    /// Authenticator apps, oldest first, including those that expired before their first code.
    pub totps: Vec<Totp>,
    /// Passkeys, oldest first.
    pub passkeys: Vec<Passkey>,
    /// Links to identity providers, oldest first.
    pub provider_links: Vec<ProviderLink>,
    /// The user's id in the service from which they were imported.
    pub external_key: Option<String>,
}

/// Facts about an account that matter when one of its addresses or numbers is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountTrust {
    /// An address or number is verified.
    pub has_verified_identifier: bool,
    /// The account has something that could let someone in or whose key someone could know. This is a credential, one being added, an
    /// unused link, a session that has not ended, or a wallet.
    pub has_unverified_credentials: bool,
}

/// A page of users.
#[derive(Debug, Clone, PartialEq)]
pub struct UserPage {
    /// Newest first; [`Users::find_all_whole`] reads them.
    pub users: Vec<UserId>,
    /// Total number of users that match the filter.
    pub total: i64,
}

/// Users. Every method stays within the given world.
#[port]
pub trait Users: Send {
    /// Adds a user.
    async fn insert(&mut self, user: &User) -> StoreResult<()>;
    /// A user with all identifiers.
    async fn profile(&mut self, world: &World, id: UserId) -> StoreResult<Option<UserProfile>>;
    /// Users with all attached objects, in the requested order and in one round trip. They can be of several worlds, and the same one can
    /// be requested twice.
    async fn find_all_whole(
        &mut self,
        wanted: &[(World, UserId)],
    ) -> StoreResult<Vec<Option<WholeUser>>>;
    /// Users that match the filter, or all, newest first, after (older than) a user, at most `limit`. `after` is a position in the order of
    /// the ids; the user need not exist. The total counts the filter, not the page. Without a filter or by status alone, its cost depends
    /// only on the number of disabled users. `now` determines which authenticator apps are still waiting for their first code; expired ones
    /// are ignored.
    ///
    /// In a read-only view, a search is cancelled with [`StoreError::TooLong`](super::StoreError::TooLong) if it takes longer than
    /// `within`. In a transaction it is not, because that would end the transaction.
    async fn search(
        &mut self,
        world: &World,
        filter: Option<&UserFilter>,
        after: Option<UserId>,
        limit: i64,
        now: Timestamp,
        within: Duration,
    ) -> StoreResult<UserPage>;
    /// Locks the user against locking, updates and deletion by others until the transaction ends, and returns whether the user exists.
    /// Everything read afterwards stays true.
    async fn lock(&mut self, world: &World, id: UserId) -> StoreResult<bool>;
    /// The user's [`AccountTrust`]. While the user is locked, no credential or sign-in can be added.
    async fn account_trust(&mut self, world: &World, id: UserId) -> StoreResult<AccountTrust>;
    /// Writes names, metadata and `updated_at`; `false` if there is no such user.
    async fn update(&mut self, user: &User) -> StoreResult<bool>;
    /// Locks the user like [`lock`](Self::lock) and records the sign-in, if allowed; `false` if the user is disabled or does not exist.
    async fn admit(&mut self, world: &World, id: UserId, at: Timestamp) -> StoreResult<bool>;
    /// Records when and why a user was disabled; `false`, without any change, if the user is already disabled or does not exist.
    async fn disable(
        &mut self,
        world: &World,
        id: UserId,
        disabled: &UserDisabled,
    ) -> StoreResult<bool>;
    /// Enables a user; `false`, without any change, if the user is not disabled or does not exist.
    async fn enable(&mut self, world: &World, id: UserId, at: Timestamp) -> StoreResult<bool>;
    /// Deletes a user and all their rows: identifiers and their codes, credentials, sessions, wallets and their keys. Messages are kept,
    /// both sent and pending, and so are counters of sends. Returns the wallets whose keys were deleted; `None` if there is no such user.
    async fn delete(&mut self, world: &World, id: UserId) -> StoreResult<Option<Vec<WalletId>>>;
    /// Users of the world by id, after a user, at most `limit`: for an export. The order is arbitrary but stable, and `after` need not
    /// exist.
    async fn walk(
        &mut self,
        world: &World,
        after: Option<UserId>,
        limit: i64,
    ) -> StoreResult<Vec<UserId>>;
    /// Records that the account has an owner (see [`User::is_owned`](vestry_domain::user::User)), and makes a pending user active. Does
    /// nothing if both are already the case.
    async fn mark_owned(&mut self, world: &World, id: UserId, at: Timestamp) -> StoreResult<()>;
}
