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
    /// Puts a link in the place of whatever its address had for its purpose, used or not. There need be no such address or user.
    async fn replace(&mut self, link: &Link) -> StoreResult<()>;
    /// A link by its token; used and expired ones too.
    async fn find(&mut self, world: &World, token: &TokenHash) -> StoreResult<Option<Link>>;
    /// The link of an address and purpose; a used or expired one too.
    async fn of_email(
        &mut self,
        world: &World,
        email: EmailId,
        purpose: LinkPurpose,
    ) -> StoreResult<Option<Link>>;
    /// Counts a try against a link that is alive (`now < expires_at`, unused) and of one of the purposes, and returns how many
    /// there are by now; `None` otherwise. One guarded statement that also locks the link until the transaction ends, so that
    /// parallel tries are exact (M-2).
    async fn attempt(
        &mut self,
        world: &World,
        token: &TokenHash,
        purposes: &[LinkPurpose],
        now: Timestamp,
    ) -> StoreResult<Option<i64>>;
    /// Uses a link up if it is alive (`now < expires_at`, unused) and of one of the purposes, and returns it as it is from then
    /// on; `None` otherwise. One guarded statement that also locks the link until the transaction ends (ML-3).
    async fn consume(
        &mut self,
        world: &World,
        token: &TokenHash,
        purposes: &[LinkPurpose],
        now: Timestamp,
    ) -> StoreResult<Option<Link>>;
    /// Notes the session that the use of a link started.
    async fn offer(
        &mut self,
        world: &World,
        token: &TokenHash,
        session: SessionId,
    ) -> StoreResult<()>;
    /// Notes that the origin of a link got a session; `false` when it has one already, or none was offered. One guarded statement.
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
    /// Deletes the links of a user that nobody has used, whatever their purpose.
    async fn forget_unused(&mut self, world: &World, user: UserId) -> StoreResult<()>;
    /// Deletes links that expired before the given moment, in some worlds; returns how many.
    async fn sweep(&mut self, worlds: &SweptWorlds, expired_before: Timestamp) -> StoreResult<u64>;
}
