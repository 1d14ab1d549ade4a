//! The chains of both audit logs.

use vestry_domain::World;
use vestry_domain::audit::control::ControlEntry;
use vestry_domain::audit::{AuditAction, AuditEntry, AuditMarker};
use vestry_domain::ids::AuditChainId;
use vestry_ports::port;
use vestry_ports::store::{AuditChains, ChainEntry, ChainLog, StoreResult};

use super::Work;
use super::events::place_of;
use super::state::{State, at_most};

impl State {
    /// The entries of a log, each with its chain and position.
    fn chain_entries(&self, world: World, log: ChainLog) -> Vec<(AuditChainId, i64, ChainEntry)> {
        match log {
            ChainLog::Wallets => {
                let entries = self.entries_of(world).cloned();
                let placed =
                    |entry: AuditEntry| (entry.chain, entry.sequence, ChainEntry::Use(entry));
                entries.map(placed).collect()
            }
            ChainLog::Control => {
                let entries = self.control_entries_of(world).cloned();
                let placed =
                    |entry: ControlEntry| (entry.chain, entry.sequence, ChainEntry::Change(entry));
                entries.map(placed).collect()
            }
        }
    }
}

#[port]
impl AuditChains for Work {
    async fn next_world(&mut self, after: Option<World>) -> StoreResult<Option<World>> {
        self.reading(|state| {
            let entries = state.audit_entries.iter().map(|entry| entry.event.world);
            let changes = state.control_entries.iter().map(|entry| entry.event.world);
            let heads = state.audit_heads.iter().map(|head| head.world);
            let control_heads = state.control_heads.iter().map(|head| head.world);
            let markers = state.audit_markers.iter().map(|marker| marker.world);
            let events = state.events.iter().map(|event| event.event.world);
            let event_heads = state.event_heads.keys().copied();
            let worlds = entries.chain(changes).chain(heads).chain(control_heads);
            let worlds = worlds.chain(markers).chain(events).chain(event_heads);
            let behind =
                worlds.filter(|world| after.is_none_or(|after| place_of(*world) > place_of(after)));
            behind.min_by_key(|world| place_of(*world))
        })
    }

    async fn headless(&mut self, world: &World, log: ChainLog) -> StoreResult<Vec<AuditChainId>> {
        self.reading(|state| {
            let heads: Vec<AuditChainId> = match log {
                ChainLog::Wallets => (state.audit_heads.iter())
                    .filter(|head| head.world == *world)
                    .map(|head| head.chain)
                    .collect(),
                ChainLog::Control => state
                    .control_heads_of(*world)
                    .map(|head| head.chain)
                    .collect(),
            };
            let entries = state.chain_entries(*world, log).into_iter();
            let chains = entries.map(|(chain, ..)| chain);
            let mut chains: Vec<_> = chains.filter(|chain| !heads.contains(chain)).collect();
            chains.sort_unstable();
            chains.dedup();
            chains
        })
    }

    async fn entries(
        &mut self,
        world: &World,
        log: ChainLog,
        chain: AuditChainId,
        after: i64,
        limit: i64,
    ) -> StoreResult<Vec<ChainEntry>> {
        self.reading(|state| {
            let mut found = state.chain_entries(*world, log);
            found.retain(|(of, sequence, _)| *of == chain && *sequence > after);
            found.sort_by_key(|(_, sequence, _)| *sequence);
            found.truncate(at_most(limit));
            found.into_iter().map(|(_, _, entry)| entry).collect()
        })
    }

    async fn marked_chains(&mut self, world: &World) -> StoreResult<Vec<AuditChainId>> {
        self.reading(|state| {
            let markers = state.audit_markers.iter();
            let of_world = markers.filter(|marker| marker.world == *world);
            let mut chains: Vec<_> = of_world.map(|marker| marker.chain).collect();
            chains.sort_unstable();
            chains
        })
    }

    async fn marker(
        &mut self,
        world: &World,
        chain: AuditChainId,
    ) -> StoreResult<Option<AuditMarker>> {
        self.reading(|state| {
            let mut markers = state.audit_markers.iter();
            markers
                .find(|marker| marker.world == *world && marker.chain == chain)
                .cloned()
        })
    }

    async fn move_marker(
        &mut self,
        before: Option<&AuditMarker>,
        marker: &AuditMarker,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let mut markers = state.audit_markers.iter_mut();
            let row = markers.find(|row| row.world == marker.world && row.chain == marker.chain);
            Ok(match (before, row) {
                (Some(before), Some(row))
                    if (row.sequence, row.hash) == (before.sequence, before.hash) =>
                {
                    *row = marker.clone();
                    true
                }
                (None, None) => {
                    state.audit_markers.push(marker.clone());
                    true
                }
                _ => false,
            })
        })
    }

    async fn prune(&mut self, marker: &AuditMarker) -> StoreResult<()> {
        self.writing(|state| {
            let is_before = |world: World, chain, sequence| {
                (world, chain) == (marker.world, marker.chain) && sequence <= marker.sequence
            };
            state.audit_entries.retain(|entry| {
                !is_before(entry.event.world, entry.chain, entry.sequence)
                    || entry.event.action == AuditAction::Export
            });
            state
                .control_entries
                .retain(|entry| !is_before(entry.event.world, entry.chain, entry.sequence));
            Ok(())
        })
    }
}
