//! The sinks against real directories, and against scripted receivers on this machine.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod directories;
mod fetched;
mod files;
mod http;
mod journal;

use std::error::Error;

use vestry_ports::anchors::SinkError;

/// Path and query of the receivers. The query must not be revealed.
pub(crate) const PATH: &str = "/notes?key=secret";

/// A note. The sinks do not read it.
pub(crate) const NOTE: &str =
    "vestry-audit-checkpoint-v1\nlocalhost\n\n\u{2014} localhost bm90aGluZw==\n";

/// Returns the text of an error with all its causes.
pub(crate) fn said(error: &SinkError) -> String {
    let mut said = format!("{error:?} {error}");
    let mut cause = error.source();
    while let Some(inner) = cause {
        said.push_str(&format!(" {inner}"));
        cause = inner.source();
    }
    said
}
