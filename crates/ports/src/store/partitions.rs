//! How the Apps are divided over database servers.

use vestry_domain::ids::AppId;

/// The division of the Apps into partitions. A statement and a transaction cover one partition, and each can fail on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partitions {
    /// All Apps are one partition.
    One,
    /// Each App is a partition.
    PerApp,
}

/// Apps that can share a statement and a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Partition {
    /// All Apps.
    All,
    /// One App.
    App(AppId),
}

impl Partitions {
    /// The partition of an App.
    pub const fn of(self, app: AppId) -> Partition {
        match self {
            Self::One => Partition::All,
            Self::PerApp => Partition::App(app),
        }
    }
}
