//! The two databases, with direct access to their rows.

use std::path::PathBuf;

use diesel::sql_types::Text;
use diesel::{Connection, QueryableByName, RunQueryDsl, SqliteConnection, sql_query};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};
use vestry_testkit::postgres::Throwaway;

/// The database of one test.
pub(crate) enum Database {
    /// A file in the test's directory.
    Sqlite(PathBuf),
    /// A separate database on the test server, dropped with this value.
    Postgres(Throwaway),
    /// A database that its caller creates and drops, by its URL.
    Elsewhere(String),
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    one: String,
    #[diesel(sql_type = Text)]
    two: String,
}

impl Database {
    /// A new, empty database on the test server. `None` without a server, which `xtask` has reported.
    pub(crate) async fn postgres() -> Option<Self> {
        Throwaway::empty().await.map(Self::Postgres)
    }

    /// `database.url` of the service.
    pub(crate) fn url(&self) -> String {
        match self {
            Self::Sqlite(path) => format!("sqlite:{}", path.display()),
            Self::Postgres(postgres) => postgres.url(),
            Self::Elsewhere(url) => url.clone(),
        }
    }

    /// Whether its tables are distributed.
    pub(crate) fn is_distributed(&self) -> bool {
        matches!(self, Self::Postgres(_)) && vestry_testkit::postgres::is_distributed()
    }

    /// Whether it is behind a connection pooler.
    pub(crate) fn is_pooled(&self) -> bool {
        self.url() != self.direct_url()
    }

    /// The same behind a pooler that loses prepared statements, and behind one in session mode, if the tests use poolers.
    pub(crate) fn other_pooler_urls(&self) -> Option<[String; 2]> {
        match self {
            Self::Postgres(postgres) => postgres.other_pooler_urls(),
            Self::Sqlite(_) | Self::Elsewhere(_) => None,
        }
    }

    /// The same without a pooler.
    fn direct_url(&self) -> String {
        match self {
            Self::Postgres(postgres) => postgres.direct_url(),
            Self::Sqlite(_) | Self::Elsewhere(_) => self.url(),
        }
    }

    /// Copies a table into a new one of this name. Neither needs to have rows.
    pub(crate) async fn copy(&self, table: &str, name: &str) {
        let copy = format!("CREATE TABLE {name} AS SELECT * FROM {table}");
        match self {
            Self::Sqlite(path) => drop(sql_query(copy).execute(&mut open(path)).unwrap()),
            Self::Postgres(_) | Self::Elsewhere(_) => {
                let client = connect(&self.direct_url()).await;
                client.batch_execute(&copy).await.unwrap();
            }
        }
    }

    /// Blocks writes to this Postgres table until the returned value is dropped.
    pub(crate) async fn lock(&self, table: &str) -> Client {
        let client = connect(&self.direct_url()).await;
        let lock = format!("BEGIN; LOCK TABLE {table} IN EXCLUSIVE MODE");
        client.batch_execute(&lock).await.unwrap();
        client
    }

    /// An open Postgres transaction with a snapshot and a number.
    pub(crate) async fn leave_open(&self) -> Client {
        let client = connect(&self.direct_url()).await;
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_xact_id()";
        client.batch_execute(begin).await.unwrap();
        client
    }

    /// Whether a transaction is waiting to write it.
    pub(crate) async fn is_waited_for(&self, table: &str) -> bool {
        let waiting = format!(
            "SELECT mode AS one, pid::text AS two FROM pg_locks \
             WHERE NOT granted AND relation = '{table}'::regclass"
        );
        !self.pairs(&waiting).await.is_empty()
    }

    /// From now on, writes to this table fail as on a full disk.
    pub(crate) async fn fill(&self, table: &str) {
        match self {
            Self::Sqlite(path) => {
                let trigger = format!(
                    "CREATE TRIGGER {table}_full BEFORE INSERT ON {table} \
                     BEGIN SELECT RAISE(ROLLBACK, 'database or disk is full'); END"
                );
                sql_query(trigger).execute(&mut open(path)).unwrap();
            }
            Self::Postgres(_) | Self::Elsewhere(_) => {
                let trigger = format!(
                    "CREATE FUNCTION {table}_full() RETURNS trigger LANGUAGE plpgsql AS \
                     $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$; \
                     CREATE TRIGGER {table}_full BEFORE INSERT ON {table} \
                     FOR EACH ROW EXECUTE FUNCTION {table}_full()"
                );
                let client = connect(&self.direct_url()).await;
                client.batch_execute(&trigger).await.unwrap();
            }
        }
    }

    /// From now on, writes to this table of a SQLite file fail as in a read-only file.
    pub(crate) fn make_read_only(&self, table: &str) {
        let Self::Sqlite(path) = self else {
            panic!("this is not SQLite");
        };
        let trigger = format!(
            "CREATE TRIGGER {table}_read_only BEFORE INSERT ON {table} \
             BEGIN SELECT RAISE(ROLLBACK, 'attempt to write a readonly database'); END"
        );
        sql_query(trigger).execute(&mut open(path)).unwrap();
    }

    /// Copies the current content of a SQLite database into another file.
    pub(crate) fn copy_into(&self, file: &std::path::Path) {
        let Self::Sqlite(path) = self else {
            panic!("this is not SQLite");
        };
        let copy = format!("VACUUM INTO '{}'", file.display());
        sql_query(copy).execute(&mut open(path)).unwrap();
    }

    /// Writes succeed again.
    pub(crate) async fn clear(&self, table: &str) {
        match self {
            Self::Sqlite(path) => {
                let trigger = format!("DROP TRIGGER {table}_full");
                sql_query(trigger).execute(&mut open(path)).unwrap();
            }
            Self::Postgres(_) | Self::Elsewhere(_) => {
                let client = connect(&self.direct_url()).await;
                let function = format!("DROP FUNCTION {table}_full CASCADE");
                client.batch_execute(&function).await.unwrap();
            }
        }
    }

    /// Runs a statement that both databases understand and that affects at least one row.
    pub(crate) async fn execute(&self, statement: &str) {
        let done = self.touch(statement).await;
        assert!(done > 0, "no row was touched: {statement}");
    }

    /// Runs a statement that both databases understand; returns the number of affected rows.
    pub(crate) async fn touch(&self, statement: &str) -> u64 {
        match self {
            Self::Sqlite(path) => {
                let done = sql_query(statement).execute(&mut open(path)).unwrap();
                u64::try_from(done).unwrap()
            }
            Self::Postgres(_) | Self::Elsewhere(_) => {
                let client = connect(&self.direct_url()).await;
                client.execute(statement, &[]).await.unwrap()
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
            Self::Postgres(_) | Self::Elsewhere(_) => {
                let client = connect(&self.direct_url()).await;
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

    /// An SQL expression for a bytes column in lower-case hex.
    pub(crate) fn hex(&self, column: &str) -> String {
        match self {
            Self::Sqlite(_) => format!("lower(hex({column}))"),
            Self::Postgres(_) | Self::Elsewhere(_) => format!("encode({column}, 'hex')"),
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

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}
