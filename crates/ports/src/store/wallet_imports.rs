//! Key pairs to which private keys can be sealed for import.

use vestry_domain::ids::{UserId, WalletImportId};
use vestry_domain::key_transfer::ImportKey;
use vestry_domain::wallet::WalletType;
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::{StoreResult, SweptWorlds};

/// Key pairs of open imports; those made for a user go with the user. Every method but the sweep stays within the given world. What comes back is not to be
/// trusted before the custodian opened it.
#[port]
pub trait WalletImports: Send {
    /// Adds a key pair.
    async fn insert(&mut self, key: &ImportKey) -> StoreResult<()>;
    /// The key pairs of an address that live at `now`, newest first, at most `limit`.
    async fn living(
        &mut self,
        world: &World,
        wallet_type: WalletType,
        public_address: &str,
        now: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<ImportKey>>;
    /// Uses a key pair up: deletes it, its private half with it. `false` when it is gone, or expired at `now`. One guarded
    /// statement.
    async fn consume(
        &mut self,
        world: &World,
        id: WalletImportId,
        now: Timestamp,
    ) -> StoreResult<bool>;
    /// Deletes the key pairs that were made for a user.
    async fn forget(&mut self, world: &World, user: UserId) -> StoreResult<()>;
    /// Deletes key pairs that expired at the given moment or before, in some worlds; returns how many.
    async fn sweep(&mut self, worlds: &SweptWorlds, expired_by: Timestamp) -> StoreResult<u64>;
}
