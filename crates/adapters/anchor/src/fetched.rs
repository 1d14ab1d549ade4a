//! Notes that a receiver gives back.

use std::io;

use url::Url;
use vestry_outbound::{Call, Limits, Outbound};

use crate::found::notes_in_answer;
use crate::http::{CONNECT, NotSetUp, name_of, reach};
use crate::settings::Settings;

/// Most bytes of an answer: a log of a year of checkpoints that each name a few chains.
const LARGEST: usize = 256 * 1024 * 1024;

/// Why there are no notes.
#[derive(Debug, thiserror::Error)]
pub enum NotFetched {
    /// The URL cannot be asked.
    #[error(transparent)]
    NotSetUp(#[from] NotSetUp),
    /// Nobody answered, or not in time.
    #[error("{place} cannot be read")]
    Call {
        /// The URL without its query.
        place: String,
        /// Why.
        source: vestry_outbound::OutboundError,
    },
    /// The answer was none with notes.
    #[error("{place} answered with status {status}")]
    Status {
        /// The URL without its query.
        place: String,
        /// Its status.
        status: u16,
    },
    /// What was answered has no note.
    #[error(transparent)]
    NoNote(#[from] io::Error),
}

/// The notes that a GET of this URL answers, each with where it was: one note, or a log in JSON with those that
/// [`LogSink`](crate::LogSink) wrote. Where it may lead is as for [`HttpSink`](crate::HttpSink); no token goes with it, and no
/// redirect is followed.
///
/// # Errors
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
