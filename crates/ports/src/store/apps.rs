//! Apps and their configuration.

use vestry_domain::api_key::{ApiKey, KeyUse};
use vestry_domain::app::{App, NamedEvents};
use vestry_domain::envelope::{AppKey, KeyPurpose, WrappedKey};
use vestry_domain::ids::{ApiKeyId, AppId, ManagementKeyId, RedirectUrlId, SigningKeyId};
use vestry_domain::management_key::ManagementKey;
use vestry_domain::redirect::{RedirectKind, RedirectTarget};
use vestry_domain::signing_key::SigningKey;
use vestry_domain::test_clock::TestClock;
use vestry_domain::token::TokenHash;
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::StoreResult;

/// Apps.
#[port]
pub trait Apps: Send {
    /// Adds an App.
    async fn insert(&mut self, app: &App) -> StoreResult<()>;
    /// Returns an App.
    async fn find(&mut self, id: AppId) -> StoreResult<Option<App>>;
    /// All Apps of customers, oldest first. Excludes the built-in App, which must not be shown or processed by accident.
    async fn list(&mut self) -> StoreResult<Vec<App>>;
    /// Writes name, settings and `updated_at`; `false` if there is no such App.
    async fn update(&mut self, app: &App) -> StoreResult<bool>;
    /// Returns an App and locks it against changes until the transaction ends.
    async fn lock(&mut self, id: AppId) -> StoreResult<Option<App>>;
    /// Writes the optional event types that its webhook endpoints request.
    async fn name_events(&mut self, id: AppId, named: &NamedEvents) -> StoreResult<()>;
    /// Replaces the test clock `from`; `false` if the App has a different one by now, or does not exist.
    async fn swap_test_clock(
        &mut self,
        app: AppId,
        from: &TestClock,
        to: &TestClock,
    ) -> StoreResult<bool>;
}

/// API keys and public tokens.
#[port]
pub trait ApiKeys: Send {
    /// Adds a key.
    async fn insert(&mut self, key: &ApiKey) -> StoreResult<()>;
    /// The key with this hash and its App, revoked or not. Unlike other lookups, it does not start from a world.
    async fn find_by_hash(&mut self, hash: &TokenHash) -> StoreResult<Option<(ApiKey, App)>>;
    /// All keys of an App, oldest first.
    async fn list(&mut self, app: AppId) -> StoreResult<Vec<ApiKey>>;
    /// Replaces the name, scopes and restrictions of a key; `false` if there is none that is not revoked yet.
    async fn update(&mut self, key: &ApiKey) -> StoreResult<bool>;
    /// Records uses of keys. A later use of the same operation replaces an earlier one.
    async fn note_uses(&mut self, uses: &[KeyUse]) -> StoreResult<()>;
    /// The recorded uses of an App's keys, by key and operation. Names of operations that this build does not know are left out.
    async fn uses(&mut self, app: AppId) -> StoreResult<Vec<KeyUse>>;
    /// Revokes a key; `false` if there is none that is not revoked yet.
    async fn revoke(&mut self, app: AppId, id: ApiKeyId, at: Timestamp) -> StoreResult<bool>;
}

/// Keys of the management API, which belong to the deployment.
#[port]
pub trait ManagementKeys: Send {
    /// Adds a key.
    async fn insert(&mut self, key: &ManagementKey) -> StoreResult<()>;
    /// The key with this hash, revoked or not.
    async fn find_by_hash(&mut self, hash: &TokenHash) -> StoreResult<Option<ManagementKey>>;
    /// All keys, oldest first.
    async fn list(&mut self) -> StoreResult<Vec<ManagementKey>>;
    /// Revokes a key; `false` if there is none that is not revoked yet.
    async fn revoke(&mut self, id: ManagementKeyId, at: Timestamp) -> StoreResult<bool>;
}

/// A registered redirect URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedirectUrl {
    /// The id.
    pub id: RedirectUrlId,
    /// App and environment.
    pub world: World,
    /// The kind of users that it is for.
    pub kind: RedirectKind,
    /// The URL.
    pub target: RedirectTarget,
    /// Whether it is used by calls that name no URL; one per kind.
    pub is_default: bool,
    /// When it was registered.
    pub created_at: Timestamp,
}

/// Registered redirect URLs.
#[port]
pub trait RedirectUrls: Send {
    /// Adds a URL; `false`, without any change, if it is already registered for this kind in its world. If it is the default, the previous
    /// default of its world and kind is unset.
    async fn insert(&mut self, url: &RedirectUrl) -> StoreResult<bool>;
    /// All redirect URLs of an App (both environments), oldest first.
    async fn list(&mut self, app: AppId) -> StoreResult<Vec<RedirectUrl>>;
    /// Removes a URL; `false` if there is none.
    async fn remove(&mut self, app: AppId, id: RedirectUrlId) -> StoreResult<bool>;
}

/// The number of rows in one table that use one version of an App key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyUsage {
    /// The version.
    pub version: u32,
    /// The table, which identifies the kind of row.
    pub table: &'static str,
    /// The number of rows.
    pub rows: u64,
}

/// App keys, wrapped under the root key.
#[port]
pub trait AppKeys: Send {
    /// Adds a key.
    async fn insert(&mut self, key: &AppKey) -> StoreResult<()>;
    /// Adds a version of a key; `false`, without any change, if this version already exists.
    async fn add(&mut self, key: &AppKey) -> StoreResult<bool>;
    /// Returns the versions of a key below the given one, ascending. Prevents new references to them until the transaction ends, so that
    /// the existing ones can be checked before a version is removed.
    async fn lock_below(
        &mut self,
        world: &World,
        purpose: KeyPurpose,
        version: u32,
    ) -> StoreResult<Vec<AppKey>>;
    /// The rows that use versions of a key below the given one and are lost without them, whether still usable or not. Excludes the audit
    /// log ([`KeyPurpose::PastAudit`]).
    async fn references_below(
        &mut self,
        world: &World,
        purpose: KeyPurpose,
        version: u32,
    ) -> StoreResult<Vec<KeyUsage>>;
    /// Removes a version; `false` if it does not exist.
    async fn remove(
        &mut self,
        world: &World,
        purpose: KeyPurpose,
        version: u32,
    ) -> StoreResult<bool>;
    /// Prevents a version from being removed until the transaction ends; `false` if it no longer exists. Transactions that write data under
    /// a key call this first. Transactions that remove keys check for such data afterwards.
    async fn hold(&mut self, world: &World, purpose: KeyPurpose, version: u32)
    -> StoreResult<bool>;
    /// Pins a root version until the transaction ends, by preventing a key of this purpose under it from being re-wrapped. `false` if there
    /// are keys of the purpose but none under this version, which may then be destroyed. Transactions that add a key call this first for
    /// the version that wrapped it.
    async fn hold_root(&mut self, purpose: KeyPurpose, root_version: u32) -> StoreResult<bool>;
    /// Returns one version of a key.
    async fn find(
        &mut self,
        world: &World,
        purpose: KeyPurpose,
        version: u32,
    ) -> StoreResult<Option<AppKey>>;
    /// The highest version of a key.
    async fn newest(&mut self, world: &World, purpose: KeyPurpose) -> StoreResult<Option<AppKey>>;
    /// All keys of all Apps, in a stable order.
    async fn all(&mut self) -> StoreResult<Vec<AppKey>>;
    /// Replaces the wrapping by root version `from`; `false` if another process was faster.
    async fn rewrap(&mut self, key: &AppKey, from: u32, to: &WrappedKey) -> StoreResult<bool>;
}

/// Signing keys of session JWTs.
#[port]
pub trait SigningKeys: Send {
    /// Adds a key.
    async fn insert(&mut self, key: &SigningKey) -> StoreResult<()>;
    /// All keys of a world, oldest first.
    async fn list(&mut self, world: &World) -> StoreResult<Vec<SigningKey>>;
    /// Removes a key including its private half; `false` if there is none.
    async fn remove(&mut self, world: &World, id: SigningKeyId) -> StoreResult<bool>;
}
