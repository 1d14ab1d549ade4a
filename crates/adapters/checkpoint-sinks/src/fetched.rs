//! Notes fetched from a receiver.

use std::io;

use url::Url;
use vestry_outbound::{Call, Limits, Outbound};

use crate::found::notes_in_answer;
use crate::http::{CONNECT, NotSetUp, name_of, reach};
use crate::settings::Settings;

/// Maximum size of a response in bytes: a log with a year of checkpoints that each name a few chains.
const LARGEST: usize = 256 * 1024 * 1024;

/// Why notes could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum NotFetched {
    /// The URL cannot be used.
    #[error(transparent)]
    NotSetUp(#[from] NotSetUp),
    /// No response, or not in time.
    #[error("{place} cannot be read")]
    Call {
        /// The URL without its query.
        place: String,
        /// The cause.
        source: vestry_outbound::OutboundError,
    },
    /// A response without notes.
    #[error("{place} returned status {status}")]
    Status {
        /// The URL without its query.
        place: String,
        /// The response's status.
        status: u16,
    },
    /// The response contains no note.
    #[error(transparent)]
    NoNote(#[from] io::Error),
}

/// Fetches notes with a GET from this URL, and returns each with its location. The response is one note, or a JSON log that contains the
/// lines of [`LogSink`](crate::LogSink). The allowed destinations are those of [`HttpSink`](crate::HttpSink). No token is sent, and
/// redirects are not followed.
///
/// # Errors
/// See [`NotFetched`].
/// See [`NotFetched`].
pub async fn notes_from(
    url: &Url,
    settings: &Settings,
) -> Result<Vec<(String, String)>, NotFetched> {
    let limits = Limits {
        connect: CONNECT,
        whole: settings.whole,
        body: LARGEST,
    };
    let outbound = Outbound::new(reach(url, settings)?, limits).map_err(NotSetUp::Client)?;
    let place = name_of(url);
    let answer = match outbound.call(Call::get(url.clone())).await {
        Ok(answer) => answer,
        Err(source) => return Err(NotFetched::Call { place, source }),
    };
    match answer.status {
        200 => Ok(notes_in_answer(&place, answer.body)?),
        status => Err(NotFetched::Status { place, status }),
    }
}
