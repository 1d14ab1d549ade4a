//! Passwords of users, and the book of an import.

use vestry_domain::envelope::Sealed;
use vestry_domain::ids::UserId;
use vestry_domain::password::StoredPassword;
use vestry_domain::user::ShownStatus;
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::StoreResult;

/// A user as somebody who may have a password.
#[derive(Debug, Clone, PartialEq)]
pub struct PasswordHolder {
    /// Whether the user may sign in.
    pub status: ShownStatus,
    /// The password, where there is one.
    pub password: Option<StoredPassword>,
}

/// Passwords: at most one per user.
#[port]
pub trait Passwords: Send {
    /// A user's password; `None` for an unknown user, too.
    async fn find(&mut self, world: &World, user: UserId) -> StoreResult<Option<StoredPassword>>;
    /// A user's password and status in one look; `None` for an unknown user.
    async fn holder(&mut self, world: &World, user: UserId) -> StoreResult<Option<PasswordHolder>>;
    /// Puts a password in the place of whatever was there; `created_at` stays that of the first one.
    async fn put(&mut self, password: &StoredPassword) -> StoreResult<()>;
    /// Puts a password in the place of exactly the one that was `seen`, or of none when none was; `false`, and nothing changes,
    /// when there is another by now. One guarded statement, so that what was decided on an old hash never undoes a change (I5).
    async fn swap(&mut self, password: &StoredPassword, seen: Option<&Sealed>)
    -> StoreResult<bool>;
    /// Removes a user's password; `false` when there is none.
    async fn remove(&mut self, world: &World, user: UserId) -> StoreResult<bool>;
}

/// Which user came from which line of an import, by the key that the other service knows the user by. Keys go with their user
/// when it is deleted.
#[port]
pub trait ImportedUsers: Send {
    /// Notes whom a key became; `false` when the key is taken or the user has one already. The transaction is still good.
    async fn note(
        &mut self,
        world: &World,
        external_key: &str,
        user: UserId,
        at: Timestamp,
    ) -> StoreResult<bool>;
    /// Whom a key became.
    async fn find(&mut self, world: &World, external_key: &str) -> StoreResult<Option<UserId>>;
}
