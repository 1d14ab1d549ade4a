//! Events: emitting, sequencing and reading them.

mod address;
mod read;
mod sequencer;
mod tell;

pub(crate) use address::show_addresses;
pub use read::{EventPage, ListEvents, ListEventsError};
pub(crate) use tell::Source;
