//! Replays of missed events to an endpoint.

use crate::ids::{WebhookDeliveryId, WebhookEndpointId, WebhookReplayId};
use crate::timestamp::Seconds;
use crate::{Timestamp, World};

/// Maximum number of deliveries of one replay.
pub const MAX_REPLAYED: i64 = 100_000;

/// Deliveries per second to one endpoint during a replay or after it was disabled, so that an endpoint is not overwhelmed on its return.
pub const REPLAYS_PER_SECOND: usize = 50;

/// When a delivery is due that has this many before it.
pub fn due_after(from: Timestamp, deliveries: usize) -> Timestamp {
    let seconds = deliveries / REPLAYS_PER_SECOND;
    from + Seconds(i64::try_from(seconds).unwrap_or(i64::MAX))
}

/// The events that a replay covers, and its progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    /// Events whose last delivery was exhausted between this time and the replay's creation.
    Exhausted {
        /// Exhausted at this time or later.
        since: Timestamp,
        /// The last delivery processed.
        after: Option<WebhookDeliveryId>,
    },
    /// Events in a range of the log that match the endpoint's types.
    Range {
        /// The last position processed.
        after: i64,
        /// The last position of the range.
        until: i64,
    },
}

/// A replay of many deliveries, processed by the webhook sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// The id.
    pub id: WebhookReplayId,
    /// The App and environment that the events belong to.
    pub world: World,
    /// The endpoint.
    pub endpoint_id: WebhookEndpointId,
    /// The events to replay.
    pub missed: Missed,
    /// Number of deliveries, counted when the replay was created.
    pub count: i64,
    /// Number of deliveries created so far.
    pub done: i64,
    /// When it continues, by the machine's clock.
    pub next_at: Timestamp,
    /// When it was created, by the machine's clock.
    pub created_at: Timestamp,
    /// When the last delivery was created; `None` while it is running.
    pub ended_at: Option<Timestamp>,
}
