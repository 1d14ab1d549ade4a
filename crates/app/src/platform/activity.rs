//! What happened in an environment, for the charts of the console: writing the counts of this process, and reading those of all.

use std::collections::BTreeMap;
use std::time::Duration;

use vestry_domain::action::Action;
use vestry_domain::activity::{ActivityCount, Measure, Period};
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Timestamp, World, rfc3339};

use crate::kernel::fault::{causes, retried};
use crate::kernel::partition;
use crate::{Fault, Principal, Refusal, Service};

/// Interval between writes. A killed process loses the counts of at most this long.
const EVERY: Duration = Duration::from_secs(10);
const HOUR: Seconds = Seconds(3_600);
const DAY: Seconds = Seconds(86_400);

/// The time that a chart covers, up to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActivityRange {
    /// 24 hours, by the hour.
    Day,
    /// 7 days, by the day.
    Week,
    /// 30 days, by the day.
    Month,
    /// 12 months, by the month.
    Year,
}

impl ActivityRange {
    /// The retained counts that it is read from.
    const fn period(self) -> Period {
        match self {
            Self::Day => Period::Hour,
            Self::Week | Self::Month | Self::Year => Period::Day,
        }
    }

    /// The starts of its steps, oldest first. The last step is the current one.
    fn steps(self, now: Timestamp) -> Vec<Timestamp> {
        let (count, last) = match self {
            Self::Day => (24, Period::Hour.start(now)),
            Self::Week => (7, Period::Day.start(now)),
            Self::Month => (30, Period::Day.start(now)),
            Self::Year => (12, month(now)),
        };
        let before = |start: &Timestamp| {
            Some(match self {
                Self::Day => *start - HOUR,
                Self::Week | Self::Month => *start - DAY,
                Self::Year => month(*start - DAY),
            })
        };
        let mut steps: Vec<_> = std::iter::successors(Some(last), before)
            .take(count)
            .collect();
        steps.reverse();
        steps
    }
}

/// The start of the month in UTC.
fn month(at: Timestamp) -> Timestamp {
    let text = rfc3339::format(at);
    let month = text.get(..7).unwrap_or_default();
    rfc3339::parse(&format!("{month}-01T00:00:00Z")).unwrap_or_default()
}

/// What happened in the steps of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivityOfWorld {
    /// The starts of the steps, oldest first.
    pub steps: Vec<Timestamp>,
    /// The counts of each measure that occurred, one per step.
    pub counts: BTreeMap<Measure, Vec<u64>>,
}

impl Service {
    /// Returns what happened in an environment. Its newest counts are missing: each process writes every ten seconds.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn activity(
        &self,
        by: &Principal,
        world: World,
        range: ActivityRange,
    ) -> Result<ActivityOfWorld, Refusal> {
        by.authorize(Action::ReadApps, world)?;
        let now = self.ports.clock.machine();
        let steps = range.steps(now);
        let from = steps.first().copied().unwrap_or(now);
        let mut read = self.ports.store.read().await?;
        let until = now + Seconds(1);
        let read = read.activity().read(&world, range.period(), from, until);
        let mut counts = BTreeMap::<Measure, Vec<u64>>::new();
        for found in read.await? {
            let step = steps.partition_point(|start| *start <= found.starts_at);
            let of_measure = counts
                .entry(found.measure)
                .or_insert_with(|| vec![0; steps.len()]);
            if let Some(count) = step
                .checked_sub(1)
                .and_then(|step| of_measure.get_mut(step))
            {
                *count = count.saturating_add(found.count);
            }
        }
        Ok(ActivityOfWorld { steps, counts })
    }

    /// Writes the counts of this process every ten seconds until `stop` completes, and once more at the end.
    pub async fn run_activity(&self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        loop {
            let is_over = tokio::select! {
                () = &mut stop => true,
                () = tokio::time::sleep(EVERY) => false,
            };
            self.write_activity().await;
            if is_over {
                return;
            }
        }
    }

    /// Writes the counts of this process, one transaction for each App. Those that cannot be written are kept for the next time.
    ///
    /// If only the response to a commit is lost, they are counted twice.
    pub async fn write_activity(&self) {
        let partitions = self.ports.store.partitions();
        let counts = self.tally.take();
        let mut failed = None;
        for of_app in counts.chunk_by(|a, b| a.world.app_id == b.world.app_id) {
            let writing = retried(|| self.write_counts(of_app));
            if let Err(fault) = partition::limited(partitions, writing).await {
                self.tally.put_back(of_app);
                failed = Some(fault);
            }
        }
        if let Some(fault) = failed {
            tracing::warn!(
                error = causes(&fault),
                "activity counts could not be written; retrying"
            );
        }
    }

    async fn write_counts(&self, of_app: &[ActivityCount]) -> Result<(), Fault> {
        let mut tx = self.ports.store.begin().await?;
        tx.activity().add(of_app).await?;
        Ok(tx.commit().await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_ends_with_the_current_step() {
        // 15 January 2027, 08:00:00.
        let now = Timestamp::from_unix(1_800_000_000);
        for (range, count, first, last) in [
            (ActivityRange::Day, 24, "2027-01-14T09", "2027-01-15T08"),
            (ActivityRange::Week, 7, "2027-01-09T00", "2027-01-15T00"),
            (ActivityRange::Month, 30, "2026-12-17T00", "2027-01-15T00"),
            (ActivityRange::Year, 12, "2026-02-01T00", "2027-01-01T00"),
        ] {
            let steps = range.steps(now);
            let shown = |step: Option<&Timestamp>| {
                let text = rfc3339::format(*step.unwrap());
                text.strip_suffix(":00:00Z").unwrap().to_owned()
            };
            assert_eq!(steps.len(), count);
            assert_eq!(shown(steps.first()), first);
            assert_eq!(shown(steps.last()), last);
            assert!(steps.is_sorted());
            let retained = now - range.period().retention();
            assert!(steps.first().unwrap() > &retained);
        }
    }
}
