//! Events, and how unsequenced ones get into the log.

use diesel::dsl::count_star;
use diesel::prelude::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper,
};
use diesel_async::RunQueryDsl;
use vestry_domain::World;
use vestry_domain::event::{Event, EventHead, EventKind, NewEvent, Position};
use vestry_domain::ids::EventId;
use vestry_ports::port;
use vestry_ports::store::{EventFilter, Events, Placed, PositionRange, StoreResult};

use super::{Unit, after, count, dialect, in_world, load_all, load_first};
use vestry_store_rows::prepared::Prepared;
use vestry_store_rows::rows::Table;
use vestry_store_rows::rows::events::{EventHeadRow, EventRow};
use vestry_store_rows::schema::{event_heads, events, unsequenced_events};

/// Converts rows of position, id and type.
fn placed(rows: Vec<(i64, String, String)>) -> StoreResult<Vec<Placed>> {
    let table = Table("events");
    let placed = rows.into_iter().map(|(position, id, kind)| {
        let id = table.parse("id", &id)?;
        Ok(Placed {
            at: Position { position, id },
            kind: table.parse("kind", &kind)?,
        })
    });
    placed.collect()
}

impl Unit {
    async fn selected_head(&mut self, world: &World) -> StoreResult<Option<EventHead>> {
        let head = in_world!(event_heads, world).select(EventHeadRow::as_select());
        let found = dialect::skip_locked!(head)
            .first(self.writing()?)
            .await
            .optional();
        self.done(found)?.map(EventHead::try_from).transpose()
    }

    async fn move_head(&mut self, world: &World, head: &EventHead) -> StoreResult<()> {
        let row = EventHeadRow::new(world, head);
        let update = diesel::update(in_world!(event_heads, world)).set(row);
        let updated = Prepared(update).execute(self.writing()?).await;
        self.done(updated).map(drop)
    }
}

/// The events of a range that match the filter.
macro_rules! fitting {
    ($world:expr, $range:expr, $filter:expr) => {{
        let mut query = in_world!(events, $world)
            .filter(events::position.ge($range.from))
            .filter(events::position.le($range.to))
            .into_boxed();
        if !$filter.kinds.is_empty() {
            let kinds = $filter.kinds.iter().copied().map(EventKind::as_str);
            query = query.filter(events::kind.eq_any(kinds.collect::<Vec<_>>()));
        }
        if let Some(user) = $filter.user_id {
            query = query.filter(events::user_id.eq(user.to_string()));
        }
        if let Some(wallet) = $filter.wallet_id {
            query = query.filter(events::wallet_id.eq(wallet.to_string()));
        }
        if let Some(from) = $filter.from {
            query = query.filter(events::created_at.ge(from.unix()));
        }
        if let Some(until) = $filter.until {
            query = query.filter(events::created_at.lt(until.unix()));
        }
        query
    }};
}

#[port]
impl Events for Unit {
    async fn append(&mut self, events: &[NewEvent]) -> StoreResult<()> {
        self.emit(events)
    }

    async fn waiting(&mut self, after: Option<World>) -> StoreResult<Option<World>> {
        let mut query = unsequenced_events::table
            .order((unsequenced_events::app_id, unsequenced_events::environment))
            .limit(1)
            .select((unsequenced_events::app_id, unsequenced_events::environment))
            .into_boxed();
        if let Some(after) = after {
            query = query.filter(after!(after));
        }
        let found = query.first::<(String, String)>(self.reading()?).await;
        let table = Table("unsequenced_events");
        let found = self.done(found.optional())?;
        found
            .map(|(app, environment)| table.world(&app, &environment))
            .transpose()
    }

    async fn lock_head(&mut self, world: &World) -> StoreResult<Option<EventHead>> {
        if let Some(head) = self.selected_head(world).await? {
            return Ok(Some(head));
        }
        // Another transaction has locked it, or it does not exist yet.
        let first = EventHeadRow::new(world, &EventHead::EMPTY);
        let insert = diesel::insert_into(event_heads::table)
            .values(first)
            .on_conflict_do_nothing();
        let inserted = Prepared(insert).execute(self.writing()?).await;
        if self.done(inserted)? == 0 {
            return Ok(None);
        }
        self.selected_head(world).await
    }

    async fn place(
        &mut self,
        world: &World,
        head: EventHead,
        limit: i64,
    ) -> StoreResult<(EventHead, Vec<Placed>)> {
        let last = in_world!(unsequenced_events, world)
            .order(unsequenced_events::appended)
            .offset(limit.saturating_sub(1))
            .limit(1)
            .select(unsequenced_events::appended);
        let last = last.first(self.writing()?).await.optional();
        let last: i64 = self.done(last)?.unwrap_or(i64::MAX);
        let conn = self.writing()?;
        let moved = dialect::place(conn, world, head.position(), head.log, last).await;
        let mut placed = placed(self.done(moved)?)?;
        placed.sort_unstable_by_key(|placed| placed.at.position);
        let first = placed.as_slice().first().map(|placed| placed.at);
        let newest = placed.as_slice().last().map(|placed| placed.at);
        let moved = EventHead {
            oldest: head.oldest.or(first),
            newest: newest.or(head.newest),
            ..head
        };
        if moved != head {
            self.move_head(world, &moved).await?;
        }
        Ok((moved, placed))
    }

    async fn restart(
        &mut self,
        head: EventHead,
        log: i64,
        event: &NewEvent,
    ) -> StoreResult<EventHead> {
        let mark = Position {
            position: head.position().saturating_add(1),
            id: event.id,
        };
        let world = event.world;
        let row = EventRow::from(&Event {
            event: event.clone(),
            log,
            position: mark.position,
        });
        let insert = diesel::insert_into(events::table).values(row);
        let inserted = insert.execute(self.writing()?).await;
        self.done(inserted)?;
        let head = EventHead {
            log,
            oldest: head.oldest.or(Some(mark)),
            newest: Some(mark),
            ..head
        };
        self.move_head(&world, &head).await?;
        Ok(head)
    }

    async fn head(&mut self, world: &World) -> StoreResult<EventHead> {
        let query = in_world!(event_heads, world).select(EventHeadRow::as_select());
        let head: Option<EventHead> = load_first!(self, query)?;
        Ok(head.unwrap_or(EventHead::EMPTY))
    }

    async fn find(&mut self, world: &World, id: EventId) -> StoreResult<Option<Event>> {
        let query = in_world!(events, world)
            .filter(events::id.eq(id.to_string()))
            .select(EventRow::as_select());
        load_first!(self, query)
    }

    async fn find_all(&mut self, world: &World, ids: &[EventId]) -> StoreResult<Vec<Event>> {
        let ids: Vec<String> = ids.iter().map(EventId::to_string).collect();
        let query = in_world!(events, world)
            .filter(events::id.eq_any(ids))
            .select(EventRow::as_select());
        load_all!(self, query)
    }

    async fn at(&mut self, world: &World, position: i64) -> StoreResult<Option<Position>> {
        let query = in_world!(events, world)
            .filter(events::position.eq(position))
            .select(events::id);
        let found = query.first::<String>(self.reading()?).await.optional();
        let table = Table("events");
        let id = self.done(found)?;
        let id = id.map(|id| table.parse("id", &id)).transpose()?;
        Ok(id.map(|id| Position { position, id }))
    }

    async fn first_from(&mut self, world: &World, id: EventId) -> StoreResult<Option<Position>> {
        let query = in_world!(events, world)
            .filter(events::id.ge(id.to_string()))
            .order(events::id)
            .select((events::position, events::id));
        let found = query
            .first::<(i64, String)>(self.reading()?)
            .await
            .optional();
        let table = Table("events");
        let mark = |(position, id): (i64, String)| {
            let id = table.parse("id", &id)?;
            StoreResult::Ok(Position { position, id })
        };
        self.done(found)?.map(mark).transpose()
    }

    async fn page(
        &mut self,
        world: &World,
        range: PositionRange,
        filter: &EventFilter,
        limit: i64,
    ) -> StoreResult<Vec<Event>> {
        let mut query = fitting!(world, range, filter)
            .limit(limit)
            .select(EventRow::as_select());
        query = if range.descending {
            query.order(events::position.desc())
        } else {
            query.order(events::position)
        };
        load_all!(self, query)
    }

    async fn count(
        &mut self,
        world: &World,
        range: PositionRange,
        filter: &EventFilter,
    ) -> StoreResult<i64> {
        let query = fitting!(world, range, filter).select(count_star());
        let counted = query.first(self.reading()?).await;
        self.done(counted)
    }

    async fn heads(
        &mut self,
        after: Option<World>,
        limit: i64,
    ) -> StoreResult<Vec<(World, EventHead)>> {
        let mut query = event_heads::table
            .filter(event_heads::oldest_id.is_not_null())
            .order((event_heads::app_id, event_heads::environment))
            .limit(limit)
            .select(EventHeadRow::as_select())
            .into_boxed();
        if let Some(after) = after {
            query = query.filter(after!(after));
        }
        let found = query.load(self.reading()?).await;
        let found = self.done(found)?.into_iter();
        found
            .map(|row| Ok((row.world()?, EventHead::try_from(row)?)))
            .collect()
    }

    async fn sweep(
        &mut self,
        world: &World,
        before: EventId,
        kept: Option<i64>,
        limit: i64,
    ) -> StoreResult<u64> {
        let Some(head) = self.selected_head(world).await? else {
            return Ok(0);
        };
        let oldest = in_world!(events, world)
            .order(events::position)
            .limit(limit.saturating_add(1))
            .select((events::position, events::id));
        let oldest = oldest.load::<(i64, String)>(self.writing()?).await;
        let oldest = self.done(oldest)?;
        let before = before.to_string();
        let many = usize::try_from(limit).unwrap_or(usize::MAX);
        let old = oldest.iter().take(many);
        let is_old = |position: i64, id: &str| {
            id < before.as_str() && kept.is_none_or(|kept| position < kept)
        };
        let old = old
            .take_while(|(position, id)| is_old(*position, id))
            .count();
        let kept = oldest.get(old);
        let Some((last, last_id)) = old.checked_sub(1).and_then(|last| oldest.get(last)) else {
            return Ok(0);
        };
        let gone = in_world!(events, world).filter(events::position.le(*last));
        let deleted = diesel::delete(gone).execute(self.writing()?).await;
        let deleted = self.done(deleted)?;
        let table = Table("events");
        let kept = kept.map(|(position, id)| {
            let id = table.parse("id", id)?;
            StoreResult::Ok(Position {
                position: *position,
                id,
            })
        });
        let head = EventHead {
            oldest: kept.transpose()?,
            pruned: Some(table.parse("id", last_id)?),
            ..head
        };
        self.move_head(world, &head).await?;
        Ok(count(deleted))
    }
}
