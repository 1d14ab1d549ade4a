//! The control chains of the audit log.

use vestry_domain::World;
use vestry_domain::audit::control::{ControlEntry, ControlFilter, ControlHead};
use vestry_domain::ids::{AuditChainId, AuditEntryId};
use vestry_port_macro::port;

use super::StoreResult;

/// The chains in which changes of Apps, keys and settings stand. Entries are only ever added, in the transaction of what they tell of;
/// old ones may be removed behind a marker ([`super::AuditLog::prune`]).
#[port]
pub trait ControlLog: Send {
    /// The head of the chain that goes on, kept from others until the end of the transaction; waits for whoever has it. `None` where
    /// the world has no chain yet; then nobody waits, and [`ControlLog::append`] decides who begins one.
    async fn lock_head(&mut self, world: &World) -> StoreResult<Option<ControlHead>>;
    /// Adds entries of one chain and moves its head. `after` is the head as it was; where it is of another chain, or `None`, one
    /// begins. `false`: the head is not where it was, or somebody has begun a chain of this number; nothing was written.
    async fn append(
        &mut self,
        after: Option<&ControlHead>,
        entries: &[ControlEntry],
        head: &ControlHead,
    ) -> StoreResult<bool>;
    /// Id and hash of the entry in a place of a chain.
    async fn mark_at(
        &mut self,
        world: &World,
        chain: AuditChainId,
        sequence: i64,
    ) -> StoreResult<Option<(AuditEntryId, [u8; 32])>>;
    /// The heads of all chains of a world, by number.
    async fn heads(&mut self, world: &World) -> StoreResult<Vec<ControlHead>>;
    /// Heads of all worlds, by world and number, behind one of them, at most `limit`.
    async fn all_heads(
        &mut self,
        after: Option<(World, i64)>,
        limit: i64,
    ) -> StoreResult<Vec<ControlHead>>;
    /// Chains of a world that have entries and no head, which is nothing that the service ever leaves behind.
    async fn headless(&mut self, world: &World) -> StoreResult<Vec<AuditChainId>>;
    /// Entries of a chain in their order, after a place, at most `limit`.
    async fn of_chain(
        &mut self,
        world: &World,
        chain: AuditChainId,
        after: i64,
        limit: i64,
    ) -> StoreResult<Vec<ControlEntry>>;
    /// Entries of a world, newest first, after (older than) an entry, at most `limit`. `after` is a place in the order of the ids.
    async fn page(
        &mut self,
        world: &World,
        filter: &ControlFilter,
        after: Option<AuditEntryId>,
        limit: i64,
    ) -> StoreResult<Vec<ControlEntry>>;
}
