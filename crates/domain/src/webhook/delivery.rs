//! One event on its way to one endpoint.

use std::str::FromStr;

use crate::event::EventKind;
use crate::ids::{EventId, WebhookDeliveryId, WebhookEndpointId};
use crate::timestamp::Seconds;
use crate::{Invalid, Timestamp, World};

/// After so many attempts nobody tries any more.
pub const MOST_ATTEMPTS: u32 = 10;

/// Seconds from one attempt to the next: 75 hours and 35 minutes together.
const WAITS: [i64; 9] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

/// How long to wait after so many attempts, drawn from nine to eleven tenths of what the plan says, so that what failed together does
/// not come back together. `None` after the last one.
pub fn wait_after(attempts: u32, drawn: u8) -> Option<Seconds> {
    let index = usize::try_from(attempts).ok()?.checked_sub(1)?;
    let planned = *WAITS.get(index)?;
    let drawn = i64::from(drawn);
    Some(Seconds(planned * 9 / 10 + planned * drawn / 5 / 255))
}

/// What became of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// It is tried, now or later.
    Waiting,
    /// It waits for its endpoint to be enabled again.
    Held,
    /// The endpoint took it.
    Delivered,
    /// Every attempt failed.
    Exhausted,
    /// Nobody wants it any more.
    Dropped,
}

impl DeliveryState {
    /// As it stands on the wire.
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

/// A delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Its id.
    pub id: WebhookDeliveryId,
    /// Whose event.
    pub world: World,
    /// Where to.
    pub endpoint_id: WebhookEndpointId,
    /// What.
    pub event_id: EventId,
    /// Its place in the log.
    pub position: i64,
    /// Its type.
    pub kind: EventKind,
    /// Whether somebody asked for it once more.
    pub is_replay: bool,
    /// What became of it. Never [`DeliveryState::Held`] in the store: that is to wait for an endpoint that is disabled.
    pub state: DeliveryState,
    /// Attempts that were begun.
    pub attempts: u32,
    /// When it is tried next. After an attempt that failed, by the clock of the world; before the first one, and of replays, by the
    /// machine's clock. While it is tried: when somebody else may, by the machine's clock.
    pub due_at: Timestamp,
    /// By the machine's clock.
    pub created_at: Timestamp,
}

impl Delivery {
    /// When it is tried next; `None` of what is over or held.
    pub fn next_attempt_at(&self) -> Option<Timestamp> {
        (self.state == DeliveryState::Waiting).then_some(self.due_at)
    }
}
