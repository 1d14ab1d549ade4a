//! Notes sent to a URL.

use std::fmt;
use std::time::Duration;

use url::Url;
use vestry_domain::Secret;
use vestry_outbound::{Call, Limits, Outbound, OutboundError, Reach};
use vestry_ports::anchors::{CheckpointSink, SinkError};
use vestry_ports::port;

use crate::bounds;
use crate::settings::Settings;

/// Connect timeout, including TLS.
pub(crate) const CONNECT: Duration = Duration::from_secs(5);
/// Maximum number of bytes read of a response. They are ignored, but reading them lets the connection be reused.
const BODY: usize = 4096;

/// Why a sink cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum NotSetUp {
    /// The URL is not `http` or `https` with a host and without user, password and fragment.
    #[error("the URL of a sink must be http or https, without user, password or fragment")]
    Url,
    /// The token is empty, or not allowed in a header.
    #[error("the token of a sink must be visible ASCII characters")]
    Token,
    /// The HTTP client cannot be created.
    #[error("the HTTP client of a sink cannot be set up")]
    Client(#[source] vestry_outbound::NotSetUp),
}

/// The sink responded and did not accept the note.
#[derive(Debug, thiserror::Error)]
#[error("the sink returned status {0}")]
struct Answered(u16);

/// Sends each note to a URL: `POST`, `Content-Type: text/plain; charset=utf-8`, `X-Checkpoint-Number`, and a bearer token.
///
/// 2xx means that the receiver has the note, 409 that it has a different one with this number. Anything else, including a redirect, counts
/// as no answer. A receiver must expect the same note again if its response was lost, and return 2xx again.
pub struct HttpSink {
    name: String,
    url: Url,
    token: Secret<String>,
    outbound: Outbound,
}

impl HttpSink {
    /// Creates a sink at this URL, which authenticates us by this token. Nothing is connected yet.
    ///
    /// # Errors
    /// See [`NotSetUp`].
    pub fn new(url: Url, token: Secret<String>, settings: &Settings) -> Result<Self, NotSetUp> {
        let reach = reach(&url, settings)?;
        let is_sendable = |token: &str| token.bytes().all(|byte| byte.is_ascii_graphic());
        if token.expose().is_empty() || !is_sendable(token.expose()) {
            return Err(NotSetUp::Token);
        }
        let limits = Limits {
            connect: CONNECT,
            whole: settings.whole,
            body: BODY,
        };
        Ok(Self {
            name: format!("http:{}", name_of(&url)),
            url,
            token,
            outbound: Outbound::new(reach, limits).map_err(NotSetUp::Client)?,
        })
    }
}

/// Returns the destinations that a URL may lead to.
///
/// # Errors
/// [`NotSetUp::Url`].
pub(crate) fn reach(url: &Url, settings: &Settings) -> Result<Reach, NotSetUp> {
    let networks = settings.allowed_networks.iter().copied();
    let is_bare = url.username().is_empty() && url.password().is_none();
    if !is_bare || url.fragment().is_some() {
        return Err(NotSetUp::Url);
    }
    match url.scheme() {
        "https" => Ok(Reach::public_and(networks)),
        // Unencrypted traffic, which includes the token, stays within the operator's networks.
        "http" => Ok(Reach::only(networks)),
        _ => Err(NotSetUp::Url),
    }
}

/// Returns the URL for messages: without its query, which can contain a secret of the receiver.
pub(crate) fn name_of(url: &Url) -> String {
    let mut shown = url.clone();
    shown.set_query(None);
    shown.to_string()
}

/// Prints only the name; neither query nor token.
impl fmt::Debug for HttpSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpSink({})", self.name)
    }
}

#[port]
impl CheckpointSink for HttpSink {
    fn name(&self) -> &str {
        &self.name
    }

    async fn put(&self, number: i64, note: &str) -> Result<(), SinkError> {
        bounds::check(number, note)?;
        let number_text = number.to_string();
        let headers = [
            ("content-type", "text/plain; charset=utf-8"),
            ("x-checkpoint-number", &number_text),
        ];
        let call = Call::post_with(self.url.clone(), headers, note.as_bytes().to_vec())
            .map_err(|error| SinkError::Unavailable(Box::new(error)))?
            .with_bearer(&self.token);
        let answer = self.outbound.call_and_cut(call).await.map_err(of_call)?;
        match answer.status {
            200..=299 => Ok(()),
            409 => Err(SinkError::Differs { number }),
            status => Err(SinkError::Unavailable(Box::new(Answered(status)))),
        }
    }

    /// Always `None`: the interface for reading notes back is the receiver's own.
    async fn newest(&self) -> Result<Option<String>, SinkError> {
        Ok(None)
    }

    /// As [`Self::newest`].
    async fn since(&self, _number: i64) -> Result<Vec<String>, SinkError> {
        Ok(Vec::new())
    }
}

/// Classifies the error of a call.
fn of_call(error: OutboundError) -> SinkError {
    match error {
        // The operator has to change the URL or the allowed networks.
        OutboundError::NotPublic | OutboundError::InClear | OutboundError::NotHttp => {
            SinkError::Refused(error.to_string())
        }
        OutboundError::Late
        | OutboundError::Unreachable(_)
        | OutboundError::Broken(_)
        | OutboundError::TooLarge => SinkError::Unavailable(Box::new(error)),
    }
}
