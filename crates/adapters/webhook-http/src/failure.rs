//! Why there was no response.

use vestry_outbound::OutboundError;
use vestry_ports::webhooks::WebhookError;

/// Maps the error of a call to the receiver's error.
pub(crate) fn of_call(error: OutboundError) -> WebhookError {
    match error {
        OutboundError::NotPublic | OutboundError::InClear => WebhookError::NotAllowed,
        OutboundError::Late => WebhookError::Late,
        OutboundError::Unreachable(cause) => WebhookError::Unreachable(Box::new(cause)),
        OutboundError::Broken(cause) => WebhookError::Broken(Box::new(cause)),
        // Endpoint URLs are never like that; nothing was connected.
        OutboundError::NotHttp => WebhookError::Unreachable(Box::new(error)),
        // Responses are truncated here.
        OutboundError::TooLarge => WebhookError::Broken(Box::new(error)),
    }
}
