//! Key pairs that encrypt private keys for import.

use vestry_domain::ids::{UserId, WalletImportId};
use vestry_domain::key_transfer::ImportKey;
use vestry_domain::wallet::WalletType;
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::{StoreResult, SweptWorlds};

/// Key pairs of pending imports; those created for a user are deleted with the user. Every method but the sweep stays within the given
/// world. Returned rows must not be trusted before the custodian has opened them.
#[port]
pub trait WalletImports: Send {
    /// Adds a key pair.
    async fn insert(&mut self, key: &ImportKey) -> StoreResult<()>;
    /// The key pairs of an address that are valid at `now`, newest first, at most `limit`.
    async fn living(
        &mut self,
        world: &World,
        wallet_type: WalletType,
        public_address: &str,
        now: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<ImportKey>>;
    /// Consumes a key pair by deleting it, including its private half. `false` if it does not exist or has expired at `now`. One guarded
    /// statement.
    async fn consume(
        &mut self,
        world: &World,
        id: WalletImportId,
        now: Timestamp,
    ) -> StoreResult<bool>;
    /// Deletes the key pairs that were created for a user.
    async fn forget(&mut self, world: &World, user: UserId) -> StoreResult<()>;
    /// Deletes key pairs of some worlds that expired at the given time or before; returns how many.
    async fn sweep(&mut self, worlds: &SweptWorlds, expired_by: Timestamp) -> StoreResult<u64>;
}
