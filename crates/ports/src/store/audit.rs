//! The audit log of wallets.

use vestry_domain::World;
use vestry_domain::audit::{AuditAction, AuditEntry, AuditHead, AuditStep};
use vestry_domain::ids::{AuditChainId, AuditEntryId, WalletId};
use vestry_port_macro::port;

use super::StoreResult;

/// The audit log of wallets. Entries are only ever added; old ones can be removed up to a marker.
#[port]
pub trait AuditLog: Send {
    /// Adds entries, each at an unused position of its chain, and moves the heads of their chains. Returns the chains whose end does not
    /// match their step because the database was rolled back; nothing is written for those. An entry at a used position is an error.
    async fn append(
        &mut self,
        entries: &[AuditEntry],
        steps: &[AuditStep],
    ) -> StoreResult<Vec<AuditChainId>>;
    /// Entries of a wallet, newest first, after (older than) an entry, at most `limit`. `after` is a position in the order of the ids; the
    /// entry need not exist.
    async fn of_wallet(
        &mut self,
        world: &World,
        wallet: WalletId,
        after: Option<AuditEntryId>,
        limit: i64,
    ) -> StoreResult<Vec<AuditEntry>>;
    /// Whether the wallet has an entry for this action.
    async fn has(
        &mut self,
        world: &World,
        wallet: WalletId,
        action: AuditAction,
    ) -> StoreResult<bool>;
    /// The heads of all chains of a world, by chain.
    async fn heads(&mut self, world: &World) -> StoreResult<Vec<AuditHead>>;
    /// Heads of all worlds, ordered by world and chain, after one of them, at most `limit`.
    async fn all_heads(
        &mut self,
        after: Option<(World, AuditChainId)>,
        limit: i64,
    ) -> StoreResult<Vec<AuditHead>>;
    /// The head of a chain.
    async fn head(&mut self, world: &World, chain: AuditChainId) -> StoreResult<Option<AuditHead>>;
}
