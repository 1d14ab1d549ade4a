//! Counts of what this process did, collected in memory until they are written.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vestry_domain::activity::{ActivityCount, Measure, Period};
use vestry_domain::{Timestamp, World};
use vestry_ports::clock::Clock;

/// Maximum number of worlds. Facts of further ones are not counted until the counts have been written.
const MAX_WORLDS: usize = 10_000;

/// The counts that are not written yet, by the machine's clock.
pub(crate) struct Tally {
    clock: Arc<dyn Clock>,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    worlds: HashMap<World, BTreeMap<(Period, Timestamp, Measure), u64>>,
    /// Whether it was logged that there are too many worlds.
    is_logged: bool,
}

impl Counts {
    fn add(&mut self, fresh: ActivityCount) {
        let is_full = self.worlds.len() >= MAX_WORLDS;
        if is_full && !self.worlds.contains_key(&fresh.world) {
            if !std::mem::replace(&mut self.is_logged, true) {
                tracing::warn!(
                    "too many environments are active at once; the charts of some are incomplete"
                );
            }
            return;
        }
        let of_world = self.worlds.entry(fresh.world).or_default();
        let count = of_world.entry((fresh.period, fresh.starts_at, fresh.measure));
        let count = count.or_default();
        *count = count.saturating_add(fresh.count);
    }
}

impl Tally {
    /// Adds to a count. Call it after the commit, so that work which is rolled back counts nothing.
    pub(crate) fn add(&self, world: World, measure: Measure, count: u64) {
        let now = self.clock.machine();
        let mut counts = self.lock();
        for period in [Period::Hour, Period::Day] {
            counts.add(ActivityCount {
                world,
                period,
                starts_at: period.start(now),
                measure,
                count,
            });
        }
    }

    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            counts: Mutex::default(),
        }
    }

    /// Takes all counts, in order: those of an App are together, and processes that write at once wait for each other.
    pub(crate) fn take(&self) -> Vec<ActivityCount> {
        let worlds = std::mem::take(&mut self.lock().worlds);
        let counts = worlds.into_iter().flat_map(|(world, counts)| {
            let counts = counts.into_iter();
            counts.map(move |((period, starts_at, measure), count)| ActivityCount {
                world,
                period,
                starts_at,
                measure,
                count,
            })
        });
        let mut counts: Vec<_> = counts.collect();
        counts.sort_unstable();
        counts
    }

    /// Puts counts back that could not be written.
    pub(crate) fn put_back(&self, unwritten: &[ActivityCount]) {
        let mut counts = self.lock();
        for count in unwritten {
            counts.add(*count);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use vestry_contract::fakes::FakeClock;
    use vestry_domain::Environment;
    use vestry_domain::activity::SignInMethod;
    use vestry_domain::ids::{AppId, Id};

    use super::*;

    const SIGN_IN: Measure = Measure::SignIn(SignInMethod::Password);

    fn world(number: usize) -> World {
        let mut random = [0; 16];
        random[..8].copy_from_slice(&number.to_be_bytes());
        World::new(AppId::new(Timestamp::default(), random), Environment::Live)
    }

    #[test]
    fn counts_are_taken_once_and_may_be_put_back() {
        let clock = Arc::new(FakeClock::at(Timestamp::default()));
        let tally = Tally::new(Arc::<FakeClock>::clone(&clock));
        let summary = |counts: &[ActivityCount]| -> Vec<(Period, u64)> {
            counts.iter().map(|one| (one.period, one.count)).collect()
        };
        tally.add(world(1), SIGN_IN, 1);
        tally.add(world(1), SIGN_IN, 2);
        let taken = tally.take();
        assert_eq!(summary(&taken), [(Period::Hour, 3), (Period::Day, 3)]);
        assert_eq!(tally.take(), []);
        tally.add(world(1), SIGN_IN, 4);
        tally.put_back(&taken);
        let taken = tally.take();
        assert_eq!(summary(&taken), [(Period::Hour, 7), (Period::Day, 7)]);
    }

    #[test]
    fn memory_is_bounded() {
        let tally = Tally::new(Arc::new(FakeClock::at(Timestamp::default())));
        for number in 0..MAX_WORLDS + 5 {
            tally.add(world(number), SIGN_IN, 1);
        }
        // A world that is known already still counts.
        tally.add(world(7), SIGN_IN, 1);
        let counts = tally.take();
        assert_eq!(counts.len(), 2 * MAX_WORLDS);
        let total: u64 = counts.iter().map(|one| one.count).sum();
        assert_eq!(total, 2 * (u64::try_from(MAX_WORLDS).unwrap() + 1));
        tally.add(world(MAX_WORLDS + 5), SIGN_IN, 1);
        assert_eq!(tally.take().len(), 2, "there is room again");
    }
}
