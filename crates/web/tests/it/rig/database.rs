//! Databases for one test each, gone when it ends.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use tempfile::TempDir;
use tokio_postgres::NoTls;
use vestry_store_sql::{Database, Settings, Synchronous, migrate};

/// Which database a test runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    Sqlite,
    Postgres,
}

/// A migrated database, and a directory for what stands beside it.
pub(crate) struct Place {
    pub(crate) settings: Settings,
    pub(crate) directory: TempDir,
    server: Option<Throwaway>,
}

impl Place {
    /// Puts something else in the place of the database file, as a broken disk would.
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
    /// Everything that the database holds, as whoever copies it would read it.
    pub(crate) async fn dump(&self) -> Vec<u8> {
        if let Database::Sqlite(path) = &self.settings.database {
            let mut dump = std::fs::read(path).unwrap();
            let log = path.with_extension("db-wal");
            dump.extend(std::fs::read(log).unwrap_or_default());
            return dump;
        }
        let url = &self.server.as_ref().unwrap().url;
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
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

impl Lane {
    /// A fresh place; none where the lane is missing on purpose.
    pub(crate) async fn place(self) -> Option<Place> {
        let directory = TempDir::new().unwrap();
        let (settings, server) = match self {
            Self::Sqlite => (sqlite(&directory), None),
            Self::Postgres => {
                let server = Throwaway::create(&server_url()?).await;
                (Settings::new(server.url.parse().unwrap()), Some(server))
            }
        };
        migrate(&settings).await.unwrap();
        Some(Place {
            settings,
            directory,
            server,
        })
    }
}

/// It is thrown away, so no commit waits for the disk.
fn sqlite(directory: &TempDir) -> Settings {
    Settings {
        synchronous: Synchronous::Normal,
        ..Settings::new(Database::Sqlite(directory.path().join("vestry.db")))
    }
}

/// The superuser's URL of the server for tests; none, said aloud, where the lane is missing on purpose.
fn server_url() -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "where the tests find their servers; not a setting of the service"
    )]
    let variable = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
    if let Some(url) = variable("VESTRY_TEST_POSTGRES_URL") {
        return Some(url);
    }
    let missing = variable("VESTRY_TEST_LANES_MISSING").unwrap_or_default();
    assert!(
        missing.split(',').any(|lane| lane.trim() == "postgres"),
        "this test needs Postgres: export VESTRY_TEST_POSTGRES_URL=$(cargo xtask pg up), or run cargo xtask test"
    );
    println!("not run: the lane postgres is missing");
    None
}

/// A database that is dropped with this value.
struct Throwaway {
    server: String,
    name: String,
    url: String,
}

impl Throwaway {
    async fn create(server: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("vestry_web_{}_{number}", std::process::id());
        // Left behind by a process of the same number that was killed.
        execute(server, &drop_statement(&name)).await.unwrap();
        execute(server, &format!("CREATE DATABASE {name}"))
            .await
            .unwrap();
        let url = with_database(server, &name);
        Self {
            server: server.to_owned(),
            name,
            url,
        }
    }
}

impl Drop for Throwaway {
    fn drop(&mut self) {
        let (server, statement) = (self.server.clone(), drop_statement(&self.name));
        // A runtime of its own: the test's may be the one that is just ending.
        let dropping = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.unwrap().block_on(execute(&server, &statement))
        });
        if let Ok(Err(error)) = dropping.join() {
            eprintln!("{} was left behind: {error}", self.name);
        }
    }
}

fn drop_statement(name: &str) -> String {
    format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")
}

async fn execute(url: &str, sql: &str) -> Result<(), tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    let driver = tokio::spawn(connection);
    let executed = client.batch_execute(sql).await;
    drop(client);
    // How the connection ended says nothing about the statement.
    let _ended = driver.await;
    executed
}

/// The same URL with another database.
fn with_database(url: &str, database: &str) -> String {
    let (address, parameters) = url.split_once('?').unwrap_or((url, ""));
    let (server, _) = address.rsplit_once('/').unwrap();
    format!("{server}/{database}?{parameters}")
}
