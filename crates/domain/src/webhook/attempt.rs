//! One request, and what its answer means.

use crate::Timestamp;
use crate::World;
use crate::ids::{WebhookDeliveryId, WebhookEndpointId};
use crate::timestamp::Seconds;

/// How long a receiver may ask to be left alone.
const LONGEST_ASKED: Seconds = Seconds(86_400);

/// An attempt that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// App and environment.
    pub world: World,
    /// Of which delivery.
    pub delivery_id: WebhookDeliveryId,
    /// To which endpoint.
    pub endpoint_id: WebhookEndpointId,
    /// From 1.
    pub number: u32,
    /// When it began, by the machine's clock.
    pub at: Timestamp,
    /// Milliseconds until it ended.
    pub duration_ms: u32,
    /// The status of the answer; `None` when there was none.
    pub status: Option<u16>,
    /// Why there was none.
    pub error: Option<String>,
    /// The beginning of the answer's text, where that may be kept.
    pub response_excerpt: Option<String>,
}

/// What an attempt came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The endpoint took it.
    Delivered,
    /// There is no such endpoint any more (410).
    Gone,
    /// It is to be tried again.
    Failed(Failing),
}

/// How an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Failing {
    /// Whether the receiver has more than it can do.
    pub is_overload: bool,
    /// How long it wants to be left alone, a day at most.
    pub retry_after: Option<Seconds>,
}

/// What a status means, and `Retry-After` with it.
pub fn judge(status: u16, retry_after: Option<Seconds>) -> Verdict {
    match status {
        200..=299 => Verdict::Delivered,
        410 => Verdict::Gone,
        429 | 502 | 503 | 504 => Verdict::Failed(Failing {
            is_overload: true,
            retry_after: retry_after.map(|asked| asked.min(LONGEST_ASKED)),
        }),
        _ => Verdict::Failed(Failing::default()),
    }
}
