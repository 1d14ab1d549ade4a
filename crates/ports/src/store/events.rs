//! Events, from the change that they tell of to their place in the log of a world.
//!
//! A change leaves its events in the **inbox**, without a number: any number that is drawn before a commit is a trap for whoever
//! reads by numbers, since what commits first need not have the lower one. Events that are committed get their places afterwards, by
//! one writer of a world at a time ([`Events::lock_head`], [`Events::place`]).

use vestry_domain::World;
use vestry_domain::event::{Event, EventHead, EventKind, Mark, NewEvent};
use vestry_domain::ids::{EventId, UserId, WalletId};
use vestry_port_macro::port;

use super::{Placed, StoreResult};

/// What rings when events were committed, with the world that they are of.
pub type Bell = Box<dyn Fn(World) + Send + Sync>;

/// Which events are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Of these kinds; empty: of all.
    pub kinds: Vec<EventKind>,
    /// About this user.
    pub user_id: Option<UserId>,
    /// About this wallet.
    pub wallet_id: Option<WalletId>,
}

/// A stretch of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Its lowest place.
    pub from: i64,
    /// Its highest place.
    pub to: i64,
    /// Whether the newest come first.
    pub descending: bool,
}

/// Events.
#[port]
pub trait Events: Send {
    /// Leaves events in the inbox, in their order. They are written when the transaction commits, behind everything else in it: of
    /// two changes of one object the later one tells later (E-4).
    async fn append(&mut self, events: &[NewEvent]) -> StoreResult<()>;
    /// The first world, in the order of worlds and behind one of them, that has events in its inbox.
    async fn waiting(&mut self, after: Option<World>) -> StoreResult<Option<World>>;

    /// Locks the head of a world until the transaction ends, so that nobody else gives out places; `None` when somebody else does.
    async fn lock_head(&mut self, world: &World) -> StoreResult<Option<EventHead>>;
    /// Moves up to `limit` events of the inbox, and those that were appended at the same moment as the last of them, into the log,
    /// behind the newest one of a head that is locked; answers the head as it is then, and what was moved, in its order.
    async fn place(
        &mut self,
        world: &World,
        head: EventHead,
        limit: i64,
    ) -> StoreResult<(EventHead, Vec<Placed>)>;
    /// Begins another log behind the newest event of a head that is locked, with this event.
    async fn restart(
        &mut self,
        head: EventHead,
        log: i64,
        event: &NewEvent,
    ) -> StoreResult<EventHead>;

    /// Where the log of a world begins and ends.
    async fn head(&mut self, world: &World) -> StoreResult<EventHead>;
    /// An event of the log.
    async fn find(&mut self, world: &World, id: EventId) -> StoreResult<Option<Event>>;
    /// Those of these events that are in the log, in no order.
    async fn find_all(&mut self, world: &World, ids: &[EventId]) -> StoreResult<Vec<Event>>;
    /// The event at a place of the log.
    async fn at(&mut self, world: &World, position: i64) -> StoreResult<Option<Mark>>;
    /// Up to `limit` events of a stretch of the log that fit.
    async fn page(
        &mut self,
        world: &World,
        stretch: Stretch,
        filter: &EventFilter,
        limit: i64,
    ) -> StoreResult<Vec<Event>>;

    /// How many events of a stretch of the log fit.
    async fn count(
        &mut self,
        world: &World,
        stretch: Stretch,
        filter: &EventFilter,
    ) -> StoreResult<i64>;

    /// Heads of worlds, in the order of worlds and behind one of them, of which events are kept.
    async fn heads(
        &mut self,
        after: Option<World>,
        limit: i64,
    ) -> StoreResult<Vec<(World, EventHead)>>;
    /// Deletes the oldest events of a world that were made before `before` by their ids, at most `limit`, and none from the place
    /// `kept` on, without leaving a hole; returns how many.
    async fn sweep(
        &mut self,
        world: &World,
        before: EventId,
        kept: Option<i64>,
        limit: i64,
    ) -> StoreResult<u64>;
}
