//! Events: what a change tells, its way into the log, and reading it.

mod address;
mod read;
mod sequencer;
mod tell;

pub(crate) use address::show_addresses;
pub use read::{EventPage, ListEvents, ListEventsError};
pub(crate) use tell::Source;
