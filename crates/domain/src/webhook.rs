//! Webhooks: which endpoints get which events, how requests are signed, and when they are retried (WH-1 to WH-12).

mod attempt;
mod delivery;
mod endpoint;
mod notice;
mod replay;
mod signature;
mod url;
mod window;

pub use crate::event::DisabledReason;
pub use attempt::{Attempt, AttemptOutcome, Failing, judge};
pub use delivery::{Delivery, DeliveryState, MAX_ATTEMPTS, wait_after};
pub use endpoint::{Endpoint, EndpointState, EventTypes, SealedSecret};
pub use notice::{Trouble, endpoint_notice};
pub use replay::{MAX_REPLAYED, Missed, REPLAYS_PER_SECOND, Replay, due_after};
pub use signature::{SigningSecret, signatures};
pub use url::EndpointUrl;
pub use window::Window;

/// Maximum number of endpoints of a world.
pub const MAX_ENDPOINTS: usize = 20;

#[cfg(test)]
mod tests;
