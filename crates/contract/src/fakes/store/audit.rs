//! The audit log.

use vestry_domain::World;
use vestry_domain::audit::{AuditAction, AuditEntry, AuditHead, AuditMarker, AuditStep};
use vestry_domain::ids::{AuditChainId, AuditEntryId, WalletId};
use vestry_ports::port;
use vestry_ports::store::{AuditLog, StoreResult};

use super::Work;
use super::events::place_of;
use super::state::{State, add, at_most};

impl State {
    fn entries_of(&self, world: World) -> impl Iterator<Item = &AuditEntry> {
        self.audit_entries
            .iter()
            .filter(move |entry| entry.event.world == world)
    }

    fn is_where_it_was(&self, step: &AuditStep) -> bool {
        let mut heads = self.audit_heads.iter();
        let head =
            heads.find(|head| head.world == step.head.world && head.chain == step.head.chain);
        head.map_or((0, [0; 32]), |head| (head.sequence, head.hash))
            == (step.after, step.after_hash)
    }

    fn put_head(&mut self, head: &AuditHead) {
        let is_same =
            |other: &&mut AuditHead| other.world == head.world && other.chain == head.chain;
        match self.audit_heads.iter_mut().find(is_same) {
            Some(row) => *row = head.clone(),
            None => self.audit_heads.push(head.clone()),
        }
    }
}

#[port]
impl AuditLog for Work {
    async fn append(
        &mut self,
        entries: &[AuditEntry],
        steps: &[AuditStep],
    ) -> StoreResult<Vec<AuditChainId>> {
        self.writing(|state| {
            let left = steps.iter().filter(|step| !state.is_where_it_was(step));
            let left: Vec<_> = left.map(|step| step.head.chain).collect();
            for entry in entries.iter().filter(|entry| !left.contains(&entry.chain)) {
                add(&mut state.audit_entries, entry.clone(), |a, b| {
                    a.event.world == b.event.world && a.chain == b.chain && a.sequence == b.sequence
                })?;
            }
            for AuditStep { head, .. } in steps {
                if !left.contains(&head.chain) {
                    state.put_head(head);
                }
            }
            Ok(left)
        })
    }

    async fn of_wallet(
        &mut self,
        world: &World,
        wallet: WalletId,
        after: Option<AuditEntryId>,
        limit: i64,
    ) -> StoreResult<Vec<AuditEntry>> {
        self.reading(|state| {
            let mut found: Vec<_> = state
                .entries_of(*world)
                .filter(|entry| entry.event.wallet_id == wallet)
                .filter(|entry| after.is_none_or(|after| entry.id < after))
                .cloned()
                .collect();
            found.sort_by_key(|entry| std::cmp::Reverse(entry.id));
            found.truncate(at_most(limit));
            found
        })
    }

    async fn has(
        &mut self,
        world: &World,
        wallet: WalletId,
        action: AuditAction,
    ) -> StoreResult<bool> {
        self.reading(|state| {
            let mut entries = state.entries_of(*world);
            entries.any(|entry| entry.event.wallet_id == wallet && entry.event.action == action)
        })
    }

    async fn heads(&mut self, world: &World) -> StoreResult<Vec<AuditHead>> {
        self.reading(|state| {
            let heads = state.audit_heads.iter();
            let mut heads: Vec<_> = heads.filter(|head| head.world == *world).cloned().collect();
            heads.sort_by_key(|head| head.chain);
            heads
        })
    }

    async fn all_heads(
        &mut self,
        after: Option<(World, AuditChainId)>,
        limit: i64,
    ) -> StoreResult<Vec<AuditHead>> {
        self.reading(|state| {
            let heads = state.audit_heads.iter();
            let place = |world: World, chain| (place_of(world), chain);
            let after = after.map(|(world, chain)| place(world, chain));
            let is_behind = |head: &&AuditHead| after < Some(place(head.world, head.chain));
            let mut heads: Vec<_> = heads.filter(is_behind).cloned().collect();
            heads.sort_by_cached_key(|head| place(head.world, head.chain));
            heads.truncate(at_most(limit));
            heads
        })
    }

    async fn head(&mut self, world: &World, chain: AuditChainId) -> StoreResult<Option<AuditHead>> {
        self.reading(|state| {
            let mut heads = state.audit_heads.iter();
            heads
                .find(|head| head.world == *world && head.chain == chain)
                .cloned()
        })
    }

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

    async fn headless(&mut self, world: &World) -> StoreResult<Vec<AuditChainId>> {
        self.reading(|state| {
            let mut chains: Vec<_> = state
                .entries_of(*world)
                .map(|entry| entry.chain)
                .filter(|chain| {
                    let mut heads = state.audit_heads.iter();
                    !heads.any(|head| head.world == *world && head.chain == *chain)
                })
                .collect();
            chains.sort_unstable();
            chains.dedup();
            chains
        })
    }

    async fn of_chain(
        &mut self,
        world: &World,
        chain: AuditChainId,
        after: i64,
        limit: i64,
    ) -> StoreResult<Vec<AuditEntry>> {
        self.reading(|state| {
            let mut found: Vec<_> = state
                .entries_of(*world)
                .filter(|entry| entry.chain == chain && entry.sequence > after)
                .cloned()
                .collect();
            found.sort_by_key(|entry| entry.sequence);
            found.truncate(at_most(limit));
            found
        })
    }

    async fn markers(&mut self, world: &World) -> StoreResult<Vec<AuditMarker>> {
        self.reading(|state| {
            let markers = state.audit_markers.iter();
            let of_world = markers.filter(|marker| marker.world == *world);
            let mut markers: Vec<_> = of_world.cloned().collect();
            markers.sort_by_key(|marker| marker.chain);
            markers
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
