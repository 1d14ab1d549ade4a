//! The audit log. A response that results from using a key is sent only after its entry is on disk.

pub mod acknowledge;
mod acknowledged;
mod anchored;
pub mod changes;
pub mod checkpoint;
pub mod checkpoint_audit;
mod deployment;
pub mod epoch;
mod event_logs;
pub mod finding;
pub mod list;
mod markers;
pub mod prune;
pub(crate) mod record;
mod refusals;
mod signed_checkpoints;
pub mod verify;

pub use changes::ListChanges;
pub use checkpoint::{MadeCheckpoint, SinkStatus};
pub use checkpoint_audit::SourcedNote;
pub use finding::{About, Acknowledged, AuditFinding, AuditReport, FindingKind};
pub use list::{AuditPage, ListAudit};
pub use prune::{Exported, Prunable};
pub use signed_checkpoints::TrustedKeys;
