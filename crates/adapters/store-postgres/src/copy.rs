//! Copies a database with `pg_dump` and `pg_restore`.

mod program;

use std::io::{self, Read, Write};
use std::num::ParseIntError;
use std::process::{Child, Stdio};
use std::thread::JoinHandle;

use diesel::QueryableByName;
use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Text};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use vestry_ports::store::{StoreError, StoreResult};
use vestry_store_rows::copy::{
    BEGIN_RESTORE, Contents, CopyError, END_RESTORE, HEAD, HEADS, OF_PROCESSES,
};
use vestry_store_rows::settings::{PostgresUrl, Settings};

use self::program::Program;
use super::citus;
use super::connection::{Conn, classify};
use super::connector::Connector;
use super::manager::connect;
use super::repositories::migrations::applied_migrations;

/// Opens a transaction that sees one moment of the database.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \
     SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = 0";

/// The tables of the schema, which belongs to the service alone.
const TABLES: &str =
    "SELECT tablename::text AS text FROM pg_tables WHERE schemaname = current_schema()";

/// How a statement writes a hash.
const HEX: &str = "encode(hash, 'hex') AS text FROM";

/// A column of text.
#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    text: String,
}

/// Passes the contents and the data of a dump to `take`, which runs on a thread where it may block.
///
/// Both show the same moment.
///
/// # Errors
/// [`CopyError`].
pub async fn dump<T: Send + 'static>(
    url: &PostgresUrl,
    settings: &Settings,
    take: impl FnOnce(Contents, &mut dyn Read) -> io::Result<T> + Send + 'static,
) -> Result<T, CopyError> {
    let mut conn = open(url, settings).await?;
    if citus::is_distributed(&mut conn).await? {
        return Err(CopyError::Distributed);
    }
    let program = Program::find("pg_dump", "dump", server_version(&mut conn).await?)?;
    batch(&mut conn, BEGIN).await?;
    let snapshot = text(&mut conn, "SELECT pg_export_snapshot() AS text").await?;
    let contents = contents_of(&mut conn).await?;
    let mut command = program.command(url);
    command
        .args(["--format=custom", "--no-owner", "--no-privileges"])
        .arg(format!("--snapshot={snapshot}"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let child = command.spawn()?;
    let copying = move || {
        let mut running = Running::of(child, program)?;
        let mut stdout = running
            .child
            .stdout
            .take()
            .ok_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))?;
        let taken = take(contents, &mut stdout);
        if taken.is_err() {
            running.kill();
        }
        // What `take` read is the whole dump only if the program says so.
        let ended = running.end();
        let taken = taken?;
        ended?;
        Ok(taken)
    };
    let copied = blocking(copying).await;
    // The snapshot must exist until the program has ended.
    drop(conn);
    copied
}

/// Marks an empty database as half restored.
///
/// # Errors
/// [`CopyError::NotEmpty`], or another [`CopyError`].
pub async fn begin_restore(url: &PostgresUrl, settings: &Settings) -> Result<(), CopyError> {
    let mut conn = open(url, settings).await?;
    Program::find(
        "pg_restore",
        "restore into",
        server_version(&mut conn).await?,
    )?;
    if !lines(&mut conn, TABLES).await?.is_empty() {
        return Err(CopyError::NotEmpty);
    }
    // Of two restores, one creates the table.
    let created = conn.batch_execute(BEGIN_RESTORE).await;
    match created.map_err(|error| classify(error, Some(&mut conn))) {
        Err(StoreError::Other(_)) => Err(CopyError::NotEmpty),
        created => Ok(created?),
    }
}

/// Loads the dump that `give` writes, in one transaction. `give` runs on a thread where it may block.
///
/// # Errors
/// [`CopyError`].
pub async fn load(
    url: &PostgresUrl,
    settings: &Settings,
    give: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
) -> Result<(), CopyError> {
    let mut conn = open(url, settings).await?;
    let program = Program::find(
        "pg_restore",
        "restore into",
        server_version(&mut conn).await?,
    )?;
    let database = text(&mut conn, "SELECT current_database()::text AS text").await?;
    let mut command = program.command(url);
    command
        .args([
            "--exit-on-error",
            "--single-transaction",
            "--no-owner",
            "--no-privileges",
        ])
        .arg(format!("--dbname={database}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::null());
    let child = command.spawn()?;
    blocking(move || {
        let mut running = Running::of(child, program)?;
        let mut stdin = running
            .child
            .stdin
            .take()
            .ok_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))?;
        let given = give(&mut stdin);
        if given.is_err() {
            running.kill();
        }
        drop(stdin);
        let ended = running.end();
        match given {
            // The program says why it read no further.
            Err(broken) if broken.kind() == io::ErrorKind::BrokenPipe => {
                ended.and(Err(broken.into()))
            }
            given => Ok(given.map(|()| ended)??),
        }
    })
    .await
}

/// Returns the contents of the database.
///
/// # Errors
/// [`CopyError`].
pub async fn contents(url: &PostgresUrl, settings: &Settings) -> Result<Contents, CopyError> {
    let mut conn = open(url, settings).await?;
    batch(&mut conn, BEGIN).await?;
    contents_of(&mut conn).await
}

/// Removes the mark of an unfinished restore.
///
/// # Errors
/// [`CopyError`].
pub async fn end_restore(url: &PostgresUrl, settings: &Settings) -> Result<(), CopyError> {
    let mut conn = open(url, settings).await?;
    Ok(batch(&mut conn, END_RESTORE).await?)
}

/// Creates an empty database on the same server, and returns its URL.
///
/// # Errors
/// [`CopyError`].
pub async fn create_database(
    url: &PostgresUrl,
    settings: &Settings,
) -> Result<PostgresUrl, CopyError> {
    let mut conn = open(url, settings).await?;
    let name = text(
        &mut conn,
        "SELECT 'vestry_drill_' || replace(gen_random_uuid()::text, '-', '') AS text",
    )
    .await?;
    batch(
        &mut conn,
        &format!("CREATE DATABASE {name} TEMPLATE template0"),
    )
    .await?;
    let mut scratch = url.clone();
    scratch.config.dbname(name);
    Ok(scratch)
}

/// Drops a database that [`create_database`] created, and closes its connections.
///
/// # Errors
/// [`CopyError`].
pub async fn drop_database(
    url: &PostgresUrl,
    settings: &Settings,
    scratch: &PostgresUrl,
) -> Result<(), CopyError> {
    let name = scratch.config.get_dbname().unwrap_or_default();
    let mut conn = open(url, settings).await?;
    Ok(batch(&mut conn, &format!("DROP DATABASE {name} WITH (FORCE)")).await?)
}

async fn open(url: &PostgresUrl, settings: &Settings) -> StoreResult<Conn> {
    let mut url = url.clone();
    url.config.application_name("vestry backup");
    connect(&Connector::new(&url, settings)?, true).await
}

async fn contents_of(conn: &mut Conn) -> Result<Contents, CopyError> {
    let migrations = applied_migrations(conn).await;
    let mut migrations = migrations.map_err(|error| classify(error, Some(conn)))?;
    migrations.sort_unstable();
    let mut contents = Contents {
        migrations,
        rows: std::collections::BTreeMap::new(),
        audit_heads: Vec::new(),
    };
    for table in lines(conn, TABLES).await? {
        if OF_PROCESSES.contains(&table.as_str()) {
            continue;
        }
        let count = format!("(SELECT count(*) FROM \"{}\")", table.replace('"', "\"\""));
        let counted = diesel::select(sql::<BigInt>(&count))
            .get_result::<i64>(conn)
            .await;
        let counted = counted.map_err(|error| classify(error, Some(conn)))?;
        let counted = u64::try_from(counted).unwrap_or_default();
        contents.rows.insert(table, counted);
    }
    for table in HEADS {
        if contents.rows.contains_key(table) {
            let heads = lines(conn, &format!("{HEAD} {HEX} {table}")).await?;
            contents.audit_heads.extend(heads);
        }
    }
    contents.audit_heads.sort_unstable();
    Ok(contents)
}

/// Returns the server's major version.
async fn server_version(conn: &mut Conn) -> StoreResult<u32> {
    let number = text(conn, "SELECT current_setting('server_version_num') AS text").await?;
    let number: u32 = number
        .parse()
        .map_err(|garbled: ParseIntError| StoreError::Other(Box::new(garbled)))?;
    Ok(number / 10_000)
}

async fn batch(conn: &mut Conn, statements: &str) -> StoreResult<()> {
    let done = conn.batch_execute(statements).await;
    done.map_err(|error| classify(error, Some(conn)))
}

async fn lines(conn: &mut Conn, query: &str) -> StoreResult<Vec<String>> {
    let found = diesel::sql_query(query).load::<Line>(conn).await;
    let found = found.map_err(|error| classify(error, Some(conn)))?;
    Ok(found.into_iter().map(|line| line.text).collect())
}

async fn text(conn: &mut Conn, query: &str) -> StoreResult<String> {
    let mut found = lines(conn, query).await?;
    found
        .pop()
        .ok_or_else(|| StoreError::Other("the database returned no row".into()))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CopyError> + Send + 'static,
) -> Result<T, CopyError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(ended) => Err(StoreError::Other(Box::new(ended)).into()),
    }
}

/// A client program that runs.
struct Running {
    child: Child,
    program: Program,
    /// Reads its standard error.
    said: JoinHandle<Vec<u8>>,
}

impl Running {
    fn of(mut child: Child, program: Program) -> io::Result<Self> {
        let mut stderr = child
            .stderr
            .take()
            .ok_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))?;
        let said = std::thread::spawn(move || {
            let mut said = Vec::new();
            // Its exit status decides; this is only the explanation.
            let _incomplete = stderr.read_to_end(&mut said);
            said
        });
        Ok(Self {
            child,
            program,
            said,
        })
    }

    fn kill(&mut self) {
        // It may have ended already.
        let _ended = self.child.kill();
    }

    fn end(mut self) -> Result<(), CopyError> {
        let status = self.child.wait()?;
        let said = self.said.join().unwrap_or_default();
        if status.success() {
            return Ok(());
        }
        Err(self.program.failed(&String::from_utf8_lossy(&said)))
    }
}
