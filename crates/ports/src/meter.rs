//! Counting what happens, for charts.

use vestry_domain::World;
use vestry_domain::activity::Measure;

/// Counts committed facts. It never fails and never waits, because the work that it counts is already done.
pub trait Meter: Send + Sync {
    /// Adds to a count. Call it after the commit, so that work which is rolled back counts nothing.
    fn add(&self, world: World, measure: Measure, count: u64);
}
