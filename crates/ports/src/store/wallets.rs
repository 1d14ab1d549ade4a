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
    /// It is stored with its key.
    Yes,
    /// The user has a default wallet of the type, or the address is in the world already. The transaction is still good.
    Exists,
}

/// A page of wallets.
#[derive(Debug, Clone)]
pub struct WalletPage {
    /// Newest first.
    pub wallets: Vec<StoredWallet>,
    /// How many there are in all that fit the filter.
    pub total: i64,
}

/// A wallet and its key, if it has one.
pub type WalletWithKey = (StoredWallet, Option<WalletKey>);

/// Wallets. What comes back is not to be trusted before the custodian authenticated it.
#[port]
pub trait Wallets: Send {
    /// Adds a wallet and its key, decided by the unique indexes (one default per user and type; one address per world).
    async fn insert(&mut self, wallet: &StoredWallet, key: &WalletKey) -> StoreResult<Created>;
    /// Adds a wallet without a key: an address that somebody else holds the key of.
    async fn insert_keyless(&mut self, wallet: &StoredWallet) -> StoreResult<Created>;
    /// Writes what may change of a wallet, with its new keyed hash, if the row still has the keyed hash that was seen; `false`
    /// when somebody else was faster, or there is no such wallet.
    async fn replace(&mut self, wallet: &StoredWallet, seen: &Mac) -> StoreResult<bool>;
    /// The wallet of an address, which is in the world once; the address in its canonical form.
    async fn by_address(
        &mut self,
        world: &World,
        wallet_type: WalletType,
        public_address: &str,
    ) -> StoreResult<Option<StoredWallet>>;
    /// Removes the wallets of a user that have no key; returns how many.
    async fn remove_keyless(&mut self, world: &World, user: UserId) -> StoreResult<u64>;
    /// One wallet.
    async fn find(&mut self, world: &World, id: WalletId) -> StoreResult<Option<StoredWallet>>;
    /// One wallet with its key, in one statement.
    async fn find_with_key(
        &mut self,
        world: &World,
        id: WalletId,
    ) -> StoreResult<Option<(StoredWallet, Option<WalletKey>)>>;
    /// Several wallets, each as [`Wallets::find_with_key`] finds it, in the order in which they are asked for and in one
    /// statement where that is faster. One row that cannot be read fails the call.
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
    /// The oldest wallet of a type whose key the user holds elsewhere, as was proved by a signature.
    async fn held_elsewhere(
        &mut self,
        world: &World,
        user: UserId,
        wallet_type: WalletType,
    ) -> StoreResult<Option<StoredWallet>>;
    /// All wallets of a user, oldest first.
    async fn of_user(&mut self, world: &World, user: UserId) -> StoreResult<Vec<StoredWallet>>;
    /// Deletes a wallet and its key; `false` when there is none.
    async fn delete(&mut self, world: &World, id: WalletId) -> StoreResult<bool>;
    /// Wallets of the world or of one user, newest first, after (older than) a wallet, at most `limit`. `after` is a
    /// place in the order of the ids: whether there is such a wallet does not matter.
    async fn page(
        &mut self,
        world: &World,
        user: Option<UserId>,
        after: Option<WalletId>,
        limit: i64,
    ) -> StoreResult<WalletPage>;
    /// Wallets of the world whose keyed hash or whose key is under a version of the App key below the given one, by id, after
    /// a wallet, at most `limit`.
    async fn under_older(
        &mut self,
        world: &World,
        version: u32,
        after: Option<WalletId>,
        limit: i64,
    ) -> StoreResult<Vec<(StoredWallet, Option<WalletKey>)>>;
    /// How many of those there are.
    async fn count_under_older(&mut self, world: &World, version: u32) -> StoreResult<i64>;
    /// Puts the keyed hash and the wrapped data key of another version of the App key in place of those there are, if the row
    /// still has the keyed hash that was seen; `false` when it has not.
    async fn rewrap(
        &mut self,
        wallet: &StoredWallet,
        key: Option<&WalletKey>,
        seen: &Mac,
    ) -> StoreResult<bool>;
    /// Wallets with a key in all worlds, by id, after a wallet, at most `limit`: for checking every key.
    async fn walk(
        &mut self,
        after: Option<WalletId>,
        limit: i64,
    ) -> StoreResult<Vec<(StoredWallet, WalletKey)>>;
    /// Wallets of a world for which there is no key, by id, after a wallet, at most `limit`: for checking that none should be.
    async fn without_key(
        &mut self,
        world: &World,
        after: Option<WalletId>,
        limit: i64,
    ) -> StoreResult<Vec<StoredWallet>>;
}
