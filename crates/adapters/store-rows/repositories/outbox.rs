//! Messages that wait for delivery.

use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl};
use diesel::sql_types::{BigInt, Text};
use diesel_async::RunQueryDsl;
use vestry_domain::ids::EventId;
use vestry_domain::message::{JobEnd, OutboxJob};
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Outbox, StoreResult};

use super::{Unit, count, dialect, in_world, read_all};
use vestry_store_rows::delete_few;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::messages::OutboxRow;
use vestry_store_rows::schema::outbox;

#[port]
impl Outbox for Unit {
    async fn push(&mut self, job: &OutboxJob) -> StoreResult<()> {
        let insert = diesel::insert_into(outbox::table).values(OutboxRow::from(job));
        let inserted = insert.execute(self.writing()?).await;
        self.done(inserted).map(drop)
    }

    async fn claim(
        &mut self,
        owner: &str,
        now: Timestamp,
        lease_until: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<OutboxJob>> {
        let claim = diesel::sql_query(dialect::CLAIM)
            .bind::<Text, _>(owner)
            .bind::<BigInt, _>(lease_until.unix())
            .bind::<BigInt, _>(now.unix())
            .bind::<BigInt, _>(limit);
        let claimed = Prepared(claim).load::<OutboxRow>(self.writing()?).await;
        let mut jobs: Vec<OutboxJob> = read_all(self.done(claimed)?)?;
        // RETURNING keeps no order.
        jobs.sort_by_key(|job| (job.not_before, job.id));
        Ok(jobs)
    }

    async fn finish(
        &mut self,
        world: &World,
        id: EventId,
        owner: &str,
        end: JobEnd,
        at: Timestamp,
    ) -> StoreResult<bool> {
        let held = in_world!(outbox, world)
            .filter(outbox::id.eq(id.to_string()))
            .filter(outbox::lease_owner.eq(owner))
            .filter(outbox::ended_at.is_null());
        let update = diesel::update(held).set((
            outbox::ended_at.eq(at.unix()),
            outbox::ended_as.eq(end.as_str()),
            outbox::payload.eq(Vec::<u8>::new()),
            outbox::lease_owner.eq(None::<String>),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }

    async fn retry(
        &mut self,
        world: &World,
        id: EventId,
        owner: &str,
        at: Timestamp,
    ) -> StoreResult<bool> {
        let held = in_world!(outbox, world)
            .filter(outbox::id.eq(id.to_string()))
            .filter(outbox::lease_owner.eq(owner))
            .filter(outbox::ended_at.is_null());
        let update = diesel::update(held).set((
            outbox::not_before.eq(at.unix()),
            outbox::due_at.eq(at.unix()),
            outbox::lease_owner.eq(None::<String>),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }

    async fn waiting(&mut self) -> StoreResult<i64> {
        let query = outbox::table.filter(outbox::ended_at.is_null()).count();
        let found = query.get_result(self.reading()?).await;
        self.done(found)
    }

    async fn sweep(&mut self, ended_before: Timestamp) -> StoreResult<u64> {
        let old = outbox::table
            .filter(outbox::ended_at.lt(ended_before.unix()))
            .order(outbox::ended_at);
        delete_few!(self, outbox, old)
    }
}
