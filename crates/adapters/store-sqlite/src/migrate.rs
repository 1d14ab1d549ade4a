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

/// Applies what is missing, all in one transaction that holds the write lock from its beginning: whoever comes second
/// waits, and finds nothing to do. And tells SQLite what its tables look like, whether or not anything was missing.
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
                statistics::tell(conn)?;
                Ok(applied)
            }))
        })
        .await
        .map_err(|error| connection::classify(error, None))?;
    // What was applied is committed, whatever becomes of the connection.
    let _closed = connection::closed(connection).await;
    applied.map_err(|refused| match refused {
        Refused::Database(error) => connection::classify(error, None),
        Refused::Harness(error) => StoreError::Other(error),
    })
}

/// Why the migrations were undone.
enum Refused {
    /// Before or after them.
    Database(Error),
    /// One of them.
    Harness(Box<dyn std::error::Error + Send + Sync>),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}
