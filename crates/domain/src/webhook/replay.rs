//! Sending an endpoint again what it has missed.

use crate::ids::{WebhookDeliveryId, WebhookEndpointId, WebhookReplayId};
use crate::timestamp::Seconds;
use crate::{Timestamp, World};

/// Deliveries that one replay makes at most.
pub const MOST_REPLAYED: i64 = 100_000;

/// Deliveries to one endpoint that become due in a second, of a replay or of what was held: whoever was away is not run over.
pub const PACE: usize = 50;

/// When a delivery is due that has so many before it.
pub fn paced(from: Timestamp, deliveries: usize) -> Timestamp {
    let seconds = deliveries / PACE;
    from + Seconds(i64::try_from(seconds).unwrap_or(i64::MAX))
}

/// What is sent again, and how far one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    /// What nobody tries any more since this moment and until the replay was asked for, of each event the last delivery.
    Exhausted {
        /// Given up then or later.
        since: Timestamp,
        /// The last delivery that was seen.
        after: Option<WebhookDeliveryId>,
    },
    /// The events of a stretch of the log that fit the endpoint.
    Stretch {
        /// The last place that was seen.
        after: i64,
        /// The last place of the stretch.
        until: i64,
    },
}

/// A replay of many deliveries, which whoever sends works off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// Its id.
    pub id: WebhookReplayId,
    /// Whose events.
    pub world: World,
    /// Where to.
    pub endpoint_id: WebhookEndpointId,
    /// What.
    pub missed: Missed,
    /// Deliveries that it was found to make when it was asked for.
    pub count: i64,
    /// Of them, made.
    pub done: i64,
    /// When it goes on, by the machine's clock.
    pub next_at: Timestamp,
    /// By the machine's clock.
    pub created_at: Timestamp,
    /// When the last delivery was made; `None` of one that runs.
    pub ended_at: Option<Timestamp>,
}
