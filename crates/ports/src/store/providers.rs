//! Identity providers: what Apps have set, sign-ins on their way, and who is linked.

use vestry_domain::envelope::Sealed;
use vestry_domain::ids::{AppId, OauthCallbackId, ProviderLinkId, UserId};
use vestry_domain::provider::{Connection, Flow, Pending, ProviderLink, ProviderName, TestGrant};
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::{Attached, StoreResult, SweptWorlds};

/// A connection with its client secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredConnection {
    /// What was set.
    pub connection: Connection,
    /// The client secret, sealed in the place of the connection's callback id.
    pub secret: Sealed,
}

/// Connections to identity providers: at most one per world and name.
#[port]
pub trait ProviderConnections: Send {
    /// Adds a connection; `false` when its world has one of this name, and then nothing changes.
    async fn insert(&mut self, stored: &StoredConnection) -> StoreResult<bool>;
    /// Writes client id, settings, secret and `updated_at` of the connection of this world, name and callback id; `false` when
    /// there is none.
    async fn update(&mut self, stored: &StoredConnection) -> StoreResult<bool>;
    /// A connection by its name.
    async fn find(
        &mut self,
        world: &World,
        name: &ProviderName,
    ) -> StoreResult<Option<StoredConnection>>;
    /// A connection by its callback. The one look-up that does not start from a world.
    async fn find_by_callback(
        &mut self,
        id: OauthCallbackId,
    ) -> StoreResult<Option<StoredConnection>>;
    /// All connections of an App (both environments), by environment and name.
    async fn list(&mut self, app: AppId) -> StoreResult<Vec<StoredConnection>>;
    /// Removes a connection; `false` when there is none. Who is linked stays linked.
    async fn remove(&mut self, world: &World, name: &ProviderName) -> StoreResult<bool>;
}

/// Sign-ins on their way: browsers that are away, and tokens that wait to be verified. Every method but the sweep stays within
/// the given world.
#[port]
pub trait OauthFlows: Send {
    /// Adds a flow.
    async fn insert_flow(&mut self, flow: &Flow) -> StoreResult<()>;
    /// A flow by its state; a dead one too.
    async fn find_flow(&mut self, world: &World, state: &TokenHash) -> StoreResult<Option<Flow>>;
    /// Notes what the built-in provider answers. `false`, and nothing changes, when there is no living flow of that provider, or
    /// it has an answer already. One guarded statement.
    async fn grant_test(
        &mut self,
        world: &World,
        state: &TokenHash,
        grant: &TestGrant,
        now: Timestamp,
    ) -> StoreResult<bool>;
    /// Uses a flow up by deleting it; `false` when it is not there or dead at `now`. One guarded statement (O-2, R6).
    async fn consume_flow(
        &mut self,
        world: &World,
        state: &TokenHash,
        now: Timestamp,
    ) -> StoreResult<bool>;
    /// Adds a token that waits to be verified.
    async fn insert_pending(&mut self, pending: &Pending) -> StoreResult<()>;
    /// What waits under a token; what is dead too.
    async fn find_pending(
        &mut self,
        world: &World,
        token: &TokenHash,
    ) -> StoreResult<Option<Pending>>;
    /// Counts a try against a token that is alive at `now`, and returns how many there are by now; `None` otherwise. One guarded
    /// statement that also locks the token until the transaction ends, so that parallel tries are exact (M-2).
    async fn attempt_pending(
        &mut self,
        world: &World,
        token: &TokenHash,
        now: Timestamp,
    ) -> StoreResult<Option<i64>>;
    /// Uses a token up by deleting it; `false` when it is not there or dead at `now`. One guarded statement (O-11, R6).
    async fn consume_pending(
        &mut self,
        world: &World,
        token: &TokenHash,
        now: Timestamp,
    ) -> StoreResult<bool>;
    /// Deletes flows and tokens that expired by the given moment, in some worlds; returns how many.
    async fn sweep(&mut self, worlds: &SweptWorlds, expired_by: Timestamp) -> StoreResult<u64>;
}

/// Who is linked with a provider. Every method stays within the given world.
#[port]
pub trait ProviderLinks: Send {
    /// Adds a link, decided by the unique index on provider, issuer and subject (O-8).
    async fn insert(&mut self, link: &ProviderLink) -> StoreResult<Attached>;
    /// A link by its id.
    async fn find(
        &mut self,
        world: &World,
        id: ProviderLinkId,
    ) -> StoreResult<Option<ProviderLink>>;
    /// The link of a person of a provider.
    async fn find_by_subject(
        &mut self,
        world: &World,
        provider: &ProviderName,
        issuer: &str,
        subject: &str,
    ) -> StoreResult<Option<ProviderLink>>;
    /// Links of a user, oldest first.
    async fn of_user(&mut self, world: &World, user: UserId) -> StoreResult<Vec<ProviderLink>>;
    /// Writes `updated_at`: the provider has vouched for the person again.
    async fn touch(&mut self, world: &World, id: ProviderLinkId, at: Timestamp) -> StoreResult<()>;
    /// Removes a link; `false` when there is none.
    async fn remove(&mut self, world: &World, id: ProviderLinkId) -> StoreResult<bool>;
    /// Removes all links of a user; returns how many.
    async fn remove_all(&mut self, world: &World, user: UserId) -> StoreResult<u64>;
}
