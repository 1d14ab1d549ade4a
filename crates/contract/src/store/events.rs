//! Events, unsequenced and in the log.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use vestry_domain::event::{EventHead, EventKind, NewEvent, Position};
use vestry_domain::ids::{EventId, Id};
use vestry_domain::message::{Channel, OutboxQueue};
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{CommitEffect, EventFilter, Placed, PositionRange, Store};

use super::stage::{Stage, works};
use crate::race::race;

const WHOLE: PositionRange = PositionRange {
    from: 1,
    to: i64::MAX,
    descending: false,
};

impl Stage {
    fn events(&mut self, world: World, count: usize) -> Vec<NewEvent> {
        (0..count).map(|_| self.samples.event(world)).collect()
    }
}

async fn append(store: &Arc<dyn Store>, events: &[NewEvent]) {
    in_tx!(store, |tx| tx.events().append(events).await);
}

/// Sequences up to this many events, unless another process is doing so.
async fn placed(store: &Arc<dyn Store>, world: World, limit: i64) -> Vec<Placed> {
    in_tx!(store, |tx| {
        match tx.events().lock_head(&world).await? {
            None => Ok(Vec::new()),
            Some(head) => {
                let (moved, placed) = tx.events().place(&world, head, limit).await?;
                let newest = placed.last().map(|placed| placed.at);
                assert_eq!(moved.newest, newest.or(head.newest));
                Ok(placed)
            }
        }
    })
}

/// The number of events sequenced.
async fn place(store: &Arc<dyn Store>, world: World, limit: i64) -> usize {
    placed(store, world, limit).await.len()
}

/// The events at the positions after this one.
fn placed_behind(position: i64, events: &[NewEvent]) -> Vec<Placed> {
    let places = (position + 1..).zip(events);
    let placed = places.map(|(position, event)| Placed {
        at: Position {
            position,
            id: event.id,
        },
        kind: event.kind,
    });
    placed.collect()
}

async fn head(store: &Arc<dyn Store>, world: World) -> EventHead {
    in_view!(store, |view| view.events().head(&world).await)
}

/// The ids of a log, which starts at the first position and has no gap.
async fn log(store: &Arc<dyn Store>, world: World) -> Vec<EventId> {
    let open = EventFilter::default();
    let events = in_view!(store, |view| view
        .events()
        .page(&world, WHOLE, &open, i64::from(u32::MAX))
        .await);
    let mut ids = Vec::with_capacity(events.len());
    for (event, place) in events.iter().zip(1..) {
        assert_eq!(event.position, place, "the log has a gap or a duplicate");
        ids.push(event.event.id);
    }
    ids
}

/// Events are read back unchanged, by position and by id, in the order they were appended.
pub async fn events_come_back_as_they_were(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let events = stage.events(world, 20);
    append(&stage.store, &events).await;
    let sequenced = placed(&stage.store, world, 100).await;
    assert_eq!(sequenced, placed_behind(0, &events));
    let open = EventFilter::default();
    let found = in_view!(stage.store, |view| view
        .events()
        .page(&world, WHOLE, &open, 100)
        .await);
    let found_events: Vec<_> = found.iter().map(|event| event.event.clone()).collect();
    assert_eq!(found_events, events);
    for (event, position) in found.into_iter().zip(1..) {
        assert_eq!((event.log, event.position), (1, position));
        let id = event.event.id;
        let (by_id, at) = in_view!(stage.store, |view| {
            let by_id = view.events().find(&world, id).await?;
            Ok((by_id, view.events().at(&world, position).await?))
        });
        assert_eq!(by_id, Some(event));
        assert_eq!(at, Some(Position { position, id }));
    }
    let at = stage.samples.tick();
    let nobodys: EventId = stage.samples.id(at);
    let some: Vec<_> = events.iter().skip(15).cloned().collect();
    let ids = some.iter().map(|event| event.id).chain([nobodys]);
    let ids: Vec<_> = ids.collect();
    let mut found = in_view!(stage.store, |view| {
        view.events().find_all(&world, &ids).await
    });
    found.sort_unstable_by_key(|event| event.position);
    let found: Vec<_> = found.into_iter().map(|event| event.event).collect();
    assert_eq!(found, some);
    let none = in_view!(stage.store, |view| view
        .events()
        .find_all(&world, &[])
        .await);
    assert_eq!(none, []);
    let first = events.first().map(|event| event.id);
    let last = events.last().map(|event| event.id);
    let mark = |position, id: Option<EventId>| id.map(|id| Position { position, id });
    let expected = EventHead {
        log: 1,
        oldest: mark(1, first),
        newest: mark(20, last),
        pruned: None,
    };
    assert_eq!(head(&stage.store, world).await, expected);
}

/// An event is rolled back with its transaction.
pub async fn e_1_rolled_back_events_are_not_emitted(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let events = stage.events(world, 3);
    let mut tx = works(stage.store.begin().await);
    works(tx.events().append(&events).await);
    drop(tx);
    assert_eq!(place(&stage.store, world, 100).await, 0);
    assert_eq!(head(&stage.store, world).await, EventHead::EMPTY);
    let mut view = works(stage.store.read().await);
    let refused = view.events().append(&events).await;
    assert!(refused.is_err(), "a view emitted an event");
}

/// Positions are consecutive, however many events are sequenced at a time.
pub async fn e_2_positions_have_no_gap_and_no_duplicate(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut expected = Vec::new();
    for length in [1, 7, 30, 2] {
        let events = stage.events(world, length);
        for one in events.chunks(9) {
            append(&stage.store, one).await;
        }
        let last = i64::try_from(expected.len()).unwrap_or(i64::MAX);
        expected.extend(events.iter().map(|event| event.id));
        let mut sequenced = Vec::new();
        loop {
            let few = placed(&stage.store, world, 4).await;
            if few.is_empty() {
                break;
            }
            sequenced.extend(few);
        }
        assert_eq!(sequenced, placed_behind(last, &events));
    }
    assert_eq!(log(&stage.store, world).await, expected);
    assert_eq!(head(&stage.store, world).await.position(), 40);
}

/// With parallel sequencers and appenders each event gets one position.
pub async fn e_2_parallel_placers_give_each_place_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut expected = Vec::new();
    let mut tasks: Vec<std::pin::Pin<Box<dyn Future<Output = ()> + Send>>> = Vec::new();
    for _ in 0..8 {
        let (store, events) = (Arc::clone(&stage.store), stage.events(world, 10));
        expected.extend(events.iter().map(|event| event.id));
        tasks.push(Box::pin(async move {
            for event in events {
                append(&store, std::slice::from_ref(&event)).await;
            }
        }));
    }
    for _ in 0..8 {
        let store = Arc::clone(&stage.store);
        tasks.push(Box::pin(async move {
            for _ in 0..10 {
                place(&store, world, 3).await;
            }
        }));
    }
    race(tasks).await;
    while place(&stage.store, world, 100).await > 0 {}
    let mut found = log(&stage.store, world).await;
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

/// A reader that pages by position misses nothing, whichever transaction commits first.
pub async fn e_3_no_position_is_visible_before_a_lower_one(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut tasks: Vec<std::pin::Pin<Box<dyn Future<Output = Vec<EventId>> + Send>>> = Vec::new();
    let mut expected = Vec::new();
    for number in 0..8_u32 {
        let (store, events) = (Arc::clone(&stage.store), stage.events(world, 6));
        expected.extend(events.iter().map(|event| event.id));
        tasks.push(Box::pin(async move {
            for event in &events {
                in_tx!(store, |tx| {
                    tx.events().append(std::slice::from_ref(event)).await?;
                    // Some stay open while others, started later, commit.
                    for _ in 0..number {
                        tx.events().waiting(None).await?;
                    }
                    Ok(())
                });
                place(&store, world, 2).await;
            }
            Vec::new()
        }));
    }
    let whole = expected.len();
    let reader = Arc::clone(&stage.store);
    tasks.push(Box::pin(async move {
        let open = EventFilter::default();
        let mut seen = Vec::new();
        while seen.len() < whole {
            place(&reader, world, 5).await;
            let next = PositionRange {
                from: i64::try_from(seen.len()).unwrap_or(i64::MAX) + 1,
                ..WHOLE
            };
            let page = in_view!(reader, |view| view
                .events()
                .page(&world, next, &open, 3)
                .await);
            for event in page {
                let place = i64::try_from(seen.len()).unwrap_or(i64::MAX) + 1;
                assert_eq!(event.position, place, "a position was skipped");
                seen.push(event.event.id);
            }
        }
        seen
    }));
    let seen = race(tasks).await.pop().unwrap_or_default();
    let mut sorted = seen.clone();
    sorted.sort_unstable();
    expected.sort_unstable();
    assert_eq!(sorted, expected);
    assert_eq!(log(&stage.store, world).await, seen);
}

/// Of two changes of one object, the one that commits later is later in the log, whichever process makes it.
pub async fn e_4_the_later_change_is_later_in_the_log(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let user = stage.user(world).await;
    let order: Arc<Mutex<Vec<EventId>>> = Arc::default();
    let mut tasks: Vec<std::pin::Pin<Box<dyn Future<Output = ()> + Send>>> = Vec::new();
    for _ in 0..6 {
        let (store, events) = (Arc::clone(&stage.store), stage.events(world, 5));
        let (order, user) = (Arc::clone(&order), user.id);
        tasks.push(Box::pin(async move {
            for event in events {
                in_tx!(store, |tx| {
                    // The event is appended before the lock is taken, and is still ordered correctly.
                    tx.events().append(std::slice::from_ref(&event)).await?;
                    tx.users().lock(&world, user).await?;
                    let mut order = order.lock().unwrap_or_else(PoisonError::into_inner);
                    // A run that was rolled back does not count.
                    order.retain(|id| *id != event.id);
                    order.push(event.id);
                    Ok(())
                });
                place(&store, world, 2).await;
            }
        }));
    }
    race(tasks).await;
    while place(&stage.store, world, 100).await > 0 {}
    let order = order.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert_eq!(log(&stage.store, world).await, order);
}

/// A page holds the matching events of a range, in either order, up to its limit.
pub async fn a_page_holds_what_fits(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let events = stage.events(world, 40);
    append(&stage.store, &events).await;
    place(&stage.store, world, 100).await;
    let somebody = events.iter().find_map(|event| event.user_id);
    let wallet = stage.samples.tick();
    let wallet = stage.samples.id(wallet);
    let filters = [
        EventFilter::default(),
        EventFilter {
            kinds: vec![EventKind::UserCreated, EventKind::AppCreated],
            ..EventFilter::default()
        },
        EventFilter {
            user_id: somebody,
            ..EventFilter::default()
        },
        EventFilter {
            kinds: vec![EventKind::UserDeleted],
            ..EventFilter::default()
        },
        EventFilter {
            wallet_id: Some(wallet),
            ..EventFilter::default()
        },
    ];
    for filter in filters {
        for (from, to, descending, limit) in [
            (1, 40, false, 100),
            (5, 20, true, 100),
            (2, 39, false, 3),
            (2, 39, true, 3),
        ] {
            let stretch = PositionRange {
                from,
                to,
                descending,
            };
            let page = in_view!(stage.store, |view| view
                .events()
                .page(&world, stretch, &filter, limit)
                .await);
            let found: Vec<_> = page.iter().map(|event| event.position).collect();
            let places = (1_i64..).zip(&events);
            let fitting = places.filter(|(place, event)| {
                (from..=to).contains(place)
                    && (filter.kinds.is_empty() || filter.kinds.contains(&event.kind))
                    && (filter.user_id.is_none() || filter.user_id == event.user_id)
                    && filter.wallet_id.is_none()
            });
            let mut expected: Vec<_> = fitting.map(|(place, _)| place).collect();
            let counted = in_view!(stage.store, |view| view
                .events()
                .count(&world, stretch, &filter)
                .await);
            assert_eq!(usize::try_from(counted), Ok(expected.len()));
            if descending {
                expected.reverse();
            }
            expected.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            assert_eq!(found, expected, "{filter:?} from {from} to {to}");
        }
    }
}

/// A page holds the events of a time range, and the first event from an id on is found, which need not have the lowest position.
pub async fn events_are_found_by_their_time(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut events = stage.events(world, 10);
    // Of two changes, the one that began later can commit first.
    events.swap(4, 5);
    append(&stage.store, &events).await;
    place(&stage.store, world, 100).await;
    let mut times: Vec<_> = events.iter().map(|event| event.created_at).collect();
    times.sort_unstable();
    let (early, late) = (times.get(2).copied(), times.get(7).copied());
    for (from, until) in [(None, late), (early, None), (early, late), (late, early)] {
        let filter = EventFilter {
            from,
            until,
            ..EventFilter::default()
        };
        let is_in = |event: &&NewEvent| {
            from.is_none_or(|from| event.created_at >= from)
                && until.is_none_or(|until| event.created_at < until)
        };
        let expected: Vec<_> = events.iter().filter(is_in).map(|event| event.id).collect();
        let (page, count) = in_view!(stage.store, |view| {
            let page = view.events().page(&world, WHOLE, &filter, 100).await?;
            Ok((page, view.events().count(&world, WHOLE, &filter).await?))
        });
        let found: Vec<_> = page.iter().map(|event| event.event.id).collect();
        assert_eq!(found, expected, "from {from:?} until {until:?}");
        assert_eq!(usize::try_from(count), Ok(expected.len()));
    }
    let places = (1_i64..).zip(&events);
    let mut marks: Vec<_> = places
        .map(|(position, event)| Position {
            position,
            id: event.id,
        })
        .collect();
    marks.sort_unstable_by_key(|mark| mark.id);
    let strangers = stage.strangers(world).await;
    for mark in marks {
        let found = in_view!(stage.store, |view| view
            .events()
            .first_from(&world, mark.id)
            .await);
        assert_eq!(found, Some(mark));
        for stranger in &strangers {
            let found = in_view!(stage.store, |view| view
                .events()
                .first_from(stranger, mark.id)
                .await);
            assert_eq!(found, None);
        }
    }
    let after = EventId::new(stage.samples.tick(), [0; 16]);
    let none = in_view!(stage.store, |view| view
        .events()
        .first_from(&world, after)
        .await);
    assert_eq!(none, None);
    let before = EventId::new(Timestamp::from_unix(0), [0; 16]);
    let first = in_view!(stage.store, |view| view
        .events()
        .first_from(&world, before)
        .await);
    let lowest = events.iter().map(|event| event.id).min();
    assert_eq!(first.map(|mark| mark.id), lowest);
}

/// Each world with unsequenced events is visited once, in a stable order, and no other world is.
pub async fn worlds_with_events_are_found(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let mut worlds = Vec::new();
    for _ in 0..4 {
        let world = stage.world().await;
        worlds.push(world);
        worlds.extend(stage.strangers(world).await.into_iter().take(1));
        let events = stage.events(world, 2);
        append(&stage.store, &events).await;
    }
    let mut expected: Vec<_> = worlds.iter().copied().step_by(2).collect();
    expected.sort_by_key(|world| (world.app_id.to_string(), world.environment.as_str()));
    let (mut met, mut last) = (Vec::new(), None);
    while let Some(world) = in_view!(stage.store, |view| view.events().waiting(last).await) {
        met.push(world);
        last = Some(world);
    }
    assert_eq!(met, expected);
    for world in worlds {
        while place(&stage.store, world, 1).await > 0 {}
    }
    let next = in_view!(stage.store, |view| view.events().waiting(None).await);
    assert_eq!(next, None);
    let heads = in_view!(stage.store, |view| view.events().heads(None, 2).await);
    let behind = heads.last().map(|(world, _)| *world);
    let rest = in_view!(stage.store, |view| view.events().heads(behind, 100).await);
    let found: Vec<_> = heads.iter().chain(&rest).map(|(world, _)| *world).collect();
    assert_eq!(found, expected);
}

/// A new log continues with the positions of the one before.
pub async fn another_log_begins_behind_the_last_event(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let events = stage.events(world, 3);
    append(&stage.store, &events).await;
    place(&stage.store, world, 100).await;
    let (news, later) = (stage.samples.event(world), stage.events(world, 2));
    let moved = in_tx!(stage.store, |tx| {
        let head = tx.events().lock_head(&world).await?;
        let head = head.unwrap_or(EventHead::EMPTY);
        tx.events().restart(head, 2, &news).await
    });
    assert_eq!((moved.log, moved.position()), (2, 4));
    append(&stage.store, &later).await;
    place(&stage.store, world, 100).await;
    let open = EventFilter::default();
    let found = in_view!(stage.store, |view| view
        .events()
        .page(&world, WHOLE, &open, 100)
        .await);
    let logs: Vec<_> = found.iter().map(|event| event.log).collect();
    assert_eq!(logs, [1, 1, 1, 2, 2, 2]);
    let ids: Vec<_> = found.iter().map(|event| event.event.id).collect();
    let expected = events.iter().chain([&news]).chain(&later);
    assert_eq!(ids, expected.map(|event| event.id).collect::<Vec<_>>());
}

/// Events, positions and heads are not visible in other worlds.
pub async fn e_7_events_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let events = stage.events(world, 3);
    append(&stage.store, &events).await;
    for stranger in stage.strangers(world).await {
        assert_eq!(place(&stage.store, stranger, 100).await, 0);
    }
    assert_eq!(place(&stage.store, world, 100).await, 3);
    for stranger in stage.strangers(world).await {
        assert_eq!(log(&stage.store, stranger).await, []);
        assert_eq!(head(&stage.store, stranger).await, EventHead::EMPTY);
        for event in &events {
            let found = in_view!(stage.store, |view| view
                .events()
                .find(&stranger, event.id)
                .await);
            assert_eq!(found, None);
        }
        let at = in_view!(stage.store, |view| view.events().at(&stranger, 1).await);
        assert_eq!(at, None);
    }
}

/// A sweep deletes the oldest events that are past retention and leaves no gap.
pub async fn a_sweep_takes_the_oldest(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let events = stage.events(world, 10);
    append(&stage.store, &events).await;
    place(&stage.store, world, 100).await;
    let sixth = events.get(5).map(|event| event.created_at);
    let bound = EventId::new(sixth.unwrap_or_default(), [0; 16]);
    let sweep = async |kept, limit, expected| {
        let swept = in_tx!(stage.store, |tx| tx
            .events()
            .sweep(&world, bound, kept, limit)
            .await);
        assert_eq!(swept, expected);
        let head = head(&stage.store, world).await;
        let oldest = head.oldest.map(|mark| mark.position);
        // The event directly before it, from which a reader that has seen it continues.
        let before = oldest.and_then(|oldest| usize::try_from(oldest - 2).ok());
        let before = before.and_then(|index| events.get(index));
        assert_eq!(head.pruned, before.map(|event| event.id));
        assert_eq!(head.pruned_position() + 1, oldest.unwrap_or_default());
        oldest
    };
    assert_eq!(sweep(None, 3, 3).await, Some(4));
    assert_eq!(sweep(Some(4), 3, 0).await, Some(4));
    assert_eq!(sweep(Some(5), 3, 1).await, Some(5));
    assert_eq!(sweep(None, 3, 1).await, Some(6));
    assert_eq!(sweep(None, 3, 0).await, Some(6));
    let latest = EventId::new(stage.samples.tick(), [0; 16]);
    in_tx!(stage.store, |tx| tx
        .events()
        .sweep(&world, latest, None, 100)
        .await);
    let empty = head(&stage.store, world).await;
    assert_eq!((empty.oldest, empty.position()), (None, 10));
    assert_eq!(empty.pruned, empty.newest.map(|mark| mark.id));
    assert_eq!(empty.pruned_position(), 10);
    let next = stage.events(world, 1);
    append(&stage.store, &next).await;
    place(&stage.store, world, 100).await;
    let head = head(&stage.store, world).await;
    assert_eq!(head.oldest.map(|mark| mark.position), Some(11));
    assert_eq!(head.newest, head.oldest);
    assert_eq!((head.pruned, head.pruned_position()), (empty.pruned, 10));
}

/// The hook is called once for each effect of a transaction, and only after its commit.
pub async fn a_hook_reports_what_a_commit_made_visible(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let reported: Arc<Mutex<HashMap<CommitEffect, u32>>> = Arc::default();
    let counted = Arc::clone(&reported);
    stage.store.on_commit(Box::new(move |committed| {
        let mut reported = counted.lock().unwrap_or_else(PoisonError::into_inner);
        *reported.entry(committed).or_default() += 1;
    }));
    let times = |effect| {
        let reported = reported.lock().unwrap_or_else(PoisonError::into_inner);
        reported.get(&effect).copied().unwrap_or_default()
    };
    let queue = OutboxQueue::new(world.environment, Channel::Email);
    let events_and_messages = [CommitEffect::Events(world), CommitEffect::Messages(queue)];
    let both = || events_and_messages.clone().map(&times);
    let events = stage.events(world, 3);
    let jobs = [stage.samples.job(world), stage.samples.job(world)];
    let mut tx = works(stage.store.begin().await);
    works(tx.events().append(&events).await);
    works(tx.outbox().push(&jobs[0]).await);
    drop(tx);
    let mut tx = works(stage.store.begin().await);
    works(tx.events().append(&events).await);
    works(tx.events().append(&[]).await);
    assert_eq!(both(), [0, 0]);
    works(tx.commit().await);
    assert_eq!(both(), [1, 0]);
    let mut tx = works(stage.store.begin().await);
    for job in &jobs {
        works(tx.outbox().push(job).await);
    }
    assert_eq!(both(), [1, 0]);
    works(tx.commit().await);
    assert_eq!(both(), [1, 1]);
    let tx = works(stage.store.begin().await);
    works(tx.commit().await);
    assert_eq!(both(), [1, 1]);
}
