//! Events: sequencing and reading them.

mod address;
mod read;
mod sequencer;

pub(crate) use address::show_addresses;
pub use read::{EventPage, ListEvents, ListEventsError};
