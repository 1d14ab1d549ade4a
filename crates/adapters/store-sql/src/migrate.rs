//! Database migrations.

use vestry_ports::store::{StoreError, StoreResult};
use vestry_store_rows::settings::{Database, Settings};

/// Applies this build's missing migrations and returns their versions in order, or an empty list. Any number of processes can call it
/// concurrently: one applies, the others wait.
///
/// # Errors
/// [`StoreError`]: `Unavailable`, `Busy` if another process does not finish its migrations, or `Other` if a statement of a migration was
/// refused.
pub async fn migrate(settings: &Settings) -> StoreResult<Vec<String>> {
    match &settings.database {
        Database::Sqlite(path) => vestry_store_sqlite::migrate(path, settings).await,
        Database::Postgres(url) => vestry_store_postgres::migrate(url, settings).await,
    }
}

/// Distributes the tables over the servers of a Citus cluster, and returns the names of those that were not distributed before. Each table
/// has its own transaction, so an interrupted run is resumed by another call. `progress` is called before each table, with the number of
/// tables left including it.
///
/// # Errors
/// [`StoreError`]: `Other` on SQLite, without the extension, while processes of the service are connected, or if a statement was refused.
pub async fn distribute(
    settings: &Settings,
    progress: &(dyn Fn(&str, usize) + Sync),
) -> StoreResult<Vec<String>> {
    match &settings.database {
        Database::Sqlite(_) => Err(StoreError::Other(
            "a SQLite database cannot be distributed over several servers".into(),
        )),
        Database::Postgres(url) => vestry_store_postgres::distribute(url, settings, progress).await,
    }
}
