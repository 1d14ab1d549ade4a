//! Migrating the database.

use vestry_ports::store::StoreResult;
use vestry_store_rows::settings::{Database, Settings};

/// Applies the migrations of this build that the database does not have yet, and says which those were (by version,
/// in order; none when there was nothing to do). Any number of processes may call it at the same time: one applies,
/// the others wait.
///
/// # Errors
/// [`StoreError`](vestry_ports::store::StoreError): `Unavailable`, `Busy` when another process does not come to an end
/// with its migrations, or `Other` when a statement of a migration was refused.
pub async fn migrate(settings: &Settings) -> StoreResult<Vec<String>> {
    match &settings.database {
        Database::Sqlite(path) => vestry_store_sqlite::migrate(path, settings).await,
        Database::Postgres(url) => vestry_store_postgres::migrate(url, settings).await,
    }
}
