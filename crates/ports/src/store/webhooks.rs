//! Webhook endpoints, and the events on their way to them.

use std::ops::RangeInclusive;

use vestry_domain::event::{EventKind, Mark};
use vestry_domain::ids::{AppId, EventId, WebhookDeliveryId, WebhookEndpointId, WebhookReplayId};
use vestry_domain::webhook::{
    Attempt, Delivery, DeliveryState, DisabledReason, Endpoint, Replay, SealedSecret,
};
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::StoreResult;

/// An event that has just got its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// Its place and id.
    pub mark: Mark,
    /// Its type.
    pub kind: EventKind,
}

/// How an endpoint has done since it last took something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failures {
    /// Attempts that failed.
    pub attempts: i64,
    /// Deliveries that failed.
    pub deliveries: i64,
    /// When the first of them did.
    pub since: Timestamp,
    /// Since when it counts as failing; `None` while nothing has failed three times.
    pub failing_since: Option<Timestamp>,
}

/// What becomes of a change of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// It is as it was wanted.
    Yes,
    /// Another one has this URL and these types.
    Taken,
    /// It was changed by somebody else meanwhile, or is gone.
    Lost,
}

/// Receivers of events.
#[port]
pub trait WebhookEndpoints: Send {
    /// Adds an endpoint; `false` when there is one with the same URL and types in its world.
    async fn insert(&mut self, endpoint: &Endpoint) -> StoreResult<bool>;
    /// One of them.
    async fn find(&mut self, world: &World, id: WebhookEndpointId)
    -> StoreResult<Option<Endpoint>>;
    /// All of an App, by environment, oldest first.
    async fn list(&mut self, app: AppId) -> StoreResult<Vec<Endpoint>>;
    /// Those of a world that are sent events. Nobody removes one of them before the transaction ends.
    async fn hold_enabled(&mut self, world: &World) -> StoreResult<Vec<Endpoint>>;
    /// Locks an endpoint until the transaction ends; `false` when there is none.
    async fn lock(&mut self, world: &World, id: WebhookEndpointId) -> StoreResult<bool>;
    /// Writes URL, name, types and `updated_at`, if it was last changed at `seen`.
    async fn update(&mut self, endpoint: &Endpoint, seen: Timestamp) -> StoreResult<Changed>;
    /// Sends it nothing any more; `false` when it is sent nothing already, or is gone.
    async fn disable(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        reason: DisabledReason,
        at: Timestamp,
    ) -> StoreResult<bool>;
    /// Sends it events again, as if it had never failed; `false` when it is sent events already, or is gone.
    async fn enable(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        at: Timestamp,
    ) -> StoreResult<bool>;
    /// Removes it with its secrets and replays; `false` when there is none. What waits for it is not touched.
    async fn remove(&mut self, world: &World, id: WebhookEndpointId) -> StoreResult<bool>;

    /// Notes that it took something. Writes nothing where that was noted within the last minute, and nothing has failed since.
    async fn note_success(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        at: Timestamp,
    ) -> StoreResult<()>;
    /// Notes that so many attempts failed, and so many deliveries for the first time, and whether one of them has failed three times;
    /// how it does now. `None` when it is gone.
    async fn note_failures(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        attempts: i64,
        deliveries: i64,
        is_failing: bool,
        at: Timestamp,
    ) -> StoreResult<Option<Failures>>;
    /// Notes that its owner is told that it fails; `true` for the first one to do so since it began to.
    async fn note_told(&mut self, world: &World, id: WebhookEndpointId) -> StoreResult<bool>;

    /// Adds a secret.
    async fn insert_secret(&mut self, secret: &SealedSecret) -> StoreResult<()>;
    /// Its secrets that have not expired at this moment: the newest, which has no end yet, and then the others, newest first.
    async fn secrets(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        now: Timestamp,
    ) -> StoreResult<Vec<SealedSecret>>;
    /// Lets the newest one expire at the first of these moments, and those before it at the second one at the latest.
    async fn expire_secrets(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        newest: Timestamp,
        earlier: Timestamp,
    ) -> StoreResult<()>;
    /// Deletes secrets that have expired; returns how many.
    async fn sweep_secrets(&mut self, expired_by: Timestamp) -> StoreResult<u64>;
}

/// Which of the deliveries of an endpoint a queue has; in the order in which queues are met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Never attempted; due by the machine's clock.
    First,
    /// Given back after an attempt that failed; due by the clock of the world.
    Retry,
    /// Replays, what was put off, and what is under way, which is due when its lease ends; by the machine's clock.
    Timed,
}

impl Lane {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::First, Self::Retry, Self::Timed];

    /// Whether first attempts go before it.
    pub const fn is_later(self) -> bool {
        !matches!(self, Self::First)
    }
}

/// What waits for one endpoint in one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Queue {
    /// App and environment.
    pub world: World,
    /// The endpoint.
    pub endpoint_id: WebhookEndpointId,
    /// Which of its deliveries.
    pub lane: Lane,
}

/// Which deliveries are wanted, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveryFilter {
    /// What became of them; [`DeliveryState::Held`] is not known here.
    pub state: Option<DeliveryState>,
    /// Of this event.
    pub event_id: Option<EventId>,
    /// Made then or later.
    pub from: Option<Timestamp>,
    /// Made before that.
    pub until: Option<Timestamp>,
    /// Older than this one.
    pub after: Option<WebhookDeliveryId>,
}

/// Events on their way to endpoints. Delivery is at least once: whoever dies between the answer of a receiver and the note of it
/// leaves it to be sent again.
#[port]
pub trait Deliveries: Send {
    /// Adds deliveries that wait: in [`Lane::First`], or in [`Lane::Timed`] where they are replays or were attempted before.
    async fn insert(&mut self, deliveries: &[Delivery]) -> StoreResult<()>;
    /// The first queue, in the order of their keys and behind one of them, of all Apps or of one, and since when its first delivery is
    /// due. May be due in the future.
    async fn next_queue(
        &mut self,
        of: Option<AppId>,
        after: Option<Queue>,
    ) -> StoreResult<Option<(Queue, Timestamp)>>;
    /// Takes up to `limit` deliveries of a queue that are due, those first that have been for longest: counts an attempt of each, moves
    /// it to [`Lane::Timed`], and leaves it to others when the lease is over.
    async fn claim(
        &mut self,
        queue: &Queue,
        now: Timestamp,
        lease_until: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<Delivery>>;
    /// Ends a delivery that was taken; `false` when somebody else has taken or ended it since (WH-9).
    async fn finish(
        &mut self,
        taken: &Delivery,
        end: DeliveryState,
        at: Timestamp,
    ) -> StoreResult<bool>;
    /// Gives one back that was taken, to be tried again then as one of [`Lane::Retry`]; `false` in the same case.
    async fn retry(&mut self, taken: &Delivery, at: Timestamp) -> StoreResult<bool>;
    /// Ends everything that waits for an endpoint as dropped; returns how many.
    async fn drop_waiting(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        at: Timestamp,
    ) -> StoreResult<u64>;

    /// Keeps attempts.
    async fn note_attempts(&mut self, attempts: &[Attempt]) -> StoreResult<()>;
    /// One of an endpoint.
    async fn find(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        id: WebhookDeliveryId,
    ) -> StoreResult<Option<Delivery>>;
    /// Its attempts, in their order.
    async fn attempts(&mut self, world: &World, id: WebhookDeliveryId)
    -> StoreResult<Vec<Attempt>>;
    /// Up to `limit` of an endpoint that fit, newest first.
    async fn list(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        filter: &DeliveryFilter,
        limit: i64,
    ) -> StoreResult<Vec<Delivery>>;
    /// Up to `limit` that nobody tries any more since a moment and until another one, behind an id and in the order of ids: of each
    /// event, only if it is its last delivery to the endpoint.
    async fn exhausted(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        ended: RangeInclusive<Timestamp>,
        after: Option<WebhookDeliveryId>,
        limit: i64,
    ) -> StoreResult<Vec<Delivery>>;
    /// How many those are altogether.
    async fn count_exhausted(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        ended: RangeInclusive<Timestamp>,
    ) -> StoreResult<i64>;
    /// The ids of up to `limit` that wait for an endpoint, behind an id and in the order of ids.
    async fn waiting(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        after: Option<WebhookDeliveryId>,
        limit: i64,
    ) -> StoreResult<Vec<WebhookDeliveryId>>;
    /// Has those of them that wait tried then, as those of [`Lane::Timed`].
    async fn put_off(
        &mut self,
        world: &World,
        those: &[WebhookDeliveryId],
        due_at: Timestamp,
    ) -> StoreResult<()>;

    /// The lowest place of an event of a world that still waits for an endpoint.
    async fn first_waiting(&mut self, world: &World) -> StoreResult<Option<i64>>;
    /// Deletes deliveries made before the given moment with their attempts; returns how many rows.
    async fn sweep(&mut self, before: Timestamp) -> StoreResult<u64>;
}

/// Replays of many deliveries.
#[port]
pub trait WebhookReplays: Send {
    /// Adds a replay that runs; `false` while another one of its endpoint does.
    async fn insert(&mut self, replay: &Replay) -> StoreResult<bool>;
    /// Those of an endpoint, newest first, at most 100.
    async fn list(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
    ) -> StoreResult<Vec<Replay>>;
    /// Up to `limit` of all worlds that go on at this moment, those first that have waited longest.
    async fn due(&mut self, now: Timestamp, limit: i64) -> StoreResult<Vec<Replay>>;
    /// One of them as it is, if it still goes on at this moment. Whoever holds its endpoint is the only one to do so.
    async fn find_due(
        &mut self,
        world: &World,
        id: WebhookReplayId,
        now: Timestamp,
    ) -> StoreResult<Option<Replay>>;
    /// Writes how far it is.
    async fn advance(&mut self, replay: &Replay) -> StoreResult<()>;
    /// Deletes those that ended before a moment; returns how many.
    async fn sweep(&mut self, before: Timestamp) -> StoreResult<u64>;
}
