//! Checkpoints of the audit log.

use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Checkpoints, SinkProgress, StoreResult, StoredCheckpoint};

use super::Work;
use super::state::at_most;

#[port]
impl Checkpoints for Work {
    async fn newest(&mut self, world: &World) -> StoreResult<Option<StoredCheckpoint>> {
        self.reading(|state| {
            let of_world = state
                .checkpoints
                .range((*world, i64::MIN)..=(*world, i64::MAX));
            of_world.map(|(_, kept)| kept.clone()).next_back()
        })
    }

    async fn add(&mut self, world: &World, checkpoint: &StoredCheckpoint) -> StoreResult<bool> {
        self.writing(|state| {
            let place = (*world, checkpoint.number);
            let is_free = !state.checkpoints.contains_key(&place);
            state
                .checkpoints
                .entry(place)
                .or_insert_with(|| checkpoint.clone());
            Ok(is_free)
        })
    }

    async fn after(
        &mut self,
        world: &World,
        number: i64,
        limit: i64,
    ) -> StoreResult<Vec<StoredCheckpoint>> {
        self.reading(|state| {
            let of_world = state
                .checkpoints
                .range((*world, i64::MIN)..=(*world, i64::MAX));
            let behind = of_world.filter(|((_, other), _)| *other > number);
            behind
                .map(|(_, kept)| kept.clone())
                .take(at_most(limit))
                .collect()
        })
    }

    async fn sinks(&mut self, world: &World) -> StoreResult<Vec<SinkProgress>> {
        self.reading(|state| {
            let sinks = state.checkpoint_sinks.iter();
            let of_world = sinks.filter(|((of, _), _)| of == world);
            of_world.map(|(_, progress)| progress.clone()).collect()
        })
    }

    async fn note_sink(&mut self, world: &World, progress: &SinkProgress) -> StoreResult<()> {
        self.writing(|state| {
            let place = (*world, progress.sink.clone());
            state.checkpoint_sinks.insert(place, progress.clone());
            Ok(())
        })
    }

    async fn sweep(
        &mut self,
        world: &World,
        below: i64,
        before: Timestamp,
        limit: i64,
    ) -> StoreResult<u64> {
        self.writing(|state| {
            let of_world = state.checkpoints.range((*world, i64::MIN)..(*world, below));
            let old = of_world.take_while(|(_, kept)| kept.at < before);
            let old: Vec<_> = old.map(|(place, _)| *place).take(at_most(limit)).collect();
            for place in &old {
                state.checkpoints.remove(place);
            }
            Ok(u64::try_from(old.len()).unwrap_or(u64::MAX))
        })
    }
}
