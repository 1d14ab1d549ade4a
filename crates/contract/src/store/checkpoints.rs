//! Audit log checkpoints.

use std::sync::Arc;

use vestry_domain::World;
use vestry_domain::envelope::Mac;
use vestry_domain::timestamp::Seconds;
use vestry_ports::store::{SinkProgress, Store, StoredCheckpoint};

use super::stage::Stage;
use crate::race::{count, race};
use crate::samples::other_environment;

fn checkpoint(stage: &mut Stage, number: i64) -> StoredCheckpoint {
    StoredCheckpoint {
        number,
        at: stage.samples.tick(),
        note: format!("{}\n\u{2014} line two\n", stage.samples.text()),
    }
}

async fn add(store: &Arc<dyn Store>, world: World, checkpoint: &StoredCheckpoint) -> bool {
    in_tx!(store, |tx| tx.checkpoints().add(&world, checkpoint).await)
}

async fn all(store: &Arc<dyn Store>, world: World) -> Vec<StoredCheckpoint> {
    in_view!(store, |view| view
        .checkpoints()
        .after(&world, 0, 1_000)
        .await)
}

/// This many checkpoints in a world, numbered from 1.
async fn several(stage: &mut Stage, world: World, many: i64) -> Vec<StoredCheckpoint> {
    let mut made = Vec::new();
    for number in 1..=many {
        let one = checkpoint(stage, number);
        assert!(add(&stage.store, world, &one).await);
        made.push(one);
    }
    made
}

/// Checkpoints are read back unchanged, in order, page by page and in their own world only.
pub async fn checkpoints_come_back_as_they_were(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let newest = in_view!(stage.store, |view| view.checkpoints().newest(&world).await);
    assert_eq!(newest, None);
    let made = several(&mut stage, world, 12).await;
    assert_eq!(all(&stage.store, world).await, made);
    let newest = in_view!(stage.store, |view| view.checkpoints().newest(&world).await);
    assert_eq!(newest.as_ref(), made.last());
    let page = in_view!(stage.store, |view| view
        .checkpoints()
        .after(&world, 4, 3)
        .await);
    let expected: Vec<_> = made.iter().skip(4).take(3).cloned().collect();
    assert_eq!(page, expected);
    assert_eq!(all(&stage.store, other_environment(world)).await, []);
}

/// A number is assigned once, even with parallel writers, and its checkpoint stays.
pub async fn a_number_is_given_once(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let rivals: Vec<_> = (0..16).map(|_| checkpoint(&mut stage, 1)).collect();
    let tasks = rivals.iter().cloned().map(|one| {
        let store = Arc::clone(&stage.store);
        async move { add(&store, world, &one).await }
    });
    let added = race(tasks.collect::<Vec<_>>()).await;
    assert_eq!(count(&added, &true), 1);
    let winner = rivals.iter().zip(&added).find(|(_, added)| **added);
    let winner: Vec<_> = winner.into_iter().map(|(one, _)| one.clone()).collect();
    assert_eq!(all(&stage.store, world).await, winner);
}

/// The progress of a sink is the value recorded last, with its keyed hash, even if a higher number was recorded before.
pub async fn the_last_progress_of_a_sink_counts(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let world = stage.world().await;
    let at = stage.samples.tick();
    let progress = |sink: &str, number: i64, tag: u8| SinkProgress {
        sink: sink.to_owned(),
        number,
        at: at + Seconds(number),
        mac: Mac {
            key_version: u32::from(tag),
            tag: vec![tag; 32],
        },
    };
    let tasks = [3, 9, 1, 7, 9, 2, 8].map(|number| {
        let (store, progress) = (Arc::clone(&stage.store), progress("file:/b", number, 1));
        async move {
            in_tx!(store, |tx| tx
                .checkpoints()
                .note_sink(&world, &progress)
                .await)
        }
    });
    race(tasks).await;
    for noted in [
        progress("file:/b", i64::MAX - 1, 2),
        progress("file:/b", 4, 3),
        progress("a", 5, 4),
    ] {
        in_tx!(stage.store, |tx| tx
            .checkpoints()
            .note_sink(&world, &noted)
            .await);
    }
    let sinks = in_view!(stage.store, |view| view.checkpoints().sinks(&world).await);
    assert_eq!(sinks, [progress("a", 5, 4), progress("file:/b", 4, 3)]);
    let other = other_environment(world);
    let sinks = in_view!(stage.store, |view| view.checkpoints().sinks(&other).await);
    assert_eq!(sinks, []);
}

/// A sweep deletes the oldest checkpoints below a number and before a given time, up to a limit.
pub async fn a_sweep_deletes_the_oldest_checkpoints(store: Arc<dyn Store>) {
    let mut stage = Stage::new(store);
    let (world, bystander) = (stage.world().await, stage.world().await);
    let made = several(&mut stage, world, 10).await;
    let others = several(&mut stage, bystander, 3).await;
    let end = stage.samples.tick() + Seconds(1);
    let seventh = made.get(6).map_or(end, |seventh| seventh.at);
    for (below, before, limit, expected) in [
        (1, end, 100, 0),
        (4, end, 2, 2),
        (4, end, 2, 1),
        (4, end, 2, 0),
        (100, seventh, 100, 3),
        (10, end, 100, 3),
    ] {
        let swept = in_tx!(stage.store, |tx| tx
            .checkpoints()
            .sweep(&world, below, before, limit)
            .await);
        assert_eq!(swept, expected, "below {below} before {before:?}");
    }
    let left = all(&stage.store, world).await;
    assert_eq!(left.first(), made.last());
    assert_eq!(left.len(), 1);
    assert_eq!(all(&stage.store, bystander).await, others);
}
