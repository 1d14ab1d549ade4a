//! Replays of many deliveries.

use diesel::prelude::{BoolExpressionMethods, ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use vestry_domain::ids::{WebhookEndpointId, WebhookReplayId};
use vestry_domain::webhook::Replay;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{StoreResult, WebhookReplays};

use super::{Unit, count, in_world, load_all, load_first};
use vestry_store_rows::delete_limited;
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::webhooks::{ReplayProgress, ReplayRow};
use vestry_store_rows::schema::webhook_replays;

/// Maximum number of replays in a list.
const LISTED: i64 = 100;

#[port]
impl WebhookReplays for Unit {
    async fn insert(&mut self, replay: &Replay) -> StoreResult<bool> {
        let insert = diesel::insert_into(webhook_replays::table)
            .values(ReplayRow::from(replay))
            .on_conflict_do_nothing();
        let inserted = Prepared(insert).execute(self.writing()?).await;
        Ok(self.done(inserted)? == 1)
    }

    async fn list(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
    ) -> StoreResult<Vec<Replay>> {
        let query = in_world!(webhook_replays, world)
            .filter(webhook_replays::endpoint_id.eq(endpoint.to_string()))
            .order(webhook_replays::id.desc())
            .limit(LISTED)
            .select(ReplayRow::as_select());
        load_all!(self, query)
    }

    async fn due(&mut self, now: Timestamp, limit: i64) -> StoreResult<Vec<Replay>> {
        let query = webhook_replays::table
            .filter(webhook_replays::ended_at.is_null())
            .filter(webhook_replays::next_at.le(now.unix()))
            .order(webhook_replays::next_at)
            .limit(limit)
            .select(ReplayRow::as_select());
        load_all!(self, query)
    }

    async fn find_due(
        &mut self,
        world: &World,
        id: WebhookReplayId,
        now: Timestamp,
    ) -> StoreResult<Option<Replay>> {
        let query = in_world!(webhook_replays, world)
            .filter(webhook_replays::id.eq(id.to_string()))
            .filter(webhook_replays::ended_at.is_null())
            .filter(webhook_replays::next_at.le(now.unix()))
            .select(ReplayRow::as_select());
        load_first!(self, query)
    }

    async fn advance(&mut self, replay: &Replay) -> StoreResult<()> {
        let one = in_world!(webhook_replays, replay.world)
            .filter(webhook_replays::id.eq(replay.id.to_string()));
        let update = diesel::update(one).set(ReplayProgress::from(ReplayRow::from(replay)));
        let updated = Prepared(update).execute(self.writing()?).await;
        self.done(updated).map(drop)
    }

    async fn sweep(&mut self, before: Timestamp) -> StoreResult<u64> {
        let old = webhook_replays::table
            .filter(webhook_replays::ended_at.lt(before.unix()))
            .order(webhook_replays::ended_at);
        delete_limited!(self, webhook_replays, old)
    }
}
