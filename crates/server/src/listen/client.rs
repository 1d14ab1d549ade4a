//! A client of the events API.

use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use url::Url;
use vestry_domain::Secret;
use vestry_domain::ids::EventId;
use vestry_outbound::{Answer, Call, Outbound, OutboundError};

use super::calls::{outbound, reason};
use super::event::Event;
use super::source::{KeyOrigin, Source};
use crate::config::BaseUrl;
use crate::failure::{Context, Failure};

/// The longest time that the service waits for an event, in seconds.
const MAX_WAIT: &str = "30";
/// The timeout of a whole call: the wait, and enough time for the response.
const WHOLE: Duration = Duration::from_secs(45);
/// The largest response. A page of the largest events is far smaller.
const PAGE: usize = 16 * 1024 * 1024;

/// The API and the key to call it with.
pub(super) struct Client {
    outbound: Outbound,
    pub(super) base: BaseUrl,
    key: Secret<String>,
    key_origin: KeyOrigin,
}

/// The reason why nothing was read.
#[derive(Debug)]
pub(super) enum ReadError {
    /// Temporary: a later request may succeed.
    Unavailable(Unavailable),
    /// The log does not contain the event to read after.
    CursorUnknown,
    /// Permanent: a later request would fail too.
    Refused(Failure),
}

/// An outage of the service, or a rejection that is temporary.
#[derive(Debug)]
pub(super) struct Unavailable {
    pub(super) why: String,
    /// The Retry-After of the response.
    pub(super) retry_after: Option<Duration>,
    /// Whether an open connection broke.
    pub(super) connection_broke: bool,
}

impl ReadError {
    /// Converts to an error, for callers that do not retry.
    pub(super) fn into_failure(self) -> Failure {
        match self {
            Self::Unavailable(unavailable) => {
                Failure::new(format!("the service is unreachable: {}", unavailable.why))
            }
            Self::CursorUnknown => Failure::new("unknown event"),
            Self::Refused(failure) => failure,
        }
    }
}

/// What the service does if there is no new event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// It returns at once.
    No,
    ForEvents,
}

/// `GET /v1/events`
#[derive(Deserialize)]
pub(super) struct Page {
    pub(super) events: Vec<Box<RawValue>>,
    pub(super) has_more: bool,
    pub(super) next_after: Option<String>,
}

/// `GET /v1/events/head`
#[derive(Deserialize)]
pub(super) struct Head {
    pub(super) log: i64,
    pub(super) newest: Option<Mark>,
}

#[derive(Deserialize)]
pub(super) struct Mark {
    pub(super) id: String,
    pub(super) position: i64,
}

impl Client {
    pub(super) fn new(source: &Source) -> Result<Self, Failure> {
        Ok(Self {
            outbound: outbound(WHOLE, PAGE)?,
            base: source.base.clone(),
            key: source.key.clone(),
            key_origin: source.key_origin,
        })
    }

    /// Reads the events after an event.
    pub(super) async fn page(
        &self,
        after: Option<&str>,
        types: Option<&str>,
        wait: Wait,
    ) -> Result<Page, ReadError> {
        let query = [
            (wait == Wait::ForEvents).then_some(("wait", MAX_WAIT)),
            after.map(|after| ("after", after)),
            types.map(|types| ("types", types)),
        ];
        self.get("/v1/events", query.into_iter().flatten()).await
    }

    pub(super) async fn head(&self) -> Result<Head, ReadError> {
        self.get("/v1/events/head", []).await
    }

    pub(super) async fn event(&self, id: EventId) -> Result<Event, ReadError> {
        let text = self.get(&format!("/v1/events/{id}"), []).await?;
        Event::read(text).map_err(ReadError::Refused)
    }

    async fn get<'q, T: DeserializeOwned>(
        &self,
        path: &str,
        query: impl IntoIterator<Item = (&'q str, &'q str)>,
    ) -> Result<T, ReadError> {
        let call = Call::get(self.url(path, query).map_err(ReadError::Refused)?)
            .with_bearer(&self.key)
            .wanting_json();
        let answer = self.outbound.call(call).await.map_err(of_call)?;
        if answer.status != 200 {
            return Err(self.of_answer(&answer));
        }
        serde_json::from_slice(&answer.body)
            .context(format!(
                "{} did not return a valid response; is it a Vestry service?",
                self.base
            ))
            .map_err(ReadError::Refused)
    }

    fn url<'q>(
        &self,
        path: &str,
        query: impl IntoIterator<Item = (&'q str, &'q str)>,
    ) -> Result<Url, Failure> {
        let url = Url::parse(&format!("{}{path}", self.base));
        let mut url = url.context("invalid service URL")?;
        let mut query = query.into_iter().peekable();
        if query.peek().is_some() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(url)
    }

    fn of_answer(&self, answer: &Answer) -> ReadError {
        let Problem { code, message } = Problem::read(&answer.body);
        let status = answer.status;
        let failure = match status {
            409 if code == "cursor_unknown" => return ReadError::CursorUnknown,
            408 | 429 | 500..=599 => {
                return ReadError::Unavailable(Unavailable::answered(answer, &message));
            }
            401 => format!(
                "{} rejected the key {} ({message}); create one with `vestry key create APP test`",
                self.base, self.key_origin
            ),
            403 => format!(
                "the key {} may not read events ({message}); create one with `vestry key create APP test --scope events:read`",
                self.key_origin
            ),
            _ => format!("{} returned {status} ({message})", self.base),
        };
        ReadError::Refused(Failure::new(failure))
    }
}

/// The error of a response. Its code is empty if the response is not from this service.
#[derive(Deserialize)]
struct Problem {
    code: String,
    message: String,
}

impl Problem {
    fn read(body: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Body {
            error: Problem,
        }
        let read = serde_json::from_slice(body);
        read.map_or_else(
            |_foreign| Self {
                code: String::new(),
                message: "no reason given".to_owned(),
            },
            |Body { error }| error,
        )
    }
}

impl Unavailable {
    fn answered(answer: &Answer, message: &str) -> Self {
        let seconds = answer.retry_after.map(|asked| asked.at_least_one());
        Self {
            why: format!("{}: {message}", answer.status),
            retry_after: seconds.map(Duration::from_secs),
            connection_broke: false,
        }
    }
}

fn of_call(error: OutboundError) -> ReadError {
    match error {
        OutboundError::NotPublic
        | OutboundError::InClear
        | OutboundError::NotHttp
        | OutboundError::TooLarge => {
            ReadError::Refused(Failure::new("cannot call the service").because(error))
        }
        OutboundError::Late | OutboundError::Unreachable(_) | OutboundError::Broken(_) => {
            ReadError::Unavailable(Unavailable {
                why: reason(&error),
                retry_after: None,
                connection_broke: matches!(error, OutboundError::Broken(_)),
            })
        }
    }
}

#[cfg(test)]
mod tests;
