//! The audit log.

use std::sync::Arc;

use vestry_domain::World;
use vestry_domain::actor::Actor;
use vestry_domain::audit::{
    AuditAction, AuditEntry, AuditEvent, AuditHead, AuditMarker, AuditStep, Format, ResultHash,
};
use vestry_domain::ids::{AuditChainId, WalletId};
use vestry_domain::signing::PayloadHash;
use vestry_ports::store::{ChainEntry, ChainLog, Store};

use super::stage::{Stage, works};
use crate::race::race;
use crate::samples::other_environment;

impl Stage {
    /// The entries of a new chain, in order, and its head.
    fn chain(
        &mut self,
        world: World,
        wallet: WalletId,
        length: i64,
    ) -> (Vec<AuditEntry>, AuditHead) {
        let chain: AuditChainId = {
            let at = self.samples.tick();
            self.samples.id(at)
        };
        let mut entries: Vec<AuditEntry> = Vec::new();
        for sequence in 1..=length {
            let previous = entries.last().map_or([0; 32], |entry| entry.hash);
            let at = self.samples.tick();
            let result = self.samples.bytes(32).try_into().ok().map(ResultHash);
            let event = AuditEvent {
                world,
                wallet_id: wallet,
                action: self.samples.pick(&AuditAction::ALL),
                detail: self.samples.pick(&["", "personal_sign"]).to_owned(),
                actor: Actor::ApiKey(self.samples.id(at)),
                result: self.samples.pick(&[None, result]),
                payload: self.samples.pick(&[None, Some(PayloadHash([7; 32]))]),
                request_id: self.samples.pick(&[None, Some("req-1")]).map(str::to_owned),
                at,
            };
            let id = self.samples.id(at);
            let format = self.samples.pick(&[Format::V1, Format::V2]);
            entries.push(AuditEntry {
                id,
                chain,
                sequence,
                format,
                hash: AuditEntry::digest(format, id, chain, sequence, &event, &previous),
                event,
                previous,
                mac: self.samples.mac(),
            });
        }
        let head = AuditHead {
            world,
            chain,
            sequence: length,
            hash: entries.last().map_or([0; 32], |entry| entry.hash),
            mac: self.samples.mac(),
        };
        (entries, head)
    }

    async fn append(&self, entries: &[AuditEntry], head: &AuditHead) {
        let steps = [step(entries, head)];
        let appended = self.store.append_to_audit_log(entries, &steps).await;
        assert_eq!(works(appended), []);
    }

    async fn entries(&self, world: World, chain: AuditChainId, after: i64) -> Vec<AuditEntry> {
        self.some_entries(world, chain, after, 100).await
    }

    async fn some_entries(
        &self,
        world: World,
        chain: AuditChainId,
        after: i64,
        limit: i64,
    ) -> Vec<AuditEntry> {
        let found = in_view!(self.store, |view| view
            .audit_chains()
            .entries(&world, ChainLog::Wallets, chain, after, limit)
            .await);
        let uses = found.into_iter().map(|entry| match entry {
            ChainEntry::Use(entry) => entry,
            ChainEntry::Change(entry) => panic!("an entry of the other log: {entry:?}"),
        });
        uses.collect()
    }

    /// A random wallet id. Entries outlive their wallets, so it need not exist.
    fn wallet_id(&mut self) -> WalletId {
        let at = self.samples.tick();
        self.samples.id(at)
    }
}

/// The step that appends these entries, up to this head.
fn step(entries: &[AuditEntry], head: &AuditHead) -> AuditStep {
    let first = entries.first();
    AuditStep {
        head: head.clone(),
        after: first.map_or(0, |first| first.sequence - 1),
        after_hash: first.map_or([0; 32], |first| first.previous),
    }
}

/// Entries are read back unchanged and in order, together with the head.
pub async fn entries_come_back_as_they_were(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let wallet = stage.wallet_id();
    let (entries, head) = stage.chain(world, wallet, 7);
    stage.append(&entries, &head).await;
    assert_eq!(stage.entries(world, head.chain, 0).await, entries);
    let later: Vec<_> = entries.iter().skip(3).cloned().collect();
    assert_eq!(stage.entries(world, head.chain, 3).await, later);
    let found = stage.some_entries(world, head.chain, 2, 2).await;
    let two: Vec<_> = entries.iter().skip(2).take(2).cloned().collect();
    assert_eq!(found, two);
    let found = in_view!(stage.store, |view| view
        .audit_log()
        .head(&world, head.chain)
        .await);
    assert_eq!(found, Some(head));
}

/// Whether a wallet was ever used in a given way is recorded per wallet, world and way.
pub async fn uses_of_a_wallet_are_found(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (wallet, other) = (stage.wallet_id(), stage.wallet_id());
    let (mut entries, head) = stage.chain(world, wallet, 2);
    for (entry, action) in entries
        .iter_mut()
        .zip([AuditAction::Create, AuditAction::Export])
    {
        entry.event.action = action;
    }
    stage.append(&entries, &head).await;
    let stranger = other_environment(world);
    for (in_world, of, action, expected) in [
        (world, wallet, AuditAction::Export, true),
        (world, wallet, AuditAction::Create, true),
        (world, wallet, AuditAction::Import, false),
        (world, other, AuditAction::Export, false),
        (stranger, wallet, AuditAction::Export, false),
    ] {
        let found = in_view!(stage.store, |view| view
            .audit_log()
            .has(&in_world, of, action)
            .await);
        assert_eq!(found, expected, "{action} of {of} in {in_world:?}");
    }
}

/// A chain continues under its single head.
pub async fn a_head_moves_with_its_chain(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let wallet = stage.wallet_id();
    let (entries, head) = stage.chain(world, wallet, 5);
    let (begun, rest) = entries.split_at(2);
    let early = AuditHead {
        sequence: 2,
        hash: begun.last().map_or([0; 32], |entry| entry.hash),
        mac: stage.samples.mac(),
        ..head.clone()
    };
    stage.append(begun, &early).await;
    let heads = in_view!(stage.store, |view| view.audit_log().heads(&world).await);
    assert_eq!(heads, [early]);
    stage.append(rest, &head).await;
    let heads = in_view!(stage.store, |view| view.audit_log().heads(&world).await);
    assert_eq!(heads, [head]);
}

/// A chain cannot be continued from anywhere but its end: that write is dropped, and writes to other chains succeed (AUD-4).
pub async fn aud_4_a_chain_that_was_set_back_is_left(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let wallet = stage.wallet_id();
    let (whole, head) = stage.chain(world, wallet, 6);
    let (kept, rest) = whole.split_at(3);
    let early = AuditHead {
        sequence: 3,
        hash: kept.last().map_or([0; 32], |entry| entry.hash),
        ..head.clone()
    };
    stage.append(kept, &early).await;
    let (lost, behind) = rest.split_at(1);
    // The database does not have the fourth entry.
    let missing = step(behind, &head);
    let altered = AuditStep {
        after_hash: [9; 32],
        ..step(lost, &head)
    };
    let (vanished, gone) = stage.chain(world, wallet, 2);
    let (_, of_vanished) = vanished.split_at(1);
    let absent = step(of_vanished, &gone);
    for left in [missing, altered, absent] {
        let (others, other) = stage.chain(world, wallet, 2);
        let entries = others.iter().chain(behind).chain(of_vanished).cloned();
        let entries: Vec<_> = entries
            .filter(|entry| [left.head.chain, other.chain].contains(&entry.chain))
            .collect();
        let steps = [left.clone(), step(&others, &other)];
        let appended = stage.store.append_to_audit_log(&entries, &steps).await;
        assert_eq!(works(appended), [left.head.chain]);
        assert_eq!(stage.entries(world, other.chain, 0).await, others);
        assert_eq!(stage.entries(world, head.chain, 0).await, kept);
        assert_eq!(stage.entries(world, gone.chain, 0).await, []);
    }
    let (found, none) = in_view!(stage.store, |view| {
        let found = view.audit_log().head(&world, head.chain).await?;
        Ok((found, view.audit_log().head(&world, gone.chain).await?))
    });
    assert_eq!((found, none), (Some(early), None));
}

/// A position in a chain is taken once; a conflicting write writes nothing.
pub async fn a_place_is_taken_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let wallet = stage.wallet_id();
    let (entries, head) = stage.chain(world, wallet, 3);
    stage.append(&entries, &head).await;
    let (mut others, mut forged) = stage.chain(world, wallet, 4);
    for entry in &mut others {
        entry.chain = head.chain;
    }
    forged.chain = head.chain;
    others.reverse();
    // Continues from the end of the chain, with entries from before it.
    let forged = [AuditStep {
        head: forged,
        after: head.sequence,
        after_hash: head.hash,
    }];
    let taken = stage.store.append_to_audit_log(&others, &forged).await;
    assert!(taken.is_err(), "written over");
    let mut tx = works(stage.store.begin().await);
    let taken = tx.audit_log().append(&others, &forged).await;
    assert!(taken.is_err(), "written over");
    drop(tx);
    assert_eq!(stage.entries(world, head.chain, 0).await, entries);
    let found = in_view!(stage.store, |view| view
        .audit_log()
        .head(&world, head.chain)
        .await);
    assert_eq!(found, Some(head));
}

/// Pages of a wallet show each of its entries once, newest first, across chains.
pub async fn pages_show_every_entry_of_a_wallet_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let wallet = stage.wallet_id();
    let other = stage.wallet_id();
    let mut expected = Vec::new();
    for (whose, length) in [(wallet, 6), (other, 3), (wallet, 5)] {
        let (entries, head) = stage.chain(world, whose, length);
        stage.append(&entries, &head).await;
        if whose == wallet {
            expected.extend(entries);
        }
    }
    expected.sort_by_key(|entry| std::cmp::Reverse(entry.id));
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = in_view!(stage.store, |view| view
            .audit_log()
            .of_wallet(&world, wallet, after, 4)
            .await);
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        seen.extend(page);
    }
    assert_eq!(seen, expected);
}

/// Entries and heads are not visible in other worlds (I11), which may have chains of the same name.
pub async fn entries_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let wallet = stage.wallet_id();
    let (entries, head) = stage.chain(world, wallet, 3);
    stage.append(&entries, &head).await;
    for stranger in stage.strangers(world).await {
        assert_eq!(stage.entries(stranger, head.chain, 0).await, []);
        let (of_wallet, heads, found) = in_view!(stage.store, |view| {
            let of_wallet = view
                .audit_log()
                .of_wallet(&stranger, wallet, None, 10)
                .await?;
            let heads = view.audit_log().heads(&stranger).await?;
            Ok((
                of_wallet,
                heads,
                view.audit_log().head(&stranger, head.chain).await?,
            ))
        });
        assert_eq!((of_wallet, heads, found), (vec![], vec![], None));
    }
    let twin = other_environment(world);
    let (mut others, mut twin_head) = stage.chain(twin, wallet, 2);
    for entry in &mut others {
        entry.chain = head.chain;
    }
    twin_head.chain = head.chain;
    stage.append(&others, &twin_head).await;
    assert_eq!(stage.entries(world, head.chain, 0).await, entries);
    assert_eq!(stage.entries(twin, head.chain, 0).await, others);
}

/// Chains with entries but no head are found; complete chains are not among them.
pub async fn a_chain_without_a_head_is_found(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let wallet = stage.wallet_id();
    let (whole, head) = stage.chain(world, wallet, 2);
    stage.append(&whole, &head).await;
    let (robbed, lost) = stage.chain(world, wallet, 2);
    in_tx!(stage.store, |tx| tx.audit_log().append(&robbed, &[]).await);
    // The same chain has a head in another world, which must not matter.
    let twin = [AuditStep {
        head: AuditHead {
            world: other_environment(world),
            ..lost.clone()
        },
        after: 0,
        after_hash: [0; 32],
    }];
    in_tx!(stage.store, |tx| tx.audit_log().append(&[], &twin).await);
    let headless = in_view!(stage.store, |view| view
        .audit_chains()
        .headless(&world, ChainLog::Wallets)
        .await);
    assert_eq!(headless, [lost.chain]);
}

/// A world is found by an entry, a head, a marker or an event log head, in order and once.
pub async fn worlds_are_found_by_any_row_of_theirs(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let wallet = stage.wallet_id();
    let mut worlds = Vec::new();
    for _ in 0..2 {
        let world = stage.world().await;
        worlds.extend([world, other_environment(world)]);
    }
    let nobodys = stage.world().await;
    let &[of_entries, of_head, of_marker, of_events] = worlds.as_slice() else {
        panic!("four worlds");
    };
    let (entries, _) = stage.chain(of_entries, wallet, 2);
    in_tx!(stage.store, |tx| tx.audit_log().append(&entries, &[]).await);
    let (_, head) = stage.chain(of_head, wallet, 2);
    let marker = AuditMarker {
        world: of_marker,
        chain: head.chain,
        sequence: head.sequence,
        hash: head.hash,
        mac: head.mac.clone(),
    };
    let step = [AuditStep {
        head,
        after: 0,
        after_hash: [0; 32],
    }];
    in_tx!(stage.store, |tx| tx.audit_log().append(&[], &step).await);
    in_tx!(stage.store, |tx| tx
        .audit_chains()
        .move_marker(None, &marker)
        .await);
    in_tx!(stage.store, |tx| tx.events().lock_head(&of_events).await);

    let (mut found, mut last) = (Vec::new(), None);
    while let Some(world) = in_view!(stage.store, |view| view
        .audit_chains()
        .next_world(last)
        .await)
    {
        found.push(world);
        last = Some(world);
    }
    let place = |world: &World| (world.app_id.to_string(), world.environment.as_str());
    assert!(found.is_sorted_by(|one, next| place(one) < place(next)));
    assert!(worlds.iter().all(|world| found.contains(world)));
    assert!(!found.contains(&nobodys));
}

/// Parallel writers with a chain each lose nothing.
pub async fn parallel_chains_are_all_whole(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let wallet = stage.wallet_id();
    let chains: Vec<_> = (0..12).map(|_| stage.chain(world, wallet, 5)).collect();
    race(chains.iter().cloned().map(|(entries, head)| {
        let store = Arc::clone(&stage.store);
        async move {
            for (place, entry) in entries.iter().enumerate() {
                let head = AuditHead {
                    sequence: entry.sequence,
                    hash: entry.hash,
                    ..head.clone()
                };
                let entry = entries.get(place..=place).unwrap_or_default();
                let steps = [step(entry, &head)];
                in_tx!(store, |tx| tx.audit_log().append(entry, &steps).await);
            }
        }
    }))
    .await;
    for (entries, head) in chains {
        assert_eq!(stage.entries(world, head.chain, 0).await, entries);
    }
}

/// The heads of all worlds are paged, each once, ordered by world and chain.
pub async fn heads_of_all_worlds_are_paged(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let mut made = Vec::new();
    for _ in 0..3 {
        let world = stage.world().await;
        for world in [world, other_environment(world), world] {
            let wallet = stage.wallet_id();
            let (entries, head) = stage.chain(world, wallet, 2);
            stage.append(&entries, &head).await;
            made.push(head);
        }
    }
    // The order of their texts.
    made.sort_by_cached_key(|head| (head.world.to_string(), head.chain));
    for limit in [1, 4, 100] {
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = in_view!(stage.store, |view| view
                .audit_log()
                .all_heads(after, limit)
                .await);
            let Some(last) = page.last() else { break };
            assert!(page.len() <= usize::try_from(limit).unwrap_or(0));
            after = Some((last.world, last.chain));
            seen.extend(page);
        }
        assert_eq!(seen, made, "pages of {limit}");
    }
}

/// Pruning deletes what precedes a marker, in one chain of one world, and keeps exports. A marker moves only from its current position.
pub async fn old_entries_go_behind_a_marker(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let wallet = stage.wallet_id();
    let (mut entries, head) = stage.chain(world, wallet, 7);
    for (place, entry) in entries.iter_mut().enumerate() {
        entry.event.action = match place {
            1 => AuditAction::Export,
            _ => AuditAction::SignMessage,
        };
    }
    stage.append(&entries, &head).await;
    let (others, other) = stage.chain(world, wallet, 3);
    stage.append(&others, &other).await;
    let mark = |sequence: i64, stage: &mut Stage| AuditMarker {
        world,
        chain: head.chain,
        sequence,
        hash: [u8::try_from(sequence).unwrap_or(0); 32],
        mac: stage.samples.mac(),
    };
    let (first, second) = (mark(3, &mut stage), mark(5, &mut stage));

    for (before, marker, moves) in [
        (Some(&second), &first, false),
        (None, &first, true),
        (None, &second, false),
        (Some(&second), &second, false),
        (Some(&first), &second, true),
        (Some(&first), &second, false),
    ] {
        let moved = in_tx!(stage.store, |tx| tx
            .audit_chains()
            .move_marker(before, marker)
            .await);
        assert_eq!(moved, moves, "{before:?} to {marker:?}");
    }
    in_tx!(stage.store, |tx| tx.audit_chains().prune(&second).await);

    let left = stage.entries(world, head.chain, 0).await;
    let left: Vec<_> = left.iter().map(|entry| entry.sequence).collect();
    assert_eq!(left, [2, 6, 7]);
    assert_eq!(stage.entries(world, other.chain, 0).await, others);
    let (of_world, found, none) = in_view!(stage.store, |view| {
        let log = view.audit_chains();
        let of_world = log.marked_chains(&world).await?;
        let found = log.marker(&world, head.chain).await?;
        Ok((of_world, found, log.marker(&world, other.chain).await?))
    });
    assert_eq!(of_world, [head.chain]);
    assert_eq!((found, none), (Some(second), None));
    for stranger in stage.strangers(world).await {
        let markers = in_view!(stage.store, |view| view
            .audit_chains()
            .marked_chains(&stranger)
            .await);
        assert_eq!(markers, []);
    }
}
