//! Tests that reads of one App do not wait for another App.

use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::Notify;
use vestry_contract::fakes::FakeStore;
use vestry_domain::ids::Id;
use vestry_domain::{Environment, Timestamp};

use super::*;

/// A fake lookup that doubles its key; key 0 blocks until the test ends.
struct Doubled;

/// The names of each batch.
static BATCHES: Mutex<Vec<Vec<(World, u32)>>> = Mutex::new(Vec::new());
static SLOW: Notify = Notify::const_new();
/// Timeout for a test that would otherwise hang.
const PATIENCE: Duration = Duration::from_secs(10);

impl Kind for Doubled {
    type Name = (World, u32);
    type Found = u32;

    async fn find(_: &mut dyn Repositories, names: &[Self::Name]) -> StoreResult<Vec<u32>> {
        BATCHES.lock().unwrap().push(names.to_vec());
        if names.iter().any(|(_, number)| *number == 0) {
            SLOW.notified().await;
        }
        Ok(names.iter().map(|(_, number)| number * 2).collect())
    }
}

fn world(number: u8) -> World {
    let app = AppId::new(Timestamp::from_unix(1_800_000_000), [number; 16]);
    World::new(app, Environment::Test)
}

/// Even when all Apps share a database, a batch belongs to one App, and a slow batch delays only that App.
#[tokio::test]
async fn a_slow_app_does_not_delay_other_apps() {
    let store: Arc<dyn Store> = Arc::new(FakeStore::default());
    assert_eq!(store.partitions(), Partitions::One);
    let reads = BatchedReads::<Doubled>::batcher(&store);
    let ask = |app, number| {
        let (answer, turn) = reads.join((world(app), number));
        if let Some(turn) = turn {
            tokio::spawn(turn.serve());
        }
        async {
            let answer = tokio::time::timeout(PATIENCE, answer).await;
            answer.map(|answer| answer.unwrap().unwrap())
        }
    };
    let held_up = ask(1, 0);
    // The first batch is under way before the others ask.
    while BATCHES.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let behind = ask(1, 1);
    let others = [ask(2, 2), ask(3, 3), ask(2, 4)];
    let mut answers = Vec::new();
    for other in others {
        answers.push(other.await.expect("another App waited for the slow one"));
    }
    assert_eq!(answers, [4, 6, 8]);
    SLOW.notify_one();
    assert_eq!((held_up.await, behind.await), (Ok(0), Ok(2)));
    let batches = BATCHES.lock().unwrap();
    for batch in batches.iter() {
        let first = batch[0].0;
        assert!(batch.iter().all(|(world, _)| *world == first), "{batch:?}");
    }
    let shared: Vec<_> = batches.iter().map(Vec::len).collect();
    assert!(
        shared.contains(&2),
        "calls of one App share a batch: {shared:?}"
    );
}
