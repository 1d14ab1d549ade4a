//! The migrations, embedded, and how they are applied.

use diesel::migration::MigrationSource;
use diesel::pg::Pg;
use diesel::sqlite::Sqlite;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use vestry_ports::store::{StoreError, StoreResult};

use crate::settings::{Database, Settings};
use crate::{postgres, sqlite};

pub(crate) const POSTGRES: EmbeddedMigrations = embed_migrations!("../../../migrations/postgres");
pub(crate) const SQLITE: EmbeddedMigrations = embed_migrations!("../../../migrations/sqlite");

/// Takes away what decides that a user has one default wallet of a type, for the hole `sabotage-read-then-create`.
#[cfg(feature = "sabotage-read-then-create")]
pub(crate) const UNGUARDED: &str = "DROP INDEX wallets_app_id_environment_user_id_wallet_type_key";

/// Applies the migrations of this build that the database does not have yet, and says which those were (by version,
/// in order; none when there was nothing to do). Any number of processes may call it at the same time: one applies,
/// the others wait.
///
/// # Errors
/// [`StoreError::Unavailable`], [`StoreError::Busy`] when another process does not come to an end with its migrations,
/// or [`StoreError::Other`] when a statement of a migration was refused.
pub async fn migrate(settings: &Settings) -> StoreResult<Vec<String>> {
    match &settings.database {
        Database::Sqlite(path) => sqlite::migrate(path, settings).await,
        Database::Postgres(url) => postgres::migrate(url, settings).await,
    }
}

/// Migrations that were not applied.
#[derive(Debug, thiserror::Error)]
#[error("migrations are missing: {}; run `vestry migrate`", .0.join(", "))]
pub struct MissingMigrations(pub Vec<String>);

/// The versions of this build's migrations for Postgres, in order.
pub(crate) fn postgres_versions() -> StoreResult<Vec<String>> {
    versions(MigrationSource::<Pg>::migrations(&POSTGRES).map(|all| {
        all.iter()
            .map(|migration| migration.name().version().to_string())
            .collect()
    }))
}

/// The versions of this build's migrations for SQLite, in order.
pub(crate) fn sqlite_versions() -> StoreResult<Vec<String>> {
    versions(MigrationSource::<Sqlite>::migrations(&SQLITE).map(|all| {
        all.iter()
            .map(|migration| migration.name().version().to_string())
            .collect()
    }))
}

fn versions(read: diesel::migration::Result<Vec<String>>) -> StoreResult<Vec<String>> {
    let mut versions = read.map_err(StoreError::Other)?;
    versions.sort_unstable();
    Ok(versions)
}

/// What of `known` is not among `applied`. Migrations that only a newer build knows do not matter (K10).
pub(crate) fn missing(known: Vec<String>, applied: &[String]) -> Vec<String> {
    known
        .into_iter()
        .filter(|version| !applied.contains(version))
        .collect()
}

#[cfg(test)]
mod tests;
