//! What is asked of the service.

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
use super::source::{Found, Source};
use crate::config::BaseUrl;
use crate::failure::{Context, Failure};

/// The longest that the service waits for an event, in seconds.
const LONGEST_WAIT: &str = "30";
/// The wait, and time enough for the answer.
const WHOLE: Duration = Duration::from_secs(45);
/// A page of the largest events is smaller by far.
const PAGE: usize = 16 * 1024 * 1024;

/// The API with a key.
pub(super) struct Client {
    outbound: Outbound,
    pub(super) base: BaseUrl,
    key: Secret<String>,
    found: Found,
}

/// Why nothing was read.
#[derive(Debug)]
pub(super) enum Unread {
    /// Perhaps there is something in a moment.
    Away(Away),
    /// The log does not know the event behind which it was to be read.
    CursorUnknown,
    /// Nothing will be.
    Refused(Failure),
}

/// Nobody is there, or not for us.
#[derive(Debug)]
pub(super) struct Away {
    pub(super) why: String,
    /// How long it wants to be left alone.
    pub(super) retry_after: Option<Duration>,
    /// Whether somebody was there.
    pub(super) broke_off: bool,
}

impl Unread {
    /// For who does not wait.
    pub(super) fn into_failure(self) -> Failure {
        match self {
            Self::Away(away) => Failure::new(format!("the service is away: {}", away.why)),
            Self::CursorUnknown => Failure::new("the log does not know the event"),
            Self::Refused(failure) => failure,
        }
    }
}

/// What the service does where there is no event to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// It answers at once.
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
            found: source.found,
        })
    }

    /// What comes behind an event.
    pub(super) async fn page(
        &self,
        after: Option<&str>,
        types: Option<&str>,
        wait: Wait,
    ) -> Result<Page, Unread> {
        let query = [
            (wait == Wait::ForEvents).then_some(("wait", LONGEST_WAIT)),
            after.map(|after| ("after", after)),
            types.map(|types| ("types", types)),
        ];
        self.get("/v1/events", query.into_iter().flatten()).await
    }

    pub(super) async fn head(&self) -> Result<Head, Unread> {
        self.get("/v1/events/head", []).await
    }

    pub(super) async fn event(&self, id: EventId) -> Result<Event, Unread> {
        let text = self.get(&format!("/v1/events/{id}"), []).await?;
        Event::read(text).map_err(Unread::Refused)
    }

    async fn get<'q, T: DeserializeOwned>(
        &self,
        path: &str,
        query: impl IntoIterator<Item = (&'q str, &'q str)>,
    ) -> Result<T, Unread> {
        let call = Call::get(self.url(path, query).map_err(Unread::Refused)?)
            .with_bearer(&self.key)
            .wanting_json();
        let answer = self.outbound.call(call).await.map_err(of_call)?;
        if answer.status != 200 {
            return Err(self.of_answer(&answer));
        }
        serde_json::from_slice(&answer.body)
            .context(format!(
                "{} does not answer as this service does",
                self.base
            ))
            .map_err(Unread::Refused)
    }

    fn url<'q>(
        &self,
        path: &str,
        query: impl IntoIterator<Item = (&'q str, &'q str)>,
    ) -> Result<Url, Failure> {
        let url = Url::parse(&format!("{}{path}", self.base));
        let mut url = url.context("the URL of the service cannot be used")?;
        let mut query = query.into_iter().peekable();
        if query.peek().is_some() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(url)
    }

    fn of_answer(&self, answer: &Answer) -> Unread {
        let Problem { code, message } = Problem::read(&answer.body);
        let status = answer.status;
        let failure = match status {
            409 if code == "cursor_unknown" => return Unread::CursorUnknown,
            408 | 429 | 500..=599 => return Unread::Away(Away::answered(answer, &message)),
            401 => format!(
                "{} refuses the key {} ({message}); `vestry key create APP test` makes one",
                self.base, self.found
            ),
            403 => format!(
                "the key {} may not read events ({message}); `vestry key create APP test --scope events:read` makes one that may",
                self.found
            ),
            _ => format!("{} answered {status} ({message})", self.base),
        };
        Unread::Refused(Failure::new(failure))
    }
}

/// What a refusal says; empty of somebody who is not this service.
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
            |_of_somebody_else| Self {
                code: String::new(),
                message: "without saying why".to_owned(),
            },
            |Body { error }| error,
        )
    }
}

impl Away {
    fn answered(answer: &Answer, message: &str) -> Self {
        let seconds = answer.retry_after.map(|asked| asked.at_least_one());
        Self {
            why: format!("{}: {message}", answer.status),
            retry_after: seconds.map(Duration::from_secs),
            broke_off: false,
        }
    }
}

fn of_call(error: OutboundError) -> Unread {
    match error {
        OutboundError::NotPublic
        | OutboundError::InClear
        | OutboundError::NotHttp
        | OutboundError::TooLarge => {
            Unread::Refused(Failure::new("the service cannot be asked").because(error))
        }
        OutboundError::Late | OutboundError::Unreachable(_) | OutboundError::Broken(_) => {
            Unread::Away(Away {
                why: reason(&error),
                retry_after: None,
                broke_off: matches!(error, OutboundError::Broken(_)),
            })
        }
    }
}

#[cfg(test)]
mod tests;
