//! Events, from the change that they report to their position in a world's log.
//!
//! A change adds **unsequenced** events: they have no position yet. The first transaction to commit need not have the lower number. Numbers
//! assigned before a commit would therefore be unsafe for readers that page by them. Committed events get their positions afterwards, from
//! one writer per world at a time ([`Events::lock_head`], [`Events::place`]).

use vestry_domain::event::{Event, EventHead, EventKind, NewEvent, Position};
use vestry_domain::ids::{EventId, UserId, WalletId};
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::{Placed, StoreResult};

/// A filter for events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Of these types; empty means all.
    pub kinds: Vec<EventKind>,
    /// About this user.
    pub user_id: Option<UserId>,
    /// About this wallet.
    pub wallet_id: Option<WalletId>,
    /// Happened at this time or later.
    pub from: Option<Timestamp>,
    /// Happened before this time.
    pub until: Option<Timestamp>,
}

/// A range of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PositionRange {
    /// The lowest position.
    pub from: i64,
    /// The highest position.
    pub to: i64,
    /// Whether the newest events come first.
    pub descending: bool,
}

/// Events.
#[port]
pub trait Events: Send {
    /// Adds unsequenced events, in order. They are written when the transaction commits, after everything else in it. Of two changes of
    /// one object, the later one therefore has the later event (E-4).
    async fn append(&mut self, events: &[NewEvent]) -> StoreResult<()>;
    /// The first world after the given one, in the order of worlds, that has unsequenced events.
    async fn waiting(&mut self, after: Option<World>) -> StoreResult<Option<World>>;

    /// Locks the head of a world until the transaction ends, so that no other writer assigns positions; `None` if another one holds it.
    async fn lock_head(&mut self, world: &World) -> StoreResult<Option<EventHead>>;
    /// Moves up to `limit` unsequenced events into the log, after the newest event of a locked head. Includes all events that were added
    /// at the same time as the last of them. Returns the new head and the moved events, in order.
    async fn place(
        &mut self,
        world: &World,
        head: EventHead,
        limit: i64,
    ) -> StoreResult<(EventHead, Vec<Placed>)>;
    /// Begins a new log with this event, after the newest event of a locked head.
    async fn restart(
        &mut self,
        head: EventHead,
        log: i64,
        event: &NewEvent,
    ) -> StoreResult<EventHead>;

    /// The head of a world's log.
    async fn head(&mut self, world: &World) -> StoreResult<EventHead>;
    /// An event in the log.
    async fn find(&mut self, world: &World, id: EventId) -> StoreResult<Option<Event>>;
    /// The events in the log with these ids, in no particular order.
    async fn find_all(&mut self, world: &World, ids: &[EventId]) -> StoreResult<Vec<Event>>;
    /// The event at a position of the log.
    async fn at(&mut self, world: &World, position: i64) -> StoreResult<Option<Position>>;
    /// The event with the lowest id that is not below this one.
    async fn first_from(&mut self, world: &World, id: EventId) -> StoreResult<Option<Position>>;
    /// Up to `limit` matching events in a range of the log.
    async fn page(
        &mut self,
        world: &World,
        range: PositionRange,
        filter: &EventFilter,
        limit: i64,
    ) -> StoreResult<Vec<Event>>;

    /// The number of matching events in a range of the log.
    async fn count(
        &mut self,
        world: &World,
        range: PositionRange,
        filter: &EventFilter,
    ) -> StoreResult<i64>;

    /// Heads of worlds that have retained events, in the order of worlds, after the given one.
    async fn heads(
        &mut self,
        after: Option<World>,
        limit: i64,
    ) -> StoreResult<Vec<(World, EventHead)>>;
    /// Deletes the oldest events of a world that precede `before` by their ids, without leaving a gap; returns how many. At most `limit`,
    /// and none at position `kept` or above.
    async fn sweep(
        &mut self,
        world: &World,
        before: EventId,
        kept: Option<i64>,
        limit: i64,
    ) -> StoreResult<u64>;
}
