//! Apps and everything that is set up for them.

use vestry_domain::api_key::ApiKey;
use vestry_domain::app::{App, NamedEvents};
use vestry_domain::envelope::{AppKey, KeyPurpose, WrappedKey};
use vestry_domain::ids::{ApiKeyId, AppId, RedirectUrlId, SigningKeyId};
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
    /// One App.
    async fn find(&mut self, id: AppId) -> StoreResult<Option<App>>;
    /// All Apps of customers, oldest first: not the built-in one, which nobody is to show, or to work through, by accident.
    async fn list(&mut self) -> StoreResult<Vec<App>>;
    /// Writes name, settings and `updated_at`; `false` when there is no such App.
    async fn update(&mut self, app: &App) -> StoreResult<bool>;
    /// One App, which nobody else changes before the transaction ends.
    async fn lock(&mut self, id: AppId) -> StoreResult<Option<App>>;
    /// Writes what its webhook endpoints name.
    async fn name_events(&mut self, id: AppId, named: &NamedEvents) -> StoreResult<()>;
    /// Puts a test clock in the place of `from`; `false` when the App has another one by now, or is not there.
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
    /// The key with this hash and its App, revoked or not. The one look-up that does not start from a world.
    async fn find_by_hash(&mut self, hash: &TokenHash) -> StoreResult<Option<(ApiKey, App)>>;
    /// All keys of an App, oldest first.
    async fn list(&mut self, app: AppId) -> StoreResult<Vec<ApiKey>>;
    /// Revokes a key that is not revoked yet; `false` when there is none.
    async fn revoke(&mut self, app: AppId, id: ApiKeyId, at: Timestamp) -> StoreResult<bool>;
}

/// A registered redirect URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedirectUrl {
    /// The id.
    pub id: RedirectUrlId,
    /// App and environment.
    pub world: World,
    /// What it may be used for.
    pub kind: RedirectKind,
    /// The URL.
    pub target: RedirectTarget,
    /// Whether it is used when a call names none; one per kind.
    pub is_default: bool,
    /// When it was registered.
    pub created_at: Timestamp,
}

/// Registered redirect URLs.
#[port]
pub trait RedirectUrls: Send {
    /// Adds a URL; `false` when the same URL is registered for this kind in its world, and then nothing changes. When it is
    /// the default, the earlier default of its world and kind stops being one.
    async fn insert(&mut self, url: &RedirectUrl) -> StoreResult<bool>;
    /// All of an App (both environments), oldest first.
    async fn list(&mut self, app: AppId) -> StoreResult<Vec<RedirectUrl>>;
    /// Removes one; `false` when there is none.
    async fn remove(&mut self, app: AppId, id: RedirectUrlId) -> StoreResult<bool>;
}

/// Rows of one kind under one version of an App key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The version.
    pub version: u32,
    /// Their table, which says what they are.
    pub table: &'static str,
    /// How many there are.
    pub rows: u64,
}

/// App keys, wrapped under the root key.
#[port]
pub trait AppKeys: Send {
    /// Adds a key.
    async fn insert(&mut self, key: &AppKey) -> StoreResult<()>;
    /// Adds a version of a key; `false` when there is this version already, and then nothing changes.
    async fn add(&mut self, key: &AppKey) -> StoreResult<bool>;
    /// The versions of a key below the given one, ascending. Until the transaction ends nobody holds one of them, so that what stands
    /// under them can be looked for before one is removed.
    async fn lock_below(
        &mut self,
        world: &World,
        purpose: KeyPurpose,
        version: u32,
    ) -> StoreResult<Vec<AppKey>>;
    /// What stands under the versions of a key below the given one and is lost without them, whether anybody can still use it or not.
    /// The audit log is no part of it ([`KeyPurpose::PastAudit`]).
    async fn standing_below(
        &mut self,
        world: &World,
        purpose: KeyPurpose,
        version: u32,
    ) -> StoreResult<Vec<Standing>>;
    /// Removes a version; `false` when it is gone already.
    async fn remove(
        &mut self,
        world: &World,
        purpose: KeyPurpose,
        version: u32,
    ) -> StoreResult<bool>;
    /// Keeps a version from being removed until the transaction ends; `false` when it is gone already. Whoever writes what
    /// stands under a key asks first, and whoever removes keys looks for such things afterwards.
    async fn hold(&mut self, world: &World, purpose: KeyPurpose, version: u32)
    -> StoreResult<bool>;
    /// Keeps a key of this purpose that is under this root version from being wrapped anew until the transaction ends, and with
    /// that the root version from being destroyed. `false` when there are keys of the purpose and none of them is under it: then
    /// it may be gone already. Whoever adds a key asks first for the version that wrapped it.
    async fn hold_root(&mut self, purpose: KeyPurpose, root_version: u32) -> StoreResult<bool>;
    /// One version of a key.
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
    /// Puts a new wrapping in place of the one with root version `from`; `false` when somebody else was faster.
    async fn rewrap(&mut self, key: &AppKey, from: u32, to: &WrappedKey) -> StoreResult<bool>;
}

/// Signing keys of session JWTs.
#[port]
pub trait SigningKeys: Send {
    /// Adds a key.
    async fn insert(&mut self, key: &SigningKey) -> StoreResult<()>;
    /// All keys of a world, oldest first.
    async fn list(&mut self, world: &World) -> StoreResult<Vec<SigningKey>>;
    /// Removes a key with its private half; `false` when there is none.
    async fn remove(&mut self, world: &World, id: SigningKeyId) -> StoreResult<bool>;
}
