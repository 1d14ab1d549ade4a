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

/// Returns the versions of this build's migrations, in order.
///
/// # Errors
/// None that can be handled: the migrations are part of the build.
pub fn versions(database: &Database) -> StoreResult<Vec<String>> {
    match database {
        Database::Sqlite(_) => vestry_store_sqlite::versions(),
        Database::Postgres(_) => vestry_store_postgres::versions(),
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
