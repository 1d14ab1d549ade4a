//! `GET events`, `events/{event_id}` and `events/head`.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use vestry_domain::action::Action;
use vestry_domain::event::{Event, EventHead, EventKind, Position};
use vestry_domain::ids::{EventId, Id, UserId, WalletId};
use vestry_domain::timestamp::Seconds;
use vestry_domain::{Environment, Invalid, Timestamp, World};
use vestry_ports::store::{EventFilter, PositionRange, Repositories};

use super::show_addresses;
use crate::kernel::refusal::has_common;
use crate::{Caller, Refusal, Service};

/// Maximum number of events that one call scans.
const LOOKED_AT: i64 = 10_000;
/// Poll interval of a waiting call, for events sequenced by other processes and to check that its key is still valid. It is below a second,
/// so that a revoked key ends the call within a second.
const LOOK_EVERY: Duration = Duration::from_millis(800);
/// Maximum time between an event and its commit. It exceeds the time limit of any change.
const COMMITS_WITHIN: Seconds = Seconds(600);

/// Query parameters.
#[derive(Debug, Clone, Default)]
pub struct ListEvents {
    /// Cursor: the last event that the caller has seen. If absent, listing starts at the oldest event, or the newest if descending.
    pub after: Option<EventId>,
    /// 10 to 1000; 100 when absent.
    pub limit: Option<i64>,
    /// Only events of these kinds; empty means all.
    pub kinds: Vec<EventKind>,
    /// Only events about this user.
    pub user_id: Option<UserId>,
    /// Only events about this wallet.
    pub wallet_id: Option<WalletId>,
    /// Only events that happened at this time or later.
    pub from: Option<Timestamp>,
    /// Only events that happened before this time.
    pub until: Option<Timestamp>,
    /// Newest first; `after` then continues with older events.
    pub descending: bool,
    /// Seconds to wait if there is no matching event, 0 to 30.
    pub wait: Option<i64>,
}

/// A page of events.
#[derive(Debug, Clone)]
pub struct EventPage {
    /// The events, in the requested order.
    pub events: Vec<Event>,
    /// Whether there are more events to scan.
    pub has_more: bool,
    /// The cursor for the next call: the last event scanned, whether it matches or not. If none was scanned, the cursor of this call.
    pub next_after: Option<EventId>,
}

/// Reason why no events were returned.
#[derive(Debug, thiserror::Error)]
pub enum ListEventsError {
    /// The cursor is unknown: the event has expired, belongs to another environment, or was lost.
    #[error("unknown event cursor")]
    CursorUnknown,
    /// See [`Refusal`].
    #[error(transparent)]
    Common(Refusal),
}

has_common!(ListEventsError);

impl EventPage {
    /// Returns whether a waiting call can return.
    fn ends_a_wait(&self) -> bool {
        !self.events.is_empty() || self.has_more
    }
}

impl ListEvents {
    fn filter(&self) -> EventFilter {
        EventFilter {
            kinds: self.kinds.clone(),
            user_id: self.user_id,
            wallet_id: self.wallet_id,
            from: self.from,
            until: self.until,
        }
    }

    /// Whether older events than this one can match. Only in a live environment does the clock by which events happen never go back.
    fn goes_on_before(&self, world: &World, last: &Position) -> bool {
        let is_before = |from: Timestamp| last.id.timestamp() < from - COMMITS_WITHIN;
        !self.descending
            || world.environment != Environment::Live
            || !self.from.is_some_and(is_before)
    }

    fn checked_limit(&self) -> Result<i64, Invalid> {
        let limit = self.limit.unwrap_or(100);
        if (10..=1000).contains(&limit) {
            return Ok(limit);
        }
        let message = "limit must be a whole number from 10 to 1000";
        Err(Invalid::value("limit", message))
    }

    fn checked_wait(&self) -> Result<Duration, Invalid> {
        let wait = self.wait.unwrap_or(0);
        let seconds = u64::try_from(wait).ok().filter(|seconds| *seconds <= 30);
        let seconds = seconds.ok_or_else(|| {
            let message = "wait must be a whole number of seconds from 0 to 30";
            Invalid::value("wait", message)
        })?;
        Ok(Duration::from_secs(seconds))
    }
}

/// Whether events are returned with addresses: the App has them in its events, and an operator may also read its users.
fn shows_addresses(caller: &Caller) -> bool {
    let by = &caller.principal;
    let may_read = by.as_operator().is_none() || by.may(Action::GetUser, caller.world);
    caller.app.settings.event_addresses && may_read
}

impl Service {
    /// Lists events of the caller's environment in log order, and waits for one if none matches and the call allows it.
    ///
    /// Runs on the caller's own task and enters the service runtime for each look-up, so that a disconnected client leaves no waiting task.
    /// The key is read again before each look-up after the first.
    ///
    /// # Errors
    /// [`ListEventsError`]; [`Refusal::KeyEnded`] if the key was revoked while waiting.
    pub async fn follow_events(
        self: &Arc<Self>,
        caller: &Arc<Caller>,
        mut query: ListEvents,
    ) -> Result<EventPage, ListEventsError> {
        caller.authorize(Action::ReadEvents)?;
        query.checked_limit()?;
        let patience = query.checked_wait()?;
        let until = Instant::now() + patience;
        let mut page = self.look(caller, &query).await?;
        if patience.is_zero() || query.descending || page.ends_a_wait() {
            return Ok(page);
        }
        query.after = page.next_after;
        let Some(waiter) = self.events.wait_for(caller.world, caller.principal.actor()) else {
            self.events.room.turn_away(until).await;
            return self.look_again(caller, &query).await;
        };
        let mut bell = std::pin::pin!(waiter.bell.notified());
        loop {
            // Register before the look-up, so that no event in between is missed.
            bell.as_mut().enable();
            page = self.look_again(caller, &query).await?;
            query.after = page.next_after;
            if page.ends_a_wait() || Instant::now() >= until {
                return Ok(page);
            }
            let look_again = (Instant::now() + LOOK_EVERY).min(until);
            tokio::select! {
                () = bell.as_mut() => bell.set(waiter.bell.notified()),
                () = tokio::time::sleep_until(look_again) => {}
                () = self.events.room.closed() => return Ok(page),
            }
        }
    }

    async fn look(
        self: &Arc<Self>,
        caller: &Arc<Caller>,
        query: &ListEvents,
    ) -> Result<EventPage, ListEventsError> {
        let (caller, query) = (Arc::clone(caller), query.clone());
        let look = |service: Arc<Self>| async move { service.list_events(&caller, &query).await };
        self.run(look).await?
    }

    /// Repeats the look-up with the current scopes of the key.
    async fn look_again(
        self: &Arc<Self>,
        caller: &Arc<Caller>,
        query: &ListEvents,
    ) -> Result<EventPage, ListEventsError> {
        let (caller, query) = (Arc::clone(caller), query.clone());
        let look = |service: Arc<Self>| async move {
            let caller = service.authenticate_again(&caller).await?;
            service.list_events(&caller, &query).await
        };
        self.run(look).await?
    }

    /// Lists events of the caller's environment in log order, without waiting.
    ///
    /// # Errors
    /// [`ListEventsError`].
    pub async fn list_events(
        &self,
        caller: &Caller,
        query: &ListEvents,
    ) -> Result<EventPage, ListEventsError> {
        caller.authorize(Action::ReadEvents)?;
        let limit = query.checked_limit()?;
        let world = &caller.world;
        let mut read = self.ports.store.read().await?;
        let found = match query.after {
            None => None,
            Some(id) => Some((id, read.events().find(world, id).await?)),
        };
        // Read the head after the cursor, so that it covers deletions before the cursor was found. Read it before the page, so that
        // everything up to the head is visible.
        let head = read.events().head(world).await?;
        let after = match found {
            None => None,
            Some((_, Some(event))) => Some(event.position),
            // A caller that has seen the last deleted event has missed none.
            Some((id, None)) if head.pruned == Some(id) => Some(head.pruned_position()),
            Some((_, None)) => return Err(ListEventsError::CursorUnknown),
        };
        // Whether events that the caller has not seen were deleted.
        let has_gap = |head: &EventHead| {
            let missed = |after| head.pruned_position() > after;
            !query.descending && after.is_some_and(missed)
        };
        if has_gap(&head) {
            return Err(ListEventsError::CursorUnknown);
        }
        let after = match after_later_events(&mut *read, world, query).await? {
            Some(later) => Some(after.map_or(later, |after| after.min(later))),
            None => after,
        };
        let Some(window) = Window::behind(&head, after, query.descending) else {
            return Ok(EventPage {
                events: Vec::new(),
                has_more: false,
                next_after: query.after,
            });
        };
        let stretch = window.stretch;
        let mut events = read
            .events()
            .page(world, stretch, &query.filter(), limit)
            .await?;
        let first = events.first().map(|event| event.position);
        // A page that begins directly after the cursor was read before any deletion there.
        if !query.descending
            && first != after.map(|after| after.saturating_add(1))
            && has_gap(&read.events().head(world).await?)
        {
            return Err(ListEventsError::CursorUnknown);
        }
        let is_full = i64::try_from(events.len()).is_ok_and(|found| found >= limit);
        let last = events.last().map(|event| Position {
            position: event.position,
            id: event.event.id,
        });
        let looked_at = match last.filter(|last| is_full || last.position == window.end()) {
            Some(last) => Some(last),
            None => read.events().at(world, window.end()).await?.or(last),
        };
        if shows_addresses(caller) {
            show_addresses(&mut *read, &mut events).await?;
        }
        let has_more = looked_at.is_some_and(|last| {
            last.position != window.far_end && query.goes_on_before(world, &last)
        });
        Ok(EventPage {
            events,
            has_more,
            next_after: looked_at.map(|last| last.id).or(query.after),
        })
    }

    /// Returns one event of the caller's environment.
    ///
    /// # Errors
    /// [`Refusal::NotFound`].
    pub async fn get_event(&self, caller: &Caller, id: EventId) -> Result<Event, Refusal> {
        caller.authorize(Action::ReadEvents)?;
        let mut read = self.ports.store.read().await?;
        let found = read.events().find(&caller.world, id).await?;
        let mut event = found.ok_or(Refusal::NotFound("event"))?;
        if shows_addresses(caller) {
            show_addresses(&mut *read, std::slice::from_mut(&mut event)).await?;
        }
        Ok(event)
    }

    /// Returns the oldest and the newest event of the log. There is no newest event if none is kept.
    ///
    /// # Errors
    /// [`Refusal`].
    pub async fn events_head(&self, caller: &Caller) -> Result<EventHead, Refusal> {
        caller.authorize(Action::ReadEvents)?;
        let mut read = self.ports.store.read().await?;
        let head = read.events().head(&caller.world).await?;
        let newest = head.newest.filter(|_| head.oldest.is_some());
        Ok(EventHead { newest, ..head })
    }

    /// Ends all waiting calls, for events or captured messages, at shutdown.
    pub fn stop_waiting(&self) {
        self.events.room.close();
        self.captured_room.close();
    }
}

/// Returns a position from which on no event can match, so that a call for an earlier time scans nothing later.
async fn after_later_events(
    read: &mut dyn Repositories,
    world: &World,
    query: &ListEvents,
) -> Result<Option<i64>, Refusal> {
    let until = query.until.filter(|_| query.descending);
    let Some(until) = until.filter(|_| world.environment == Environment::Live) else {
        return Ok(None);
    };
    let later = EventId::new(until + COMMITS_WITHIN, [0; 16]);
    let first = read.events().first_from(world, later).await?;
    Ok(first.map(|first| first.position))
}

/// The range that one call scans.
struct Window {
    stretch: PositionRange,
    /// The last position of the log in the order of the call.
    far_end: i64,
}

impl Window {
    /// Returns the range after a position in the order of the call, or `None` if it is empty.
    fn behind(head: &EventHead, after: Option<i64>, descending: bool) -> Option<Self> {
        let oldest = head.oldest?.position;
        let newest = head.position();
        let (from, to, far_end) = if descending {
            let to = after.map_or(newest, |after| after - 1);
            ((to - (LOOKED_AT - 1)).max(oldest), to, oldest)
        } else {
            let from = after.map_or(oldest, |after| after + 1);
            (from, (from + (LOOKED_AT - 1)).min(newest), newest)
        };
        let stretch = PositionRange {
            from,
            to,
            descending,
        };
        (from <= to).then_some(Self { stretch, far_end })
    }

    /// Returns the last position scanned.
    const fn end(&self) -> i64 {
        if self.stretch.descending {
            self.stretch.from
        } else {
            self.stretch.to
        }
    }
}
