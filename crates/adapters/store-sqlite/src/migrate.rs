//! Migrations of a SQLite file.

use std::path::Path;

use deadpool::managed::Manager as _;
use diesel::result::Error;
use diesel_migrations::MigrationHarness;
use vestry_ports::store::{StoreError, StoreResult};

use super::connection;
use super::manager::{Manager, Role};
use super::statistics;
use vestry_store_rows::settings::Settings;

/// Applies missing migrations in one transaction, which holds the write lock from its start: a concurrent process waits and finds nothing
/// to do. Also writes the planner statistics, whether or not anything was missing.
pub async fn migrate(path: &Path, settings: &Settings) -> StoreResult<Vec<String>> {
    let manager = Manager::new(path, Role::Writer, settings);
    let mut connection = manager.create().await?;
    let applied = connection
        .spawn_blocking(|conn| {
            Ok(conn.immediate_transaction(|conn| {
                let applied = conn
                    .run_pending_migrations(crate::MIGRATIONS)
                    .map_err(Refused::Harness)?;
                let applied: Vec<String> = applied.iter().map(ToString::to_string).collect();
                statistics::write_planner_stats(conn)?;
                Ok(applied)
            }))
        })
        .await
        .map_err(|error| connection::classify(error, None))?;
    // Applied migrations are committed, whatever happens to the connection.
    let _closed = connection::closed(connection).await;
    applied.map_err(|refused| match refused {
        Refused::Database(error) => connection::classify(error, None),
        Refused::Harness(error) => StoreError::Other(error),
    })
}

/// Why the migrations were rolled back.
enum Refused {
    /// An error before or after the migrations.
    Database(Error),
    /// An error in one of them.
    Harness(Box<dyn std::error::Error + Send + Sync>),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}
