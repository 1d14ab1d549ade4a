//! Events, unsequenced and in the log.

use vestry_domain::World;
use vestry_domain::event::{Event, EventHead, NewEvent, Position};
use vestry_domain::ids::EventId;
use vestry_domain::journal::Change;
use vestry_ports::port;
use vestry_ports::store::{CommitEffect, EventFilter, Events, Placed, PositionRange, StoreResult};

use super::Work;
use super::state::{State, at_most};

/// The sort key of a world: the text of its columns.
pub(super) fn place_of(world: World) -> (String, &'static str) {
    (world.app_id.to_string(), world.environment.as_str())
}

fn is_behind(world: World, after: Option<World>) -> bool {
    after.is_none_or(|after| place_of(world) > place_of(after))
}

fn mark(event: &Event) -> Position {
    Position {
        position: event.position,
        id: event.event.id,
    }
}

fn fits(event: &NewEvent, filter: &EventFilter) -> bool {
    (filter.kinds.is_empty() || filter.kinds.contains(&event.kind))
        && (filter.user_id.is_none() || filter.user_id == event.user_id)
        && (filter.wallet_id.is_none() || filter.wallet_id == event.wallet_id)
        && filter.from.is_none_or(|from| event.created_at >= from)
        && filter.until.is_none_or(|until| event.created_at < until)
}

impl State {
    fn log_of(&self, world: World) -> impl DoubleEndedIterator<Item = &Event> {
        let events = self.events.iter();
        events.filter(move |event| event.event.world == world)
    }

    fn enter(&mut self, head: EventHead, log: i64, event: NewEvent) -> EventHead {
        let world = event.world;
        let event = Event {
            event,
            log,
            position: head.position() + 1,
        };
        let head = EventHead {
            log,
            oldest: head.oldest.or(Some(mark(&event))),
            newest: Some(mark(&event)),
            ..head
        };
        self.events.push(event);
        self.event_heads.insert(world, head);
        head
    }

    /// Deletes the oldest events of a log while `is_old` holds, and returns how many.
    pub(super) fn prune(&mut self, world: World, is_old: impl FnMut(&Event) -> bool) -> usize {
        let mut is_old = is_old;
        let old = self.log_of(world).take_while(|event| is_old(event)).count();
        let of_world = self
            .events
            .extract_if(.., |event| event.event.world == world);
        let gone: Vec<_> = of_world.take(old).collect();
        let oldest = self.log_of(world).next().map(mark);
        if let (Some(head), Some(last)) = (self.event_heads.get_mut(&world), gone.last()) {
            head.oldest = oldest;
            head.pruned = Some(last.event.id);
        }
        gone.len()
    }
}

#[port]
impl Events for Work {
    async fn append(&mut self, events: &[NewEvent]) -> StoreResult<()> {
        self.writing(|state| {
            state.unsequenced.extend_from_slice(events);
            Ok(())
        })?;
        self.effects
            .extend(events.iter().map(|event| CommitEffect::Events(event.world)));
        let changes = events.iter().filter_map(Change::of);
        let changes = changes.map(|change| CommitEffect::Changed(Box::new(change)));
        self.counted.extend(changes);
        Ok(())
    }

    async fn waiting(&mut self, after: Option<World>) -> StoreResult<Option<World>> {
        self.reading(|state| {
            let worlds = state.unsequenced.iter().map(|event| event.world);
            let behind = worlds.filter(|world| is_behind(*world, after));
            behind.min_by_key(|world| place_of(*world))
        })
    }

    async fn lock_head(&mut self, world: &World) -> StoreResult<Option<EventHead>> {
        self.writing(|state| {
            let head = state.event_heads.entry(*world);
            Ok(Some(*head.or_insert(EventHead::EMPTY)))
        })
    }

    async fn place(
        &mut self,
        world: &World,
        head: EventHead,
        limit: i64,
    ) -> StoreResult<(EventHead, Vec<Placed>)> {
        self.writing(|state| {
            let waiting = state
                .unsequenced
                .extract_if(.., |event| event.world == *world);
            let taken: Vec<_> = waiting.take(at_most(limit)).collect();
            let (mut head, mut placed) = (head, Vec::with_capacity(taken.len()));
            for event in taken {
                let kind = event.kind;
                head = state.enter(head, head.log, event);
                placed.extend(head.newest.map(|at| Placed { at, kind }));
            }
            Ok((head, placed))
        })
    }

    async fn restart(
        &mut self,
        head: EventHead,
        log: i64,
        event: &NewEvent,
    ) -> StoreResult<EventHead> {
        self.writing(|state| Ok(state.enter(head, log, event.clone())))
    }

    async fn head(&mut self, world: &World) -> StoreResult<EventHead> {
        self.reading(|state| {
            let head = state.event_heads.get(world).copied();
            head.unwrap_or(EventHead::EMPTY)
        })
    }

    async fn find(&mut self, world: &World, id: EventId) -> StoreResult<Option<Event>> {
        self.reading(|state| {
            let mut log = state.log_of(*world);
            log.find(|event| event.event.id == id).cloned()
        })
    }

    async fn find_all(&mut self, world: &World, ids: &[EventId]) -> StoreResult<Vec<Event>> {
        self.reading(|state| {
            let log = state.log_of(*world);
            log.filter(|event| ids.contains(&event.event.id))
                .cloned()
                .collect()
        })
    }

    async fn at(&mut self, world: &World, position: i64) -> StoreResult<Option<Position>> {
        self.reading(|state| {
            let mut log = state.log_of(*world);
            log.find(|event| event.position == position).map(mark)
        })
    }

    async fn first_from(&mut self, world: &World, id: EventId) -> StoreResult<Option<Position>> {
        self.reading(|state| {
            let log = state.log_of(*world).filter(|event| event.event.id >= id);
            log.min_by_key(|event| event.event.id).map(mark)
        })
    }

    async fn page(
        &mut self,
        world: &World,
        range: PositionRange,
        filter: &EventFilter,
        limit: i64,
    ) -> StoreResult<Vec<Event>> {
        self.reading(|state| {
            let fitting = state.log_of(*world).filter(|event| {
                (range.from..=range.to).contains(&event.position) && fits(&event.event, filter)
            });
            let limit = at_most(limit);
            if range.descending {
                fitting.rev().take(limit).cloned().collect()
            } else {
                fitting.take(limit).cloned().collect()
            }
        })
    }

    async fn count(
        &mut self,
        world: &World,
        range: PositionRange,
        filter: &EventFilter,
    ) -> StoreResult<i64> {
        self.reading(|state| {
            let fitting = state.log_of(*world).filter(|event| {
                (range.from..=range.to).contains(&event.position) && fits(&event.event, filter)
            });
            i64::try_from(fitting.count()).unwrap_or(i64::MAX)
        })
    }

    async fn heads(
        &mut self,
        after: Option<World>,
        limit: i64,
    ) -> StoreResult<Vec<(World, EventHead)>> {
        self.reading(|state| {
            let heads = state.event_heads.iter();
            let heads = heads.map(|(world, head)| (*world, *head));
            let mut heads: Vec<_> = heads
                .filter(|(world, head)| head.oldest.is_some() && is_behind(*world, after))
                .collect();
            heads.sort_by_key(|(world, _)| place_of(*world));
            heads.truncate(at_most(limit));
            heads
        })
    }

    async fn sweep(
        &mut self,
        world: &World,
        before: EventId,
        kept: Option<i64>,
        limit: i64,
    ) -> StoreResult<u64> {
        self.writing(|state| {
            let mut left = at_most(limit);
            let gone = state.prune(*world, |event| {
                let is_old = left > 0
                    && event.event.id < before
                    && kept.is_none_or(|kept| event.position < kept);
                left = left.saturating_sub(1);
                is_old
            });
            Ok(u64::try_from(gone).unwrap_or(u64::MAX))
        })
    }
}
