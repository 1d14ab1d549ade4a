//! Databases on the test Postgres server.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::OnceCell;
use tokio_postgres::NoTls;
use vestry_store_sql::{Settings, distribute, migrate};

use crate::lane;

/// The template for an empty database.
const NOTHING: &str = "template0";

/// A temporary database, dropped together with this value.
pub struct Throwaway {
    server: String,
    name: String,
}

impl Throwaway {
    /// Creates an empty database; `None` if the lane is excluded.
    pub async fn empty() -> Option<Self> {
        let empty = Self::create(&server_url()?, NOTHING).await;
        if is_distributed() {
            empty.become_cluster().await;
        }
        Some(empty)
    }

    /// Creates a database with all migrations; `None` if the lane is excluded.
    pub async fn migrated() -> Option<Self> {
        let server = server_url()?;
        let template = template(&server).await;
        Some(Self::create(&server, template).await)
    }

    /// The URL of the database, as in `database.url`.
    pub fn url(&self) -> String {
        // Databases are created and dropped on the server directly: a pooler would keep connections open to one that is dropped or copied.
        let pooler = lane::variable("VESTRY_TEST_POSTGRES_POOLER");
        with_database(pooler.as_ref().unwrap_or(&self.server), &self.name)
    }

    /// The same through a pooler that loses prepared statements, and through a session pooler; `None` if the tests do not use poolers.
    pub fn other_pooler_urls(&self) -> Option<[String; 2]> {
        let url = |variable| Some(with_database(&lane::variable(variable)?, &self.name));
        Some([
            url("VESTRY_TEST_POSTGRES_LOSING_POOLER")?,
            url("VESTRY_TEST_POSTGRES_SESSION_POOLER")?,
        ])
    }

    /// The same without a pooler, for connections other than the service's.
    pub fn direct_url(&self) -> String {
        with_database(&self.server, &self.name)
    }

    /// Turns the database into a single-node Citus cluster. Statements that are not allowed on several nodes are not allowed there either.
    async fn become_cluster(&self) {
        let join = "CREATE EXTENSION citus; \
            SELECT citus_set_coordinator_host('127.0.0.1', current_setting('port')::int); \
            SELECT citus_set_node_property('127.0.0.1', current_setting('port')::int, 'shouldhaveshards', true)";
        execute(&self.direct_url(), join).await.unwrap();
    }

    /// Blocks and ends all connections. Citus keeps a session in each of its databases, and a database cannot be copied while one is open.
    async fn close(&self) {
        let name = &self.name;
        let close = format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false");
        let end = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        );
        execute(&self.server, &close).await.unwrap();
        execute(&self.server, &end).await.unwrap();
    }

    async fn create(server: &str, template: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("vestry_test_{}_{number}", std::process::id());
        // May have been left behind by a killed process with the same id.
        execute(server, &drop_statement(&name)).await.unwrap();
        let create = format!("CREATE DATABASE {name} TEMPLATE {template} ALLOW_CONNECTIONS true");
        execute(server, &create).await.unwrap();
        let server = server.to_owned();
        Self { server, name }
    }
}

impl Drop for Throwaway {
    fn drop(&mut self) {
        let (server, statement) = (self.server.clone(), drop_statement(&self.name));
        // A separate runtime, because the test's own may be shutting down.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.unwrap().block_on(execute(&server, &statement))
        });
        if !matches!(dropping.join(), Ok(Ok(()))) {
            eprintln!("test database {} could not be dropped", self.name);
        }
    }
}

fn drop_statement(name: &str) -> String {
    format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")
}

/// The superuser's URL of the server; `None` if the lane is excluded.
fn server_url() -> Option<String> {
    let remedy = "export VESTRY_TEST_POSTGRES_URL=$(cargo xtask pg up)";
    lane::server("postgres", "VESTRY_TEST_POSTGRES_URL", remedy)
}

/// The directory of the test server's programs, for clusters that a test creates, copies and stops. `None` if the lane `postgres` is
/// excluded, or the lane `postgres-programs` of tests that need them on this machine.
pub async fn programs() -> Option<PathBuf> {
    let server = server_url()?;
    let (client, connection) = tokio_postgres::connect(&server, NoTls).await.unwrap();
    let driver = tokio::spawn(connection);
    let query = "SELECT setting FROM pg_config WHERE name = 'BINDIR'";
    let directory: String = client.query_one(query, &[]).await.unwrap().get(0);
    drop(client);
    driver.await.unwrap().unwrap();
    let directory = PathBuf::from(directory);
    let all = ["initdb", "pg_ctl", "pg_basebackup"];
    let is_here = all.iter().all(|name| directory.join(name).is_file());
    let lacks =
        "the programs of the test Postgres server are not on this machine: use a local server";
    lane::required("postgres-programs", is_here.then_some(directory), lacks)
}

/// The name of the template database with all migrations, created once for each version of them.
async fn template(server: &str) -> &'static str {
    static TEMPLATE: OnceCell<String> = OnceCell::const_new();
    let make = async || {
        let template = format!("vestry_template_{:016x}", fingerprint_of_migrations());
        if exists(server, &template).await {
            return template;
        }
        let new = Throwaway::create(server, NOTHING).await;
        let settings = Settings::new(new.direct_url().parse().unwrap());
        migrate(&settings).await.unwrap();
        if is_distributed() {
            new.become_cluster().await;
            distribute(&settings, &|_table, _left| {}).await.unwrap();
            new.close().await;
        }
        // Another process may have been faster; `new` is then dropped and its database is used.
        let rename = format!("ALTER DATABASE {} RENAME TO {template}", new.name);
        let renamed = execute(server, &rename).await;
        assert!(
            renamed.is_ok() || exists(server, &template).await,
            "{renamed:?}"
        );
        template
    };
    TEMPLATE.get_or_init(make).await
}

/// Whether the server has Citus, so that all migrated databases must be distributed.
pub fn is_distributed() -> bool {
    lane::variable("VESTRY_TEST_POSTGRES_SPREAD").is_some()
}

/// A hash that changes with any migration.
fn fingerprint_of_migrations() -> u64 {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations/postgres");
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

/// Runs statements on a separate connection.
///
/// # Errors
/// The server's error for the first statement that it rejects.
pub async fn execute(url: &str, sql: &str) -> Result<(), tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    let driver = tokio::spawn(connection);
    let executed = client.batch_execute(sql).await;
    drop(client);
    // The way in which the connection ended says nothing about the statements.
    let _ended = driver.await;
    executed
}

/// The same URL with another database.
fn with_database(url: &str, database: &str) -> String {
    let (address, parameters) = url.split_once('?').unwrap_or((url, ""));
    let (server, _) = address.rsplit_once('/').unwrap();
    match parameters {
        "" => format!("{server}/{database}"),
        parameters => format!("{server}/{database}?{parameters}"),
    }
}
