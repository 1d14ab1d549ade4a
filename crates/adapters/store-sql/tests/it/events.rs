//! The ordering hazard under load: writers whose transactions stay open while others commit, sequencers of two pools, and readers that
//! continue from the last position they saw (EV-R1, EV-R2).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::JoinHandle;
use vestry_contract::rng::Rng;
use vestry_contract::samples::Samples;
use vestry_domain::World;
use vestry_domain::event::{EventHead, NewEvent};
use vestry_domain::ids::EventId;
use vestry_ports::store::{EventFilter, Events, PositionRange, Store, StoreError};
use vestry_store_sql::SqlStore;

use crate::places::{self, Place};

const WRITERS: usize = 100;
/// Number of events that each writer appends, one after the other; the first number of EV-R1.
const ROUNDS: usize = 50;
/// One in this many transactions stays open for a while.
const SLOW: usize = 5;

/// Appends one event on a separate connection, and keeps the transaction open for this many milliseconds between the append and its commit.
/// A slow network or a stopped process can cause such a delay.
async fn append_slowly(place: &Place, event: &NewEvent, milliseconds: usize) {
    let seconds = f64::from(u32::try_from(milliseconds).unwrap()) / 1000.0;
    place
        .execute(&format!(
            "BEGIN; \
             INSERT INTO unsequenced_events (app_id, environment, ordinal, id, kind, actor_kind, data, created_at) \
             VALUES ('{}', '{}', 0, '{}', 'app.created', 'cli', '{{}}', 0); \
             SELECT pg_sleep({seconds}); \
             COMMIT",
            event.world.app_id, event.world.environment, event.id,
        ))
        .await;
}

async fn append(store: &SqlStore, event: &NewEvent) {
    let mut tx = store.begin().await.unwrap();
    let events = std::slice::from_ref(event);
    tx.events().append(events).await.unwrap();
    tx.commit().await.unwrap();
}

/// Runs one step of a sequencer.
async fn place_some(store: &SqlStore, world: World, limit: i64) {
    let placed = async {
        let mut tx = store.begin().await?;
        let Some(head) = tx.events().lock_head(&world).await? else {
            return Ok(());
        };
        tx.events().place(&world, head, limit).await?;
        tx.commit().await
    };
    match placed.await {
        Ok(()) | Err(StoreError::Retry) => {}
        Err(other) => panic!("{other:?}"),
    }
}

fn sequencer(store: &Arc<SqlStore>, world: World, stop: &Arc<AtomicBool>) -> JoinHandle<()> {
    let (store, stop) = (Arc::clone(store), Arc::clone(stop));
    tokio::spawn(async move {
        while !stop.load(Ordering::Relaxed) {
            place_some(&store, world, 7).await;
        }
    })
}

/// Reads after the last position it saw until there are this many events, and fails if one is skipped.
fn reader(
    store: &Arc<SqlStore>,
    world: World,
    whole: usize,
    mut rng: Rng,
) -> JoinHandle<Vec<EventId>> {
    let store = Arc::clone(store);
    tokio::spawn(async move {
        let mut seen: Vec<EventId> = Vec::new();
        while seen.len() < whole {
            let mut read = store.read().await.unwrap();
            let next = i64::try_from(seen.len()).unwrap() + 1;
            let range = PositionRange {
                from: next,
                to: i64::MAX,
                descending: false,
            };
            let limit = 1 + i64::try_from(rng.below(20)).unwrap();
            let events: &mut dyn Events = read.events();
            let open = EventFilter::default();
            let page = events.page(&world, range, &open, limit).await.unwrap();
            for (event, position) in page.into_iter().zip(next..) {
                assert_eq!(event.position, position, "a position was skipped");
                seen.push(event.event.id);
            }
        }
        seen
    })
}

/// EV-R1, EV-R2: sixteen sequencers in two pools, three readers, and a hundred writers that keep a fifth of their transactions open for up
/// to two seconds. Every reader sees every event once, in the same order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ev_r1_ev_r2_no_reader_misses_a_slow_commit_postgres() {
    let Some(place) = places::migrated_postgres().await else {
        return;
    };
    no_reader_is_passed(place).await;
}

/// The same with SERIALIZABLE as the default isolation level.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ev_r2_the_same_on_a_serializable_database_postgres() {
    let Some(place) = places::migrated_postgres().await else {
        return;
    };
    place
        .execute(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = serializable', current_database()); END $$",
        )
        .await;
    no_reader_is_passed(place).await;
}

async fn no_reader_is_passed(place: Place) {
    let mut rng = Rng::from_seed(vestry_contract::rng::seed());
    let place = Arc::new(place);
    let stores = [
        Arc::new(place.connect().await),
        Arc::new(place.connect().await),
    ];
    let mut samples = Samples::fresh();
    let world = World::new(samples.app().id, vestry_domain::Environment::Live);
    let rounds = vestry_contract::rng::rounds(ROUNDS);
    let whole = WRITERS * rounds;
    let stop = Arc::<AtomicBool>::default();
    let sequencers: Vec<_> = (0..16)
        .map(|number| sequencer(&stores[number % 2], world, &stop))
        .collect();
    let readers: Vec<_> = (0..3)
        .map(|number| {
            reader(
                &stores[number % 2],
                world,
                whole,
                Rng::from_seed(rng.next()),
            )
        })
        .collect();
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            let events: Vec<_> = (0..rounds).map(|_| samples.event(world)).collect();
            let (place, store) = (Arc::clone(&place), Arc::clone(&stores[number % 2]));
            let mut rng = Rng::from_seed(rng.next());
            tokio::spawn(async move {
                for event in &events {
                    if rng.below(SLOW) == 0 {
                        append_slowly(&place, event, rng.below(2000)).await;
                    } else {
                        append(&store, event).await;
                    }
                }
                events.into_iter().map(|event| event.id)
            })
        })
        .collect();
    let mut written = BTreeSet::new();
    for writer in writers {
        written.extend(writer.await.unwrap());
    }
    let mut logs = Vec::new();
    for reader in readers {
        logs.push(reader.await.unwrap());
    }
    stop.store(true, Ordering::Relaxed);
    for sequencer in sequencers {
        sequencer.await.unwrap();
    }
    assert_eq!(logs[0], logs[1]);
    assert_eq!(logs[0], logs[2]);
    assert_eq!(BTreeSet::from_iter(logs[0].iter().copied()), written);
    let mut read = stores[0].read().await.unwrap();
    let head: EventHead = read.events().head(&world).await.unwrap();
    assert_eq!(head.position(), i64::try_from(whole).unwrap());
    assert_eq!(read.events().waiting(None).await.unwrap(), None);
}
