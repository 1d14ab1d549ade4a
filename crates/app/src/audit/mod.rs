//! The audit log: an answer that comes of a key leaves after its entry is on disk.

pub mod changes;
pub mod list;
pub(crate) mod record;
pub mod verify;

pub use changes::{ChangePage, ListChanges};
pub use list::{AuditPage, ListAudit};
pub use verify::{AuditFlaw, AuditReport, Flaw};
