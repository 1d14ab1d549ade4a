//! Sending events to whoever an App names.

use vestry_domain::timestamp::Seconds;
use vestry_domain::webhook::EndpointUrl;
use vestry_port_macro::port;

/// A request: POST, with these bytes and nothing else.
#[derive(Debug, Clone)]
pub struct WebhookRequest {
    /// Where to.
    pub url: EndpointUrl,
    /// Names, lower case, and values of headers; `content-type` among them.
    pub headers: Vec<(&'static str, String)>,
    /// The bytes that were signed.
    pub body: Vec<u8>,
}

/// What came back, whatever its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookAnswer {
    /// The status.
    pub status: u16,
    /// `Retry-After`, where it is a number of seconds.
    pub retry_after: Option<Seconds>,
    /// The beginning of the body, at most 1 KiB, where it is text; `None` of receivers in networks of the operator's own, whose
    /// answers nobody outside shall see (WH-7).
    pub excerpt: Option<String>,
}

/// Why there was no answer.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The host is, or leads to, an address that may not be connected to (WH-6).
    #[error("the host leads to an address that may not be connected to")]
    NotAllowed,
    /// No answer within the time of a call.
    #[error("no answer in time")]
    Late,
    /// No connection: the name, the address, or TLS.
    #[error("no connection")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The connection broke, or what came back is not HTTP.
    #[error("the connection broke off")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Sends events.
#[port]
pub trait WebhookSender: Send + Sync {
    /// Makes one request, follows no redirect, and reads at most 64 KiB of the answer.
    ///
    /// # Errors
    /// See [`WebhookError`]; there was no answer then.
    async fn send(&self, request: WebhookRequest) -> Result<WebhookAnswer, WebhookError>;
}
