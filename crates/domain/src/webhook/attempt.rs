//! A single delivery attempt, and how its response is interpreted.

use crate::Timestamp;
use crate::World;
use crate::ids::{WebhookDeliveryId, WebhookEndpointId};
use crate::timestamp::Seconds;

/// Maximum `Retry-After` that is honoured.
const MAX_REQUESTED: Seconds = Seconds(86_400);

/// A finished attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// App and environment.
    pub world: World,
    /// The delivery.
    pub delivery_id: WebhookDeliveryId,
    /// The endpoint.
    pub endpoint_id: WebhookEndpointId,
    /// The number of the attempt, from 1.
    pub number: u32,
    /// When it started, by the machine's clock.
    pub at: Timestamp,
    /// Its duration in milliseconds.
    pub duration_ms: u32,
    /// The HTTP status of the response; `None` if there was none.
    pub status: Option<u16>,
    /// The reason that there was no response.
    pub error: Option<String>,
    /// The start of the response body, if it may be stored.
    pub response_excerpt: Option<String>,
}

/// The outcome of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The endpoint accepted it.
    Delivered,
    /// The endpoint no longer exists (410).
    Gone,
    /// It must be retried.
    Failed(Failing),
}

/// The details of a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Failing {
    /// Whether the receiver is overloaded.
    pub is_overload: bool,
    /// How long it asks us to wait, at most a day.
    pub retry_after: Option<Seconds>,
}

/// The outcome for a status and its `Retry-After`.
pub fn judge(status: u16, retry_after: Option<Seconds>) -> AttemptOutcome {
    match status {
        200..=299 => AttemptOutcome::Delivered,
        410 => AttemptOutcome::Gone,
        429 | 502 | 503 | 504 => AttemptOutcome::Failed(Failing {
            is_overload: true,
            retry_after: retry_after.map(|asked| asked.min(MAX_REQUESTED)),
        }),
        _ => AttemptOutcome::Failed(Failing::default()),
    }
}
