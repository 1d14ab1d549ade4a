//! Webhook deliveries.

use std::sync::Arc;

use vestry_domain::ids::{AppId, EventId, WebhookDeliveryId, WebhookEndpointId};
use vestry_domain::timestamp::Seconds;
use vestry_domain::webhook::{Attempt, Delivery, DeliveryState, Endpoint};
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{DeliveryFilter, Lane, Queue, Store};

use super::stage::{Stage, works};
use crate::race::{count, race};

/// The lease of a delivery in these tests.
const LEASE: Seconds = Seconds(120);

const ENDS: [DeliveryState; 3] = [
    DeliveryState::Delivered,
    DeliveryState::Exhausted,
    DeliveryState::Dropped,
];

impl Stage {
    /// This many stored deliveries of an endpoint, oldest first: first attempts, or replays.
    async fn deliveries(
        &mut self,
        endpoint: &Endpoint,
        how_many: i64,
        is_replay: bool,
    ) -> Vec<Delivery> {
        let deliveries: Vec<_> = (1..=how_many)
            .map(|position| Delivery {
                is_replay,
                ..self.samples.delivery(endpoint, position)
            })
            .collect();
        insert(&self.store, &deliveries).await;
        deliveries
    }

    async fn known_delivery(&self, delivery: &Delivery) -> Option<Delivery> {
        let (world, endpoint) = (delivery.world, delivery.endpoint_id);
        in_view!(self.store, |view| view
            .deliveries()
            .find(&world, endpoint, delivery.id)
            .await)
    }

    async fn listed_deliveries(
        &self,
        endpoint: &Endpoint,
        filter: &DeliveryFilter,
        limit: i64,
    ) -> Vec<Delivery> {
        in_view!(self.store, |view| view
            .deliveries()
            .list(&endpoint.world, endpoint.id, filter, limit)
            .await)
    }

    /// All queues, of all Apps or of one, in the order in which they are visited.
    async fn queues(&self, of: Option<AppId>) -> Vec<(Queue, Timestamp)> {
        let (mut met, mut last) = (Vec::new(), None);
        loop {
            let next = in_view!(self.store, |view| view
                .deliveries()
                .next_queue(of, last)
                .await);
            let Some((queue, due_at)) = next else {
                return met;
            };
            last = Some(queue);
            met.push((queue, due_at));
        }
    }

    async fn first_waiting(&self, world: World) -> Option<i64> {
        in_view!(self.store, |view| view
            .deliveries()
            .first_waiting(&world)
            .await)
    }

    async fn known_attempts(&self, delivery: &Delivery) -> Vec<Attempt> {
        in_view!(self.store, |view| view
            .deliveries()
            .attempts(&delivery.world, delivery.id)
            .await)
    }
}

const fn queue_of(endpoint: &Endpoint, lane: Lane) -> Queue {
    Queue {
        world: endpoint.world,
        endpoint_id: endpoint.id,
        lane,
    }
}

async fn insert(store: &Arc<dyn Store>, deliveries: &[Delivery]) {
    in_tx!(store, |tx| tx.deliveries().insert(deliveries).await);
}

async fn note(store: &Arc<dyn Store>, attempts: &[Attempt]) {
    in_tx!(store, |tx| tx.deliveries().note_attempts(attempts).await);
}

async fn take(store: &Arc<dyn Store>, queue: Queue, now: Timestamp, limit: i64) -> Vec<Delivery> {
    in_tx!(store, |tx| tx
        .deliveries()
        .claim(&queue, now, now + LEASE, limit)
        .await)
}

/// The only delivery that is available.
async fn take_one(store: &Arc<dyn Store>, queue: Queue, now: Timestamp) -> Delivery {
    let mut taken = take(store, queue, now, 10).await;
    assert_eq!(taken.len(), 1);
    match taken.pop() {
        Some(delivery) => delivery,
        None => panic!("no delivery is due"),
    }
}

async fn finish(
    store: &Arc<dyn Store>,
    taken: &Delivery,
    end: DeliveryState,
    at: Timestamp,
) -> bool {
    in_tx!(store, |tx| tx.deliveries().finish(taken, end, at).await)
}

async fn retry(store: &Arc<dyn Store>, taken: &Delivery, at: Timestamp) -> bool {
    in_tx!(store, |tx| tx.deliveries().retry(taken, at).await)
}

async fn drop_waiting(store: &Arc<dyn Store>, endpoint: &Endpoint, at: Timestamp) -> u64 {
    in_tx!(store, |tx| tx
        .deliveries()
        .drop_waiting(&endpoint.world, endpoint.id, at)
        .await)
}

async fn sweep(store: &Arc<dyn Store>, before: Timestamp) -> u64 {
    in_tx!(store, |tx| tx.deliveries().sweep(before).await)
}

fn ids(deliveries: &[Delivery]) -> Vec<WebhookDeliveryId> {
    deliveries.iter().map(|delivery| delivery.id).collect()
}

/// The delivery as it is after being leased.
fn taken_from(delivery: &Delivery, until: Timestamp) -> Delivery {
    Delivery {
        attempts: delivery.attempts + 1,
        due_at: until,
        ..delivery.clone()
    }
}

/// Every field of a delivery is read back unchanged, in batches of any size.
pub async fn deliveries_come_back_as_they_were(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let endpoint = stage.samples.endpoint(world);
    insert(&stage.store, &[]).await;
    let mut deliveries: Vec<_> = (0..50)
        .map(|number| Delivery {
            position: stage.samples.pick(&[1, number, i64::MAX]),
            due_at: stage.samples.moment(),
            attempts: stage.samples.pick(&[0, 0, 9, u32::MAX]),
            ..stage.samples.delivery(&endpoint, number)
        })
        .collect();
    insert(&stage.store, &deliveries).await;
    for delivery in &deliveries {
        let found = stage.known_delivery(delivery).await;
        assert_eq!(found.as_ref(), Some(delivery));
    }
    deliveries.reverse();
    let open = DeliveryFilter::default();
    let listed = stage.listed_deliveries(&endpoint, &open, 100).await;
    assert_eq!(listed, deliveries);
    let unknown = stage.samples.delivery(&endpoint, 1);
    assert_eq!(stage.known_delivery(&unknown).await, None);
}

/// An id identifies one delivery of a world. A duplicate is an error, and nothing of the same call is stored.
pub async fn a_delivery_is_added_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let endpoint = stage.samples.endpoint(world);
    let known = stage.deliveries(&endpoint, 1, false).await;
    let mut again = vec![stage.samples.delivery(&endpoint, 2)];
    again.extend(known.clone());
    let mut tx = works(stage.store.begin().await);
    assert!(tx.deliveries().insert(&again).await.is_err(), "added twice");
    drop(tx);
    let open = DeliveryFilter::default();
    let listed = stage.listed_deliveries(&endpoint, &open, 100).await;
    assert_eq!(listed, known);
}

async fn of_event(
    store: &Arc<dyn Store>,
    world: World,
    endpoints: &[WebhookEndpointId],
    event: EventId,
    limit: i64,
) -> Vec<Delivery> {
    in_view!(store, |view| view
        .deliveries()
        .of_event(&world, endpoints, event, limit)
        .await)
}

/// The deliveries of an event are found at the endpoints asked for, newest first, and in no other world.
pub async fn deliveries_of_an_event_are_found(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let endpoints = [(); 3].map(|()| stage.samples.endpoint(world));
    let [first, second, third] = &endpoints;
    let event = stage.samples.delivery(first, 1).event_id;
    let mut expected = Vec::new();
    for endpoint in [first, second, third, second] {
        stage.deliveries(endpoint, 2, false).await;
        let delivery = Delivery {
            event_id: event,
            ..stage.samples.delivery(endpoint, 1)
        };
        insert(&stage.store, std::slice::from_ref(&delivery)).await;
        if endpoint.id != third.id {
            expected.push(delivery);
        }
    }
    expected.sort_unstable_by_key(|delivery| std::cmp::Reverse(delivery.id));
    let asked = [first.id, second.id];
    let strangers = stage.strangers(world).await;
    let store = &stage.store;
    assert_eq!(of_event(store, world, &asked, event, 100).await, expected);
    let newest: Vec<_> = expected.into_iter().take(1).collect();
    assert_eq!(of_event(store, world, &asked, event, 1).await, newest);
    assert_eq!(of_event(store, world, &[], event, 100).await, []);
    for stranger in strangers {
        assert_eq!(of_event(store, stranger, &asked, event, 100).await, []);
    }
}

/// A list holds the matching deliveries of an endpoint up to its limit, newest first, also within one second.
pub async fn a_list_holds_what_fits(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (endpoint, other) = (stage.samples.endpoint(world), stage.samples.endpoint(world));
    stage.deliveries(&other, 5, false).await;
    let mut deliveries = stage.deliveries(&endpoint, 15, false).await;
    stage.samples.stop_clock();
    deliveries.extend(stage.deliveries(&endpoint, 5, true).await);
    let now = stage.samples.now();
    let replayed = deliveries.iter().map(|known| known.event_id).nth(3);
    let replay = Delivery {
        event_id: replayed.unwrap_or_else(|| stage.samples.id(now)),
        ..stage.samples.delivery(&endpoint, 4)
    };
    insert(&stage.store, std::slice::from_ref(&replay)).await;
    deliveries.push(replay);
    for (number, delivery) in deliveries.iter_mut().enumerate() {
        if let Some(end) = ENDS.get(number % 4) {
            assert!(finish(&stage.store, delivery, *end, now).await);
            delivery.state = *end;
        }
    }
    deliveries.sort_by_key(|delivery| delivery.id);
    deliveries.reverse();
    let moment = |place: usize| deliveries.get(place).map(|known| known.created_at);
    let id = |place: usize| deliveries.get(place).map(|known| known.id);
    let (from, until, after) = (moment(16), moment(8), id(2));
    let state = |state| DeliveryFilter {
        state: Some(state),
        ..DeliveryFilter::default()
    };
    let filters = [
        DeliveryFilter::default(),
        state(DeliveryState::Waiting),
        state(DeliveryState::Delivered),
        state(DeliveryState::Exhausted),
        state(DeliveryState::Dropped),
        state(DeliveryState::Held),
        DeliveryFilter {
            event_id: replayed,
            ..DeliveryFilter::default()
        },
        DeliveryFilter {
            event_id: Some(stage.samples.id(now)),
            ..DeliveryFilter::default()
        },
        DeliveryFilter {
            from,
            ..DeliveryFilter::default()
        },
        DeliveryFilter {
            until,
            ..DeliveryFilter::default()
        },
        DeliveryFilter {
            after,
            ..DeliveryFilter::default()
        },
        DeliveryFilter {
            state: Some(DeliveryState::Waiting),
            event_id: None,
            from,
            until,
            after: id(9),
        },
        DeliveryFilter {
            state: Some(DeliveryState::Dropped),
            event_id: replayed,
            from: moment(20),
            until: moment(0),
            after,
        },
    ];
    for filter in filters {
        let fits = |known: &&Delivery| {
            filter.state.is_none_or(|state| state == known.state)
                && filter.event_id.is_none_or(|event| event == known.event_id)
                && filter.from.is_none_or(|from| known.created_at >= from)
                && filter.until.is_none_or(|until| known.created_at < until)
                && filter.after.is_none_or(|after| known.id < after)
        };
        let fitting: Vec<_> = deliveries.iter().filter(fits).cloned().collect();
        for limit in [100, 3] {
            let mut expected = fitting.clone();
            expected.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            let listed = stage.listed_deliveries(&endpoint, &filter, limit).await;
            assert_eq!(listed, expected, "{filter:?}, {limit} at most");
        }
    }
}

/// Each queue with pending deliveries is visited once, for all Apps or one, ordered by world and endpoint, first attempts before retries.
///
/// It comes with the time of its next delivery, also if that is in the future.
pub async fn queues_are_met_in_one_order(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let now = stage.samples.now();
    assert_eq!(stage.queues(None).await, []);
    let mut worlds = Vec::new();
    for _ in 0..2 {
        let world = stage.world().await;
        worlds.push(world);
        worlds.extend(stage.strangers(world).await);
    }
    let mut expected = Vec::new();
    for (number, world) in worlds.iter().enumerate() {
        for lanes in [
            &[Lane::First][..],
            &[Lane::Timed],
            &[Lane::Timed, Lane::First],
            &[],
        ] {
            let endpoint = stage.samples.endpoint(*world);
            for lane in lanes {
                let dues = [300, 200, 400].map(|due| {
                    let sooner = i64::try_from(number).unwrap_or(0);
                    now + Seconds(due + 100_000 * i64::from(lane.is_later()) - sooner)
                });
                let deliveries: Vec<_> = (1..)
                    .zip(dues)
                    .map(|(position, due_at)| Delivery {
                        is_replay: lane.is_later(),
                        due_at,
                        ..stage.samples.delivery(&endpoint, position)
                    })
                    .collect();
                insert(&stage.store, &deliveries).await;
                expected.extend(dues.map(|due| (queue_of(&endpoint, *lane), due)));
            }
            // Ended deliveries make no queue.
            let over = stage.deliveries(&endpoint, 1, false).await;
            for delivery in over {
                let end = stage.samples.pick(&ENDS);
                assert!(finish(&stage.store, &delivery, end, now).await);
            }
        }
    }
    let order = |(queue, due): &(Queue, Timestamp)| {
        (
            queue.world.app_id.to_string(),
            queue.world.environment.as_str(),
            queue.endpoint_id.to_string(),
            queue.lane,
            *due,
        )
    };
    expected.sort_by_key(order);
    expected.dedup_by_key(|(queue, _)| *queue);
    assert_eq!(expected.len(), 32);
    assert_eq!(stage.queues(None).await, expected);
    for world in worlds {
        let mut of_app = expected.clone();
        of_app.retain(|(queue, _)| queue.world.app_id == world.app_id);
        assert_eq!(stage.queues(Some(world.app_id)).await, of_app);
    }
    // A cursor need not point at a queue with pending deliveries.
    let behind = expected.iter().skip(1).copied().map(Some).chain([None]);
    for ((queue, due), behind) in expected.iter().copied().zip(behind) {
        let deliveries = take(&stage.store, queue, due + Seconds(1_000), 10).await;
        assert_eq!(deliveries.len(), 3);
        for delivery in deliveries {
            let end = stage.samples.pick(&ENDS);
            assert!(finish(&stage.store, &delivery, end, due).await);
        }
        let next = in_view!(stage.store, |view| view
            .deliveries()
            .next_queue(None, Some(queue))
            .await);
        assert_eq!(next, behind);
    }
    assert_eq!(stage.queues(None).await, []);
}

/// Due deliveries of a queue are leased, longest due first, in log order, up to the limit.
///
/// The attempt is counted, and the delivery moves to the lane of those under way.
pub async fn due_deliveries_are_leased(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (endpoint, other) = (stage.samples.endpoint(world), stage.samples.endpoint(world));
    stage.deliveries(&other, 2, false).await;
    let replays = stage.deliveries(&endpoint, 2, true).await;
    let now = stage.samples.tick();
    // The due times are in a different order than the positions.
    let dues = [-10, -30, -20, 0, 1, -40];
    let mut deliveries: Vec<_> = (1..)
        .zip(dues)
        .map(|(position, later)| Delivery {
            is_replay: false,
            due_at: now + Seconds(later),
            ..stage.samples.delivery(&endpoint, position)
        })
        .collect();
    deliveries.reverse();
    insert(&stage.store, &deliveries).await;
    let of_place = |place: i64| deliveries.iter().find(|known| known.position == place);
    let (first, later) = (
        queue_of(&endpoint, Lane::First),
        queue_of(&endpoint, Lane::Timed),
    );
    for (limit, places) in [(0, &[][..]), (3, &[2, 3, 6]), (10, &[1, 4]), (10, &[])] {
        let taken = take(&stage.store, first, now, limit).await;
        let expected = places.iter().filter_map(|place| of_place(*place));
        let expected: Vec<_> = expected
            .map(|delivery| taken_from(delivery, now + LEASE))
            .collect();
        assert_eq!(expected.len(), places.len());
        assert_eq!(taken, expected, "{limit} at most");
        for delivery in taken {
            let known = stage.known_delivery(&delivery).await;
            assert_eq!(known, Some(delivery));
        }
    }
    let taken = take(&stage.store, later, now, 10).await;
    let expected: Vec<_> = replays
        .iter()
        .map(|replay| taken_from(replay, now + LEASE))
        .collect();
    assert_eq!(taken, expected);
    let queues = stage.queues(None).await;
    let queues = queues.iter().map(|(queue, due)| (*queue, *due));
    let queues: Vec<_> = queues
        .filter(|(queue, _)| queue.endpoint_id == endpoint.id)
        .collect();
    let expected = [(first, now + Seconds(1)), (later, now + LEASE)];
    assert_eq!(queues, expected);
    assert_eq!(
        take(&stage.store, queue_of(&other, Lane::First), now, 10)
            .await
            .len(),
        2
    );
}

/// A leased delivery is unavailable until its lease ends; then the next worker gets it, and another attempt is counted.
pub async fn a_lease_keeps_others_away_until_it_ends(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let endpoint = stage.samples.endpoint(world);
    stage.deliveries(&endpoint, 1, false).await;
    let (first, later) = (
        queue_of(&endpoint, Lane::First),
        queue_of(&endpoint, Lane::Timed),
    );
    let now = stage.samples.tick();
    let mut taken = take_one(&stage.store, first, now).await;
    let mut moment = now;
    for attempts in 2..5 {
        let over = moment + LEASE;
        for moment in [moment, over - Seconds(1)] {
            assert_eq!(take(&stage.store, first, moment, 10).await, []);
            assert_eq!(take(&stage.store, later, moment, 10).await, []);
        }
        assert_eq!(take(&stage.store, first, over, 10).await, []);
        taken = taken_from(&taken, over + LEASE);
        assert_eq!(take_one(&stage.store, later, over).await, taken);
        assert_eq!(taken.attempts, attempts);
        moment = over;
    }
}

/// Of eight workers that lease three deliveries at a time, each delivery goes to exactly one.
pub async fn parallel_takers_share_the_deliveries(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let endpoint = stage.samples.endpoint(world);
    for lane in [Lane::First, Lane::Timed] {
        let mut expected = ids(&stage.deliveries(&endpoint, 40, lane.is_later()).await);
        let queue = queue_of(&endpoint, lane);
        let now = stage.samples.tick();
        let taken = race((0..8).map(|_| {
            let store = Arc::clone(&stage.store);
            async move {
                let mut taken = Vec::new();
                loop {
                    let some = take(&store, queue, now, 3).await;
                    if some.is_empty() {
                        return taken;
                    }
                    assert!(some.len() <= 3);
                    assert!(some.iter().all(|delivery| delivery.attempts == 1));
                    taken.extend(some);
                }
            }
        }))
        .await;
        let mut taken = taken.concat();
        // A worker may find nothing because others briefly hold the rest: that costs time, not deliveries.
        taken.extend(take(&stage.store, queue, now, 100).await);
        let mut found = ids(&taken);
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
        for delivery in taken {
            let end = DeliveryState::Delivered;
            assert!(finish(&stage.store, &delivery, end, now).await);
        }
    }
}

/// WH-9: a worker that lost an expired lease to another one can neither end the delivery nor return it.
pub async fn wh_9_a_lost_lease_ends_nothing(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    for end in ENDS {
        let endpoint = stage.samples.endpoint(world);
        stage.deliveries(&endpoint, 1, false).await;
        let now = stage.samples.tick();
        let later = now + LEASE;
        let lost = take_one(&stage.store, queue_of(&endpoint, Lane::First), now).await;
        let taken = take_one(&stage.store, queue_of(&endpoint, Lane::Timed), later).await;
        assert!(!finish(&stage.store, &lost, end, later).await);
        assert!(!retry(&stage.store, &lost, now).await);
        let known = stage.known_delivery(&taken).await;
        assert_eq!(known.as_ref(), Some(&taken));
        assert!(finish(&stage.store, &taken, end, later).await);
        assert!(!finish(&stage.store, &lost, DeliveryState::Delivered, later).await);
        assert!(!retry(&stage.store, &lost, now).await);
        let ended = Delivery {
            state: end,
            ..taken.clone()
        };
        assert_eq!(stage.known_delivery(&taken).await, Some(ended));
    }
}

/// WH-9: an expired lease costs nothing as long as no other worker has taken the delivery.
pub async fn wh_9_a_late_result_counts_until_another_worker_starts(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let endpoint = stage.samples.endpoint(world);
    stage.deliveries(&endpoint, 1, false).await;
    let now = stage.samples.tick();
    let taken = take_one(&stage.store, queue_of(&endpoint, Lane::First), now).await;
    let late = now + LEASE + LEASE;
    assert!(finish(&stage.store, &taken, DeliveryState::Delivered, late).await);
    let later = queue_of(&endpoint, Lane::Timed);
    assert_eq!(take(&stage.store, later, late, 10).await, []);
}

/// An ended delivery is final: it is not pending, cannot be leased again, and can neither end twice nor be returned.
pub async fn an_ended_delivery_is_over(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let endpoint = stage.samples.endpoint(world);
    for end in ENDS {
        stage.deliveries(&endpoint, 1, false).await;
        let now = stage.samples.tick();
        let taken = take_one(&stage.store, queue_of(&endpoint, Lane::First), now).await;
        assert_eq!(stage.first_waiting(world).await, Some(1));
        assert!(finish(&stage.store, &taken, end, now).await);
        for again in ENDS {
            assert!(!finish(&stage.store, &taken, again, now).await);
        }
        assert!(!retry(&stage.store, &taken, now).await);
        assert_eq!(drop_waiting(&stage.store, &endpoint, now).await, 0);
        assert_eq!(stage.first_waiting(world).await, None);
        assert_eq!(stage.queues(None).await, []);
        let late = now + Seconds(1_000_000);
        for lane in Lane::ALL {
            let queue = queue_of(&endpoint, lane);
            assert_eq!(take(&stage.store, queue, late, 10).await, []);
        }
        let ended = Delivery {
            state: end,
            ..taken.clone()
        };
        assert_eq!(stage.known_delivery(&taken).await, Some(ended));
    }
}

/// A returned delivery waits until the given time, after first attempts, and keeps its attempt count.
pub async fn a_delivery_is_given_back(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let endpoint = stage.samples.endpoint(world);
    stage.deliveries(&endpoint, 1, false).await;
    let (first, later) = (
        queue_of(&endpoint, Lane::First),
        queue_of(&endpoint, Lane::Retry),
    );
    let now = stage.samples.tick();
    let taken = take_one(&stage.store, first, now).await;
    let under_way = queue_of(&endpoint, Lane::Timed);
    assert_eq!(stage.queues(None).await, [(under_way, now + LEASE)]);
    let again = now + Seconds(300);
    assert!(retry(&stage.store, &taken, again).await);
    let waiting = Delivery {
        due_at: again,
        ..taken.clone()
    };
    assert_eq!(stage.known_delivery(&taken).await.as_ref(), Some(&waiting));
    assert_eq!(stage.queues(None).await, [(later, again)]);
    assert_eq!(take(&stage.store, first, again, 10).await, []);
    let early = again - Seconds(1);
    assert_eq!(take(&stage.store, later, early, 10).await, []);
    assert_eq!(take(&stage.store, under_way, again + LEASE, 10).await, []);
    let retaken = take_one(&stage.store, later, again).await;
    assert_eq!(retaken, taken_from(&taken, again + LEASE));
    assert!(!retry(&stage.store, &taken, now).await);
    assert!(!finish(&stage.store, &taken, DeliveryState::Dropped, now).await);
    assert!(finish(&stage.store, &retaken, DeliveryState::Delivered, again).await);
}

/// Of parallel attempts to end a delivery, in any way, one succeeds.
pub async fn parallel_ends_count_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let endpoint = stage.samples.endpoint(world);
    stage.deliveries(&endpoint, 1, false).await;
    let now = stage.samples.tick();
    let taken = take_one(&stage.store, queue_of(&endpoint, Lane::First), now).await;
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let end = stage.samples.pick(&ENDS);
            let (store, taken) = (Arc::clone(&stage.store), taken.clone());
            async move { finish(&store, &taken, end, now).await }
        })
        .collect();
    assert_eq!(count(&race(tasks).await, &true), 1);
}

/// WH-12: all pending deliveries of an endpoint are discarded, leased or not, and nothing else is.
pub async fn wh_12_pending_deliveries_are_discarded(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (endpoint, other) = (stage.samples.endpoint(world), stage.samples.endpoint(world));
    let mut kept = stage.deliveries(&other, 2, false).await;
    for stranger in stage.strangers(world).await {
        let twin = Endpoint {
            world: stranger,
            ..endpoint.clone()
        };
        kept.extend(stage.deliveries(&twin, 2, false).await);
    }
    let replays = stage.deliveries(&endpoint, 2, true).await;
    let later = stage.deliveries(&endpoint, 4, false).await;
    let now = stage.samples.tick();
    let mut taken = take(&stage.store, queue_of(&endpoint, Lane::First), now, 3).await;
    let delivered = taken.split_off(2);
    for delivery in &delivered {
        let end = DeliveryState::Delivered;
        assert!(finish(&stage.store, delivery, end, now).await);
    }
    assert_eq!(drop_waiting(&stage.store, &endpoint, now).await, 5);
    assert_eq!(drop_waiting(&stage.store, &endpoint, now).await, 0);
    for delivery in replays.iter().chain(&later) {
        let is_delivered = ids(&delivered).contains(&delivery.id);
        let expected = if is_delivered {
            DeliveryState::Delivered
        } else {
            DeliveryState::Dropped
        };
        let known = stage.known_delivery(delivery).await;
        assert_eq!(known.map(|known| known.state), Some(expected));
    }
    for delivery in &taken {
        let end = DeliveryState::Delivered;
        assert!(!finish(&stage.store, delivery, end, now).await);
        assert!(!retry(&stage.store, delivery, now).await);
    }
    for delivery in kept {
        let known = stage.known_delivery(&delivery).await;
        assert_eq!(known, Some(delivery));
    }
}

/// The lowest pending position of a world is found, across endpoints.
pub async fn the_lowest_pending_position_is_found(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    assert_eq!(stage.first_waiting(world).await, None);
    let mut deliveries = Vec::new();
    for position in [70, 5, 900, 6, 12] {
        let endpoint = stage.samples.endpoint(world);
        deliveries.push(stage.samples.delivery(&endpoint, position));
    }
    insert(&stage.store, &deliveries).await;
    for stranger in stage.strangers(world).await {
        assert_eq!(stage.first_waiting(stranger).await, None);
        let endpoint = stage.samples.endpoint(stranger);
        stage.deliveries(&endpoint, 1, false).await;
    }
    let now = stage.samples.tick();
    deliveries.sort_by_key(|delivery| delivery.position);
    for delivery in deliveries {
        let first = stage.first_waiting(world).await;
        assert_eq!(first, Some(delivery.position));
        let end = stage.samples.pick(&ENDS);
        assert!(finish(&stage.store, &delivery, end, now).await);
    }
    assert_eq!(stage.first_waiting(world).await, None);
}

/// Every field of an attempt is read back unchanged, optional ones included, in the order of the attempts.
pub async fn attempts_come_back_in_their_order(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let endpoint = stage.samples.endpoint(world);
    let deliveries = stage.deliveries(&endpoint, 2, false).await;
    note(&stage.store, &[]).await;
    let mut attempts = Vec::new();
    for delivery in &deliveries {
        for number in 1..=40 {
            attempts.push(Attempt {
                status: (number & 1 != 0).then(|| stage.samples.pick(&[0, 200, u16::MAX])),
                error: (number & 2 != 0).then(|| stage.samples.text()),
                response_excerpt: (number & 4 != 0).then(|| stage.samples.text()),
                at: stage.samples.moment(),
                ..stage.samples.attempt(delivery, number)
            });
        }
    }
    let shuffled = stage.samples.shuffled(&attempts).into_iter();
    let shuffled: Vec<_> = shuffled.cloned().collect();
    note(&stage.store, &shuffled).await;
    for delivery in &deliveries {
        let mut expected = attempts.clone();
        expected.retain(|attempt| attempt.delivery_id == delivery.id);
        assert_eq!(stage.known_attempts(delivery).await, expected);
    }
    let mut tx = works(stage.store.begin().await);
    let again = tx.deliveries().note_attempts(&shuffled).await;
    assert!(again.is_err(), "noted twice");
}

/// Deliveries and attempts cannot be seen, leased or ended from another world or endpoint; the same id may exist in several worlds.
pub async fn deliveries_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let endpoint = stage.samples.endpoint(world);
    let mut places: Vec<_> = stage.strangers(world).await.into();
    places.push(world);
    let known = stage.deliveries(&endpoint, 1, false).await;
    let now = stage.samples.tick();
    let taken = take_one(&stage.store, queue_of(&endpoint, Lane::First), now).await;
    let attempt = stage.samples.attempt(&taken, 1);
    note(&stage.store, std::slice::from_ref(&attempt)).await;
    let open = DeliveryFilter::default();
    for place in places {
        let stranger = Endpoint {
            world: place,
            id: if place == world {
                stage.samples.id(now)
            } else {
                endpoint.id
            },
            ..endpoint.clone()
        };
        let foreign = Delivery {
            world: place,
            endpoint_id: stranger.id,
            ..taken.clone()
        };
        assert_eq!(stage.known_delivery(&foreign).await, None);
        let listed = stage.listed_deliveries(&stranger, &open, 10).await;
        assert_eq!(listed, []);
        assert_eq!(drop_waiting(&stage.store, &stranger, now).await, 0);
        for lane in Lane::ALL {
            let queue = queue_of(&stranger, lane);
            let late = now + LEASE;
            assert_eq!(take(&stage.store, queue, late, 10).await, []);
        }
        if place == world {
            continue;
        }
        assert_eq!(stage.first_waiting(place).await, None);
        assert_eq!(stage.known_attempts(&foreign).await, []);
        let end = DeliveryState::Dropped;
        assert!(!finish(&stage.store, &foreign, end, now).await);
        assert!(!retry(&stage.store, &foreign, now).await);
        let twin = Attempt {
            world: place,
            ..attempt.clone()
        };
        insert(&stage.store, std::slice::from_ref(&foreign)).await;
        note(&stage.store, std::slice::from_ref(&twin)).await;
        assert_eq!(stage.known_attempts(&foreign).await, [twin]);
        assert!(finish(&stage.store, &foreign, end, now).await);
    }
    let unchanged = stage.known_delivery(&taken).await;
    assert_eq!(unchanged.as_ref(), Some(&taken));
    assert_eq!(stage.known_attempts(&taken).await, [attempt]);
    assert_eq!(ids(&known), [taken.id]);
}

/// A sweep deletes deliveries of all worlds made before a given time, whatever their state, and attempts begun before it; nothing else.
pub async fn a_sweep_deletes_what_is_old(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut worlds = vec![world];
    worlds.extend(stage.strangers(world).await);
    let mut old = Vec::new();
    for world in &worlds {
        let endpoint = stage.samples.endpoint(*world);
        let deliveries = stage.deliveries(&endpoint, 3, false).await;
        if let Some(ended) = deliveries.last() {
            let (end, at) = (stage.samples.pick(&ENDS), stage.samples.tick());
            assert!(finish(&stage.store, ended, end, at).await);
        }
        for delivery in &deliveries {
            let attempts = [1, 2].map(|number| stage.samples.attempt(delivery, number));
            note(&stage.store, &attempts).await;
        }
        old.extend(deliveries);
    }
    let bound = stage.samples.tick();
    let endpoint = stage.samples.endpoint(world);
    let mut young = stage.deliveries(&endpoint, 3, true).await;
    if let Some(youngest) = young.first_mut() {
        let edge = Delivery {
            created_at: bound,
            ..stage.samples.delivery(&endpoint, 4)
        };
        let attempts = [1, 2].map(|number| Attempt {
            at: bound,
            ..stage.samples.attempt(&edge, number)
        });
        insert(&stage.store, std::slice::from_ref(&edge)).await;
        note(&stage.store, &attempts).await;
        *youngest = edge;
    }
    let first = old.first().map_or(bound, |delivery| delivery.created_at);
    assert_eq!(sweep(&stage.store, first).await, 0);
    assert_eq!(sweep(&stage.store, bound).await, 12 * 3);
    assert_eq!(sweep(&stage.store, bound).await, 0);
    for delivery in old {
        assert_eq!(stage.known_delivery(&delivery).await, None);
        assert_eq!(stage.known_attempts(&delivery).await, []);
    }
    for delivery in &young {
        let known = stage.known_delivery(delivery).await;
        assert_eq!(known.as_ref(), Some(delivery));
    }
    if let Some(edge) = young.first() {
        assert_eq!(stage.known_attempts(edge).await.len(), 2);
    }
}

/// Deliveries given up are found by when that happened, after a given id. Of each event only the last delivery to the endpoint counts.
pub async fn exhausted_deliveries_are_found_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (endpoint, bystander) = (stage.samples.endpoint(world), stage.samples.endpoint(world));
    let all = stage.deliveries(&endpoint, 6, false).await;
    let theirs = stage.deliveries(&bystander, 1, false).await;
    let at = |seconds| Timestamp::from_unix(seconds);
    for (delivery, (end, ended)) in all.iter().chain(&theirs).zip([
        (DeliveryState::Exhausted, 100),
        (DeliveryState::Exhausted, 200),
        (DeliveryState::Delivered, 200),
        (DeliveryState::Dropped, 200),
        (DeliveryState::Exhausted, 300),
        (DeliveryState::Exhausted, 250),
        (DeliveryState::Exhausted, 200),
    ]) {
        assert!(finish(&stage.store, delivery, end, at(ended)).await);
    }
    let found = async |stage: &Stage, ended: (i64, i64), after, limit| {
        let ended = at(ended.0)..=at(ended.1);
        let counted = in_view!(stage.store, |view| view
            .deliveries()
            .count_exhausted(&world, endpoint.id, ended.clone())
            .await);
        let found = in_view!(stage.store, |view| view
            .deliveries()
            .exhausted(&world, endpoint.id, ended, after, limit)
            .await);
        (counted, ids(&found))
    };
    let id = |number: usize| all.get(number).map(|delivery| delivery.id);
    for (ended, after, limit, counted, expected) in [
        ((0, 99), None, 10, 0, vec![]),
        ((100, 200), None, 10, 2, vec![id(0), id(1)]),
        ((101, 300), None, 10, 3, vec![id(1), id(4), id(5)]),
        ((0, 300), id(0), 2, 4, vec![id(1), id(4)]),
        ((0, 300), id(5), 10, 4, vec![]),
    ] {
        let expected: Vec<_> = expected.into_iter().flatten().collect();
        let found = found(&stage, ended, after, limit).await;
        assert_eq!(found, (counted, expected), "{ended:?} behind {after:?}");
    }
    // The event of the second delivery is on its way again; that of the fifth was given up again.
    for (number, end) in [(1, None), (4, Some(DeliveryState::Exhausted))] {
        let Some(first) = all.get(number) else {
            panic!("six deliveries");
        };
        let again = Delivery {
            event_id: first.event_id,
            is_replay: true,
            ..stage.samples.delivery(&endpoint, first.position)
        };
        insert(&stage.store, std::slice::from_ref(&again)).await;
        if let Some(end) = end {
            assert!(finish(&stage.store, &again, end, at(301)).await);
        }
    }
    let (counted, left) = found(&stage, (0, 300), None, 10).await;
    let expected: Vec<_> = [id(0), id(5)].into_iter().flatten().collect();
    assert_eq!((counted, left), (2, expected));
    assert_eq!(found(&stage, (301, 301), None, 10).await.0, 1);
}

/// Pending deliveries of an endpoint are found in id order and can be postponed, by the machine's clock; ended ones stay ended.
pub async fn pending_deliveries_are_postponed(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (endpoint, bystander) = (stage.samples.endpoint(world), stage.samples.endpoint(world));
    let all = stage.deliveries(&endpoint, 4, false).await;
    stage.deliveries(&bystander, 2, false).await;
    let Some((over, waiting)) = all.split_last() else {
        panic!("four deliveries");
    };
    let now = stage.samples.tick();
    assert!(finish(&stage.store, over, DeliveryState::Delivered, now).await);
    let found = async |after, limit| {
        in_view!(stage.store, |view| view
            .deliveries()
            .waiting(&world, endpoint.id, after, limit)
            .await)
    };
    assert_eq!(found(None, 10).await, ids(waiting));
    let first = waiting.first().map(|delivery| delivery.id);
    assert_eq!(Some(found(first, 1).await), waiting.get(1..2).map(ids));
    let later = now + Seconds(500);
    let put_off = ids(&all);
    in_tx!(stage.store, |tx| tx
        .deliveries()
        .put_off(&world, &put_off, later)
        .await);
    let known = stage.known_delivery(over).await;
    assert_eq!(
        known.map(|known| known.state),
        Some(DeliveryState::Delivered)
    );
    for lane in Lane::ALL {
        let queue = queue_of(&endpoint, lane);
        assert_eq!(take(&stage.store, queue, now, 10).await, []);
    }
    let taken = take(&stage.store, queue_of(&endpoint, Lane::Timed), later, 10).await;
    assert_eq!(ids(&taken), ids(waiting));
}
