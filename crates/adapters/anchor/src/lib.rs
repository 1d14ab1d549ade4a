//! The `CheckpointSink` port: places outside of the database that keep the checkpoints of the audit log (AUD-3, AUD-8).
//!
//! - **[`FileSink`]** (`file:DIR`): one file for each note in a directory that is there already. A note appears under its name whole
//!   and on disk, or not at all, and is never overwritten, whichever process crashes or writes the same number.
//! - **[`HttpSink`]** (`http:URL`): a POST of each note to a URL that the operator chose. It passes the guard of the one client as
//!   webhooks do: `https` to public addresses and into the networks that the operator allows, `http` into those networks only.
//! - **[`LogSink`]** (`log`): a line of the log for each note.
//! - **[`notes_at`]** reads what these leave, or a copy of it, for `vestry audit verify --against`, and **[`notes_from`]** what a
//!   receiver gives back.
//!
//! Deliberately absent: S3. A directory on a disk that is shipped elsewhere, or a receiver of POSTs in front of a bucket, does the
//! same without credentials of a cloud in this process.

mod bounds;
mod directory;
mod fetched;
mod file;
mod found;
mod http;
mod log;
mod settings;

pub use directory::notes_in;
pub use fetched::{NotFetched, notes_from};
pub use file::FileSink;
pub use found::notes_at;
pub use http::{HttpSink, NotSetUp};
pub use log::LogSink;
pub use settings::Settings;
