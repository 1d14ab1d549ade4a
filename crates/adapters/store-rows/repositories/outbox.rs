//! Messages waiting for delivery.

use std::collections::BTreeMap;

use diesel::dsl::{count_star, min, sql};
use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper,
};
use diesel::sql_types::{BigInt, Bool, Nullable, Text};
use diesel_async::RunQueryDsl;
use vestry_domain::ids::{AppId, JobId};
use vestry_domain::message::{
    Channel, DeadJob, JobEnd, JobFault, OutboxJob, OutboxQueue, Priority, lane_of,
};
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Backlog, CommitEffect, MAX_COUNTED, Outbox, StoreResult, lane_share};

use super::{Unit, count, dialect, in_world, read_all};
use vestry_store_rows::delete_limited;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::Table;
use vestry_store_rows::rows::messages::{DeadJobRow, OutboxRow, stored_priority};
use vestry_store_rows::schema::outbox;

/// The condition of the index of dead jobs. With a parameter in it the index could not be used.
const IS_DEAD: &str = "ended_as = 'dead'";

/// Counts the jobs of each channel and priority, and finds the oldest due one of each with one look-up for each lane. Its parameter is the
/// time. 10000 is [`MAX_COUNTED`].
const BACKLOG: &str = "\
    WITH RECURSIVE lanes (lane) AS (VALUES (0) UNION ALL SELECT lane + 1 FROM lanes WHERE lane < 63), \
    environments (environment) AS (VALUES ('live'), ('test')), \
    channels (channel) AS (VALUES ('email'), ('sms')), \
    priorities (priority) AS (VALUES (0), (1), (2)) \
    SELECT channels.channel, CAST(priorities.priority AS BIGINT) AS priority, \
        (SELECT count(*) FROM ( \
            SELECT 1 AS one FROM outbox AS job WHERE job.ended_at IS NULL AND job.environment IN ('live', 'test') \
                AND job.channel = channels.channel AND job.priority = priorities.priority LIMIT 10000 \
        ) AS few) AS waiting, \
        (SELECT min(( \
            SELECT job.due_at FROM outbox AS job WHERE job.ended_at IS NULL AND job.environment = environments.environment \
                AND job.channel = channels.channel AND job.priority = priorities.priority AND job.lane = lanes.lane \
                AND job.due_at <= $1 \
            ORDER BY job.due_at LIMIT 1 \
        )) FROM lanes CROSS JOIN environments) AS due_since \
    FROM channels CROSS JOIN priorities";

/// A row of [`BACKLOG`].
#[derive(diesel::Queryable, diesel::QueryableByName)]
struct BacklogRow {
    #[diesel(sql_type = Text)]
    channel: String,
    #[diesel(sql_type = BigInt)]
    priority: i64,
    #[diesel(sql_type = BigInt)]
    waiting: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    due_since: Option<i64>,
}

/// Leaves out channels and priorities without jobs, and times that are not due.
fn read_backlog(rows: Vec<BacklogRow>, now: Timestamp) -> StoreResult<Vec<Backlog>> {
    let table = Table("outbox");
    let mut backlog = Vec::new();
    for row in rows.into_iter().filter(|row| row.waiting > 0) {
        let due_since = row.due_since.map(Timestamp::from_unix);
        backlog.push(Backlog {
            channel: table.parse("channel", &row.channel)?,
            priority: stored_priority(&table, row.priority)?,
            waiting: row.waiting.min(MAX_COUNTED),
            due_since: due_since.filter(|due| *due <= now),
        });
    }
    backlog.sort_by_key(|of| (of.channel, of.priority));
    Ok(backlog)
}

/// The key of a due job, and since when it is due.
type Due = (String, String, String, i64);

/// The order in which due jobs of a lane are leased: urgent ones first, then oldest first.
fn in_order((priority, (_, _, id, due_at)): &(Priority, Due)) -> (Priority, i64, &str) {
    (*priority, *due_at, id)
}

/// The order in which claimed jobs are returned.
const fn order_of(job: &OutboxJob) -> (Priority, Timestamp, JobId) {
    (job.priority, job.not_before, job.id)
}

/// The length of a list.
fn length<T>(list: &[T]) -> i64 {
    i64::try_from(list.len()).unwrap_or(i64::MAX)
}

/// Selects a job if it has not ended and this worker still holds it.
macro_rules! held {
    ($world:expr, $id:expr, $owner:expr) => {
        in_world!(outbox, $world)
            .filter(outbox::id.eq($id.to_string()))
            .filter(outbox::lease_owner.eq($owner))
            .filter(outbox::ended_at.is_null())
    };
}

/// Selects due jobs of an App with one priority, without locking them, oldest first.
#[diesel::dsl::auto_type(no_type_alias)]
fn due(app: AppId, queue: OutboxQueue, priority: Priority, now: Timestamp, limit: i64) -> _ {
    let app_id: String = app.to_string();
    let environment: &'static str = queue.environment.as_str();
    let channel: &'static str = queue.channel.as_str();
    let (number, lane): (i64, i64) = (priority.number().into(), lane_of(app).into());
    let moment: i64 = now.unix();
    outbox::table
        .filter(outbox::ended_at.is_null())
        .filter(outbox::environment.eq(environment))
        .filter(outbox::channel.eq(channel))
        .filter(outbox::priority.eq(number))
        .filter(outbox::lane.eq(lane))
        .filter(outbox::due_at.le(moment))
        .filter(outbox::app_id.eq(app_id))
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

    /// The first due jobs of an App, urgent ones first, then oldest first.
    async fn first_due(
        &mut self,
        app: AppId,
        queue: OutboxQueue,
        now: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<(Priority, Due)>> {
        let mut first = Vec::new();
        for priority in Priority::ALL {
            let left = limit.saturating_sub(length(&first));
            if left > 0 {
                let due = due(app, queue, priority, now, left);
                let due = due.load::<Due>(self.writing()?).await;
                first.extend(self.done(due)?.into_iter().map(|due| (priority, due)));
            }
        }
        Ok(first)
    }

    /// Claims what [`dialect::CLAIM`] would. On a cluster no statement can lock rows of several Apps.
    async fn claim_per_app(
        &mut self,
        queue: OutboxQueue,
        owner: &str,
        now: Timestamp,
        lease_until: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<OutboxJob>> {
        let mut lanes = BTreeMap::<u8, Vec<(Priority, Due)>>::new();
        for app in self.apps_due(queue, now, limit).await? {
            let due = self.first_due(app, queue, now, limit).await?;
            lanes.entry(lane_of(app)).or_default().extend(due);
        }
        let share = usize::try_from(lane_share(limit)).unwrap_or(1);
        let mut rounds = Vec::new();
        for mut jobs in lanes.into_values() {
            jobs.sort_by(|one, other| in_order(one).cmp(&in_order(other)));
            let jobs = jobs.into_iter().enumerate();
            rounds.extend(jobs.map(|(position, job)| (position / share, job)));
        }
        rounds.sort_by(|(round, job), (other_round, other)| {
            (round, in_order(job)).cmp(&(other_round, in_order(other)))
        });
        rounds.truncate(usize::try_from(limit).unwrap_or_default());
        let due = rounds.into_iter().map(|(_, (_, due))| due).collect();
        let mut jobs = self.lease_each(owner, lease_until, due).await?;
        jobs.sort_by_key(order_of);
        Ok(jobs)
    }
}

#[port]
impl Outbox for Unit {
    async fn push(&mut self, job: &OutboxJob) -> StoreResult<()> {
        let insert = diesel::insert_into(outbox::table).values(OutboxRow::from(job));
        let inserted = dialect::defer!(self.writing()?, insert).await;
        self.report_later(CommitEffect::Messages(job.queue()));
        self.done(inserted)
    }

    async fn claim(
        &mut self,
        queue: OutboxQueue,
        owner: &str,
        now: Timestamp,
        lease_until: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<OutboxJob>> {
        if self.is_distributed() {
            return self
                .claim_per_app(queue, owner, now, lease_until, limit)
                .await;
        }
        let claim = diesel::sql_query(dialect::CLAIM)
            .bind::<Text, _>(owner)
            .bind::<BigInt, _>(lease_until.unix())
            .bind::<BigInt, _>(now.unix())
            .bind::<BigInt, _>(limit)
            .bind::<Text, _>(queue.environment.as_str())
            .bind::<Text, _>(queue.channel.as_str())
            .bind::<BigInt, _>(lane_share(limit))
            .bind::<BigInt, _>(limit.saturating_mul(2));
        let claimed = Prepared(claim).load::<OutboxRow>(self.writing()?).await;
        let mut jobs: Vec<OutboxJob> = read_all(self.done(claimed)?)?;
        // RETURNING does not preserve order.
        jobs.sort_by_key(order_of);
        Ok(jobs)
    }

    async fn apps_due(
        &mut self,
        queue: OutboxQueue,
        now: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<AppId>> {
        let query = outbox::table
            .filter(outbox::ended_at.is_null())
            .filter(outbox::environment.eq(queue.environment.as_str()))
            .filter(outbox::channel.eq(queue.channel.as_str()))
            .filter(outbox::due_at.le(now.unix()))
            .group_by(outbox::app_id)
            .order((min(outbox::priority), min(outbox::due_at)))
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
        queue: OutboxQueue,
        owner: &str,
        now: Timestamp,
        lease_until: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<OutboxJob>> {
        let first = self.first_due(app, queue, now, limit).await?;
        let first = first.into_iter().map(|(_, due)| due).collect();
        self.lease_each(owner, lease_until, first).await
    }

    async fn finish(
        &mut self,
        world: &World,
        id: JobId,
        owner: &str,
        end: JobEnd,
        at: Timestamp,
    ) -> StoreResult<bool> {
        let held = held!(world, id, owner);
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
        let held = held!(world, id, owner);
        let update = diesel::update(held).set((
            outbox::not_before.eq(at.unix()),
            outbox::due_at.eq(at.unix()),
            outbox::lease_owner.eq(None::<String>),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }

    async fn give_back(&mut self, world: &World, id: JobId, owner: &str) -> StoreResult<bool> {
        let held = held!(world, id, owner);
        let update = diesel::update(held).set((
            outbox::attempts.eq(outbox::attempts - 1),
            outbox::due_at.eq(outbox::not_before),
            outbox::lease_owner.eq(None::<String>),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }

    async fn fail(
        &mut self,
        world: &World,
        id: JobId,
        owner: &str,
        fault: JobFault,
        again: Option<Timestamp>,
        at: Timestamp,
    ) -> StoreResult<bool> {
        let held = held!(world, id, owner);
        let failed = (
            outbox::failures.eq(outbox::failures + 1),
            outbox::fault.eq(fault.as_str()),
            outbox::lease_owner.eq(None::<String>),
        );
        let updated = match again {
            Some(again) => {
                let next = (
                    outbox::not_before.eq(again.unix()),
                    outbox::due_at.eq(again.unix()),
                );
                let update = diesel::update(held).set((failed, next));
                Prepared(update).execute(self.writing()?).await
            }
            None => {
                let dead = (
                    outbox::ended_at.eq(at.unix()),
                    outbox::ended_as.eq(JobEnd::Dead.as_str()),
                );
                let update = diesel::update(held).set((failed, dead));
                Prepared(update).execute(self.writing()?).await
            }
        };
        Ok(self.done(updated)? == 1)
    }

    async fn dead(&mut self, world: &World, limit: i64) -> StoreResult<Vec<DeadJob>> {
        let query = in_world!(outbox, world)
            .filter(sql::<Bool>(IS_DEAD))
            .order((outbox::ended_at.desc(), outbox::id.desc()))
            .limit(limit)
            .select(DeadJobRow::as_select());
        let found = query.load(self.reading()?).await;
        read_all(self.done(found)?)
    }

    async fn find_dead(&mut self, world: &World, id: JobId) -> StoreResult<Option<DeadJob>> {
        let query = in_world!(outbox, world)
            .filter(outbox::id.eq(id.to_string()))
            .filter(sql::<Bool>(IS_DEAD))
            .select(DeadJobRow::as_select());
        let found = query.get_result(self.reading()?).await.optional();
        self.done(found)?.map(DeadJob::try_from).transpose()
    }

    async fn revive(&mut self, world: &World, id: JobId, now: Timestamp) -> StoreResult<bool> {
        let dead = in_world!(outbox, world)
            .filter(outbox::id.eq(id.to_string()))
            .filter(sql::<Bool>(IS_DEAD))
            .filter(outbox::deliver_before.gt(now.unix()));
        let update = diesel::update(dead).set((
            outbox::ended_at.eq(None::<i64>),
            outbox::ended_as.eq(None::<String>),
            outbox::fault.eq(None::<String>),
            outbox::failures.eq(0),
            outbox::not_before.eq(now.unix()),
            outbox::due_at.eq(now.unix()),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }

    async fn drop_dead(&mut self, world: &World, id: JobId) -> StoreResult<bool> {
        let dead = in_world!(outbox, world)
            .filter(outbox::id.eq(id.to_string()))
            .filter(sql::<Bool>(IS_DEAD));
        let deleted = Prepared(diesel::delete(dead))
            .execute(self.writing()?)
            .await;
        Ok(self.done(deleted)? == 1)
    }

    async fn crowded(&mut self, most: i64) -> StoreResult<Vec<(World, Channel, Priority)>> {
        let waiting = outbox::table.filter(outbox::ended_at.is_null());
        let further = waiting
            .order((
                outbox::environment,
                outbox::channel,
                outbox::priority,
                outbox::lane,
            ))
            .limit(1)
            .offset(most)
            .select(outbox::lane);
        let further = further.get_result::<i64>(self.reading()?).await.optional();
        if self.done(further)?.is_none() {
            // All Apps together have fewer.
            return Ok(Vec::new());
        }
        let query = waiting
            .group_by((
                outbox::app_id,
                outbox::environment,
                outbox::channel,
                outbox::priority,
            ))
            .having(count_star().gt(most))
            .select((
                outbox::app_id,
                outbox::environment,
                outbox::channel,
                outbox::priority,
            ));
        let found = query
            .load::<(String, String, String, i64)>(self.reading()?)
            .await;
        let table = Table("outbox");
        self.done(found)?
            .iter()
            .map(|(app, environment, channel, priority)| {
                Ok((
                    table.world(app, environment)?,
                    table.parse("channel", channel)?,
                    stored_priority(&table, *priority)?,
                ))
            })
            .collect()
    }

    async fn backlog(&mut self, now: Timestamp) -> StoreResult<Vec<Backlog>> {
        if self.is_distributed() {
            let query = outbox::table
                .filter(outbox::ended_at.is_null())
                .group_by((outbox::channel, outbox::priority))
                .select((
                    outbox::channel,
                    outbox::priority,
                    count_star(),
                    min(outbox::due_at),
                ));
            let found = query.load::<BacklogRow>(self.reading()?).await;
            return read_backlog(self.done(found)?, now);
        }
        let query = diesel::sql_query(BACKLOG).bind::<BigInt, _>(now.unix());
        let found = Prepared(query).load::<BacklogRow>(self.reading()?).await;
        read_backlog(self.done(found)?, now)
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
