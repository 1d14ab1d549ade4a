//! Users' passwords, and the record of imported users.

use vestry_domain::envelope::Sealed;
use vestry_domain::ids::UserId;
use vestry_domain::password::StoredPassword;
use vestry_domain::user::ShownStatus;
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::StoreResult;

/// A user's status and password.
#[derive(Debug, Clone, PartialEq)]
pub struct PasswordHolder {
    /// The user's status, which determines whether sign-in is allowed.
    pub status: ShownStatus,
    /// The password, if there is one.
    pub password: Option<StoredPassword>,
}

/// Passwords: at most one per user.
#[port]
pub trait Passwords: Send {
    /// A user's password; also `None` for an unknown user.
    async fn find(&mut self, world: &World, user: UserId) -> StoreResult<Option<StoredPassword>>;
    /// A user's password and status in one lookup; `None` for an unknown user.
    async fn holder(&mut self, world: &World, user: UserId) -> StoreResult<Option<PasswordHolder>>;
    /// Stores a password, replacing any previous one; `created_at` stays that of the first one.
    async fn put(&mut self, password: &StoredPassword) -> StoreResult<()>;
    /// Replaces exactly the password that was `seen`, or adds one if none was. `false`, without any change, if the stored one is different
    /// by now. One guarded statement, so that a decision based on an old hash never undoes a change (I5).
    async fn swap(&mut self, password: &StoredPassword, seen: Option<&Sealed>)
    -> StoreResult<bool>;
    /// Removes a user's password; `false` if there is none.
    async fn remove(&mut self, world: &World, user: UserId) -> StoreResult<bool>;
}

/// The users created by an import, by their key in the other service. Keys are deleted with their user.
#[port]
pub trait ImportedUsers: Send {
    /// Records the user created for a key; `false` if the key is taken or the user already has one. The transaction stays usable.
    async fn note(
        &mut self,
        world: &World,
        external_key: &str,
        user: UserId,
        at: Timestamp,
    ) -> StoreResult<bool>;
    /// The user created for a key.
    async fn find(&mut self, world: &World, external_key: &str) -> StoreResult<Option<UserId>>;
}
