//! Carries out replays of many events.
//!
//! Each step creates some deliveries and records its progress in one transaction, so a crash between steps neither skips nor repeats one.

use vestry_domain::event::{Event, EventKind};
use vestry_domain::ids::{EventId, WebhookEndpointId};
use vestry_domain::timestamp::Seconds;
use vestry_domain::webhook::{Delivery, DeliveryState, Endpoint, Missed, Replay, due_after};
use vestry_domain::{Timestamp, World};
use vestry_ports::store::{EventFilter, Lane, PositionRange, Queue, Tx};

use crate::kernel::fault::{causes, retried};
use crate::{Fault, Service};

/// Maximum replays processed per poll.
const REPLAYS: i64 = 64;
/// Deliveries created per step: the amount for ten seconds.
const STEP: i64 = 500;
/// Log positions scanned per step.
const LOOKED_AT: i64 = 10_000;
/// Pause of a replay whose endpoint is disabled.
const REST: Seconds = Seconds(10);

/// An event to send again.
struct Again {
    event_id: EventId,
    position: i64,
    kind: EventKind,
}

impl From<Delivery> for Again {
    fn from(delivery: Delivery) -> Self {
        Self {
            event_id: delivery.event_id,
            position: delivery.position,
            kind: delivery.kind,
        }
    }
}

impl From<Event> for Again {
    fn from(event: Event) -> Self {
        Self {
            event_id: event.event.id,
            position: event.position,
            kind: event.event.kind,
        }
    }
}

impl Service {
    /// Makes one step of every replay that is due.
    pub(super) async fn step_replays(&self) -> Result<(), Fault> {
        let now = self.ports.clock.machine();
        let mut read = self.ports.store.read().await?;
        let due = read.webhook_replays().due(now, REPLAYS).await?;
        drop(read);
        for replay in due {
            // A failing replay does not block the others.
            if let Err(fault) = retried(|| self.step_replay(&replay, now)).await {
                tracing::warn!(
                    replay = %replay.id,
                    error = causes(&fault),
                    "webhook replay step failed; retrying"
                );
            }
        }
        Ok(())
    }

    async fn step_replay(&self, replay: &Replay, now: Timestamp) -> Result<(), Fault> {
        let Replay {
            world, endpoint_id, ..
        } = *replay;
        let mut tx = self.ports.store.begin().await?;
        // The lock ensures one writer per endpoint, and no deliveries for an endpoint that is being removed.
        if !tx.webhook_endpoints().lock(&world, endpoint_id).await? {
            return Ok(());
        }
        let endpoint = tx.webhook_endpoints().find(&world, endpoint_id).await?;
        let known = tx.webhook_replays().find_due(&world, replay.id, now);
        let (Some(endpoint), Some(mut replay)) = (endpoint, known.await?) else {
            return Ok(());
        };
        if endpoint.disabled.is_some() {
            replay.next_at = now + REST;
            tx.webhook_replays().advance(&replay).await?;
            return Ok(tx.commit().await?);
        }
        let Next {
            again,
            missed,
            is_over,
        } = next(&mut *tx, &replay, &endpoint).await?;
        let deliveries: Vec<_> = (0..)
            .zip(&again)
            .map(|(before, again)| self.once_more(&endpoint, again, due_after(now, before), now))
            .collect();
        tx.deliveries().insert(&deliveries).await?;
        let made = i64::try_from(deliveries.len()).unwrap_or(i64::MAX);
        replay.missed = missed;
        replay.done = replay.done.saturating_add(made);
        replay.ended_at = is_over.then_some(now);
        // The next step starts one second after the last delivery, so that the two are not due together.
        replay.next_at = match deliveries.last() {
            Some(last) => last.due_at + Seconds(1),
            None => now,
        };
        tx.webhook_replays().advance(&replay).await?;
        tx.commit().await?;
        self.ring_for_later(world, endpoint_id);
        Ok(())
    }

    fn once_more(
        &self,
        endpoint: &Endpoint,
        again: &Again,
        due_at: Timestamp,
        now: Timestamp,
    ) -> Delivery {
        Delivery {
            id: self.new_id(now),
            world: endpoint.world,
            endpoint_id: endpoint.id,
            event_id: again.event_id,
            position: again.position,
            kind: again.kind,
            is_replay: true,
            state: DeliveryState::Waiting,
            attempts: 0,
            due_at,
            created_at: now,
        }
    }

    fn ring_for_later(&self, world: World, endpoint_id: WebhookEndpointId) {
        let queue = Queue {
            world,
            endpoint_id,
            lane: Lane::Timed,
        };
        self.webhooks.ring([queue]);
    }
}

/// Returns the filter for the events that an endpoint receives.
pub(crate) fn fitting(endpoint: &Endpoint) -> EventFilter {
    EventFilter {
        kinds: endpoint.types.selected(),
        ..EventFilter::default()
    }
}

/// The next events of a replay, its progress after them, and whether it is finished.
struct Next {
    again: Vec<Again>,
    missed: Missed,
    is_over: bool,
}

async fn next(tx: &mut dyn Tx, replay: &Replay, endpoint: &Endpoint) -> Result<Next, Fault> {
    let is_full = |found: usize| i64::try_from(found).is_ok_and(|found| found >= STEP);
    match replay.missed {
        Missed::Exhausted { since, after } => {
            let ended = since..=replay.created_at;
            let deliveries = tx.deliveries();
            let found = deliveries.exhausted(&replay.world, endpoint.id, ended, after, STEP);
            let found = found.await?;
            let after = found.last().map(|delivery| delivery.id).or(after);
            Ok(Next {
                is_over: !is_full(found.len()),
                missed: Missed::Exhausted { since, after },
                again: found.into_iter().map(Again::from).collect(),
            })
        }
        Missed::Range { after, until } => {
            let stretch = PositionRange {
                from: after.saturating_add(1),
                to: until.min(after.saturating_add(LOOKED_AT)),
                descending: false,
            };
            let filter = fitting(endpoint);
            let found = tx.events().page(&replay.world, stretch, &filter, STEP);
            let found = found.await?;
            let seen = found.last().map(|event| event.position);
            let after = seen.filter(|_| is_full(found.len()));
            let after = after.unwrap_or(stretch.to);
            Ok(Next {
                is_over: after >= until,
                missed: Missed::Range { after, until },
                again: found.into_iter().map(Again::from).collect(),
            })
        }
    }
}
