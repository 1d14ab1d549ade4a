//! The `CheckpointSink` port: stores the checkpoints of the audit log outside of the database (AUD-3, AUD-8).
//!
//! - **[`FileSink`]** (`file:DIR`): one file per note, in an existing directory. A note appears under its name complete and on disk, or not
//!   at all. It is never overwritten, even if processes crash or write the same number.
//! - **[`HttpSink`]** (`http:URL`): a POST of each note to a URL that the operator chose. It passes the same network guard as webhooks:
//!   `https` to public addresses and to networks that the operator allows, `http` only to those networks.
//! - **[`LogSink`]** (`log`): a log line for each note.
//! - **[`FileJournal`]** (`epoch.store`): the lines of the journal, in files beside the notes of a `FileSink`.
//! - **[`notes_at`]** reads the notes of these sinks, or copies of them, for `vestry audit verify --against`; **[`notes_from`]** fetches
//!   them from a receiver.
//!
//! Deliberately absent: S3. A directory on a disk that is shipped elsewhere, or a receiver of POSTs in front of a bucket, serves the same
//! purpose without cloud credentials in this process.

mod bounds;
mod directory;
mod fetched;
mod file;
mod found;
mod http;
mod journal;
mod log;
mod settings;

pub use directory::notes_in;
pub use fetched::{NotFetched, notes_from};
pub use file::FileSink;
pub use found::notes_at;
pub use http::{HttpSink, NotSetUp};
pub use journal::FileJournal;
pub use log::{LOG_TARGET, LogSink};
pub use settings::Settings;
