//! Webhook endpoints and the deliveries to them.

use std::cmp::Reverse;
use std::ops::RangeInclusive;

use vestry_domain::ids::{AppId, EventId, WebhookDeliveryId, WebhookEndpointId, WebhookReplayId};
use vestry_domain::timestamp::Seconds;
use vestry_domain::webhook::{
    Attempt, Delivery, DeliveryState, DisabledReason, Endpoint, Replay, SealedSecret,
};
use vestry_domain::{Environment, Timestamp, World};
use vestry_ports::port;
use vestry_ports::store::{
    Changed, Deliveries, DeliveryFilter, Failures, Lane, Queue, StoreResult, WebhookEndpoints,
    WebhookReplays,
};

use super::Work;
use super::events::place_of;
use super::state::{DeliveryRow, EndpointRow, State, add, at_most, remove, remove_few};

/// The precision of an endpoint's last successful delivery.
const SUCCESS_EVERY: Seconds = Seconds(60);

/// Whether two endpoints conflict on their unique key.
fn is_alike(a: &Endpoint, b: &Endpoint) -> bool {
    (a.world, a.url.as_str(), a.types.names()) == (b.world, b.url.as_str(), b.types.names())
}

/// The sort key of a queue: the text of its columns.
fn order_of(queue: Queue) -> ((String, &'static str), String, Lane) {
    let endpoint = queue.endpoint_id.to_string();
    (place_of(queue.world), endpoint, queue.lane)
}

impl EndpointRow {
    fn is(&self, world: &World, id: WebhookEndpointId) -> bool {
        (&self.endpoint.world, self.endpoint.id) == (world, id)
    }

    /// Clears all failures.
    const fn make_sound(&mut self) {
        (self.failed_attempts, self.failed_deliveries) = (0, 0);
        (self.failures_since, self.failing_emitted) = (None, false);
        self.endpoint.failing_since = None;
    }
}

impl DeliveryRow {
    fn is_waiting(&self) -> bool {
        self.delivery.state == DeliveryState::Waiting
    }

    fn is_of(&self, world: &World, endpoint: WebhookEndpointId) -> bool {
        (&self.delivery.world, self.delivery.endpoint_id) == (world, endpoint)
    }

    const fn queue(&self) -> Queue {
        Queue {
            world: self.delivery.world,
            endpoint_id: self.delivery.endpoint_id,
            lane: self.lane,
        }
    }
}

impl State {
    fn endpoint(&mut self, world: &World, id: WebhookEndpointId) -> Option<&mut EndpointRow> {
        let mut rows = self.webhook_endpoints.iter_mut();
        rows.find(|row| row.is(world, id))
    }

    fn secrets_of(
        &mut self,
        world: World,
        id: WebhookEndpointId,
    ) -> impl Iterator<Item = &mut SealedSecret> {
        let rows = self.webhook_secrets.iter_mut();
        rows.filter(move |row| (row.world, row.endpoint_id) == (world, id))
    }

    fn living_secrets(
        &self,
        now: Timestamp,
        is_wanted: impl Fn(&SealedSecret) -> bool,
    ) -> Vec<SealedSecret> {
        let rows = self.webhook_secrets.iter();
        let living =
            rows.filter(|row| is_wanted(row) && row.expires_at.is_none_or(|end| now < end));
        let mut found: Vec<_> = living.cloned().collect();
        let place = |row: &SealedSecret| (row.expires_at.is_none(), row.created_at, row.id);
        found.sort_by_key(|row| Reverse(place(row)));
        found
    }

    /// The row of a leased delivery, unless another worker has taken or ended it. The attempt number tells them apart.
    fn taken(&mut self, taken: &Delivery) -> Option<&mut DeliveryRow> {
        let mut rows = self.webhook_deliveries.iter_mut();
        rows.find(|row| {
            let known = &row.delivery;
            (known.world, known.id, known.attempts) == (taken.world, taken.id, taken.attempts)
                && row.is_waiting()
        })
    }

    /// Deliveries given up since a moment, if no newer delivery of the same event to the endpoint has been made since.
    fn exhausted(
        &self,
        world: &World,
        endpoint: WebhookEndpointId,
        ended: &RangeInclusive<Timestamp>,
    ) -> Vec<Delivery> {
        let rows = || self.webhook_deliveries.iter();
        let of_it = rows().filter(|row| {
            row.is_of(world, endpoint)
                && row.delivery.state == DeliveryState::Exhausted
                && row.ended_at.is_some_and(|at| ended.contains(&at))
        });
        let is_last = |one: &Delivery| {
            !rows().any(|row| {
                row.is_of(world, endpoint)
                    && row.delivery.event_id == one.event_id
                    && row.delivery.id > one.id
            })
        };
        let found = of_it.map(|row| &row.delivery).filter(|one| is_last(one));
        let mut found: Vec<_> = found.cloned().collect();
        found.sort_by_key(|delivery| delivery.id);
        found
    }
}

#[port]
impl WebhookEndpoints for Work {
    async fn insert(&mut self, endpoint: &Endpoint) -> StoreResult<bool> {
        self.writing(|state| {
            let mut rows = state.webhook_endpoints.iter();
            if rows.any(|row| is_alike(&row.endpoint, endpoint)) {
                return Ok(false);
            }
            let mut row = EndpointRow {
                endpoint: endpoint.clone(),
                failed_attempts: 0,
                failed_deliveries: 0,
                failures_since: None,
                failing_emitted: false,
            };
            row.make_sound();
            add(&mut state.webhook_endpoints, row, |a, b| {
                a.is(&b.endpoint.world, b.endpoint.id)
            })?;
            Ok(true)
        })
    }

    async fn find(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
    ) -> StoreResult<Option<Endpoint>> {
        self.reading(|state| {
            let mut rows = state.webhook_endpoints.iter();
            let row = rows.find(|row| row.is(world, id));
            row.map(|row| row.endpoint.clone())
        })
    }

    async fn list(&mut self, app: AppId) -> StoreResult<Vec<Endpoint>> {
        self.reading(|state| {
            let rows = state.webhook_endpoints.iter().map(|row| &row.endpoint);
            let of_app = rows.filter(|endpoint| endpoint.world.app_id == app);
            let mut listed: Vec<_> = of_app.cloned().collect();
            listed.sort_by_key(|endpoint| (endpoint.world.environment.as_str(), endpoint.id));
            listed
        })
    }

    async fn failing(&mut self, limit: i64) -> StoreResult<Vec<Endpoint>> {
        self.reading(|state| {
            let rows = state.webhook_endpoints.iter().map(|row| &row.endpoint);
            let failing = rows.filter(|endpoint| {
                endpoint.failing_since.is_some() && endpoint.world.environment == Environment::Live
            });
            let mut failing: Vec<_> = failing.cloned().collect();
            failing.sort_by_key(|endpoint| (endpoint.failing_since, endpoint.id.to_string()));
            failing.truncate(usize::try_from(limit).unwrap_or_default());
            failing
        })
    }

    async fn hold_enabled(&mut self, world: &World) -> StoreResult<Vec<Endpoint>> {
        self.writing(|state| {
            let rows = state.webhook_endpoints.iter().map(|row| &row.endpoint);
            let enabled = rows
                .filter(|endpoint| endpoint.world == *world && endpoint.disabled.is_none())
                .cloned();
            let mut enabled: Vec<_> = enabled.collect();
            enabled.sort_by_key(|endpoint| endpoint.id);
            Ok(enabled)
        })
    }

    async fn lock(&mut self, world: &World, id: WebhookEndpointId) -> StoreResult<bool> {
        self.writing(|state| Ok(state.endpoint(world, id).is_some()))
    }

    async fn update(&mut self, endpoint: &Endpoint, seen: Timestamp) -> StoreResult<Changed> {
        self.writing(|state| {
            let mut rows = state.webhook_endpoints.iter().map(|row| &row.endpoint);
            if rows.any(|other| other.id != endpoint.id && is_alike(other, endpoint)) {
                return Ok(Changed::Taken);
            }
            let row = state.endpoint(&endpoint.world, endpoint.id);
            let Some(known) = row
                .map(|row| &mut row.endpoint)
                .filter(|known| known.updated_at == seen)
            else {
                return Ok(Changed::Lost);
            };
            known.url = endpoint.url.clone();
            known.name.clone_from(&endpoint.name);
            known.types = endpoint.types.clone();
            known.updated_at = endpoint.updated_at;
            Ok(Changed::Yes)
        })
    }

    async fn disable(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        reason: DisabledReason,
        at: Timestamp,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let row = state.endpoint(world, id);
            let Some(row) = row.filter(|row| row.endpoint.disabled.is_none()) else {
                return Ok(false);
            };
            row.endpoint.disabled = Some(reason);
            row.endpoint.updated_at = at;
            Ok(true)
        })
    }

    async fn enable(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        at: Timestamp,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let row = state.endpoint(world, id);
            let Some(row) = row.filter(|row| row.endpoint.disabled.is_some()) else {
                return Ok(false);
            };
            row.endpoint.disabled = None;
            row.endpoint.updated_at = at;
            row.make_sound();
            Ok(true)
        })
    }

    async fn remove(&mut self, world: &World, id: WebhookEndpointId) -> StoreResult<bool> {
        self.writing(|state| {
            if remove(&mut state.webhook_endpoints, |row| row.is(world, id)) == 0 {
                return Ok(false);
            }
            let of_it = |row: &SealedSecret| (&row.world, row.endpoint_id) == (world, id);
            remove(&mut state.webhook_secrets, of_it);
            remove(&mut state.webhook_replays, |row| {
                (&row.world, row.endpoint_id) == (world, id)
            });
            Ok(true)
        })
    }

    async fn note_success(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        at: Timestamp,
    ) -> StoreResult<()> {
        self.writing(|state| {
            let earlier = at - SUCCESS_EVERY;
            let stale = state.endpoint(world, id).filter(|row| {
                let last = row.endpoint.last_success_at;
                row.failed_attempts > 0 || last.is_none_or(|last| last <= earlier)
            });
            if let Some(row) = stale {
                row.endpoint.last_success_at = Some(at);
                row.make_sound();
            }
            Ok(())
        })
    }

    async fn note_failures(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        attempts: i64,
        deliveries: i64,
        is_failing: bool,
        at: Timestamp,
    ) -> StoreResult<Option<Failures>> {
        self.writing(|state| {
            let Some(row) = state.endpoint(world, id) else {
                return Ok(None);
            };
            row.failed_attempts += attempts;
            row.failed_deliveries += deliveries;
            let since = *row.failures_since.get_or_insert(at);
            if is_failing {
                row.endpoint.failing_since.get_or_insert(at);
            }
            Ok(Some(Failures {
                attempts: row.failed_attempts,
                deliveries: row.failed_deliveries,
                since,
                failing_since: row.endpoint.failing_since,
            }))
        })
    }

    async fn note_owner_notified(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let unemitted = state
                .endpoint(world, id)
                .filter(|row| row.endpoint.failing_since.is_some() && !row.failing_emitted);
            let Some(row) = unemitted else {
                return Ok(false);
            };
            row.failing_emitted = true;
            Ok(true)
        })
    }

    async fn insert_secret(&mut self, secret: &SealedSecret) -> StoreResult<()> {
        self.writing(|state| {
            add(&mut state.webhook_secrets, secret.clone(), |a, b| {
                (a.world, a.id) == (b.world, b.id)
            })
        })
    }

    async fn secrets(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        now: Timestamp,
    ) -> StoreResult<Vec<SealedSecret>> {
        self.reading(|state| {
            state.living_secrets(now, |row| (&row.world, row.endpoint_id) == (world, id))
        })
    }

    async fn all_secrets(&mut self, app: AppId, now: Timestamp) -> StoreResult<Vec<SealedSecret>> {
        self.reading(|state| state.living_secrets(now, |row| row.world.app_id == app))
    }

    async fn expire_secrets(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        newest: Timestamp,
        earlier: Timestamp,
    ) -> StoreResult<()> {
        self.writing(|state| {
            for row in state.secrets_of(*world, id) {
                let end = row.expires_at.map_or(newest, |end| end.min(earlier));
                row.expires_at = Some(end);
            }
            Ok(())
        })
    }

    async fn sweep_secrets(&mut self, expired_by: Timestamp) -> StoreResult<u64> {
        self.writing(|state| {
            let is_over = |row: &SealedSecret| row.expires_at.is_some_and(|end| end <= expired_by);
            Ok(remove_few(&mut state.webhook_secrets, is_over))
        })
    }
}

#[port]
impl Deliveries for Work {
    async fn insert(&mut self, deliveries: &[Delivery]) -> StoreResult<()> {
        self.writing(|state| {
            for delivery in deliveries {
                let is_later = delivery.is_replay || delivery.attempts > 0;
                let row = DeliveryRow {
                    delivery: Delivery {
                        state: DeliveryState::Waiting,
                        ..delivery.clone()
                    },
                    lane: if is_later { Lane::Timed } else { Lane::First },
                    ended_at: None,
                };
                add(&mut state.webhook_deliveries, row, |a, b| {
                    (a.delivery.world, a.delivery.id) == (b.delivery.world, b.delivery.id)
                })?;
            }
            Ok(())
        })
    }

    async fn next_queue(
        &mut self,
        of: Option<AppId>,
        after: Option<Queue>,
    ) -> StoreResult<Option<(Queue, Timestamp)>> {
        self.reading(|state| {
            let after = after.map(order_of);
            let rows = state.webhook_deliveries.iter();
            let waiting = rows.filter(|row| {
                row.is_waiting() && of.is_none_or(|app| row.delivery.world.app_id == app)
            });
            let queues = waiting.map(|row| (order_of(row.queue()), row.delivery.due_at, row));
            let behind =
                queues.filter(|(order, ..)| after.as_ref().is_none_or(|after| order > after));
            let first = behind.min_by(|(a, due_a, _), (b, due_b, _)| (a, due_a).cmp(&(b, due_b)));
            first.map(|(_, due_at, row)| (row.queue(), due_at))
        })
    }

    async fn claim(
        &mut self,
        queue: &Queue,
        now: Timestamp,
        lease_until: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<Delivery>> {
        self.writing(|state| {
            let rows = state.webhook_deliveries.iter_mut();
            let mut due: Vec<_> = rows
                .filter(|row| {
                    row.is_waiting() && row.queue() == *queue && row.delivery.due_at <= now
                })
                .collect();
            due.sort_by_key(|row| row.delivery.due_at);
            let taken = due.into_iter().take(at_most(limit)).map(|row| {
                row.lane = Lane::Timed;
                row.delivery.attempts = row.delivery.attempts.saturating_add(1);
                row.delivery.due_at = lease_until;
                row.delivery.clone()
            });
            let mut taken: Vec<_> = taken.collect();
            taken.sort_by_key(|delivery| (delivery.position, delivery.id));
            Ok(taken)
        })
    }

    async fn finish(
        &mut self,
        taken: &Delivery,
        end: DeliveryState,
        at: Timestamp,
    ) -> StoreResult<bool> {
        self.writing(|state| {
            let Some(row) = state.taken(taken) else {
                return Ok(false);
            };
            row.delivery.state = end;
            row.ended_at = Some(at);
            Ok(true)
        })
    }

    async fn retry(&mut self, taken: &Delivery, at: Timestamp) -> StoreResult<bool> {
        self.writing(|state| {
            let Some(row) = state.taken(taken) else {
                return Ok(false);
            };
            row.lane = Lane::Retry;
            row.delivery.due_at = at;
            Ok(true)
        })
    }

    async fn drop_waiting(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        at: Timestamp,
    ) -> StoreResult<u64> {
        self.writing(|state| {
            let rows = state.webhook_deliveries.iter_mut();
            let waiting = rows.filter(|row| row.is_waiting() && row.is_of(world, endpoint));
            let dropped = waiting.map(|row| {
                row.delivery.state = DeliveryState::Dropped;
                row.ended_at = Some(at);
            });
            Ok(u64::try_from(dropped.count()).unwrap_or(u64::MAX))
        })
    }

    async fn note_attempts(&mut self, attempts: &[Attempt]) -> StoreResult<()> {
        self.writing(|state| {
            for attempt in attempts {
                add(&mut state.webhook_attempts, attempt.clone(), |a, b| {
                    (a.world, a.delivery_id, a.number) == (b.world, b.delivery_id, b.number)
                })?;
            }
            Ok(())
        })
    }

    async fn find(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        id: WebhookDeliveryId,
    ) -> StoreResult<Option<Delivery>> {
        self.reading(|state| {
            let mut rows = state.webhook_deliveries.iter();
            let row = rows.find(|row| row.is_of(world, endpoint) && row.delivery.id == id);
            row.map(|row| row.delivery.clone())
        })
    }

    async fn attempts(
        &mut self,
        world: &World,
        id: WebhookDeliveryId,
    ) -> StoreResult<Vec<Attempt>> {
        self.reading(|state| {
            let rows = state.webhook_attempts.iter();
            let of_it = rows.filter(|row| (&row.world, row.delivery_id) == (world, id));
            let mut found: Vec<_> = of_it.cloned().collect();
            found.sort_by_key(|row| row.number);
            found
        })
    }

    async fn list(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        filter: &DeliveryFilter,
        limit: i64,
    ) -> StoreResult<Vec<Delivery>> {
        self.reading(|state| {
            let rows = state.webhook_deliveries.iter();
            let of_it = rows.filter(|row| row.is_of(world, endpoint));
            let fitting = of_it.map(|row| &row.delivery);
            let fitting = fitting.filter(|delivery| fits(delivery, filter));
            let mut found: Vec<_> = fitting.cloned().collect();
            found.sort_by_key(|delivery| Reverse(delivery.id));
            found.truncate(at_most(limit));
            found
        })
    }

    async fn of_event(
        &mut self,
        world: &World,
        endpoints: &[WebhookEndpointId],
        event: EventId,
        limit: i64,
    ) -> StoreResult<Vec<Delivery>> {
        self.reading(|state| {
            let deliveries = state.webhook_deliveries.iter().map(|row| &row.delivery);
            let fitting = deliveries.filter(|delivery| {
                delivery.world == *world
                    && endpoints.contains(&delivery.endpoint_id)
                    && delivery.event_id == event
            });
            let mut found: Vec<_> = fitting.cloned().collect();
            found.sort_by_key(|delivery| Reverse(delivery.id));
            found.truncate(at_most(limit));
            found
        })
    }

    async fn exhausted(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        ended: RangeInclusive<Timestamp>,
        after: Option<WebhookDeliveryId>,
        limit: i64,
    ) -> StoreResult<Vec<Delivery>> {
        self.reading(|state| {
            let mut found = state.exhausted(world, endpoint, &ended);
            found.retain(|delivery| after.is_none_or(|after| delivery.id > after));
            found.truncate(at_most(limit));
            found
        })
    }

    async fn count_exhausted(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        ended: RangeInclusive<Timestamp>,
    ) -> StoreResult<i64> {
        self.reading(|state| {
            let found = state.exhausted(world, endpoint, &ended).len();
            i64::try_from(found).unwrap_or(i64::MAX)
        })
    }

    async fn waiting(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        after: Option<WebhookDeliveryId>,
        limit: i64,
    ) -> StoreResult<Vec<WebhookDeliveryId>> {
        self.reading(|state| {
            let rows = state.webhook_deliveries.iter();
            let waiting = rows.filter(|row| row.is_waiting() && row.is_of(world, endpoint));
            let behind = waiting.map(|row| row.delivery.id);
            let mut found: Vec<_> = behind
                .filter(|id| after.is_none_or(|after| *id > after))
                .collect();
            found.sort_unstable();
            found.truncate(at_most(limit));
            found
        })
    }

    async fn put_off(
        &mut self,
        world: &World,
        those: &[WebhookDeliveryId],
        due_at: Timestamp,
    ) -> StoreResult<()> {
        self.writing(|state| {
            let rows = state.webhook_deliveries.iter_mut();
            let waiting = rows.filter(|row| {
                row.is_waiting() && row.delivery.world == *world && those.contains(&row.delivery.id)
            });
            for row in waiting {
                row.lane = Lane::Timed;
                row.delivery.due_at = due_at;
            }
            Ok(())
        })
    }

    async fn first_waiting(&mut self, world: &World) -> StoreResult<Option<i64>> {
        self.reading(|state| {
            let rows = state.webhook_deliveries.iter();
            let waiting = rows.filter(|row| row.is_waiting() && row.delivery.world == *world);
            waiting.map(|row| row.delivery.position).min()
        })
    }

    async fn sweep(&mut self, before: Timestamp) -> StoreResult<u64> {
        self.writing(|state| {
            let attempts = remove_few(&mut state.webhook_attempts, |row| row.at < before);
            let deliveries = remove_few(&mut state.webhook_deliveries, |row| {
                row.delivery.created_at < before
            });
            Ok(attempts + deliveries)
        })
    }
}

#[port]
impl WebhookReplays for Work {
    async fn insert(&mut self, replay: &Replay) -> StoreResult<bool> {
        self.writing(|state| {
            let mut rows = state.webhook_replays.iter();
            let runs = rows.any(|row| {
                (row.world, row.endpoint_id) == (replay.world, replay.endpoint_id)
                    && row.ended_at.is_none()
            });
            if runs && replay.ended_at.is_none() {
                return Ok(false);
            }
            add(&mut state.webhook_replays, replay.clone(), |a, b| {
                (a.world, a.id) == (b.world, b.id)
            })?;
            Ok(true)
        })
    }

    async fn list(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
    ) -> StoreResult<Vec<Replay>> {
        self.reading(|state| {
            let rows = state.webhook_replays.iter();
            let of_it = rows.filter(|row| (&row.world, row.endpoint_id) == (world, endpoint));
            let mut found: Vec<_> = of_it.cloned().collect();
            found.sort_by_key(|row| Reverse(row.id));
            found.truncate(100);
            found
        })
    }

    async fn due(&mut self, now: Timestamp, limit: i64) -> StoreResult<Vec<Replay>> {
        self.reading(|state| {
            let rows = state.webhook_replays.iter();
            let due = rows.filter(|row| row.ended_at.is_none() && row.next_at <= now);
            let mut found: Vec<_> = due.cloned().collect();
            found.sort_by_key(|row| row.next_at);
            found.truncate(at_most(limit));
            found
        })
    }

    async fn find_due(
        &mut self,
        world: &World,
        id: WebhookReplayId,
        now: Timestamp,
    ) -> StoreResult<Option<Replay>> {
        self.reading(|state| {
            let mut rows = state.webhook_replays.iter();
            let row = rows.find(|row| (&row.world, row.id) == (world, id))?;
            let is_due = row.ended_at.is_none() && row.next_at <= now;
            is_due.then(|| row.clone())
        })
    }

    async fn advance(&mut self, replay: &Replay) -> StoreResult<()> {
        self.writing(|state| {
            let mut rows = state.webhook_replays.iter_mut();
            let row = rows.find(|row| (row.world, row.id) == (replay.world, replay.id));
            if let Some(row) = row {
                row.missed = replay.missed;
                (row.done, row.next_at) = (replay.done, replay.next_at);
                row.ended_at = replay.ended_at;
            }
            Ok(())
        })
    }

    async fn sweep(&mut self, before: Timestamp) -> StoreResult<u64> {
        self.writing(|state| {
            let is_old = |row: &Replay| row.ended_at.is_some_and(|at| at < before);
            Ok(remove_few(&mut state.webhook_replays, is_old))
        })
    }
}

fn fits(delivery: &Delivery, filter: &DeliveryFilter) -> bool {
    filter.state.is_none_or(|state| delivery.state == state)
        && filter
            .event_id
            .is_none_or(|event| delivery.event_id == event)
        && filter.from.is_none_or(|from| from <= delivery.created_at)
        && filter.until.is_none_or(|until| delivery.created_at < until)
        && filter.after.is_none_or(|after| delivery.id < after)
}
