//! Events: emitting, sequencing and reading them.

mod address;
mod emit;
mod read;
mod sequencer;

pub(crate) use address::show_addresses;
pub(crate) use emit::Source;
pub use read::{EventPage, ListEvents, ListEventsError};
