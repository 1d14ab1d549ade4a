//! Webhook endpoints, and deliveries to them.

use std::ops::RangeInclusive;

use vestry_domain::event::{EventKind, Position};
use vestry_domain::ids::{AppId, EventId, WebhookDeliveryId, WebhookEndpointId, WebhookReplayId};
use vestry_domain::webhook::{
    Attempt, Delivery, DeliveryState, DisabledReason, Endpoint, Replay, SealedSecret,
};
use vestry_domain::{Timestamp, World};
use vestry_port_macro::port;

use super::StoreResult;

/// An event that was just assigned its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// Its position and id.
    pub at: Position,
    /// Its type.
    pub kind: EventKind,
}

/// An endpoint's failures since its last success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failures {
    /// Number of failed attempts.
    pub attempts: i64,
    /// Number of failed deliveries.
    pub deliveries: i64,
    /// Time of the first failure.
    pub since: Timestamp,
    /// When it started to count as failing; `None` until a delivery has failed three times.
    pub failing_since: Option<Timestamp>,
}

/// The outcome of a change to an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// It was changed.
    Yes,
    /// Another endpoint has this URL and these types.
    Taken,
    /// It was changed concurrently or no longer exists.
    Lost,
}

/// Webhook endpoints.
#[port]
pub trait WebhookEndpoints: Send {
    /// Adds an endpoint; `false` if its world has one with the same URL and types.
    async fn insert(&mut self, endpoint: &Endpoint) -> StoreResult<bool>;
    /// Returns an endpoint.
    async fn find(&mut self, world: &World, id: WebhookEndpointId)
    -> StoreResult<Option<Endpoint>>;
    /// All endpoints of an App, by environment, oldest first.
    async fn list(&mut self, app: AppId) -> StoreResult<Vec<Endpoint>>;
    /// The live endpoints of all Apps that are failing, or were disabled while they failed, the longest failure first; at most `limit`.
    async fn failing(&mut self, limit: i64) -> StoreResult<Vec<Endpoint>>;
    /// Returns the enabled endpoints of a world, oldest first, and protects them from removal until the transaction ends. They are locked in
    /// the order of their ids, in which any other caller must lock several endpoints of a world.
    async fn hold_enabled(&mut self, world: &World) -> StoreResult<Vec<Endpoint>>;
    /// Locks an endpoint until the transaction ends; `false` if there is none.
    async fn lock(&mut self, world: &World, id: WebhookEndpointId) -> StoreResult<bool>;
    /// Writes URL, name, types and `updated_at`, if it was last changed at `seen`.
    async fn update(&mut self, endpoint: &Endpoint, seen: Timestamp) -> StoreResult<Changed>;
    /// Disables an endpoint; `false` if it is already disabled or does not exist.
    async fn disable(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        reason: DisabledReason,
        at: Timestamp,
    ) -> StoreResult<bool>;
    /// Enables an endpoint and clears its failures; `false` if it is already enabled or does not exist.
    async fn enable(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        at: Timestamp,
    ) -> StoreResult<bool>;
    /// Removes an endpoint with its secrets and replays; `false` if there is none. Its pending deliveries are left alone.
    async fn remove(&mut self, world: &World, id: WebhookEndpointId) -> StoreResult<bool>;

    /// Records a success. Writes nothing if one was recorded within the last minute and nothing has failed since.
    async fn note_success(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        at: Timestamp,
    ) -> StoreResult<()>;
    /// Records failed attempts, deliveries that failed for the first time, and whether one of them has now failed three times. Returns the
    /// endpoint's failures; `None` if it does not exist.
    async fn note_failures(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        attempts: i64,
        deliveries: i64,
        is_failing: bool,
        at: Timestamp,
    ) -> StoreResult<Option<Failures>>;
    /// Records that its owner has been notified that it is failing; `true` only for the first call since it started to fail.
    async fn note_owner_notified(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
    ) -> StoreResult<bool>;

    /// Adds a secret.
    async fn insert_secret(&mut self, secret: &SealedSecret) -> StoreResult<()>;
    /// Its secrets that have not expired at this time: the newest, which has no expiry yet, then the others, newest first.
    async fn secrets(
        &mut self,
        world: &World,
        id: WebhookEndpointId,
        now: Timestamp,
    ) -> StoreResult<Vec<SealedSecret>>;
    /// The same for all endpoints of an App; those of each endpoint are in that order.
    async fn all_secrets(&mut self, app: AppId, now: Timestamp) -> StoreResult<Vec<SealedSecret>>;
    /// Sets the expiry of the newest secret to the first of these times, and that of earlier ones to the second at the latest.
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

/// The lane of a delivery queue, in the order in which queues are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Never attempted; due by the machine's clock.
    First,
    /// Released after a failed attempt; due by the clock of the world.
    Retry,
    /// Replays, postponed deliveries, and those in progress, which are due when their lease ends; by the machine's clock.
    Timed,
}

impl Lane {
    /// All lanes.
    pub const ALL: [Self; 3] = [Self::First, Self::Retry, Self::Timed];

    /// Whether first attempts take precedence over it.
    pub const fn is_later(self) -> bool {
        !matches!(self, Self::First)
    }
}

/// The pending deliveries to one endpoint in one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Queue {
    /// App and environment.
    pub world: World,
    /// The endpoint.
    pub endpoint_id: WebhookEndpointId,
    /// The lane.
    pub lane: Lane,
}

/// A filter for deliveries, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeliveryFilter {
    /// Their state; [`DeliveryState::Held`] is not supported here.
    pub state: Option<DeliveryState>,
    /// For this event.
    pub event_id: Option<EventId>,
    /// Created at this time or later.
    pub from: Option<Timestamp>,
    /// Created before this time.
    pub until: Option<Timestamp>,
    /// Older than this one.
    pub after: Option<WebhookDeliveryId>,
}

/// Deliveries of events to endpoints. Delivery is at least once: if a process dies after the receiver responded but before the outcome is
/// recorded, the event is sent again.
#[port]
pub trait Deliveries: Send {
    /// Adds pending deliveries: in [`Lane::First`], or in [`Lane::Timed`] for replays and previously attempted ones.
    async fn insert(&mut self, deliveries: &[Delivery]) -> StoreResult<()>;
    /// The first queue of all Apps or of one after the given one, in the order of their keys. Also returns the time at which its first
    /// delivery is due, which can be in the future.
    async fn next_queue(
        &mut self,
        of: Option<AppId>,
        after: Option<Queue>,
    ) -> StoreResult<Option<(Queue, Timestamp)>>;
    /// Claims up to `limit` due deliveries of a queue, those due longest first. It counts an attempt for each and moves it to
    /// [`Lane::Timed`], where others can claim it when the lease ends.
    async fn claim(
        &mut self,
        queue: &Queue,
        now: Timestamp,
        lease_until: Timestamp,
        limit: i64,
    ) -> StoreResult<Vec<Delivery>>;
    /// Ends a claimed delivery; `false` if another process has claimed or ended it since (WH-9).
    async fn finish(
        &mut self,
        taken: &Delivery,
        end: DeliveryState,
        at: Timestamp,
    ) -> StoreResult<bool>;
    /// Releases a claimed delivery for another attempt at the given time, in [`Lane::Retry`]; `false` if another process has claimed or
    /// ended it since.
    async fn retry(&mut self, taken: &Delivery, at: Timestamp) -> StoreResult<bool>;
    /// Ends all pending deliveries to an endpoint as dropped; returns how many.
    async fn drop_waiting(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        at: Timestamp,
    ) -> StoreResult<u64>;

    /// Records attempts.
    async fn note_attempts(&mut self, attempts: &[Attempt]) -> StoreResult<()>;
    /// A delivery to an endpoint.
    async fn find(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        id: WebhookDeliveryId,
    ) -> StoreResult<Option<Delivery>>;
    /// Its attempts, in order.
    async fn attempts(&mut self, world: &World, id: WebhookDeliveryId)
    -> StoreResult<Vec<Attempt>>;
    /// Up to `limit` matching deliveries to an endpoint, newest first.
    async fn list(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        filter: &DeliveryFilter,
        limit: i64,
    ) -> StoreResult<Vec<Delivery>>;
    /// Up to `limit` deliveries of an event to these endpoints, newest first.
    async fn of_event(
        &mut self,
        world: &World,
        endpoints: &[WebhookEndpointId],
        event: EventId,
        limit: i64,
    ) -> StoreResult<Vec<Delivery>>;
    /// Up to `limit` deliveries that were exhausted within a time range, ordered by id, after an id. Of each event, only its last delivery
    /// to the endpoint counts.
    async fn exhausted(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        ended: RangeInclusive<Timestamp>,
        after: Option<WebhookDeliveryId>,
        limit: i64,
    ) -> StoreResult<Vec<Delivery>>;
    /// The total number of deliveries that [`Deliveries::exhausted`] returns.
    async fn count_exhausted(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        ended: RangeInclusive<Timestamp>,
    ) -> StoreResult<i64>;
    /// The ids of up to `limit` pending deliveries to an endpoint, ordered by id, after an id.
    async fn waiting(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
        after: Option<WebhookDeliveryId>,
        limit: i64,
    ) -> StoreResult<Vec<WebhookDeliveryId>>;
    /// Postpones those of the deliveries that are pending to the given time, in [`Lane::Timed`].
    async fn put_off(
        &mut self,
        world: &World,
        those: &[WebhookDeliveryId],
        due_at: Timestamp,
    ) -> StoreResult<()>;

    /// The lowest position of an event of a world that has a pending delivery.
    async fn first_waiting(&mut self, world: &World) -> StoreResult<Option<i64>>;
    /// Deletes deliveries created before the given time, with their attempts; returns the number of rows.
    async fn sweep(&mut self, before: Timestamp) -> StoreResult<u64>;
}

/// Replays of many deliveries.
#[port]
pub trait WebhookReplays: Send {
    /// Adds a running replay; `false` if its endpoint already has one.
    async fn insert(&mut self, replay: &Replay) -> StoreResult<bool>;
    /// The replays of an endpoint, newest first, at most 100.
    async fn list(
        &mut self,
        world: &World,
        endpoint: WebhookEndpointId,
    ) -> StoreResult<Vec<Replay>>;
    /// Up to `limit` replays of all worlds that are due at this time, those due longest first.
    async fn due(&mut self, now: Timestamp, limit: i64) -> StoreResult<Vec<Replay>>;
    /// The current state of a replay, if it is still due at this time. The holder of its endpoint's lock is the only one to continue it.
    async fn find_due(
        &mut self,
        world: &World,
        id: WebhookReplayId,
        now: Timestamp,
    ) -> StoreResult<Option<Replay>>;
    /// Writes a replay's progress.
    async fn advance(&mut self, replay: &Replay) -> StoreResult<()>;
    /// Deletes replays that ended before a time; returns how many.
    async fn sweep(&mut self, before: Timestamp) -> StoreResult<u64>;
}
