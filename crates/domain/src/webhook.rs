//! Webhooks: who is sent which events, how a request is signed, and when it is tried again (WH-1 to WH-12).

mod attempt;
mod delivery;
mod endpoint;
mod replay;
mod signature;
mod url;
mod window;

pub use crate::event::DisabledReason;
pub use attempt::{Attempt, Failing, Verdict, judge};
pub use delivery::{Delivery, DeliveryState, MOST_ATTEMPTS, wait_after};
pub use endpoint::{Endpoint, EndpointState, EventTypes, SealedSecret};
pub use replay::{MOST_REPLAYED, Missed, PACE, Replay, paced};
pub use signature::{SigningSecret, signatures};
pub use url::EndpointUrl;
pub use window::Window;

/// Endpoints of a world at most.
pub const MOST_ENDPOINTS: usize = 20;

#[cfg(test)]
mod tests;
