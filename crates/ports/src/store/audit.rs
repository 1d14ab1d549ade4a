//! The audit log of wallets.

use vestry_domain::World;
use vestry_domain::audit::{AuditAction, AuditEntry, AuditHead, AuditMarker, AuditStep};
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
    /// The first world after the given one, in the order of worlds, that has a row. Rows are entries, heads and markers of either log,
    /// events, and heads of event logs. Apps are not considered, because anyone with write access to the database can delete them.
    async fn next_world(&mut self, after: Option<World>) -> StoreResult<Option<World>>;
    /// Chains of a world that have entries but no head, a state that the service never leaves behind.
    async fn headless(&mut self, world: &World) -> StoreResult<Vec<AuditChainId>>;
    /// Entries of a chain in order, after a position, at most `limit`.
    async fn of_chain(
        &mut self,
        world: &World,
        chain: AuditChainId,
        after: i64,
        limit: i64,
    ) -> StoreResult<Vec<AuditEntry>>;
    /// The markers of a world's chains, including those of the control log, from which entries were removed; by chain.
    async fn markers(&mut self, world: &World) -> StoreResult<Vec<AuditMarker>>;
    /// The marker of one chain.
    async fn marker(
        &mut self,
        world: &World,
        chain: AuditChainId,
    ) -> StoreResult<Option<AuditMarker>>;
    /// Moves the marker of a chain from its previous position, or sets its first. `false`, without any change, if another process has moved
    /// it.
    async fn move_marker(
        &mut self,
        before: Option<&AuditMarker>,
        marker: &AuditMarker,
    ) -> StoreResult<bool>;
    /// Removes the entries of either log up to a marker, except those of exports, which still show whose keys exist elsewhere too
    /// ([`AuditLog::has`]).
    async fn prune(&mut self, marker: &AuditMarker) -> StoreResult<()>;
}
