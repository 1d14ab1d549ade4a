//! Sending events to webhook endpoints.

use vestry_domain::timestamp::Seconds;
use vestry_domain::webhook::EndpointUrl;
use vestry_port_macro::port;

/// A POST request with exactly these bytes.
#[derive(Debug, Clone)]
pub struct WebhookRequest {
    /// The URL.
    pub url: EndpointUrl,
    /// Header names in lower case, with their values; includes `content-type`.
    pub headers: Vec<(&'static str, String)>,
    /// The bytes that were signed.
    pub body: Vec<u8>,
}

/// The response, whatever its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookAnswer {
    /// The HTTP status.
    pub status: u16,
    /// `Retry-After`, if it is a number of seconds.
    pub retry_after: Option<Seconds>,
    /// The first 1 KiB of the body, if it is text. `None` for receivers in the operator's own networks, whose responses must not be visible
    /// outside (WH-7).
    pub excerpt: Option<String>,
}

/// The reason that there was no response.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The host is, or resolves to, a blocked address (WH-6).
    #[error("the host resolves to a blocked address")]
    NotAllowed,
    /// No response within the time limit.
    #[error("no response in time")]
    Late,
    /// No connection: the name, the address or TLS failed.
    #[error("no connection")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The connection broke, or the response is not HTTP.
    #[error("the connection broke")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Sends events.
#[port]
pub trait WebhookSender: Send + Sync {
    /// Sends one request, follows no redirects, and reads at most 64 KiB of the response.
    ///
    /// # Errors
    /// [`WebhookError`] if there was no response.
    async fn send(&self, request: WebhookRequest) -> Result<WebhookAnswer, WebhookError>;
}
