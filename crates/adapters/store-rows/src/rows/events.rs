//! Rows of events.

use diesel::prelude::{AsChangeset, Insertable, Queryable, Selectable};
use vestry_domain::event::{Actor, Event, EventHead, NewEvent, Position};
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{StoreError, StoreResult};

use super::Table;
use crate::schema::{event_heads, events, unsequenced_events};

/// An unsequenced event. The database sets the time at which it was appended.
#[derive(Insertable)]
#[diesel(table_name = unsequenced_events, treat_none_as_default_value = false)]
pub struct UnsequencedRow {
    app_id: String,
    environment: String,
    ordinal: i64,
    id: String,
    kind: String,
    user_id: Option<String>,
    wallet_id: Option<String>,
    actor_kind: String,
    actor_id: Option<String>,
    request_id: Option<String>,
    data: String,
    created_at: i64,
}

impl UnsequencedRow {
    /// Builds the row of an event, with its ordinal in the transaction.
    pub fn new(event: &NewEvent, ordinal: i64) -> Self {
        Self {
            ordinal,
            app_id: event.world.app_id.to_string(),
            environment: event.world.environment.to_string(),
            id: event.id.to_string(),
            kind: event.kind.to_string(),
            user_id: event.user_id.map(|id| id.to_string()),
            wallet_id: event.wallet_id.map(|id| id.to_string()),
            actor_kind: event.actor.kind().to_owned(),
            actor_id: event.actor.id(),
            request_id: event.request_id.clone(),
            data: event.data.clone(),
            created_at: event.created_at.unix(),
        }
    }
}

/// An event in a log.
#[derive(Queryable, Selectable, Insertable)]
#[diesel(table_name = events, treat_none_as_default_value = false)]
pub struct EventRow {
    app_id: String,
    environment: String,
    position: i64,
    id: String,
    log: i64,
    kind: String,
    user_id: Option<String>,
    wallet_id: Option<String>,
    actor_kind: String,
    actor_id: Option<String>,
    request_id: Option<String>,
    data: String,
    created_at: i64,
}

impl From<&Event> for EventRow {
    fn from(event: &Event) -> Self {
        let Event {
            event,
            log,
            position,
        } = event;
        let row = UnsequencedRow::new(event, 0);
        Self {
            app_id: row.app_id,
            environment: row.environment,
            position: *position,
            id: row.id,
            log: *log,
            kind: row.kind,
            user_id: row.user_id,
            wallet_id: row.wallet_id,
            actor_kind: row.actor_kind,
            actor_id: row.actor_id,
            request_id: row.request_id,
            data: row.data,
            created_at: row.created_at,
        }
    }
}

impl TryFrom<EventRow> for Event {
    type Error = StoreError;

    fn try_from(row: EventRow) -> StoreResult<Self> {
        let table = Table("events");
        let actor = Actor::parse(&row.actor_kind, row.actor_id.as_deref());
        let user_id = row.user_id.as_deref();
        let wallet_id = row.wallet_id.as_deref();
        let event = NewEvent {
            id: table.parse("id", &row.id)?,
            world: table.world(&row.app_id, &row.environment)?,
            kind: table.parse("kind", &row.kind)?,
            user_id: user_id.map(|id| table.parse("user_id", id)).transpose()?,
            wallet_id: wallet_id
                .map(|id| table.parse("wallet_id", id))
                .transpose()?,
            actor: actor.map_err(|_unknown| table.corrupt("actor_kind"))?,
            request_id: row.request_id,
            data: row.data,
            created_at: Timestamp::from_unix(row.created_at),
        };
        Ok(Self {
            event,
            log: row.log,
            position: row.position,
        })
    }
}

/// The first and last positions of a log.
#[derive(Queryable, Selectable, Insertable, AsChangeset)]
#[diesel(table_name = event_heads, treat_none_as_default_value = false, treat_none_as_null = true)]
// Updates leave the key out: on a cluster it determines where the row is stored, and cannot be set even to its present value.
#[diesel(primary_key(app_id, environment))]
pub struct EventHeadRow {
    app_id: String,
    environment: String,
    log: i64,
    position: i64,
    newest_id: Option<String>,
    oldest_position: Option<i64>,
    oldest_id: Option<String>,
    pruned_id: Option<String>,
}

impl EventHeadRow {
    /// Returns the row of a world's head.
    pub fn new(world: &World, head: &EventHead) -> Self {
        Self {
            app_id: world.app_id.to_string(),
            environment: world.environment.to_string(),
            log: head.log,
            position: head.position(),
            newest_id: head.newest.map(|mark| mark.id.to_string()),
            oldest_position: head.oldest.map(|mark| mark.position),
            oldest_id: head.oldest.map(|mark| mark.id.to_string()),
            pruned_id: head.pruned.map(|id| id.to_string()),
        }
    }

    /// Returns the world of the head.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`].
    pub fn world(&self) -> StoreResult<World> {
        Table("event_heads").world(&self.app_id, &self.environment)
    }
}

impl TryFrom<EventHeadRow> for EventHead {
    type Error = StoreError;

    fn try_from(row: EventHeadRow) -> StoreResult<Self> {
        let table = Table("event_heads");
        let mark = |column, position, id: Option<String>| {
            let (Some(position), Some(id)) = (position, id) else {
                return Ok(None);
            };
            let id = table.parse(column, &id)?;
            StoreResult::Ok(Some(Position { position, id }))
        };
        let pruned = row.pruned_id.map(|id| table.parse("pruned_id", &id));
        Ok(Self {
            log: row.log,
            oldest: mark("oldest_id", row.oldest_position, row.oldest_id)?,
            newest: mark("newest_id", Some(row.position), row.newest_id)?,
            pruned: pruned.transpose()?,
        })
    }
}
