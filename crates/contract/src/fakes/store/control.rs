//! The control chains of the audit log.

use vestry_domain::World;
use vestry_domain::audit::control::{ControlEntry, ControlFilter, ControlHead, Party};
use vestry_domain::ids::{AuditChainId, AuditEntryId};
use vestry_ports::port;
use vestry_ports::store::{ControlLog, StoreResult};

use super::Work;
use super::events::place_of;
use super::state::{State, add, at_most};

fn fits(entry: &ControlEntry, filter: &ControlFilter) -> bool {
    let event = &entry.event;
    let by_actor = filter.actor.as_ref().is_none_or(|actor| match actor {
        Party::Kind(kind) => event.actor.kind() == kind,
        Party::Id(id) => event.actor.id().as_ref() == Some(id),
    });
    let by_subject = filter.subject.as_ref().is_none_or(|subject| match subject {
        Party::Kind(kind) => event.subject.kind == *kind,
        Party::Id(id) => event.subject.id == *id,
    });
    by_actor
        && by_subject
        && (filter.actions.is_empty() || filter.actions.contains(&event.action))
        && filter.outcome.is_none_or(|wanted| event.outcome == wanted)
        && filter.from.is_none_or(|from| event.at >= from)
        && filter.until.is_none_or(|until| event.at < until)
}

impl State {
    pub(super) fn control_entries_of(&self, world: World) -> impl Iterator<Item = &ControlEntry> {
        let entries = self.control_entries.iter();
        entries.filter(move |entry| entry.event.world == world)
    }

    pub(super) fn control_heads_of(&self, world: World) -> impl Iterator<Item = &ControlHead> {
        let heads = self.control_heads.iter();
        heads.filter(move |head| head.world == world)
    }

    /// Writes the head if it still follows `after`, and returns whether it did.
    fn move_control_head(&mut self, after: Option<&ControlHead>, head: &ControlHead) -> bool {
        let mut heads = self.control_heads.iter_mut();
        let of_number =
            heads.find(|other| other.world == head.world && other.number == head.number);
        let after = after.filter(|after| after.number == head.number);
        match (after, of_number) {
            (Some(after), Some(row))
                if row.chain == head.chain
                    && row.sequence == after.sequence
                    && row.hash == after.hash =>
            {
                *row = head.clone();
                true
            }
            (None, None) => {
                self.control_heads.push(head.clone());
                true
            }
            _ => false,
        }
    }
}

#[port]
impl ControlLog for Work {
    async fn lock_head(&mut self, world: &World) -> StoreResult<Option<ControlHead>> {
        // The write lock is held.
        self.writing(|state| {
            let heads = state.control_heads_of(*world);
            Ok(heads.max_by_key(|head| head.number).cloned())
        })
    }

    async fn append(
        &mut self,
        after: Option<&ControlHead>,
        entries: &[ControlEntry],
        head: &ControlHead,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            if !state.move_control_head(after, head) {
                return Ok(false);
            }
            for entry in entries {
                add(&mut state.control_entries, entry.clone(), |a, b| {
                    a.event.world == b.event.world && a.chain == b.chain && a.sequence == b.sequence
                })?;
            }
            Ok(true)
        })
    }

    async fn mark_at(
        &mut self,
        world: &World,
        chain: AuditChainId,
        sequence: i64,
    ) -> StoreResult<Option<(AuditEntryId, [u8; 32])>> {
        self.reading(|state| {
            let mut entries = state.control_entries_of(*world);
            entries
                .find(|entry| entry.chain == chain && entry.sequence == sequence)
                .map(|entry| (entry.id, entry.hash))
        })
    }

    async fn heads(&mut self, world: &World) -> StoreResult<Vec<ControlHead>> {
        self.reading(|state| {
            let mut heads: Vec<_> = state.control_heads_of(*world).cloned().collect();
            heads.sort_by_cached_key(|head| head.number);
            heads
        })
    }

    async fn all_heads(
        &mut self,
        after: Option<(World, i64)>,
        limit: i64,
    ) -> StoreResult<Vec<ControlHead>> {
        self.reading(|state| {
            let heads = state.control_heads.iter();
            let place = |world: World, number| (place_of(world), number);
            let after = after.map(|(world, number)| place(world, number));
            let is_behind = |head: &&ControlHead| after < Some(place(head.world, head.number));
            let mut heads: Vec<_> = heads.filter(is_behind).cloned().collect();
            heads.sort_by_cached_key(|head| place(head.world, head.number));
            heads.truncate(at_most(limit));
            heads
        })
    }

    async fn page(
        &mut self,
        world: &World,
        filter: &ControlFilter,
        after: Option<AuditEntryId>,
        limit: i64,
    ) -> StoreResult<Vec<ControlEntry>> {
        self.reading(|state| {
            let entries = state.control_entries_of(*world);
            let mut found: Vec<_> = entries
                .filter(|entry| after.is_none_or(|after| entry.id < after) && fits(entry, filter))
                .cloned()
                .collect();
            found.sort_by_key(|entry| std::cmp::Reverse(entry.id));
            found.truncate(at_most(limit));
            found
        })
    }
}
