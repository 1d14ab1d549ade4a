//! Migrating the database.

use vestry_ports::store::{StoreError, StoreResult};
use vestry_store_rows::settings::{Database, Settings};

/// Applies the migrations of this build that the database does not have yet, and says which those were (by version,
/// in order; none when there was nothing to do). Any number of processes may call it at the same time: one applies,
/// the others wait.
///
/// # Errors
/// [`StoreError`]: `Unavailable`, `Busy` when another process does not come to an end
/// with its migrations, or `Other` when a statement of a migration was refused.
pub async fn migrate(settings: &Settings) -> StoreResult<Vec<String>> {
    match &settings.database {
        Database::Sqlite(path) => vestry_store_sqlite::migrate(path, settings).await,
        Database::Postgres(url) => vestry_store_postgres::migrate(url, settings).await,
    }
}

/// Spreads the tables over the servers of a Citus cluster, and says which those were that were not spread before (none when there was
/// nothing to do). Each table goes in a transaction of its own: stopped at any moment, it goes on when it is called again. `told` hears
/// of each table before it begins, and how many are left with it.
///
/// # Errors
/// [`StoreError`]: `Other` on SQLite, without the extension, while processes of the service are
/// connected, or when a statement was refused.
pub async fn distribute(
    settings: &Settings,
    told: &(dyn Fn(&str, usize) + Sync),
) -> StoreResult<Vec<String>> {
    match &settings.database {
        Database::Sqlite(_) => Err(StoreError::Other(
            "a SQLite file lies on one machine: there are no servers to distribute it over".into(),
        )),
        Database::Postgres(url) => vestry_store_postgres::distribute(url, settings, told).await,
    }
}
