//! Counts of what happened.

use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use vestry_domain::activity::{ActivityCount, Measure, Period};
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Activity, StoreResult};

use super::{Unit, count, dialect, in_world};
use vestry_store_rows::delete_limited;
use vestry_store_rows::row_chunks::row_chunks;
use vestry_store_rows::rows::activity::ActivityRow;
use vestry_store_rows::schema::activity;

#[port]
impl Activity for Unit {
    fn note(&mut self, world: &World, measure: Measure, count: u64) {
        self.count_later(*world, measure, count);
    }

    async fn add(&mut self, counts: &[ActivityCount]) -> StoreResult<()> {
        for chunk in row_chunks(counts) {
            let rows = chunk.iter().map(ActivityRow::from).collect();
            let added = dialect::add_activity(self.writing()?, rows).await;
            self.done(added)?;
        }
        Ok(())
    }

    async fn read(
        &mut self,
        world: &World,
        period: Period,
        from: Timestamp,
        until: Timestamp,
    ) -> StoreResult<Vec<ActivityCount>> {
        let query = in_world!(activity, world)
            .filter(activity::period.eq(period.as_str()))
            .filter(activity::starts_at.ge(from.unix()))
            .filter(activity::starts_at.lt(until.unix()))
            .order((activity::starts_at, activity::name, activity::label))
            .select(ActivityRow::as_select());
        let found = query.load::<ActivityRow>(self.reading()?).await;
        let found = self.done(found)?.into_iter();
        Ok(found.filter_map(|row| row.known(*world, period)).collect())
    }

    async fn sweep(&mut self, period: Period, before: Timestamp) -> StoreResult<u64> {
        let old = activity::table
            .filter(activity::period.eq(period.as_str()))
            .filter(activity::starts_at.lt(before.unix()))
            .order(activity::starts_at);
        delete_limited!(self, activity, old)
    }
}
