//! Leases for work that only one process does at a time.

use diesel::prelude::{BoolExpressionMethods, ExpressionMethods};
use diesel::query_dsl::methods::FilterDsl;
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;
use vestry_domain::Timestamp;
use vestry_ports::port;
use vestry_ports::store::{Leases, MAX_LEASE, StoreResult};

use super::Unit;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::schema::leases;

#[port]
impl Leases for Unit {
    async fn take(
        &mut self,
        work: &str,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> StoreResult<bool> {
        let lease = (
            leases::work.eq(work),
            leases::holder.eq(holder),
            leases::until.eq(until.unix()),
        );
        let is_free = leases::until
            .le(now.unix())
            .or(leases::until.gt((now + MAX_LEASE).unix()))
            .or(leases::holder.eq(holder));
        let take = diesel::insert_into(leases::table)
            .values(lease)
            .on_conflict(leases::work)
            .do_update()
            .set((
                leases::holder.eq(excluded(leases::holder)),
                leases::until.eq(excluded(leases::until)),
            ))
            .filter(is_free);
        let taken = Prepared(take).execute(self.writing()?).await;
        Ok(self.done(taken)? == 1)
    }
}
