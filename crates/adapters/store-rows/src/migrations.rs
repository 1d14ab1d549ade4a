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

/// Returns the versions in `known` that are not in `applied`. Migrations that only a newer build knows are ignored (K10).
pub fn missing(known: Vec<String>, applied: &[String]) -> Vec<String> {
    known
        .into_iter()
        .filter(|version| !applied.contains(version))
        .collect()
}
