//! Events: what a change tells, its way into the log, and reading it.

mod read;
mod sequencer;
mod tell;

pub use read::{EventPage, ListEvents, ListEventsError};
pub(crate) use tell::Source;
