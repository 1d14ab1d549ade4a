//! Captured messages of test environments.

use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper,
};
use diesel_async::RunQueryDsl;
use vestry_domain::ids::MessageId;
use vestry_domain::message::CapturedMessage;
use vestry_domain::{Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{Captured, CapturedFilter, StoreResult};

use super::{Unit, count, in_world, load_all};
use vestry_store_rows::delete_limited;
use vestry_store_rows::rows::messages::CapturedMessageRow;
use vestry_store_rows::schema::captured_messages;

#[port]
impl Captured for Unit {
    async fn insert(&mut self, message: &CapturedMessage) -> StoreResult<()> {
        // Two messages that arrive at the same instant can get the same position; then the id decides.
        let query = in_world!(captured_messages, message.world)
            .filter(captured_messages::created_at.eq(message.created_at.unix()))
            .order(captured_messages::position.desc())
            .select(captured_messages::position);
        let last = query.first::<i64>(self.reading()?).await.optional();
        let position = self.done(last)?.unwrap_or(0).saturating_add(1);
        let insert = diesel::insert_into(captured_messages::table)
            .values(CapturedMessageRow::new(message, position)?)
            .on_conflict_do_nothing();
        let inserted = insert.execute(self.writing()?).await;
        self.done(inserted).map(drop)
    }

    async fn list(
        &mut self,
        world: &World,
        filter: &CapturedFilter,
    ) -> StoreResult<Vec<CapturedMessage>> {
        let mut query = in_world!(captured_messages, world)
            .order((
                captured_messages::created_at.desc(),
                captured_messages::position.desc(),
                captured_messages::id.desc(),
            ))
            .limit(filter.limit)
            .select(CapturedMessageRow::as_select())
            .into_boxed();
        if let Some(to) = &filter.to {
            query = query.filter(captured_messages::recipient.eq(to.clone()));
        }
        if let Some(kind) = &filter.kind {
            query = query.filter(captured_messages::kind.eq(kind.clone()));
        }
        if let Some(after) = filter.after {
            query = match self.place(world, after).await? {
                Some((created_at, position)) => query.filter(
                    (captured_messages::created_at.gt(created_at)).or(
                        (captured_messages::created_at.eq(created_at)).and(
                            (captured_messages::position.gt(position))
                                .or((captured_messages::position.eq(position))
                                    .and(captured_messages::id.gt(after.to_string()))),
                        ),
                    ),
                ),
                // The message was deleted, but its id still contains its time.
                None => query.filter(captured_messages::created_at.gt(after.timestamp().unix())),
            };
        }
        load_all!(self, query)
    }

    async fn clear(&mut self, world: &World) -> StoreResult<u64> {
        let deleted = diesel::delete(in_world!(captured_messages, world))
            .execute(self.writing()?)
            .await;
        self.done(deleted).map(count)
    }

    async fn sweep(&mut self, captured_before: Timestamp) -> StoreResult<u64> {
        let old = captured_messages::table
            .filter(captured_messages::created_at.lt(captured_before.unix()))
            .order(captured_messages::created_at);
        delete_limited!(self, captured_messages, old)
    }
}

impl Unit {
    /// Returns the position of a message in arrival order.
    async fn place(&mut self, world: &World, id: MessageId) -> StoreResult<Option<(i64, i64)>> {
        let query = in_world!(captured_messages, world)
            .filter(captured_messages::id.eq(id.to_string()))
            .select((captured_messages::created_at, captured_messages::position));
        let found = query.first(self.reading()?).await.optional();
        self.done(found)
    }
}
