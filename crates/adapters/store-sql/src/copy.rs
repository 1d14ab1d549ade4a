//! Copies of a whole database, for backup and restore.

use std::io::{self, Read, Write};
use std::path::Path;

use vestry_store_rows::copy::{Contents, CopyError};
use vestry_store_rows::settings::{Database, Settings};

/// Passes the contents and the data of a consistent copy to `take`, while others go on writing. Both show the same moment.
///
/// `take` runs on a thread where it may block. It receives a SQLite file, or a dump of Postgres in the custom format. `scratch` is a path
/// for a file as large as the database, needed for SQLite only; it is removed.
///
/// # Errors
/// [`CopyError`]. What `take` received is then incomplete.
pub async fn dump<T: Send + 'static>(
    settings: &Settings,
    scratch: &Path,
    take: impl FnOnce(Contents, &mut dyn Read) -> io::Result<T> + Send + 'static,
) -> Result<T, CopyError> {
    match &settings.database {
        Database::Sqlite(path) => vestry_store_sqlite::dump(path, settings, scratch, take).await,
        Database::Postgres(url) => vestry_store_postgres::dump(url, settings, take).await,
    }
}

/// Loads the copy that `give` writes into an empty database, and marks it as half restored. `give` runs on a thread where it may block.
///
/// # Errors
/// [`CopyError`]; [`CopyError::NotEmpty`] if the database has tables.
pub async fn load(
    settings: &Settings,
    give: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
) -> Result<(), CopyError> {
    match &settings.database {
        Database::Sqlite(path) => {
            vestry_store_sqlite::begin_restore(path)?;
            vestry_store_sqlite::load(path, give).await
        }
        Database::Postgres(url) => {
            vestry_store_postgres::begin_restore(url, settings).await?;
            vestry_store_postgres::load(url, settings, give).await
        }
    }
}

/// Returns the contents of the database.
///
/// # Errors
/// [`CopyError`].
pub async fn contents(settings: &Settings) -> Result<Contents, CopyError> {
    match &settings.database {
        Database::Sqlite(path) => vestry_store_sqlite::contents(path).await,
        Database::Postgres(url) => vestry_store_postgres::contents(url, settings).await,
    }
}

/// Removes the mark of an unfinished restore.
///
/// # Errors
/// [`CopyError`].
pub async fn end_restore(settings: &Settings) -> Result<(), CopyError> {
    match &settings.database {
        Database::Sqlite(path) => vestry_store_sqlite::end_restore(path).await,
        Database::Postgres(url) => vestry_store_postgres::end_restore(url, settings).await,
    }
}
