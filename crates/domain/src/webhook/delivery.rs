//! The delivery of one event to one endpoint.

use std::str::FromStr;

use crate::event::EventKind;
use crate::ids::{EventId, WebhookDeliveryId, WebhookEndpointId};
use crate::timestamp::Seconds;
use crate::{Invalid, Timestamp, World};

/// Maximum number of attempts.
pub const MAX_ATTEMPTS: u32 = 10;

/// Seconds between attempts: 75 hours and 35 minutes in total.
const WAITS: [i64; 9] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

/// The delay after this many attempts: 90 to 110 % of the scheduled value, so that deliveries that failed together are not retried
/// together. `None` after the last attempt.
pub fn wait_after(attempts: u32, drawn: u8) -> Option<Seconds> {
    let index = usize::try_from(attempts).ok()?.checked_sub(1)?;
    let planned = *WAITS.get(index)?;
    let drawn = i64::from(drawn);
    Some(Seconds(planned * 9 / 10 + planned * drawn / 5 / 255))
}

/// The state of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// It is being attempted or will be.
    Waiting,
    /// It waits for its endpoint to be enabled again.
    Held,
    /// The endpoint accepted it.
    Delivered,
    /// Every attempt failed.
    Exhausted,
    /// It was discarded.
    Dropped,
}

impl DeliveryState {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Held => "held",
            Self::Delivered => "delivered",
            Self::Exhausted => "exhausted",
            Self::Dropped => "dropped",
        }
    }
}

impl FromStr for DeliveryState {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let all = [
            Self::Waiting,
            Self::Held,
            Self::Delivered,
            Self::Exhausted,
            Self::Dropped,
        ];
        let found = all.into_iter().find(|state| state.as_str() == text);
        found.ok_or_else(|| {
            let message = "state must be waiting, held, delivered, exhausted or dropped";
            Invalid::value("state", message)
        })
    }
}

/// A delivery of an event to an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The id.
    pub id: WebhookDeliveryId,
    /// The App and environment that the event belongs to.
    pub world: World,
    /// The endpoint.
    pub endpoint_id: WebhookEndpointId,
    /// The event.
    pub event_id: EventId,
    /// The event's position in the log.
    pub position: i64,
    /// The type of event.
    pub kind: EventKind,
    /// Whether it is a requested redelivery.
    pub is_replay: bool,
    /// Its state. Never [`DeliveryState::Held`] in the store, which is derived: the delivery waits for a disabled endpoint.
    pub state: DeliveryState,
    /// Number of started attempts.
    pub attempts: u32,
    /// When it is attempted next: by the world's clock after a failed attempt, and by the machine's clock before the first one and for
    /// replays. During an attempt, it is when another process may take over, by the machine's clock.
    pub due_at: Timestamp,
    /// When it was created, by the machine's clock.
    pub created_at: Timestamp,
}

impl Delivery {
    /// When it is attempted next; `None` if it has ended or is held.
    pub fn next_attempt_at(&self) -> Option<Timestamp> {
        (self.state == DeliveryState::Waiting).then_some(self.due_at)
    }
}
