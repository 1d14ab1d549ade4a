//! The two databases, and a way into their rows behind the service's back.

use std::path::PathBuf;

use diesel::sql_types::Text;
use diesel::{Connection, QueryableByName, RunQueryDsl, SqliteConnection, sql_query};
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

/// One database of one test.
pub(crate) enum Database {
    /// A file in the test's directory.
    Sqlite(PathBuf),
    /// A database of its own on the test server; dropped with this value.
    Postgres(Box<Postgres>),
}

/// A database on the test server.
pub(crate) struct Postgres {
    server: Config,
    name: String,
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    one: String,
    #[diesel(sql_type = Text)]
    two: String,
}

impl Database {
    /// A new database on the test server, empty. `None` when `xtask` has said aloud that there is no server.
    pub(crate) async fn postgres() -> Option<Self> {
        let server: Config = server_url()?.parse().unwrap();
        let name = format!("vestry_server_{}", unique());
        let client = connect(&server).await;
        client
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .await
            .unwrap();
        Some(Self::Postgres(Box::new(Postgres { server, name })))
    }

    /// `database.url` of the service.
    pub(crate) fn url(&self) -> String {
        match self {
            Self::Sqlite(path) => format!("sqlite:{}", path.display()),
            Self::Postgres(postgres) => postgres.url(),
        }
    }

    /// Runs one statement that both databases understand.
    pub(crate) async fn execute(&self, statement: &str) {
        match self {
            Self::Sqlite(path) => {
                let done = sql_query(statement).execute(&mut open(path)).unwrap();
                assert!(done > 0, "no row was touched: {statement}");
            }
            Self::Postgres(postgres) => {
                let client = connect(&postgres.config()).await;
                let done = client.execute(statement, &[]).await.unwrap();
                assert!(done > 0, "no row was touched: {statement}");
            }
        }
    }

    /// Pairs of texts: the columns `one` and `two` of a query that both databases understand.
    pub(crate) async fn pairs(&self, query: &str) -> Vec<(String, String)> {
        match self {
            Self::Sqlite(path) => {
                let rows: Vec<Row> = sql_query(query).load(&mut open(path)).unwrap();
                rows.into_iter().map(|row| (row.one, row.two)).collect()
            }
            Self::Postgres(postgres) => {
                let client = connect(&postgres.config()).await;
                let rows = client.simple_query(query).await.unwrap();
                let pair = |message: SimpleQueryMessage| match message {
                    SimpleQueryMessage::Row(row) => {
                        Some((row.get("one")?.to_owned(), row.get("two")?.to_owned()))
                    }
                    _ => None,
                };
                rows.into_iter().filter_map(pair).collect()
            }
        }
    }

    /// Lower-case hex of a column of bytes.
    pub(crate) fn hex(&self, column: &str) -> String {
        match self {
            Self::Sqlite(_) => format!("lower(hex({column}))"),
            Self::Postgres(_) => format!("encode({column}, 'hex')"),
        }
    }
}

fn open(path: &std::path::Path) -> SqliteConnection {
    let mut connection = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    sql_query("PRAGMA busy_timeout = 10000")
        .execute(&mut connection)
        .unwrap();
    connection
}

impl Postgres {
    fn config(&self) -> Config {
        let mut config = self.server.clone();
        config.dbname(&self.name);
        config
    }

    fn url(&self) -> String {
        let user = self.server.get_user().unwrap_or("postgres");
        let password = self
            .server
            .get_password()
            .map(|bytes| String::from_utf8_lossy(bytes));
        let login = password.map_or_else(|| user.to_owned(), |word| format!("{user}:{word}"));
        let host = match self.server.get_hosts().first() {
            Some(tokio_postgres::config::Host::Tcp(host)) => host.clone(),
            other => panic!("the test server is reached over TCP, not {other:?}"),
        };
        let port = self.server.get_ports().first().copied().unwrap_or(5432);
        format!("postgres://{login}@{host}:{port}/{}", self.name)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), self.name.clone());
        // A runtime of its own: the test's may be gone, and must not be blocked if it is not.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.unwrap().block_on(async {
                let client = connect(&server).await;
                client
                    .batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)"))
                    .await
            })
        });
        if !matches!(dropped.join(), Ok(Ok(()))) {
            eprintln!("the test database {} was left behind", self.name);
        }
    }
}

async fn connect(config: &Config) -> Client {
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// The test server. A lane that is missing must have been named by whoever started the tests.
#[expect(
    clippy::disallowed_methods,
    reason = "tests are told about their servers by the environment"
)]
fn server_url() -> Option<String> {
    if let Ok(url) = std::env::var("VESTRY_TEST_POSTGRES_URL") {
        return Some(url);
    }
    let missing = std::env::var("VESTRY_TEST_LANES_MISSING").unwrap_or_default();
    if missing.split(',').any(|lane| lane == "postgres") {
        eprintln!("not run on Postgres: there is none on this machine");
        return None;
    }
    panic!(
        "VESTRY_TEST_POSTGRES_URL is not set; run `cargo xtask test`, or `cargo xtask pg up` and set it to what that prints"
    );
}

fn unique() -> String {
    let mut bytes = [0_u8; 8];
    aws_lc_rs_random(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[expect(
    clippy::disallowed_methods,
    reason = "only a name that no other test has"
)]
fn aws_lc_rs_random(bytes: &mut [u8]) {
    aws_lc_rs::rand::fill(bytes).unwrap();
}
