//! Deliveries of events to webhook endpoints.

use std::ops::RangeInclusive;

use diesel::dsl::{count_star, exists, min, not, sql};
use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper,
};
use diesel::sql_types::{BigInt, Bool, Text};
use diesel_async::RunQueryDsl;
use vestry_domain::ids::{AppId, EventId, WebhookDeliveryId, WebhookEndpointId};
use vestry_domain::webhook::{Attempt, Delivery, DeliveryState};
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Deliveries, DeliveryFilter, Lane, Queue, StoreResult};

use super::{Unit, after, count, dialect, in_world, load_all, load_first, read_all};
use vestry_store_rows::delete_limited;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::row_chunks::row_chunks;
use vestry_store_rows::rows::Table;
use vestry_store_rows::rows::webhooks::{AttemptRow, DeliveryRow, lane_of, rank_of};
use vestry_store_rows::schema::{webhook_attempts, webhook_deliveries};

/// The columns of a queue, and when its first delivery is due.
type QueueRow = (String, String, String, i64, i64);

/// A claimed delivery that has not been claimed again or ended since. Every claim increments `attempts`.
macro_rules! taken {
    ($taken:expr) => {
        in_world!(webhook_deliveries, $taken.world)
            .filter(webhook_deliveries::id.eq($taken.id.to_string()))
            .filter(webhook_deliveries::attempts.eq(i64::from($taken.attempts)))
            .filter(webhook_deliveries::ended_at.is_null())
    };
}

/// The pending deliveries of an endpoint.
macro_rules! waiting {
    ($world:expr, $endpoint:expr) => {
        in_world!(webhook_deliveries, $world)
            .filter(webhook_deliveries::endpoint_id.eq($endpoint.to_string()))
            .filter(webhook_deliveries::ended_at.is_null())
    };
}

diesel::alias!(webhook_deliveries as newer_deliveries: NewerDeliveries);

/// Whether a column has the same value in the newer delivery as in the other one.
macro_rules! alike {
    ($column:ident) => {
        newer_deliveries
            .field(webhook_deliveries::$column)
            .eq(webhook_deliveries::$column)
    };
}

/// Exhausted deliveries without a newer delivery of the same event to the endpoint. The index condition is written as literal text: neither
/// database recognises it when the word is a parameter.
macro_rules! exhausted {
    ($world:expr, $endpoint:expr, $ended:expr) => {{
        let newer = newer_deliveries
            .filter(alike!(app_id).and(alike!(environment)))
            .filter(alike!(endpoint_id).and(alike!(event_id)))
            .filter(
                newer_deliveries
                    .field(webhook_deliveries::id)
                    .gt(webhook_deliveries::id),
            );
        in_world!(webhook_deliveries, $world)
            .filter(webhook_deliveries::endpoint_id.eq($endpoint.to_string()))
            .filter(sql::<Bool>("webhook_deliveries.ended_as = 'exhausted'"))
            .filter(webhook_deliveries::ended_at.ge($ended.start().unix()))
            .filter(webhook_deliveries::ended_at.le($ended.end().unix()))
            .filter(not(exists(newer)))
    }};
}

#[port]
impl Deliveries for Unit {
    async fn insert(&mut self, deliveries: &[Delivery]) -> StoreResult<()> {
        for chunk in row_chunks(deliveries) {
            let rows: Vec<_> = chunk.iter().map(DeliveryRow::from).collect();
            let conn = self.writing()?;
            let inserted = dialect::insert_all!(conn, webhook_deliveries::table, rows).await;
            self.done(inserted)?;
        }
        Ok(())
    }

    async fn next_queue(
        &mut self,
        of: Option<AppId>,
        after: Option<Queue>,
    ) -> StoreResult<Option<(Queue, Timestamp)>> {
        let mut query = webhook_deliveries::table
            .filter(webhook_deliveries::ended_at.is_null())
            .order((
                webhook_deliveries::app_id,
                webhook_deliveries::environment,
                webhook_deliveries::endpoint_id,
                webhook_deliveries::rank,
                webhook_deliveries::due_at,
            ))
            .limit(1)
            .select((
                webhook_deliveries::app_id,
                webhook_deliveries::environment,
                webhook_deliveries::endpoint_id,
                webhook_deliveries::rank,
                webhook_deliveries::due_at,
            ))
            .into_boxed();
        if let Some(app) = of {
            query = query.filter(webhook_deliveries::app_id.eq(app.to_string()));
        }
        if let Some(after) = after {
            let (endpoint, rank) = (after.endpoint_id.to_string(), rank_of(after.lane));
            query = query
                .filter(after!(after.world, endpoint_id: Text = endpoint, rank: BigInt = rank));
        }
        let found = query.first::<QueueRow>(self.reading()?).await.optional();
        let table = Table("webhook_deliveries");
        let Some((app, environment, endpoint, rank, due_at)) = self.done(found)? else {
            return Ok(None);
        };
        let queue = Queue {
            world: table.world(&app, &environment)?,
            endpoint_id: table.parse("endpoint_id", &endpoint)?,
            lane: lane_of(rank)?,
        };
        Ok(Some((queue, Timestamp::from_unix(due_at))))
    }

    async fn claim(
        &mut self,
        queue: &Queue,
        now: Timestamp,
        lease_until: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<Delivery>> {
        let due = waiting!(queue.world, queue.endpoint_id)
            .filter(webhook_deliveries::rank.eq(rank_of(queue.lane)))
            .filter(webhook_deliveries::due_at.le(now.unix()))
            .order(webhook_deliveries::due_at)
            .limit(limit)
            .select(webhook_deliveries::id);
        let due = dialect::skip_locked!(due)
            .load::<String>(self.writing()?)
            .await;
        let due = self.done(due)?;
        if due.is_empty() {
            return Ok(Vec::new());
        }
        let locked = in_world!(webhook_deliveries, queue.world)
            .filter(webhook_deliveries::id.eq_any(due))
            .filter(webhook_deliveries::ended_at.is_null());
        let claim = diesel::update(locked)
            .set((
                webhook_deliveries::attempts.eq(webhook_deliveries::attempts + 1),
                webhook_deliveries::rank.eq(rank_of(Lane::Timed)),
                webhook_deliveries::due_at.eq(lease_until.unix()),
            ))
            .returning(DeliveryRow::as_returning());
        let claimed = claim.load::<DeliveryRow>(self.writing()?).await;
        let mut claimed: Vec<Delivery> = read_all(self.done(claimed)?)?;
        // RETURNING does not preserve order.
        claimed.sort_by_key(|delivery| (delivery.position, delivery.id));
        Ok(claimed)
    }

    async fn finish(
        &mut self,
        taken: &Delivery,
        end: DeliveryState,
        at: Timestamp,
    ) -> StoreResult<bool> {
        let update = diesel::update(taken!(taken)).set((
            webhook_deliveries::ended_at.eq(at.unix()),
            webhook_deliveries::ended_as.eq(end.as_str()),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }

    async fn retry(&mut self, taken: &Delivery, at: Timestamp) -> StoreResult<bool> {
        let update = diesel::update(taken!(taken)).set((
            webhook_deliveries::rank.eq(rank_of(Lane::Retry)),
            webhook_deliveries::due_at.eq(at.unix()),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        Ok(self.done(updated)? == 1)
    }

    async fn drop_waiting(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        at: Timestamp,
    ) -> StoreResult<u64> {
        let update = diesel::update(waiting!(world, endpoint)).set((
            webhook_deliveries::ended_at.eq(at.unix()),
            webhook_deliveries::ended_as.eq(DeliveryState::Dropped.as_str()),
        ));
        let updated = Prepared(update).execute(self.writing()?).await;
        self.done(updated).map(count)
    }

    async fn note_attempts(&mut self, attempts: &[Attempt]) -> StoreResult<()> {
        for chunk in row_chunks(attempts) {
            let rows: Vec<_> = chunk.iter().map(AttemptRow::from).collect();
            let conn = self.writing()?;
            let inserted = dialect::insert_all!(conn, webhook_attempts::table, rows).await;
            self.done(inserted)?;
        }
        Ok(())
    }

    async fn find(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        id: WebhookDeliveryId,
    ) -> StoreResult<Option<Delivery>> {
        // Looked up by its key alone: if an endpoint is named as well, Postgres may choose the index on all deliveries of the endpoint.
        let query = in_world!(webhook_deliveries, world)
            .filter(webhook_deliveries::id.eq(id.to_string()))
            .select(DeliveryRow::as_select());
        let found: Option<Delivery> = load_first!(self, query)?;
        Ok(found.filter(|delivery| delivery.endpoint_id == endpoint))
    }

    async fn attempts(
        &mut self,
        world: &World,
        id: WebhookDeliveryId,
    ) -> StoreResult<Vec<Attempt>> {
        let query = in_world!(webhook_attempts, world)
            .filter(webhook_attempts::delivery_id.eq(id.to_string()))
            .order(webhook_attempts::number)
            .select(AttemptRow::as_select());
        load_all!(self, query)
    }

    async fn list(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        filter: &DeliveryFilter,
        limit: i64,
    ) -> StoreResult<Vec<Delivery>> {
        let mut query = in_world!(webhook_deliveries, world)
            .filter(webhook_deliveries::endpoint_id.eq(endpoint.to_string()))
            .order(webhook_deliveries::id.desc())
            .limit(limit)
            .select(DeliveryRow::as_select())
            .into_boxed();
        query = match filter.state {
            None => query,
            Some(DeliveryState::Waiting) => query.filter(webhook_deliveries::ended_at.is_null()),
            Some(state) => query.filter(webhook_deliveries::ended_as.eq(state.as_str())),
        };
        if let Some(event) = filter.event_id {
            query = query.filter(webhook_deliveries::event_id.eq(event.to_string()));
        }
        if let Some(from) = filter.from {
            query = query.filter(webhook_deliveries::created_at.ge(from.unix()));
        }
        if let Some(until) = filter.until {
            query = query.filter(webhook_deliveries::created_at.lt(until.unix()));
        }
        if let Some(after) = filter.after {
            query = query.filter(webhook_deliveries::id.lt(after.to_string()));
        }
        load_all!(self, query)
    }

    async fn of_event(
        &mut self,
        world: &World,
        endpoints: &[WebhookEndpointId],
        event: EventId,
        limit: i64,
    ) -> StoreResult<Vec<Delivery>> {
        let endpoints: Vec<String> = endpoints.iter().map(WebhookEndpointId::to_string).collect();
        let query = in_world!(webhook_deliveries, world)
            .filter(webhook_deliveries::endpoint_id.eq_any(endpoints))
            .filter(webhook_deliveries::event_id.eq(event.to_string()))
            .order(webhook_deliveries::id.desc())
            .limit(limit)
            .select(DeliveryRow::as_select());
        load_all!(self, query)
    }

    async fn exhausted(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        ended: RangeInclusive<Timestamp>,
        after: Option<WebhookDeliveryId>,
        limit: i64,
    ) -> StoreResult<Vec<Delivery>> {
        let after = after.map_or_else(String::new, |after| after.to_string());
        let query = exhausted!(world, endpoint, ended)
            .filter(webhook_deliveries::id.gt(after))
            .order(webhook_deliveries::id)
            .limit(limit)
            .select(DeliveryRow::as_select());
        load_all!(self, query)
    }

    async fn count_exhausted(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        ended: RangeInclusive<Timestamp>,
    ) -> StoreResult<i64> {
        let query = exhausted!(world, endpoint, ended).select(count_star());
        let counted = query.first(self.reading()?).await;
        self.done(counted)
    }

    async fn waiting(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        after: Option<WebhookDeliveryId>,
        limit: i64,
    ) -> StoreResult<Vec<WebhookDeliveryId>> {
        let after = after.map_or_else(String::new, |after| after.to_string());
        let query = waiting!(world, endpoint)
            .filter(webhook_deliveries::id.gt(after))
            .order(webhook_deliveries::id)
            .limit(limit)
            .select(webhook_deliveries::id);
        let found = query.load::<String>(self.reading()?).await;
        let (table, found) = (Table("webhook_deliveries"), self.done(found)?);
        found.iter().map(|id| table.parse("id", id)).collect()
    }

    async fn put_off(
        &mut self,
        world: &World,
        those: &[WebhookDeliveryId],
        due_at: Timestamp,
    ) -> StoreResult<()> {
        let those: Vec<_> = those.iter().map(WebhookDeliveryId::to_string).collect();
        let waiting = in_world!(webhook_deliveries, world)
            .filter(webhook_deliveries::id.eq_any(those))
            .filter(webhook_deliveries::ended_at.is_null());
        let update = diesel::update(waiting).set((
            webhook_deliveries::rank.eq(rank_of(Lane::Timed)),
            webhook_deliveries::due_at.eq(due_at.unix()),
        ));
        let updated = update.execute(self.writing()?).await;
        self.done(updated).map(drop)
    }

    async fn first_waiting(&mut self, world: &World) -> StoreResult<Option<i64>> {
        let query = in_world!(webhook_deliveries, world)
            .filter(webhook_deliveries::ended_at.is_null())
            .select(min(webhook_deliveries::position));
        let found = query.first::<Option<i64>>(self.reading()?).await;
        self.done(found)
    }

    async fn sweep(&mut self, before: Timestamp) -> StoreResult<u64> {
        let old = webhook_attempts::table
            .filter(webhook_attempts::at.lt(before.unix()))
            .order(webhook_attempts::at);
        let attempts = delete_limited!(self, webhook_attempts, old)?;
        let old = webhook_deliveries::table
            .filter(webhook_deliveries::created_at.lt(before.unix()))
            .order(webhook_deliveries::created_at);
        let deliveries = delete_limited!(self, webhook_deliveries, old)?;
        Ok(attempts + deliveries)
    }
}
