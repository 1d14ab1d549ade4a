//! An event on its way to whoever wants it.

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

/// As long as a receiver of webhooks has.
const WHOLE: Duration = Duration::from_secs(15);
/// Most that is read of an answer; only its status counts.
const ANSWER: usize = 64 * 1024;
/// Between tries.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(1)];

/// Posts events to one URL, signed as Standard Webhooks 1.0 says.
pub(super) struct Forwarder {
    outbound: Outbound,
    to: Url,
    secret: SigningSecret,
}

/// How often an event is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tries {
    One,
    /// Three times.
    Few,
}

/// What became of an event.
pub(super) struct Outcome {
    /// When the last try began.
    pub(super) at: Timestamp,
    /// The status of its answer, or why there was none.
    pub(super) answer: Result<u16, String>,
    /// How long it took.
    pub(super) took: Duration,
    pub(super) tries: usize,
}

impl Outcome {
    pub(super) const fn is_taken(&self) -> bool {
        matches!(self.answer, Ok(200..=299))
    }
}

impl Forwarder {
    pub(super) fn new(to: &Url, secret: SigningSecret) -> Result<Self, Failure> {
        if !matches!(to.scheme(), "http" | "https") || !to.has_host() {
            return Err(Failure::usage(
                "--forward-to must be a URL that begins with http:// or https://",
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

    /// Tries until the event is taken, or for the last time.
    pub(super) async fn forward(&self, event: &Event, tries: Tries) -> Outcome {
        let pauses = match tries {
            Tries::One => &[][..],
            Tries::Few => &PAUSES[..],
        };
        let mut outcome = self.post(event).await;
        for pause in pauses {
            if outcome.is_taken() {
                break;
            }
            tokio::time::sleep(*pause).await;
            let tries = outcome.tries + 1;
            outcome = self.post(event).await;
            outcome.tries = tries;
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
            tries: 1,
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
