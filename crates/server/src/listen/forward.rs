//! Forwards events to the receiver.

use std::time::Duration;

use tokio::time::Instant;
use url::Url;
use vestry_domain::Timestamp;
use vestry_domain::webhook::{SigningSecret, signatures};
use vestry_outbound::{Call, Outbound};
use vestry_ports::clock::Clock;

use super::calls::{outbound, reason};
use super::event::Event;
use crate::clock::SystemClock;
use crate::failure::Failure;

/// The timeout of a request, the same as for webhooks.
const WHOLE: Duration = Duration::from_secs(15);
/// The largest response that is read. Only its status matters.
const ANSWER: usize = 64 * 1024;
/// The pauses between attempts.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(1)];

/// Posts events to one URL, signed according to Standard Webhooks 1.0.
pub(super) struct Forwarder {
    outbound: Outbound,
    to: Url,
    secret: SigningSecret,
}

/// The number of attempts for an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempts {
    One,
    Three,
}

/// The outcome of forwarding an event.
pub(super) struct Outcome {
    /// When the last attempt began.
    pub(super) at: Timestamp,
    /// Its status, or why there was no response.
    pub(super) answer: Result<u16, String>,
    /// Its duration.
    pub(super) took: Duration,
    pub(super) attempts: usize,
}

impl Outcome {
    pub(super) const fn is_accepted(&self) -> bool {
        matches!(self.answer, Ok(200..=299))
    }
}

impl Forwarder {
    pub(super) fn new(to: &Url, secret: SigningSecret) -> Result<Self, Failure> {
        if !matches!(to.scheme(), "http" | "https") || !to.has_host() {
            return Err(Failure::usage(
                "--forward-to must be an http:// or https:// URL",
            ));
        }
        Ok(Self {
            outbound: outbound(WHOLE, ANSWER)?,
            to: to.clone(),
            secret,
        })
    }

    pub(super) const fn to(&self) -> &Url {
        &self.to
    }

    pub(super) const fn secret(&self) -> &SigningSecret {
        &self.secret
    }

    /// Attempts delivery until the receiver accepts the event or the attempts are used up.
    pub(super) async fn forward(&self, event: &Event, attempts: Attempts) -> Outcome {
        let pauses = match attempts {
            Attempts::One => &[][..],
            Attempts::Three => &PAUSES[..],
        };
        let mut outcome = self.post(event).await;
        for pause in pauses {
            if outcome.is_accepted() {
                break;
            }
            tokio::time::sleep(*pause).await;
            let attempts = outcome.attempts + 1;
            outcome = self.post(event).await;
            outcome.attempts = attempts;
        }
        outcome
    }

    async fn post(&self, event: &Event) -> Outcome {
        let (at, began) = (SystemClock.machine(), Instant::now());
        let answer = self.answer_to(event, at).await;
        Outcome {
            at,
            answer,
            took: began.elapsed(),
            attempts: 1,
        }
    }

    async fn answer_to(&self, event: &Event, at: Timestamp) -> Result<u16, String> {
        let id = event.head.id.as_str();
        let body = event.text.get().as_bytes();
        let secrets = std::slice::from_ref(&self.secret);
        let signature = signatures(secrets, id, at, body);
        let time = at.unix().to_string();
        let headers = [
            ("content-type", "application/json"),
            ("webhook-id", id),
            ("webhook-timestamp", &time),
            ("webhook-signature", &signature),
        ];
        let call = Call::post_with(self.to.clone(), headers, body.to_vec());
        let call = call.map_err(|bad| bad.to_string())?;
        let answer = self.outbound.call_and_cut(call).await;
        answer
            .map(|answer| answer.status)
            .map_err(|error| reason(&error))
    }
}
