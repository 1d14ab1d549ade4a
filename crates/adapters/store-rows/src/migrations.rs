//! Detection of missing migrations.

use diesel::backend::Backend;
use diesel::migration::MigrationSource;
use vestry_ports::store::{StoreError, StoreResult};

/// Migrations that have not been applied.
#[derive(Debug, thiserror::Error)]
#[error("migrations are missing: {}; run `vestry migrate`", .0.join(", "))]
pub struct MissingMigrations(pub Vec<String>);

/// Returns the versions of the embedded migrations, in order.
///
/// # Errors
/// [`StoreError::Other`] if one of them has no version.
pub fn versions<DB: Backend>(embedded: &impl MigrationSource<DB>) -> StoreResult<Vec<String>> {
    let migrations = embedded.migrations().map_err(StoreError::Other)?;
    let mut versions: Vec<String> = migrations
        .iter()
        .map(|migration| migration.name().version().to_string())
        .collect();
    versions.sort_unstable();
    Ok(versions)
}

/// How the schema differs from what this build expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaState {
    /// Not at all.
    UpToDate,
    /// Migrations that have not been applied.
    Behind(usize),
    /// A newer build has applied migrations that this one does not know.
    Newer,
}

impl SchemaState {
    /// Compares the migrations of this build with the applied ones.
    pub fn of(known: &[String], applied: &[String]) -> Self {
        let missing = known.iter().filter(|version| !applied.contains(version));
        match missing.count() {
            0 if applied.iter().any(|version| !known.contains(version)) => Self::Newer,
            0 => Self::UpToDate,
            behind => Self::Behind(behind),
        }
    }
}

/// Returns the versions in `known` that are not in `applied`. Migrations that only a newer build knows are ignored (K10).
pub fn missing(known: Vec<String>, applied: &[String]) -> Vec<String> {
    known
        .into_iter()
        .filter(|version| !applied.contains(version))
        .collect()
}
