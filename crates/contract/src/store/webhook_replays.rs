//! Replays of many events to one endpoint.

use std::sync::Arc;

use vestry_domain::timestamp::Seconds;
use vestry_domain::webhook::{Endpoint, Missed, Replay};
use vestry_domain::{Timestamp, World};
use vestry_ports::store::Store;

use super::stage::Stage;
use crate::race::{count, race};

async fn add(store: &Arc<dyn Store>, replay: &Replay) -> bool {
    in_tx!(store, |tx| tx.webhook_replays().insert(replay).await)
}

async fn advance(store: &Arc<dyn Store>, replay: &Replay) {
    in_tx!(store, |tx| tx.webhook_replays().advance(replay).await);
}

async fn sweep(store: &Arc<dyn Store>, before: Timestamp) -> u64 {
    in_tx!(store, |tx| tx.webhook_replays().sweep(before).await)
}

impl Stage {
    /// A new, stored replay.
    async fn replay(&mut self, endpoint: &Endpoint) -> Replay {
        let replay = self.samples.replay(endpoint);
        assert!(add(&self.store, &replay).await, "another replay is running");
        replay
    }

    async fn listed_replays(&self, world: World, endpoint: &Endpoint) -> Vec<Replay> {
        in_view!(self.store, |view| view
            .webhook_replays()
            .list(&world, endpoint.id)
            .await)
    }

    /// The due replays of these endpoints, in all worlds.
    async fn due(&self, now: Timestamp) -> Vec<Replay> {
        in_view!(self.store, |view| view
            .webhook_replays()
            .due(now, 1_000)
            .await)
    }

    async fn found_due(&self, replay: &Replay, now: Timestamp) -> Option<Replay> {
        in_view!(self.store, |view| view
            .webhook_replays()
            .find_due(&replay.world, replay.id, now)
            .await)
    }
}

fn ended(replay: &Replay, at: Timestamp) -> Replay {
    Replay {
        ended_at: Some(at),
        ..replay.clone()
    }
}

/// Every field of either kind is read back unchanged, also after progress; a list is newest first.
pub async fn a_replay_comes_back_as_it_was(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let endpoint = stage.endpoint(world).await;
    let mut known = Vec::new();
    for _ in 0..20 {
        let replay = stage.replay(&endpoint).await;
        let listed = stage.listed_replays(world, &endpoint).await;
        assert_eq!(listed.first(), Some(&replay));
        let delivery = stage.samples.delivery(&endpoint, 1).id;
        let missed = match replay.missed {
            Missed::Exhausted { since, .. } => Missed::Exhausted {
                since,
                after: Some(delivery),
            },
            Missed::Range { until, .. } => Missed::Range {
                after: until,
                until,
            },
        };
        let at = stage.samples.tick();
        let gone_on = Replay {
            missed,
            done: 7,
            next_at: at + Seconds(9),
            ended_at: Some(at),
            ..replay
        };
        advance(&stage.store, &gone_on).await;
        known.insert(0, gone_on);
    }
    assert_eq!(stage.listed_replays(world, &endpoint).await, known);
}

/// An endpoint has one running replay at a time.
pub async fn one_replay_of_an_endpoint_runs(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (endpoint, bystander) = (stage.endpoint(world).await, stage.endpoint(world).await);
    let first = stage.replay(&endpoint).await;
    stage.replay(&bystander).await;
    let second = stage.samples.replay(&endpoint);
    assert!(!add(&stage.store, &second).await);
    let at = stage.samples.tick();
    advance(&stage.store, &ended(&first, at)).await;
    assert!(add(&stage.store, &second).await);
    assert_eq!(stage.listed_replays(world, &endpoint).await.len(), 2);
}

/// Of parallel requests for a replay one succeeds.
pub async fn parallel_replays_of_an_endpoint_are_one(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let endpoint = stage.endpoint(world).await;
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let replay = stage.samples.replay(&endpoint);
            let store = Arc::clone(&stage.store);
            async move { add(&store, &replay).await }
        })
        .collect();
    assert_eq!(count(&race(tasks).await, &true), 1);
    assert_eq!(stage.listed_replays(world, &endpoint).await.len(), 1);
}

/// A replay is found from the time of its next step until it has ended, longest waiting first.
pub async fn a_replay_goes_on_in_time(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let mut replays = Vec::new();
    for later in [5, 0, 3] {
        let endpoint = stage.endpoint(world).await;
        let replay = stage.replay(&endpoint).await;
        let next_at = Timestamp::from_unix(1_000 + later);
        let put_off = Replay { next_at, ..replay };
        advance(&stage.store, &put_off).await;
        replays.push(put_off);
    }
    let [last, first, second] = replays.as_slice() else {
        panic!("three");
    };
    for (now, expected) in [
        (999, vec![]),
        (1_000, vec![first.id]),
        (1_004, vec![first.id, second.id]),
        (1_005, vec![first.id, second.id, last.id]),
    ] {
        let now = Timestamp::from_unix(now);
        let due = stage.due(now).await;
        let due: Vec<_> = due.iter().map(|replay| replay.id).collect();
        assert_eq!(due, expected, "at {now:?}");
        for replay in &replays {
            let found = stage.found_due(replay, now).await;
            let expected = expected.contains(&replay.id).then(|| replay.clone());
            assert_eq!(found, expected);
        }
    }
    let now = Timestamp::from_unix(1_005);
    advance(&stage.store, &ended(first, now)).await;
    assert_eq!(stage.found_due(first, now).await, None);
    assert_eq!(stage.due(now).await.len(), 2);
}

/// A removed endpoint takes its replays with it.
pub async fn a_removed_endpoint_takes_its_replays_along(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let (endpoint, bystander) = (stage.endpoint(world).await, stage.endpoint(world).await);
    stage.replay(&endpoint).await;
    let kept = stage.replay(&bystander).await;
    in_tx!(stage.store, |tx| tx
        .webhook_endpoints()
        .remove(&world, endpoint.id)
        .await);
    assert_eq!(stage.listed_replays(world, &endpoint).await, []);
    assert_eq!(stage.listed_replays(world, &bystander).await, [kept]);
}

/// An id finds and changes nothing in another world.
pub async fn replays_stay_in_their_world(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let endpoint = stage.endpoint(world).await;
    let replay = stage.replay(&endpoint).await;
    let at = replay.next_at + Seconds(1);
    for stranger in stage.strangers(world).await {
        let theirs = Replay {
            world: stranger,
            ..replay.clone()
        };
        assert_eq!(stage.listed_replays(stranger, &endpoint).await, []);
        assert_eq!(stage.found_due(&theirs, at).await, None);
        advance(&stage.store, &ended(&theirs, at)).await;
    }
    assert_eq!(stage.listed_replays(world, &endpoint).await, [replay]);
}

/// A sweep deletes replays that ended before the given time, and no running one.
pub async fn a_sweep_deletes_ended_replays(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let endpoint = stage.endpoint(world).await;
    let mut known = Vec::new();
    for at in [100, 200] {
        let replay = stage.replay(&endpoint).await;
        let replay = ended(&replay, Timestamp::from_unix(at));
        advance(&stage.store, &replay).await;
        known.push(replay);
    }
    let runs = stage.replay(&endpoint).await;
    assert_eq!(sweep(&stage.store, Timestamp::from_unix(200)).await, 1);
    assert_eq!(sweep(&stage.store, Timestamp::from_unix(200)).await, 0);
    let kept = [runs, known.remove(1)];
    assert_eq!(stage.listed_replays(world, &endpoint).await, kept);
}
