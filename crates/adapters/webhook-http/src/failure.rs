//! Why there was no answer.

use vestry_outbound::OutboundError;
use vestry_ports::webhooks::WebhookError;

/// What it means for a receiver that a call came to nothing.
pub(crate) fn of_call(error: OutboundError) -> WebhookError {
    match error {
        OutboundError::NotPublic | OutboundError::InClear => WebhookError::NotAllowed,
        OutboundError::Late => WebhookError::Late,
        OutboundError::Unreachable(cause) => WebhookError::Unreachable(Box::new(cause)),
        OutboundError::Broken(cause) => WebhookError::Broken(Box::new(cause)),
        // No URL of an endpoint is like that, and nothing was connected.
        OutboundError::NotHttp => WebhookError::Unreachable(Box::new(error)),
        // Answers are cut here.
        OutboundError::TooLarge => WebhookError::Broken(Box::new(error)),
    }
}
