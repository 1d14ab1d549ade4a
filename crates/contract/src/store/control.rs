//! The control chains of the audit log.

use std::cmp::Reverse;
use std::sync::Arc;

use vestry_domain::World;
use vestry_domain::audit::AuditMarker;
use vestry_domain::audit::control::{
    ControlAction, ControlEntry, ControlEvent, ControlFilter, ControlHead, Detail, Outcome, Party,
    Subject, SubjectKind,
};
use vestry_domain::ids::{AuditChainId, UserId};
use vestry_ports::store::{ChainEntry, ChainLog, Store};

use super::stage::{Stage, works};
use crate::race::{count, race};
use crate::samples::{Samples, other_environment};

fn event(samples: &mut Samples, world: World) -> ControlEvent {
    let sample = samples.event(world);
    let user: UserId = samples.id(sample.created_at);
    let subject = Subject {
        kind: samples.pick(SubjectKind::ALL),
        id: samples.pick(&[&*user.to_string(), "x", ""]).to_owned(),
    };
    let detail = Detail::default().with("name", samples.text());
    ControlEvent {
        world,
        actor: sample.actor,
        action: samples.pick(ControlAction::ALL),
        subject,
        detail: samples.pick(&["{}", &*detail.text()]).to_owned(),
        outcome: samples.pick(Outcome::ALL),
        request_id: sample.request_id,
        at: sample.created_at,
    }
}

/// This many entries after a head, and the head after them.
fn behind(
    samples: &mut Samples,
    head: &ControlHead,
    many: usize,
) -> (Vec<ControlEntry>, ControlHead) {
    let (mut entries, mut head) = (Vec::with_capacity(many), head.clone());
    for _ in 0..many {
        let event = event(samples, head.world);
        let (id, sequence) = (samples.id(event.at), head.sequence + 1);
        let hash = ControlEntry::digest(id, head.chain, sequence, &event, &head.hash);
        entries.push(ControlEntry {
            id,
            chain: head.chain,
            sequence,
            event,
            previous: head.hash,
            hash,
            mac: samples.mac(),
        });
        (head.sequence, head.hash) = (sequence, hash);
    }
    head.mac = samples.mac();
    (entries, head)
}

/// The head of an empty chain.
fn nothing(samples: &mut Samples, world: World, number: i64) -> ControlHead {
    let at = samples.tick();
    ControlHead {
        world,
        number,
        chain: samples.id(at),
        sequence: 0,
        hash: [0; 32],
        mac: samples.mac(),
    }
}

/// The first entries of a chain, and its head.
fn begun(
    samples: &mut Samples,
    world: World,
    number: i64,
    many: usize,
) -> (Vec<ControlEntry>, ControlHead) {
    let nothing = nothing(samples, world, number);
    behind(samples, &nothing, many)
}

async fn append(
    store: &Arc<dyn Store>,
    after: Option<&ControlHead>,
    entries: &[ControlEntry],
    head: &ControlHead,
) -> bool {
    in_tx!(store, |tx| tx
        .control_log()
        .append(after, entries, head)
        .await)
}

async fn entries_of(
    store: &Arc<dyn Store>,
    world: World,
    chain: AuditChainId,
) -> Vec<ControlEntry> {
    some_entries(store, world, chain, 0, 1_000).await
}

async fn some_entries(
    store: &Arc<dyn Store>,
    world: World,
    chain: AuditChainId,
    after: i64,
    limit: i64,
) -> Vec<ControlEntry> {
    let found = in_view!(store, |view| view
        .audit_chains()
        .entries(&world, ChainLog::Control, chain, after, limit)
        .await);
    let changes = found.into_iter().map(|entry| match entry {
        ChainEntry::Change(entry) => entry,
        ChainEntry::Use(entry) => panic!("an entry of the other log: {entry:?}"),
    });
    changes.collect()
}

async fn heads(store: &Arc<dyn Store>, world: World) -> Vec<ControlHead> {
    in_view!(store, |view| view.control_log().heads(&world).await)
}

async fn headless(store: &Arc<dyn Store>, world: World) -> Vec<AuditChainId> {
    in_view!(store, |view| view
        .audit_chains()
        .headless(&world, ChainLog::Control)
        .await)
}

/// All matching entries, page by page.
async fn pages(
    store: &Arc<dyn Store>,
    world: World,
    filter: &ControlFilter,
    length: i64,
) -> Vec<ControlEntry> {
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = in_view!(store, |view| view
            .control_log()
            .page(&world, filter, after, length)
            .await);
        let Some(last) = page.last() else {
            return seen;
        };
        assert!(page.len() <= usize::try_from(length).unwrap_or(0));
        after = Some(last.id);
        seen.extend(page);
    }
}

/// Whether each entry follows the one before it and the head points at the last one.
fn is_whole(entries: &[ControlEntry], head: &ControlHead) -> bool {
    let (mut sequence, mut hash) = (0, [0; 32]);
    for entry in entries {
        if !entry.follows(sequence, &hash) {
            return false;
        }
        (sequence, hash) = (entry.sequence, entry.hash);
    }
    (sequence, hash) == (head.sequence, head.hash)
}

/// A separate source of records for a task.
fn apart(samples: &mut Samples) -> Samples {
    Samples::from_seed(u64::try_from(samples.below(usize::MAX)).unwrap_or_default())
}

/// Entries are read back unchanged and in order, together with the head.
pub async fn entries_come_back_as_they_were(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let none = in_tx!(stage.store, |tx| tx.control_log().lock_head(&world).await);
    assert_eq!(none, None);
    let (first, early) = begun(&mut stage.samples, world, 1, 1);
    assert!(append(&stage.store, None, &first, &early).await);
    let (more, head) = behind(&mut stage.samples, &early, 20);
    assert!(append(&stage.store, Some(&early), &more, &head).await);
    let entries = [first, more].concat();
    let found = entries_of(&stage.store, world, head.chain).await;
    assert_eq!(found, entries);
    assert!(is_whole(&found, &head));
    let found = some_entries(&stage.store, world, head.chain, 3, 4).await;
    let four: Vec<_> = entries.iter().skip(3).take(4).cloned().collect();
    assert_eq!(found, four);
    for place in 0..=22_i64 {
        let hash = in_view!(stage.store, |view| view
            .control_log()
            .mark_at(&world, head.chain, place)
            .await);
        let mut entries = entries.iter();
        let expected = entries.find(|entry| entry.sequence == place);
        let expected = expected.map(|entry| (entry.id, entry.hash));
        assert_eq!(hash, expected, "place {place}");
    }
    let found = heads(&stage.store, world).await;
    assert_eq!(found, std::slice::from_ref(&head));
    let locked = in_tx!(stage.store, |tx| tx.control_log().lock_head(&world).await);
    assert_eq!(locked, Some(head));
}

/// The chain with the highest number continues; earlier ones stay as they are.
pub async fn another_chain_goes_on(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (entries, first) = begun(&mut stage.samples, world, 1, 3);
    assert!(append(&stage.store, None, &entries, &first).await);
    let (others, early) = begun(&mut stage.samples, world, 2, 1);
    assert!(append(&stage.store, Some(&first), &others, &early).await);
    let locked = in_tx!(stage.store, |tx| tx.control_log().lock_head(&world).await);
    assert_eq!(locked, Some(early.clone()));
    let (more, second) = behind(&mut stage.samples, &early, 2);
    assert!(append(&stage.store, Some(&early), &more, &second).await);
    let (last, tenth) = begun(&mut stage.samples, world, 10, 1);
    assert!(append(&stage.store, Some(&second), &last, &tenth).await);
    let found = heads(&stage.store, world).await;
    assert_eq!(found, [first.clone(), second.clone(), tenth.clone()]);
    for (head, expected) in [
        (&first, entries),
        (&second, [others, more].concat()),
        (&tenth, last),
    ] {
        let found = entries_of(&stage.store, world, head.chain).await;
        assert_eq!(found, expected);
        assert!(is_whole(&found, head));
    }
}

/// A head moves only from the position that was seen. A write that does not move it writes nothing and leaves the transaction usable.
pub async fn a_head_moves_from_where_it_was_seen(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (entries, head) = begun(&mut stage.samples, world, 1, 3);
    assert!(append(&stage.store, None, &entries, &head).await);
    let (more, moved) = behind(&mut stage.samples, &head, 2);
    let (others, stranger) = begun(&mut stage.samples, world, 1, 2);
    let at = |sequence| ControlHead {
        sequence,
        ..head.clone()
    };
    let elsewhere = ControlHead {
        hash: stage.samples.key(),
        ..head.clone()
    };
    let unknown = ControlHead {
        number: 2,
        ..head.clone()
    };
    let moved_unknown = ControlHead {
        number: 2,
        ..moved.clone()
    };
    for (after, entries, to) in [
        (Some(&at(2)), &more, &moved),
        (Some(&at(4)), &more, &moved),
        (Some(&elsewhere), &more, &moved),
        // The number is taken.
        (None, &others, &stranger),
        (Some(&unknown), &others, &stranger),
        // From a chain of another name.
        (Some(&head), &others, &stranger),
        // No chain has this number.
        (Some(&unknown), &more, &moved_unknown),
    ] {
        let (written, goes_on) = in_tx!(stage.store, |tx| {
            let written = tx.control_log().append(after, entries, to).await?;
            Ok((written, tx.control_log().lock_head(&world).await?))
        });
        assert!(!written, "moved from {after:?} to {to:?}");
        assert_eq!(goes_on.as_ref(), Some(&head));
    }
    let found = heads(&stage.store, world).await;
    assert_eq!(found, std::slice::from_ref(&head));
    let found = entries_of(&stage.store, world, head.chain).await;
    assert_eq!(found, entries);
    let found = entries_of(&stage.store, world, stranger.chain).await;
    assert_eq!(found, []);
    assert!(append(&stage.store, Some(&head), &more, &moved).await);
    assert!(!append(&stage.store, Some(&head), &more, &moved).await);
    assert_eq!(heads(&stage.store, world).await, [moved]);
}

/// A position in a chain is taken once; a conflicting write writes nothing.
pub async fn a_place_is_taken_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (entries, head) = begun(&mut stage.samples, world, 1, 3);
    assert!(append(&stage.store, None, &entries, &head).await);
    let (mut more, moved) = behind(&mut stage.samples, &head, 2);
    if let Some(last) = more.last_mut() {
        last.sequence = 2;
    }
    let mut tx = works(stage.store.begin().await);
    let taken = tx.control_log().append(Some(&head), &more, &moved).await;
    assert!(taken.is_err(), "written over");
    drop(tx);
    let mut view = works(stage.store.read().await);
    let written = view.control_log().append(Some(&head), &more, &moved).await;
    assert!(written.is_err(), "a view wrote something");
    let found = entries_of(&stage.store, world, head.chain).await;
    assert_eq!(found, entries);
    assert_eq!(heads(&stage.store, world).await, [head]);
}

/// Of parallel attempts to begin the first chain one succeeds.
pub async fn parallel_beginnings_make_one_chain(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let chains: Vec<_> = (0..16)
        .map(|_| begun(&mut stage.samples, world, 1, 2))
        .collect();
    let written = race(chains.iter().cloned().map(|(entries, head)| {
        let store = Arc::clone(&stage.store);
        async move { append(&store, None, &entries, &head).await }
    }))
    .await;
    assert_eq!(count(&written, &true), 1);
    for (written, (entries, head)) in written.into_iter().zip(chains) {
        let found = entries_of(&stage.store, world, head.chain).await;
        if written {
            assert_eq!(found, entries);
            assert_eq!(heads(&stage.store, world).await, [head]);
        } else {
            assert_eq!(found, []);
        }
    }
}

/// A writer holds the head until its commit. No writer that locks it first loses, and the chain is complete.
pub async fn parallel_writers_make_one_whole_chain(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (entries, head) = begun(&mut stage.samples, world, 1, 1);
    assert!(append(&stage.store, None, &entries, &head).await);
    let writers: Vec<_> = (0..10).map(|_| apart(&mut stage.samples)).collect();
    race(writers.into_iter().map(|mut samples| {
        let store = Arc::clone(&stage.store);
        async move {
            for many in [1, 2, 1, 3] {
                let written = in_tx!(store, |tx| {
                    let Some(head) = tx.control_log().lock_head(&world).await? else {
                        return Ok(false);
                    };
                    let (entries, moved) = behind(&mut samples, &head, many);
                    tx.control_log().append(Some(&head), &entries, &moved).await
                });
                assert!(written, "another writer moved a locked head");
            }
        }
    }))
    .await;
    let found = entries_of(&stage.store, world, head.chain).await;
    assert_eq!(found.len(), 71);
    let heads = heads(&stage.store, world).await;
    let [head] = &*heads else {
        panic!("one chain became {heads:?}");
    };
    assert!(is_whole(&found, head));
}

/// A writer that waits for the head while another chain begins gets the head of the new chain.
pub async fn a_chain_begun_while_waiting_is_continued(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (entries, head) = begun(&mut stage.samples, world, 1, 1);
    assert!(append(&stage.store, None, &entries, &head).await);
    let writers: Vec<_> = (0..8).map(|_| apart(&mut stage.samples)).collect();
    race(writers.into_iter().map(|mut samples| {
        let store = Arc::clone(&stage.store);
        async move {
            for is_new in [false, true, false, true] {
                let written = in_tx!(store, |tx| {
                    let Some(head) = tx.control_log().lock_head(&world).await? else {
                        return Ok(false);
                    };
                    let (entries, moved) = if is_new {
                        begun(&mut samples, world, head.number + 1, 1)
                    } else {
                        behind(&mut samples, &head, 1)
                    };
                    tx.control_log().append(Some(&head), &entries, &moved).await
                });
                assert!(written, "another writer moved a locked head");
            }
        }
    }))
    .await;
    let heads = heads(&stage.store, world).await;
    let numbers: Vec<_> = heads.iter().map(|head| head.number).collect();
    assert_eq!(numbers, (1..=17).collect::<Vec<_>>());
    let mut whole = 0;
    for head in &heads {
        let found = entries_of(&stage.store, world, head.chain).await;
        assert!(is_whole(&found, head));
        whole += found.len();
    }
    assert_eq!(whole, 33);
}

/// Pages show each entry once, newest first, across chains.
pub async fn pages_show_every_entry_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (mut expected, mut after) = (Vec::new(), None);
    for number in [1, 2] {
        let (mut entries, mut head) = begun(&mut stage.samples, world, number, 5);
        assert!(append(&stage.store, after.as_ref(), &entries, &head).await);
        expected.append(&mut entries);
        let (mut entries, moved) = behind(&mut stage.samples, &head, 4);
        assert!(append(&stage.store, Some(&head), &entries, &moved).await);
        expected.append(&mut entries);
        head = moved;
        after = Some(head);
    }
    expected.sort_by_key(|entry| Reverse(entry.id));
    let open = ControlFilter::default();
    for length in [1, 4, 100] {
        assert_eq!(pages(&stage.store, world, &open, length).await, expected);
    }
}

/// Each condition of a filter applies on its own, and all must match.
pub async fn a_page_holds_what_fits(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (first, head) = begun(&mut stage.samples, world, 1, 40);
    assert!(append(&stage.store, None, &first, &head).await);
    let (second, other) = begun(&mut stage.samples, world, 2, 40);
    assert!(append(&stage.store, Some(&head), &second, &other).await);
    let mut entries = [first, second].concat();
    entries.sort_by_key(|entry| Reverse(entry.id));
    let chosen = stage.samples.shuffled(&entries);
    let [one, two, ..] = &*chosen else {
        panic!("expected two entries");
    };
    let (one, two) = (&one.event, &two.event);
    let actor = |id: Option<String>| {
        let kind = || Party::Kind(one.actor.kind().to_owned());
        Some(id.map_or_else(kind, Party::Id))
    };
    let subject = |id: Option<String>| Some(id.map_or(Party::Kind(one.subject.kind), Party::Id));
    let open = ControlFilter::default;
    // Each filter with whether it matches the entry.
    let asked = [
        (open(), true),
        (
            ControlFilter {
                actor: actor(None),
                ..open()
            },
            true,
        ),
        (
            ControlFilter {
                actor: actor(one.actor.id()),
                ..open()
            },
            true,
        ),
        (
            ControlFilter {
                actor: actor(Some("nobody".to_owned())),
                ..open()
            },
            false,
        ),
        (
            ControlFilter {
                actions: vec![one.action],
                ..open()
            },
            true,
        ),
        (
            ControlFilter {
                actions: vec![two.action, one.action],
                ..open()
            },
            true,
        ),
        (
            ControlFilter {
                subject: subject(None),
                ..open()
            },
            true,
        ),
        (
            ControlFilter {
                subject: subject(Some(one.subject.id.clone())),
                ..open()
            },
            true,
        ),
        (
            ControlFilter {
                subject: subject(Some("nothing".to_owned())),
                ..open()
            },
            false,
        ),
        (
            ControlFilter {
                outcome: Some(one.outcome),
                ..open()
            },
            true,
        ),
        (
            ControlFilter {
                from: Some(one.at),
                ..open()
            },
            true,
        ),
        (
            ControlFilter {
                until: Some(one.at),
                ..open()
            },
            false,
        ),
        (
            ControlFilter {
                from: Some(one.at.min(two.at)),
                until: Some(one.at.max(two.at)),
                ..open()
            },
            one.at < two.at,
        ),
        (
            ControlFilter {
                actor: actor(one.actor.id()),
                actions: vec![two.action, one.action],
                subject: subject(Some(one.subject.id.clone())),
                outcome: Some(one.outcome),
                from: Some(one.at),
                until: None,
            },
            true,
        ),
    ];
    for (filter, has_one) in asked {
        let fitting = entries.iter().filter(|entry| fits(&entry.event, &filter));
        let expected: Vec<_> = fitting.cloned().collect();
        for length in [3, 100] {
            let found = pages(&stage.store, world, &filter, length).await;
            assert_eq!(found, expected, "{filter:?}");
            assert_eq!(found.iter().any(|entry| entry.event == *one), has_one);
        }
    }
}

fn fits(event: &ControlEvent, filter: &ControlFilter) -> bool {
    let by_them = match &filter.actor {
        None => true,
        Some(Party::Kind(kind)) => kind == event.actor.kind(),
        Some(Party::Id(id)) => event.actor.id().as_ref() == Some(id),
    };
    let to_it = match &filter.subject {
        None => true,
        Some(Party::Kind(kind)) => *kind == event.subject.kind,
        Some(Party::Id(id)) => *id == event.subject.id,
    };
    if !by_them || !to_it {
        return false;
    }
    let is_known = filter.actions.is_empty() || filter.actions.contains(&event.action);
    let is_early = filter.from.is_some_and(|from| event.at < from);
    let is_late = filter.until.is_some_and(|until| event.at >= until);
    let came_of_it = filter.outcome.is_none_or(|wanted| wanted == event.outcome);
    is_known && came_of_it && !is_early && !is_late
}

/// Entries and heads are neither visible nor writable in other worlds (I11), which may have chains of the same name and number.
pub async fn entries_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (entries, head) = begun(&mut stage.samples, world, 1, 3);
    assert!(append(&stage.store, None, &entries, &head).await);
    let open = ControlFilter::default();
    for stranger in stage.strangers(world).await {
        let locked = in_tx!(stage.store, |tx| tx
            .control_log()
            .lock_head(&stranger)
            .await);
        assert_eq!(locked, None);
        assert_eq!(heads(&stage.store, stranger).await, []);
        assert_eq!(headless(&stage.store, stranger).await, []);
        assert_eq!(entries_of(&stage.store, stranger, head.chain).await, []);
        assert_eq!(pages(&stage.store, stranger, &open, 10).await, []);
        let hash = in_view!(stage.store, |view| view
            .control_log()
            .mark_at(&stranger, head.chain, 1)
            .await);
        assert_eq!(hash, None);
        let theirs = ControlHead {
            world: stranger,
            ..head.clone()
        };
        let (more, moved) = behind(&mut stage.samples, &theirs, 1);
        assert!(!append(&stage.store, Some(&theirs), &more, &moved).await);
    }
    let twin = ControlHead {
        chain: head.chain,
        ..nothing(&mut stage.samples, other_environment(world), 1)
    };
    let (others, moved) = behind(&mut stage.samples, &twin, 2);
    assert!(append(&stage.store, None, &others, &moved).await);
    assert_eq!(entries_of(&stage.store, world, head.chain).await, entries);
    assert_eq!(
        entries_of(&stage.store, twin.world, head.chain).await,
        others
    );
    assert_eq!(heads(&stage.store, world).await, [head]);
    assert_eq!(heads(&stage.store, twin.world).await, [moved]);
}

/// Chains with entries but no head are found. Complete chains are not among them, and a head in another world does not count.
pub async fn a_chain_without_a_head_is_found(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (whole, head) = begun(&mut stage.samples, world, 1, 2);
    assert!(append(&stage.store, None, &whole, &head).await);
    let (robbed, lost) = begun(&mut stage.samples, world, 2, 2);
    let instead = nothing(&mut stage.samples, world, 2);
    assert!(append(&stage.store, Some(&head), &robbed, &instead).await);
    let twin = ControlHead {
        world: other_environment(world),
        ..lost.clone()
    };
    assert!(append(&stage.store, None, &[], &twin).await);
    assert_eq!(headless(&stage.store, world).await, [lost.chain]);
    assert_eq!(headless(&stage.store, twin.world).await, []);
}

/// The heads of all worlds are paged, each once, ordered by world and number.
pub async fn heads_of_all_worlds_are_paged(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let mut made = Vec::new();
    for _ in 0..3 {
        let world = stage.world().await;
        for world in [world, other_environment(world)] {
            let mut last: Option<ControlHead> = None;
            for number in [1, 2, 10] {
                let (entries, head) = begun(&mut stage.samples, world, number, 1);
                assert!(append(&stage.store, last.as_ref(), &entries, &head).await);
                last = Some(head.clone());
                made.push(head);
            }
        }
    }
    // The order of their texts.
    made.sort_by_cached_key(|head| (head.world.to_string(), head.number));
    for limit in [1, 4, 100] {
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = in_view!(stage.store, |view| view
                .control_log()
                .all_heads(after, limit)
                .await);
            let Some(last) = page.last() else { break };
            assert!(page.len() <= usize::try_from(limit).unwrap_or(0));
            after = Some((last.world, last.number));
            seen.extend(page);
        }
        assert_eq!(seen, made, "pages of {limit}");
    }
}

/// Pruning deletes the entries before a marker, in one world only.
pub async fn old_control_entries_go_behind_a_marker(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (entries, head) = begun(&mut stage.samples, world, 1, 5);
    assert!(append(&stage.store, None, &entries, &head).await);
    let twin = other_environment(world);
    let (mut others, mut other) = begun(&mut stage.samples, twin, 1, 5);
    for entry in &mut others {
        entry.chain = head.chain;
    }
    other.chain = head.chain;
    assert!(append(&stage.store, None, &others, &other).await);
    let marker = AuditMarker {
        world,
        chain: head.chain,
        sequence: 3,
        hash: [3; 32],
        mac: stage.samples.mac(),
    };
    in_tx!(stage.store, |tx| tx.audit_chains().prune(&marker).await);
    let left = entries_of(&stage.store, world, head.chain).await;
    assert_eq!(left, entries.split_at(3).1);
    assert_eq!(entries_of(&stage.store, twin, head.chain).await, others);
}
