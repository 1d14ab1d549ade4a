//! The sender.

use std::fmt;
use std::time::Duration;

use vestry_outbound::{Call, Limits, NotSetUp, Outbound, Reach};
use vestry_ports::port;
use vestry_ports::webhooks::{WebhookAnswer, WebhookError, WebhookRequest, WebhookSender};

use crate::excerpt::excerpt;
use crate::failure;
use crate::settings::Settings;

/// Connect timeout, including TLS.
const CONNECT: Duration = Duration::from_secs(5);
/// Maximum number of bytes read of a body.
const BODY: usize = 64 * 1024;

/// Sends events over HTTP.
pub struct HttpWebhooks {
    /// For `https`.
    anywhere: Outbound,
    /// For `http`: unencrypted traffic stays within the operator's networks.
    inside: Outbound,
}

impl HttpWebhooks {
    /// Creates a sender with these settings. Nothing is connected yet.
    ///
    /// # Errors
    /// See [`NotSetUp`].
    pub fn new(settings: &Settings) -> Result<Self, NotSetUp> {
        let limits = Limits {
            connect: CONNECT,
            whole: settings.whole,
            body: BODY,
        };
        let networks = || settings.allowed_networks.iter().copied();
        Ok(Self {
            anywhere: Outbound::new(Reach::public_and(networks()), limits)?,
            inside: Outbound::new(Reach::only(networks()), limits)?,
        })
    }
}

/// Prints only the type name.
impl fmt::Debug for HttpWebhooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpWebhooks")
    }
}

#[port]
impl WebhookSender for HttpWebhooks {
    async fn send(&self, request: WebhookRequest) -> Result<WebhookAnswer, WebhookError> {
        let url = request.url.url().clone();
        let outbound = match url.scheme() {
            "https" => &self.anywhere,
            _ => &self.inside,
        };
        let headers = request.headers.iter();
        let headers = headers.map(|(name, value)| (*name, value.as_str()));
        let call = Call::post_with(url, headers, request.body)
            .map_err(|error| WebhookError::Unreachable(Box::new(error)))?;
        let answer = outbound
            .call_and_cut(call)
            .await
            .map_err(failure::of_call)?;
        let kept = answer.from_outside.then_some(answer.body);
        Ok(WebhookAnswer {
            status: answer.status,
            retry_after: answer.retry_after,
            excerpt: kept.and_then(|body| excerpt(&body)),
        })
    }
}
