//! Databases for one test each, gone when it ends.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;
use tokio::sync::OnceCell;
use tokio_postgres::NoTls;
use vestry_ports::store::Store;
use vestry_store_sql::{Database, Settings, SqlStore, migrate};

/// A place for a database: how to reach it, and what removes it.
pub(crate) struct Place {
    pub(crate) settings: Settings,
    pub(crate) ground: Ground,
}

/// What a place stands on.
pub(crate) enum Ground {
    Directory(TempDir),
    Server(Throwaway),
}

impl Place {
    /// Another pool on the same database, as another process would have it.
    pub(crate) async fn connect(&self) -> SqlStore {
        SqlStore::connect(&self.settings).await.unwrap()
    }

    /// Runs SQL that Postgres may refuse.
    pub(crate) async fn try_execute(&self, sql: &str) -> Result<(), tokio_postgres::Error> {
        match &self.ground {
            Ground::Server(server) => execute(&server.url(), sql).await,
            Ground::Directory(_) => panic!("this is not Postgres"),
        }
    }

    /// Runs SQL behind the store's back.
    pub(crate) async fn execute(&self, sql: &str) {
        match &self.ground {
            Ground::Server(server) => execute(&server.url(), sql).await.unwrap(),
            Ground::Directory(_) => {
                let Database::Sqlite(path) = &self.settings.database else {
                    panic!("a directory holds a file");
                };
                use diesel::Connection;
                use diesel::connection::SimpleConnection;
                let path = path.to_str().unwrap();
                let mut conn = diesel::SqliteConnection::establish(path).unwrap();
                conn.batch_execute(sql).unwrap();
            }
        }
    }
}

/// An empty file in a directory of its own.
pub(crate) async fn sqlite() -> Option<Place> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vestry.db");
    Some(Place {
        settings: Settings::new(Database::Sqlite(path)),
        ground: Ground::Directory(directory),
    })
}

/// The same with all migrations.
pub(crate) async fn migrated_sqlite() -> Option<Place> {
    let place = sqlite().await?;
    migrate(&place.settings).await.unwrap();
    Some(place)
}

/// An empty Postgres database.
pub(crate) async fn postgres() -> Option<Place> {
    Some(place(Throwaway::create(&server_url()?, "template0").await))
}

/// The same with all migrations.
pub(crate) async fn migrated_postgres() -> Option<Place> {
    let url = server_url()?;
    Some(place(Throwaway::create(&url, template(&url).await).await))
}

fn place(server: Throwaway) -> Place {
    Place {
        settings: Settings::new(server.url().parse().unwrap()),
        ground: Ground::Server(server),
    }
}

/// A store for a suite of the contract, with what must outlive it.
pub(crate) async fn store(place: Option<Place>) -> Option<(Arc<dyn Store>, Place)> {
    let place = place?;
    let store: Arc<dyn Store> = Arc::new(place.connect().await);
    Some((store, place))
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
pub(crate) struct Throwaway {
    server: String,
    name: String,
}

impl Throwaway {
    async fn create(server: &str, template: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("vestry_test_{}_{number}", std::process::id());
        let create = format!("CREATE DATABASE {name} TEMPLATE {template}");
        execute(server, &create).await.unwrap();
        Self {
            server: server.to_owned(),
            name,
        }
    }

    pub(crate) fn url(&self) -> String {
        with_database(&self.server, &self.name)
    }
}

impl Drop for Throwaway {
    fn drop(&mut self) {
        let server = self.server.clone();
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        // A runtime of its own: the test's may be the one that is just ending.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(execute(&server, &drop))
        });
        if let Ok(Err(error)) = dropping.join() {
            eprintln!("{} was left behind: {error}", self.name);
        }
    }
}

/// The name of a database that has all migrations, made once for each version of them.
async fn template(server: &str) -> &'static str {
    static TEMPLATE: OnceCell<String> = OnceCell::const_new();
    TEMPLATE
        .get_or_init(async || {
            let template = format!("vestry_template_{:016x}", fingerprint_of_migrations());
            if !exists(server, &template).await {
                let new = Throwaway::create(server, "template0").await;
                migrate(&Settings::new(new.url().parse().unwrap()))
                    .await
                    .unwrap();
                // Another process may have been faster; then `new` is dropped and theirs is used.
                let rename = format!("ALTER DATABASE {} RENAME TO {template}", new.name);
                let renamed = execute(server, &rename).await;
                assert!(
                    renamed.is_ok() || exists(server, &template).await,
                    "{renamed:?}"
                );
            }
            template
        })
        .await
}

fn fingerprint_of_migrations() -> u64 {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../migrations/postgres");
    let mut files: Vec<_> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path().join("up.sql"))
        .collect();
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        std::fs::read(file).unwrap().hash(&mut hasher);
    }
    hasher.finish()
}

async fn exists(server: &str, database: &str) -> bool {
    let (client, connection) = tokio_postgres::connect(server, NoTls).await.unwrap();
    let driver = tokio::spawn(connection);
    let query = "SELECT 1 FROM pg_database WHERE datname = $1";
    let found = client.query_opt(query, &[&database]).await.unwrap();
    drop(client);
    driver.await.unwrap().unwrap();
    found.is_some()
}

/// Runs statements on a connection of their own.
pub(crate) async fn execute(url: &str, sql: &str) -> Result<(), tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    let driver = tokio::spawn(connection);
    let executed = client.batch_execute(sql).await;
    drop(client);
    // How the connection ended says nothing about the statements.
    let _ended = driver.await;
    executed
}

/// The same URL with another database.
fn with_database(url: &str, database: &str) -> String {
    let (address, parameters) = url.split_once('?').unwrap_or((url, ""));
    let (server, _) = address.rsplit_once('/').unwrap();
    format!("{server}/{database}?{parameters}")
}

/// Each named function as a test on both backends. They take a [`Place`].
macro_rules! on_both {
    ($build_sqlite:ident, $build_postgres:ident: $($name:ident)*) => {
        mod on_sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    if let Some(place) = $crate::places::$build_sqlite().await {
                        super::$name(&place).await;
                    }
                }
            )*
        }
        mod on_postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    if let Some(place) = $crate::places::$build_postgres().await {
                        super::$name(&place).await;
                    }
                }
            )*
        }
    };
}
pub(crate) use on_both;
