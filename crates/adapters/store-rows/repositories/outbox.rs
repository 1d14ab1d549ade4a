//! Messages waiting for delivery.

use diesel::dsl::min;
use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper,
};
use diesel::sql_types::{BigInt, Text};
use diesel_async::RunQueryDsl;
use vestry_domain::ids::{AppId, JobId};
use vestry_domain::message::{JobEnd, OutboxJob};
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{CommitEffect, Outbox, StoreResult};

use super::{Unit, count, dialect, in_world, read_all};
use vestry_store_rows::delete_limited;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::Table;
use vestry_store_rows::rows::messages::OutboxRow;
use vestry_store_rows::schema::outbox;

/// The key of a due job, and since when it is due.
type Due = (String, String, String, i64);

/// Selects the due jobs without locking them, oldest first.
#[diesel::dsl::auto_type(no_type_alias)]
fn due(now: Timestamp, limit: i64) -> _ {
    let moment: i64 = now.unix();
    outbox::table
        .filter(outbox::ended_at.is_null())
        .filter(outbox::due_at.le(moment))
        .order((outbox::due_at, outbox::id))
        .limit(limit)
        .select((
            outbox::app_id,
            outbox::environment,
            outbox::id,
            outbox::due_at,
        ))
}

impl Unit {
    /// Leases jobs one at a time. Jobs that another worker has leased since they were found are skipped, because every lease changes the
    /// time at which a job is due.
    async fn lease_each(
        &mut self,
        owner: &str,
        until: Timestamp,
        due: Vec<Due>,
    ) -> StoreResult<Vec<OutboxJob>> {
        let mut leased = Vec::with_capacity(due.len());
        for (app, environment, id, due_at) in due {
            let unleased = outbox::table
                .filter(outbox::app_id.eq(app))
                .filter(outbox::environment.eq(environment))
                .filter(outbox::id.eq(id))
                .filter(outbox::due_at.eq(due_at))
                .filter(outbox::ended_at.is_null());
            let lease = diesel::update(unleased)
                .set((
                    outbox::attempts.eq(outbox::attempts + 1),
                    outbox::lease_owner.eq(owner),
                    outbox::due_at.eq(until.unix()),
                ))
                .returning(OutboxRow::as_returning());
            let row = Prepared(lease)
                .get_result::<OutboxRow>(self.writing()?)
                .await;
            if let Some(row) = self.done(row.optional())? {
                leased.push(OutboxJob::try_from(row)?);
            }
        }
        Ok(leased)
    }
}

#[port]
impl Outbox for Unit {
    async fn push(&mut self, job: &OutboxJob) -> StoreResult<()> {
        let insert = diesel::insert_into(outbox::table).values(OutboxRow::from(job));
        let inserted = dialect::defer!(self.writing()?, insert).await;
        self.report_later(CommitEffect::Messages);
        self.done(inserted)
    }

    async fn claim(
        &mut self,
        owner: &str,
        now: Timestamp,
        lease_until: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<OutboxJob>> {
        if self.is_distributed() {
            // On a cluster no statement can lock rows of several Apps.
            let due = due(now, limit).load(self.writing()?).await;
            let due = self.done(due)?;
            return self.lease_each(owner, lease_until, due).await;
        }
        let claim = diesel::sql_query(dialect::CLAIM)
            .bind::<Text, _>(owner)
            .bind::<BigInt, _>(lease_until.unix())
            .bind::<BigInt, _>(now.unix())
            .bind::<BigInt, _>(limit);
        let claimed = Prepared(claim).load::<OutboxRow>(self.writing()?).await;
        let mut jobs: Vec<OutboxJob> = read_all(self.done(claimed)?)?;
        // RETURNING does not preserve order.
        jobs.sort_by_key(|job| (job.not_before, job.id));
        Ok(jobs)
    }

    async fn apps_due(&mut self, now: Timestamp, limit: i64) -> StoreResult<Vec<AppId>> {
        let query = outbox::table
            .filter(outbox::ended_at.is_null())
            .filter(outbox::due_at.le(now.unix()))
            .group_by(outbox::app_id)
            .order(min(outbox::due_at))
            .limit(limit)
            .select(outbox::app_id);
        let found = query.load::<String>(self.reading()?).await;
        let table = Table("outbox");
        self.done(found)?
            .iter()
            .map(|app| table.parse("app_id", app))
            .collect()
    }

    async fn claim_of(
        &mut self,
        app: AppId,
        owner: &str,
        now: Timestamp,
        lease_until: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<OutboxJob>> {
        let due = due(now, limit).filter(outbox::app_id.eq(app.to_string()));
        let due = due.load(self.writing()?).await;
        let due = self.done(due)?;
        self.lease_each(owner, lease_until, due).await
    }

    async fn finish(
        &mut self,
        world: &World,
        id: JobId,
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
        id: JobId,
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
        delete_limited!(self, outbox, old)
    }
}
