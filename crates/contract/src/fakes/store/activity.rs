//! Counts of what happened.

use vestry_domain::activity::{ActivityCount, Measure, Period};
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Activity, CommitEffect, StoreResult};

use super::Work;
use super::state::count_few;

#[port]
impl Activity for Work {
    fn note(&mut self, world: &World, measure: Measure, count: u64) {
        self.counted
            .push(CommitEffect::Counted(*world, measure, count));
    }

    async fn add(&mut self, counts: &[ActivityCount]) -> StoreResult<()> {
        self.writing(|state| {
            for fresh in counts {
                let key = (fresh.world, fresh.period, fresh.starts_at, fresh.measure);
                *state.activity.entry(key).or_default() += fresh.count;
            }
            Ok(())
        })
    }

    async fn read(
        &mut self,
        world: &World,
        period: Period,
        from: Timestamp,
        until: Timestamp,
    ) -> StoreResult<Vec<ActivityCount>> {
        self.reading(|state| {
            let counts = state.activity.iter().filter(|((of, length, at, _), _)| {
                of == world && *length == period && (from..until).contains(at)
            });
            let counts = counts.map(
                |((world, period, starts_at, measure), count)| ActivityCount {
                    world: *world,
                    period: *period,
                    starts_at: *starts_at,
                    measure: *measure,
                    count: *count,
                },
            );
            let mut counts: Vec<_> = counts.collect();
            counts.sort_by_key(|one| (one.starts_at, one.measure.name(), one.measure.label()));
            counts
        })
    }

    async fn sweep(&mut self, period: Period, before: Timestamp) -> StoreResult<u64> {
        self.writing(|state| {
            let old = state.activity.extract_if(.., |(_, length, at, _), _| {
                *length == period && *at < before
            });
            Ok(count_few(old))
        })
    }
}
