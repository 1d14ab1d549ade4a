//! The chains of both audit logs.

use vestry_domain::audit::control::ControlEntry;
use vestry_domain::audit::{AuditEntry, AuditMarker};
use vestry_domain::envelope::Mac;
use vestry_domain::ids::AuditChainId;
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::StoreResult;

/// The log that a chain belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainLog {
    /// Uses of wallets.
    Wallets,
    /// Changes to Apps, keys and settings.
    Control,
}

/// An entry of either log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainEntry {
    /// A use of a wallet.
    Use(AuditEntry),
    /// A change.
    Change(ControlEntry),
}

/// What an entry of either log contributes to its chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainLink {
    /// Position in the chain.
    pub sequence: i64,
    /// When it happened.
    pub at: Timestamp,
    /// Hash of the previous entry.
    pub previous: [u8; 32],
    /// The entry's hash.
    pub hash: [u8; 32],
    /// MAC of the hash.
    pub mac: Mac,
    /// Whether the hash matches the content.
    pub is_own: bool,
}

impl ChainEntry {
    /// What the entry contributes to its chain.
    pub fn link(&self) -> ChainLink {
        macro_rules! link {
            ($entry:ident) => {
                ChainLink {
                    sequence: $entry.sequence,
                    at: $entry.event.at,
                    previous: $entry.previous,
                    hash: $entry.hash,
                    mac: $entry.mac.clone(),
                    is_own: $entry.follows($entry.sequence.saturating_sub(1), &$entry.previous),
                }
            };
        }
        match self {
            Self::Use(entry) => link!(entry),
            Self::Change(entry) => link!(entry),
        }
    }
}

/// The chains of both audit logs, as verification and pruning see them. Entries are added by [`super::AuditLog`] and
/// [`super::ControlLog`].
#[port]
pub trait AuditChains: Send {
    /// The first world after the given one, in the order of worlds, that has a row. Rows are entries, heads and markers of either log,
    /// events, and heads of event logs. Apps are not considered, because anyone with write access to the database can delete them.
    async fn next_world(&mut self, after: Option<World>) -> StoreResult<Option<World>>;
    /// Chains of a world that have entries but no head, a state that the service never leaves behind.
    async fn headless(&mut self, world: &World, log: ChainLog) -> StoreResult<Vec<AuditChainId>>;
    /// Entries of a chain in order, after a position, at most `limit`.
    async fn entries(
        &mut self,
        world: &World,
        log: ChainLog,
        chain: AuditChainId,
        after: i64,
        limit: i64,
    ) -> StoreResult<Vec<ChainEntry>>;
    /// The chains of a world that have a marker, because entries were removed from them; in order. The markers may be unreadable.
    async fn marked_chains(&mut self, world: &World) -> StoreResult<Vec<AuditChainId>>;
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
    /// Removes entries up to a marker, except those of exports, which still show whose keys exist elsewhere too
    /// ([`super::AuditLog::has`]).
    async fn prune(&mut self, marker: &AuditMarker) -> StoreResult<()>;
}
