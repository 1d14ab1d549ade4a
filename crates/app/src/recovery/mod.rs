//! Recovery of a database that was set back. It repeats changes of every other context.

mod changes;
mod from_journal;
mod recover;

pub use from_journal::FromJournal;
pub use recover::Recovered;
