//! Databases for one test each, removed when it ends.

use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;
use tokio_postgres::NoTls;
use vestry_store_sql::{Database, Settings, Synchronous};
use vestry_testkit::postgres::Throwaway;

/// The database on which a test runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    Sqlite,
    Postgres,
}

/// A migrated database, and a directory for other files.
pub(crate) struct Place {
    pub(crate) settings: Settings,
    pub(crate) directory: TempDir,
    server: Option<Throwaway>,
}

impl Place {
    /// Overwrites the database file, as a broken disk would.
    pub(crate) fn break_sqlite(&self) {
        let Database::Sqlite(path) = &self.settings.database else {
            panic!("the database is not a file");
        };
        std::fs::write(
            path,
            b"not a database at all, and long enough to be looked at",
        )
        .unwrap();
    }
}

impl Place {
    /// The whole content of the database, as an attacker with a copy would read it.
    pub(crate) async fn dump(&self) -> Vec<u8> {
        if let Database::Sqlite(path) = &self.settings.database {
            let mut dump = std::fs::read(path).unwrap();
            let log = path.with_extension("db-wal");
            dump.extend(std::fs::read(log).unwrap_or_default());
            return dump;
        }
        let url = self.server.as_ref().unwrap().direct_url();
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        let driver = tokio::spawn(connection);
        let tables =
            "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public'";
        let mut dump = Vec::new();
        for table in client.query(tables, &[]).await.unwrap() {
            let table: String = table.get(0);
            let rows = format!("SELECT to_jsonb(row)::text FROM \"{table}\" AS row");
            for row in client.query(&rows, &[]).await.unwrap() {
                let text: String = row.get(0);
                dump.extend_from_slice(text.as_bytes());
            }
        }
        drop(client);
        driver.await.unwrap().unwrap();
        dump
    }
}

/// A hundred parallel calls share ten connections, and a machine that builds something else serves them slowly.
const PATIENCE: Duration = Duration::from_secs(30);

impl Lane {
    /// A fresh database; `None` if the lane is missing on purpose.
    pub(crate) async fn place(self) -> Option<Place> {
        let directory = TempDir::new().unwrap();
        let (settings, server) = match self {
            Self::Sqlite => {
                let path = directory.path().join("vestry.db");
                vestry_testkit::sqlite::migrated(&path).await;
                (sqlite(path), None)
            }
            Self::Postgres => {
                let server = Throwaway::migrated().await?;
                let settings = Settings {
                    acquire_timeout: PATIENCE,
                    connect_timeout: PATIENCE,
                    ..Settings::new(server.url().parse().unwrap())
                };
                (settings, Some(server))
            }
        };
        Some(Place {
            settings,
            directory,
            server,
        })
    }
}

/// It is thrown away, so no commit waits for the disk.
fn sqlite(path: PathBuf) -> Settings {
    Settings {
        acquire_timeout: PATIENCE,
        synchronous: Synchronous::Normal,
        ..Settings::new(Database::Sqlite(path))
    }
}
