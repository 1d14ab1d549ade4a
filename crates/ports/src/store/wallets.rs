//! Wallets and their keys.

use vestry_domain::World;
use vestry_domain::envelope::{Mac, WalletKey};
use vestry_domain::ids::{UserId, WalletId};
use vestry_domain::wallet::{StoredWallet, WalletType};
use vestry_port_macro::port;

use super::StoreResult;

/// Outcome of adding a wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    /// The wallet was stored with its key.
    Yes,
    /// The user already has a default wallet of the type, or the address already exists in the world. The transaction stays usable.
    Exists,
}

/// A page of wallets.
#[derive(Debug, Clone)]
pub struct WalletPage {
    /// Newest first.
    pub wallets: Vec<StoredWallet>,
    /// Total number of wallets that match the filter.
    pub total: i64,
}

/// A wallet and its key, if it has one.
pub type WalletWithKey = (StoredWallet, Option<WalletKey>);

/// Wallets. Returned rows must not be trusted before the custodian has authenticated them.
#[port]
pub trait Wallets: Send {
    /// Adds a wallet and its key; the unique indexes decide (one default per user and type; one address per world).
    async fn insert(&mut self, wallet: &StoredWallet, key: &WalletKey) -> StoreResult<Created>;
    /// Adds a wallet without a key: an address whose key is held elsewhere.
    async fn insert_keyless(&mut self, wallet: &StoredWallet) -> StoreResult<Created>;
    /// Writes the mutable fields of a wallet and its new MAC, if the row still has the MAC that was seen. `false` if another process was
    /// faster or there is no such wallet.
    async fn replace(&mut self, wallet: &StoredWallet, seen: &Mac) -> StoreResult<bool>;
    /// The wallet of an address, given in its canonical form; unique in the world.
    async fn by_address(
        &mut self,
        world: &World,
        wallet_type: WalletType,
        public_address: &str,
    ) -> StoreResult<Option<StoredWallet>>;
    /// Removes the wallets of a user that have no key; returns how many.
    async fn remove_keyless(&mut self, world: &World, user: UserId) -> StoreResult<u64>;
    /// Returns a wallet.
    async fn find(&mut self, world: &World, id: WalletId) -> StoreResult<Option<StoredWallet>>;
    /// Returns a wallet with its key, in one statement.
    async fn find_with_key(
        &mut self,
        world: &World,
        id: WalletId,
    ) -> StoreResult<Option<(StoredWallet, Option<WalletKey>)>>;
    /// Returns several wallets, each as by [`Wallets::find_with_key`], in the requested order and in one statement if that is faster. One
    /// unreadable row fails the whole call.
    async fn find_all_with_keys(
        &mut self,
        wanted: &[(World, WalletId)],
    ) -> StoreResult<Vec<Option<WalletWithKey>>>;
    /// The user's default wallet of a type.
    async fn default_of(
        &mut self,
        world: &World,
        user: UserId,
        wallet_type: WalletType,
    ) -> StoreResult<Option<StoredWallet>>;
    /// The oldest wallet of a type whose key the user has proved to hold elsewhere.
    async fn held_elsewhere(
        &mut self,
        world: &World,
        user: UserId,
        wallet_type: WalletType,
    ) -> StoreResult<Option<StoredWallet>>;
    /// All wallets of a user, oldest first.
    async fn of_user(&mut self, world: &World, user: UserId) -> StoreResult<Vec<StoredWallet>>;
    /// Deletes a wallet and its key; `false` if there is none.
    async fn delete(&mut self, world: &World, id: WalletId) -> StoreResult<bool>;
    /// Wallets of the world or of one user, newest first, after (older than) a wallet, at most `limit`. `after` is a position in the order
    /// of the ids; the wallet itself need not exist.
    async fn page(
        &mut self,
        world: &World,
        user: Option<UserId>,
        after: Option<WalletId>,
        limit: i64,
    ) -> StoreResult<WalletPage>;
    /// Wallets of the world whose MAC or key uses a version of the App key below the given one. Ordered by id, after a wallet, at most
    /// `limit`.
    async fn under_older(
        &mut self,
        world: &World,
        version: u32,
        after: Option<WalletId>,
        limit: i64,
    ) -> StoreResult<Vec<(StoredWallet, Option<WalletKey>)>>;
    /// The number of wallets that [`Wallets::under_older`] returns in total.
    async fn count_under_older(&mut self, world: &World, version: u32) -> StoreResult<i64>;
    /// Replaces the MAC and the wrapped data key with those of another version of the App key. `false` if the row no longer has the MAC
    /// that was seen.
    async fn rewrap(
        &mut self,
        wallet: &StoredWallet,
        key: Option<&WalletKey>,
        seen: &Mac,
    ) -> StoreResult<bool>;
    /// Wallets with a key in all worlds, ordered by id, after a wallet, at most `limit`: for checking every key.
    async fn walk(
        &mut self,
        after: Option<WalletId>,
        limit: i64,
    ) -> StoreResult<Vec<(StoredWallet, WalletKey)>>;
    /// Wallets of a world that have no key, ordered by id, after a wallet, at most `limit`: for checking that none is missing.
    async fn without_key(
        &mut self,
        world: &World,
        after: Option<WalletId>,
        limit: i64,
    ) -> StoreResult<Vec<StoredWallet>>;
}
