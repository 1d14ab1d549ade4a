//! The control chains of the audit log.

use vestry_domain::World;
use vestry_domain::audit::control::{ControlEntry, ControlFilter, ControlHead};
use vestry_domain::ids::{AuditChainId, AuditEntryId};
use vestry_port_macro::port;

use super::StoreResult;

/// The chains that record changes to Apps, keys and settings. Entries are only ever added, in the transaction of the change that they
/// record. Old ones can be removed up to a marker ([`super::AuditChains::prune`]).
#[port]
pub trait ControlLog: Send {
    /// Returns the head of the active chain and locks it until the transaction ends, waiting for any current holder. `None` if the world
    /// has no chain yet; nothing is locked then, and [`ControlLog::append`] decides which writer begins one.
    async fn lock_head(&mut self, world: &World) -> StoreResult<Option<ControlHead>>;
    /// Adds entries to one chain and moves its head. `after` is the previous head; if it is `None` or of another chain, a new chain begins.
    /// `false`, without any change, if the head has moved or another writer has begun a chain with this number.
    async fn append(
        &mut self,
        after: Option<&ControlHead>,
        entries: &[ControlEntry],
        head: &ControlHead,
    ) -> StoreResult<bool>;
    /// Id and hash of the entry at a position of a chain.
    async fn mark_at(
        &mut self,
        world: &World,
        chain: AuditChainId,
        sequence: i64,
    ) -> StoreResult<Option<(AuditEntryId, [u8; 32])>>;
    /// The heads of all chains of a world, by number.
    async fn heads(&mut self, world: &World) -> StoreResult<Vec<ControlHead>>;
    /// Heads of all worlds, ordered by world and number, after one of them, at most `limit`.
    async fn all_heads(
        &mut self,
        after: Option<(World, i64)>,
        limit: i64,
    ) -> StoreResult<Vec<ControlHead>>;
    /// Entries of a world, newest first, after (older than) an entry, at most `limit`. `after` is a position in the order of the ids.
    async fn page(
        &mut self,
        world: &World,
        filter: &ControlFilter,
        after: Option<AuditEntryId>,
        limit: i64,
    ) -> StoreResult<Vec<ControlEntry>>;
}
