//! Identity providers: Apps' connections, pending sign-ins, and users' links.

use vestry_domain::envelope::Sealed;
use vestry_domain::ids::{AppId, OauthCallbackId, ProviderLinkId, UserId};
use vestry_domain::provider::{
    ClientSecretHint, Connection, Flow, Pending, ProviderLink, ProviderName, TestGrant,
};
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::{Attached, StoreResult, SweptWorlds};

/// A connection with its client secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredConnection {
    /// The connection.
    pub connection: Connection,
    /// The encrypted client secret, bound to the connection's callback id.
    pub secret: Sealed,
    /// Its visible part; `None` while none is set.
    pub hint: Option<ClientSecretHint>,
}

/// Connections to identity providers: at most one per world and name.
#[port]
pub trait ProviderConnections: Send {
    /// Adds a connection; `false`, without any change, if its world already has one with this name.
    async fn insert(&mut self, stored: &StoredConnection) -> StoreResult<bool>;
    /// Writes client id, settings, secret, its hint and `updated_at` of the connection with this world, name and callback id; `false` if there is
    /// none.
    async fn update(&mut self, stored: &StoredConnection) -> StoreResult<bool>;
    /// A connection by its name.
    async fn find(
        &mut self,
        world: &World,
        name: &ProviderName,
    ) -> StoreResult<Option<StoredConnection>>;
    /// A connection by its callback. Unlike other lookups, it does not start from a world.
    async fn find_by_callback(
        &mut self,
        id: OauthCallbackId,
    ) -> StoreResult<Option<StoredConnection>>;
    /// All connections of an App (both environments), by environment and name.
    async fn list(&mut self, app: AppId) -> StoreResult<Vec<StoredConnection>>;
    /// Removes a connection; `false` if there is none. Existing user links are kept.
    async fn remove(&mut self, world: &World, name: &ProviderName) -> StoreResult<bool>;
}

/// Pending sign-ins: browsers that are at a provider, and tokens waiting to be verified. Every method but the sweep stays within the given
/// world.
#[port]
pub trait OauthFlows: Send {
    /// Adds a flow.
    async fn insert_flow(&mut self, flow: &Flow) -> StoreResult<()>;
    /// A flow by its state, including expired ones.
    async fn find_flow(&mut self, world: &World, state: &TokenHash) -> StoreResult<Option<Flow>>;
    /// Records the response of the built-in provider. `false`, without any change, if there is no valid flow of that provider, or it
    /// already has a response. One guarded statement.
    async fn grant_test(
        &mut self,
        world: &World,
        state: &TokenHash,
        grant: &TestGrant,
        now: Timestamp,
    ) -> StoreResult<bool>;
    /// Consumes a flow by deleting it; `false` if it does not exist or has expired at `now`. One guarded statement (O-2, R6).
    async fn consume_flow(
        &mut self,
        world: &World,
        state: &TokenHash,
        now: Timestamp,
    ) -> StoreResult<bool>;
    /// Adds a token waiting to be verified.
    async fn insert_pending(&mut self, pending: &Pending) -> StoreResult<()>;
    /// The pending identity of a token, including expired ones.
    async fn find_pending(
        &mut self,
        world: &World,
        token: &TokenHash,
    ) -> StoreResult<Option<Pending>>;
    /// Counts an attempt against a token that is valid at `now`, and returns the number of attempts so far; `None` otherwise. One guarded
    /// statement that also locks the token until the transaction ends, so that parallel attempts are counted exactly (M-2).
    async fn attempt_pending(
        &mut self,
        world: &World,
        token: &TokenHash,
        now: Timestamp,
    ) -> StoreResult<Option<i64>>;
    /// Consumes a token by deleting it; `false` if it does not exist or has expired at `now`. One guarded statement (O-11, R6).
    async fn consume_pending(
        &mut self,
        world: &World,
        token: &TokenHash,
        now: Timestamp,
    ) -> StoreResult<bool>;
    /// Deletes flows and tokens of some worlds that expired by the given time; returns how many.
    async fn sweep(&mut self, worlds: &SweptWorlds, expired_by: Timestamp) -> StoreResult<u64>;
}

/// Users' links to identities at providers. Every method stays within the given world.
#[port]
pub trait ProviderLinks: Send {
    /// Adds a link; the unique index on provider, issuer and subject decides (O-8).
    async fn insert(&mut self, link: &ProviderLink) -> StoreResult<Attached>;
    /// A link by its id.
    async fn find(
        &mut self,
        world: &World,
        id: ProviderLinkId,
    ) -> StoreResult<Option<ProviderLink>>;
    /// The link of an identity at a provider.
    async fn find_by_subject(
        &mut self,
        world: &World,
        provider: &ProviderName,
        issuer: &str,
        subject: &str,
    ) -> StoreResult<Option<ProviderLink>>;
    /// Links of a user, oldest first.
    async fn of_user(&mut self, world: &World, user: UserId) -> StoreResult<Vec<ProviderLink>>;
    /// Writes `updated_at`, after the provider has vouched for the identity again.
    async fn touch(&mut self, world: &World, id: ProviderLinkId, at: Timestamp) -> StoreResult<()>;
    /// Removes a link; `false` if there is none.
    async fn remove(&mut self, world: &World, id: ProviderLinkId) -> StoreResult<bool>;
    /// Removes all links of a user; returns how many.
    async fn remove_all(&mut self, world: &World, user: UserId) -> StoreResult<u64>;
}
