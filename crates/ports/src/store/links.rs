//! Magic links.

use vestry_domain::ids::{EmailId, SessionId, UserId};
use vestry_domain::link::{Link, LinkPurpose};
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::{StoreResult, SweptWorlds};

/// Magic links: at most one per world, address and purpose.
#[port]
pub trait Links: Send {
    /// Stores a link, replacing any previous one of its address and purpose, used or not. The address and user need not exist.
    async fn replace(&mut self, link: &Link) -> StoreResult<()>;
    /// A link by its token, including used and expired ones.
    async fn find(&mut self, world: &World, token: &TokenHash) -> StoreResult<Option<Link>>;
    /// The link of an address and purpose, even if used or expired.
    async fn of_email(
        &mut self,
        world: &World,
        email: EmailId,
        purpose: LinkPurpose,
    ) -> StoreResult<Option<Link>>;
    /// Counts an attempt against a link that is valid (`now < expires_at`, unused) and has one of the purposes. Returns the number of
    /// attempts so far; `None` otherwise. One guarded statement that also locks the link until the transaction ends, so that parallel
    /// attempts are counted exactly (M-2).
    async fn attempt(
        &mut self,
        world: &World,
        token: &TokenHash,
        purposes: &[LinkPurpose],
        now: Timestamp,
    ) -> StoreResult<Option<i64>>;
    /// Consumes a link that is valid (`now < expires_at`, unused) and has one of the purposes, and returns it in its new state; `None`
    /// otherwise. One guarded statement that also locks the link until the transaction ends (ML-3).
    async fn consume(
        &mut self,
        world: &World,
        token: &TokenHash,
        purposes: &[LinkPurpose],
        now: Timestamp,
    ) -> StoreResult<Option<Link>>;
    /// Records the session that the use of a link started.
    async fn offer(
        &mut self,
        world: &World,
        token: &TokenHash,
        session: SessionId,
    ) -> StoreResult<()>;
    /// Records that the requesting browser got a session; `false` if it already has one, or none was offered. One guarded statement.
    async fn hand_over(
        &mut self,
        world: &World,
        token: &TokenHash,
        now: Timestamp,
    ) -> StoreResult<bool>;
    /// Deletes the link of an address and purpose.
    async fn forget(
        &mut self,
        world: &World,
        email: EmailId,
        purpose: LinkPurpose,
    ) -> StoreResult<()>;
    /// Deletes the unused links of a user, whatever their purpose.
    async fn forget_unused(&mut self, world: &World, user: UserId) -> StoreResult<()>;
    /// Deletes links of some worlds that expired before the given time; returns how many.
    async fn sweep(&mut self, worlds: &SweptWorlds, expired_before: Timestamp) -> StoreResult<u64>;
}
