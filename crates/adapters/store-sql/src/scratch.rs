//! A database for a rehearsal.

use std::path::PathBuf;

use vestry_store_rows::copy::CopyError;
use vestry_store_rows::settings::{Database, PostgresUrl, Settings};

/// An empty database that belongs to the caller.
pub struct Scratch {
    database: Database,
    place: Place,
}

/// What [`Scratch::remove`] removes.
enum Place {
    /// A directory.
    Directory(PathBuf),
    /// A database beside that of this URL.
    Beside(Box<PostgresUrl>, Settings),
}

impl Scratch {
    /// Creates one: a file in a new directory for temporary files, or a database on the server of the settings.
    ///
    /// # Errors
    /// [`CopyError`]; on Postgres also if the role must not create databases.
    pub async fn create(settings: &Settings) -> Result<Self, CopyError> {
        match &settings.database {
            Database::Sqlite(_) => {
                let name = format!("vestry-drill-{}", std::process::id());
                let directory = std::env::temp_dir().join(name);
                vestry_store_sqlite::create_directory(&directory)?;
                Ok(Self {
                    database: Database::Sqlite(directory.join("drill.db")),
                    place: Place::Directory(directory),
                })
            }
            Database::Postgres(url) => {
                let scratch = vestry_store_postgres::create_database(url, settings).await?;
                Ok(Self {
                    database: Database::Postgres(Box::new(scratch)),
                    place: Place::Beside(url.clone(), settings.clone()),
                })
            }
        }
    }

    /// Where it is.
    pub const fn database(&self) -> &Database {
        &self.database
    }

    /// Removes it, also while connections to it are open.
    ///
    /// # Errors
    /// [`CopyError`].
    pub async fn remove(self) -> Result<(), CopyError> {
        match (self.place, &self.database) {
            (Place::Directory(directory), _) => Ok(std::fs::remove_dir_all(directory)?),
            (Place::Beside(url, settings), Database::Postgres(scratch)) => {
                vestry_store_postgres::drop_database(&url, &settings, scratch).await
            }
            (Place::Beside(..), Database::Sqlite(_)) => Ok(()),
        }
    }
}
