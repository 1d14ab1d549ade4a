//! The audit log.

use vestry_domain::World;
use vestry_domain::audit::{AuditAction, AuditEntry, AuditHead, AuditMarker, AuditStep};
use vestry_domain::ids::{AuditChainId, AuditEntryId, WalletId};
use vestry_port_macro::port;

use super::StoreResult;

/// The audit log. Entries are only ever added; old ones may be removed behind a marker.
#[port]
pub trait AuditLog: Send {
    /// Adds entries, each in a place of its chain where none is yet, and moves the heads of their chains. Answers the chains that do
    /// not end where a step says: the database was set back. Nothing is written of those. An entry in a place that is taken is an
    /// error.
    async fn append(
        &mut self,
        entries: &[AuditEntry],
        steps: &[AuditStep],
    ) -> StoreResult<Vec<AuditChainId>>;
    /// Entries of a wallet, newest first, after (older than) an entry, at most `limit`. `after` is a place in the order of
    /// the ids: whether there is such an entry does not matter.
    async fn of_wallet(
        &mut self,
        world: &World,
        wallet: WalletId,
        after: Option<AuditEntryId>,
        limit: i64,
    ) -> StoreResult<Vec<AuditEntry>>;
    /// Whether a wallet was ever used so.
    async fn has(
        &mut self,
        world: &World,
        wallet: WalletId,
        action: AuditAction,
    ) -> StoreResult<bool>;
    /// The heads of all chains of a world, by chain.
    async fn heads(&mut self, world: &World) -> StoreResult<Vec<AuditHead>>;
    /// Heads of all worlds, by world and chain, behind one of them, at most `limit`.
    async fn all_heads(
        &mut self,
        after: Option<(World, AuditChainId)>,
        limit: i64,
    ) -> StoreResult<Vec<AuditHead>>;
    /// The head of a chain.
    async fn head(&mut self, world: &World, chain: AuditChainId) -> StoreResult<Option<AuditHead>>;
    /// The first world, in the order of worlds and after one of them, of which there is a row: an entry, a head or a marker of either
    /// log, an event or the head of a log of events. It does not look at Apps, which anyone who writes the database can delete.
    async fn next_world(&mut self, after: Option<World>) -> StoreResult<Option<World>>;
    /// Chains of a world that have entries and no head, which is nothing that the service ever leaves behind.
    async fn headless(&mut self, world: &World) -> StoreResult<Vec<AuditChainId>>;
    /// Entries of a chain in their order, after a place, at most `limit`.
    async fn of_chain(
        &mut self,
        world: &World,
        chain: AuditChainId,
        after: i64,
        limit: i64,
    ) -> StoreResult<Vec<AuditEntry>>;
    /// Where the chains of a world begin, those of the control log included, of which entries were removed; by chain.
    async fn markers(&mut self, world: &World) -> StoreResult<Vec<AuditMarker>>;
    /// The same of one chain.
    async fn marker(
        &mut self,
        world: &World,
        chain: AuditChainId,
    ) -> StoreResult<Option<AuditMarker>>;
    /// Moves the marker of a chain from where it was, or sets its first. `false`: somebody else has moved it, and nothing was written.
    async fn move_marker(
        &mut self,
        before: Option<&AuditMarker>,
        marker: &AuditMarker,
    ) -> StoreResult<bool>;
    /// Removes the entries of either log up to a marker, but for those of exports: they go on to say of which wallets the key is
    /// elsewhere, too ([`AuditLog::has`]).
    async fn prune(&mut self, marker: &AuditMarker) -> StoreResult<()>;
}
