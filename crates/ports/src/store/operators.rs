//! Operators and the links that let them in. Both belong to the built-in App.

use vestry_domain::Timestamp;
use vestry_domain::email::EmailIdentity;
use vestry_domain::event::Actor;
use vestry_domain::ids::{OperatorLinkId, UserId};
use vestry_domain::operator::{Grants, Operator, OperatorLink};
use vestry_domain::token::TokenHash;
use vestry_port_macro::port;

use super::StoreResult;

/// Operators.
#[port]
pub trait Operators: Send {
    /// Adds an operator; `false`, without any change, if the user is one already.
    async fn insert(&mut self, operator: &Operator) -> StoreResult<bool>;
    /// Returns an operator.
    async fn find(&mut self, user: UserId) -> StoreResult<Option<Operator>>;
    /// All operators, oldest first.
    async fn list(&mut self) -> StoreResult<Vec<Operator>>;
    /// The same, locked against changes until the transaction ends. Every change of roles begins with this, so that two of them never
    /// remove the last owner together.
    async fn lock_all(&mut self) -> StoreResult<Vec<Operator>>;
    /// Replaces the roles of an operator; `false` if there is none.
    async fn update(&mut self, user: UserId, grants: &Grants, at: Timestamp) -> StoreResult<bool>;
    /// Removes an operator; `false` if there is none. The user stays.
    async fn remove(&mut self, user: UserId) -> StoreResult<bool>;
}

/// Links that let operators in.
#[port]
pub trait OperatorLinks: Send {
    /// Adds a link.
    async fn insert(&mut self, link: &OperatorLink) -> StoreResult<()>;
    /// The link with this hash, used or not.
    async fn find(&mut self, hash: &TokenHash) -> StoreResult<Option<OperatorLink>>;
    /// All links that are neither used nor expired, oldest first.
    async fn list_open(&mut self, now: Timestamp) -> StoreResult<Vec<OperatorLink>>;
    /// Uses a link up; `None`, without any change, if there is none with this hash that is neither used nor expired. One guarded statement.
    async fn consume(
        &mut self,
        hash: &TokenHash,
        now: Timestamp,
    ) -> StoreResult<Option<OperatorLink>>;
    /// Removes an unused link; `false` if there is none.
    async fn remove(&mut self, id: OperatorLinkId) -> StoreResult<bool>;
    /// Removes all unused links to an address; returns how many.
    async fn remove_unused(&mut self, email: &EmailIdentity) -> StoreResult<u64>;
    /// Removes all unused links that an actor made; returns how many.
    async fn remove_made_by(&mut self, actor: &Actor) -> StoreResult<u64>;
    /// Removes links that expired before the given time, used or not; returns how many.
    async fn sweep(&mut self, expired_before: Timestamp) -> StoreResult<u64>;
}
