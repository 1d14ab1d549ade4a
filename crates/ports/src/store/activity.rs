//! Counts of what happened, by the hour and by the day.

use vestry_domain::activity::{ActivityCount, Measure, Period};
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::StoreResult;

/// Counts of what happened.
#[port]
pub trait Activity: Send {
    /// Has the commit of this transaction report facts to its hook ([`super::CommitEffect::Counted`]). Nothing is written.
    fn note(&mut self, world: &World, measure: Measure, count: u64);
    /// Adds to counts. They are of one App, in order, and each occurs once.
    async fn add(&mut self, counts: &[ActivityCount]) -> StoreResult<()>;
    /// The counts of a world that start at `from` or later and before `until`, in order. Measures that this build does not know are left
    /// out.
    async fn read(
        &mut self,
        world: &World,
        period: Period,
        from: Timestamp,
        until: Timestamp,
    ) -> StoreResult<Vec<ActivityCount>>;
    /// Deletes counts of every world that start before the given time, at most [`super::SWEEP_STEP`]; returns how many.
    async fn sweep(&mut self, period: Period, before: Timestamp) -> StoreResult<u64>;
}
