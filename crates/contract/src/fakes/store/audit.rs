//! The audit log of wallets.

use vestry_domain::World;
use vestry_domain::audit::{AuditAction, AuditEntry, AuditHead, AuditStep};
use vestry_domain::ids::{AuditChainId, AuditEntryId, WalletId};
use vestry_ports::port;
use vestry_ports::store::{AuditLog, StoreResult};

use super::Work;
use super::events::place_of;
use super::state::{State, add, at_most};

impl State {
    pub(super) fn entries_of(&self, world: World) -> impl Iterator<Item = &AuditEntry> {
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
}
