//! Copies a database file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use deadpool::managed::Manager as _;
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::result::Error;
use diesel::sql_types::{BigInt, Text};
use diesel::{Connection, QueryResult, RunQueryDsl, SqliteConnection};
use vestry_ports::store::{StoreError, StoreResult};
use vestry_store_rows::copy::{
    BEGIN_RESTORE, Contents, CopyError, END_RESTORE, HEAD, HEADS, OF_PROCESSES,
};
use vestry_store_rows::failure::Cause;
use vestry_store_rows::settings::Settings;

use super::connection::{self, classify};
use super::manager::{Manager, Role, create_private, existing};

/// The tables of the service.
const TABLES: &str =
    "SELECT name AS text FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
const MIGRATIONS: &str = "SELECT version AS text FROM __diesel_schema_migrations ORDER BY version";
/// How a statement writes a hash.
const HEX: &str = "lower(hex(hash)) AS text FROM";
/// Waits for other connections of this machine.
const PATIENCE: &str = "PRAGMA busy_timeout = 5000; PRAGMA trusted_schema = OFF";

/// A column of text.
#[derive(diesel::QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    text: String,
}

/// Copies the file to `scratch`, checks the copy, and passes its contents and bytes to `take`, which runs on a thread where it may block.
/// The copy is then removed.
///
/// # Errors
/// [`CopyError`].
pub async fn dump<T: Send + 'static>(
    path: &Path,
    settings: &Settings,
    scratch: &Path,
    take: impl FnOnce(Contents, &mut dyn Read) -> io::Result<T> + Send + 'static,
) -> Result<T, CopyError> {
    let scratch = Scratch(scratch.to_owned());
    copy_into(path, settings, &scratch.0).await?;
    blocking(move || {
        let mut conn = open(&scratch.0)?;
        check_integrity(&mut conn)?;
        let contents = contents_of(&mut conn)?;
        drop(conn);
        let mut file = File::open(&scratch.0)?;
        Ok(take(contents, &mut file)?)
    })
    .await
}

/// Writes a consistent copy to a new file that only its owner can read (`VACUUM INTO`). Writers are not blocked.
async fn copy_into(path: &Path, settings: &Settings, file: &Path) -> Result<(), CopyError> {
    create_private(file)?;
    let copied = vacuum_into(path, settings, file).await;
    if copied.is_err() {
        // A partial copy must not be mistaken for a complete one. A failure to remove it does not change the error.
        let _removed = std::fs::remove_file(file);
    }
    copied
}

async fn vacuum_into(path: &Path, settings: &Settings, file: &Path) -> Result<(), CopyError> {
    let mut connection = Manager::new(path, Role::Copier, settings).create().await?;
    let name = file.to_string_lossy().into_owned();
    let copied = connection
        .spawn_blocking(move |conn| {
            diesel::sql_query("VACUUM INTO ?")
                .bind::<Text, _>(name)
                .execute(conn)
        })
        .await;
    // Whether the copy exists is known by now.
    let _closed = connection::closed(connection).await;
    match copied {
        Err(Error::DatabaseError(_, said)) if said.message().contains("disk is full") => {
            Err(io::Error::from(io::ErrorKind::StorageFull).into())
        }
        copied => Ok(copied.map(drop).map_err(|error| classify(error, None))?),
    }
}

/// Checks that there is no database yet.
///
/// # Errors
/// [`CopyError::NotEmpty`].
pub fn begin_restore(path: &Path) -> Result<(), CopyError> {
    let has_content = |path: &Path| std::fs::metadata(path).is_ok_and(|found| found.len() > 0);
    // SQLite would apply the log of an earlier database to a new one.
    let others = ["-wal", "-journal"].map(|suffix| beside(path, suffix));
    match has_content(path) || others.iter().any(|other| has_content(other)) {
        true => Err(CopyError::NotEmpty),
        false => Ok(()),
    }
}

/// Writes what `give` writes to the database file, marked as half restored. `give` runs on a thread where it may block.
///
/// The file is complete or absent.
///
/// # Errors
/// [`CopyError`].
pub async fn load(
    path: &Path,
    give: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
) -> Result<(), CopyError> {
    let path = path.to_owned();
    blocking(move || {
        let partial = Scratch(beside(&path, ".restoring"));
        create_private(&partial.0)?;
        let mut file = OpenOptions::new().write(true).open(&partial.0)?;
        give(&mut file)?;
        file.sync_all()?;
        drop(file);
        let mut conn = open(&partial.0)?;
        check_integrity(&mut conn)?;
        done(conn.batch_execute(BEGIN_RESTORE))?;
        drop(conn);
        begin_restore(&path)?;
        if path.exists() {
            // It is empty.
            std::fs::remove_file(&path)?;
        }
        // Unlike a rename, a link replaces nothing.
        std::fs::hard_link(&partial.0, &path)?;
        let directory = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        File::open(directory.unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(())
    })
    .await
}

/// Creates a directory that only its owner can use, and that must not exist.
///
/// # Errors
/// [`CopyError::Io`].
pub fn create_directory(path: &Path) -> Result<(), CopyError> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    Ok(builder.create(path)?)
}

/// Returns the contents of the database.
///
/// # Errors
/// [`CopyError`].
pub async fn contents(path: &Path) -> Result<Contents, CopyError> {
    let path = path.to_owned();
    blocking(move || contents_of(&mut open(&path)?)).await
}

/// Removes the mark of an unfinished restore.
///
/// # Errors
/// [`CopyError`].
pub async fn end_restore(path: &Path) -> Result<(), CopyError> {
    let path = path.to_owned();
    blocking(move || Ok(done(open(&path)?.batch_execute(END_RESTORE))?)).await
}

/// A file that is removed when this is dropped.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may not have been created.
        let _removed = std::fs::remove_file(&self.0);
    }
}

/// The path of a file whose name continues that of the database.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn open(path: &Path) -> StoreResult<SqliteConnection> {
    let cause = || StoreError::Unavailable(Box::new(Cause("the path is not UTF-8".to_owned())));
    let path = path.to_str().ok_or_else(cause)?;
    let conn = SqliteConnection::establish(&existing(path));
    let mut conn = conn.map_err(|refused| StoreError::Unavailable(Box::new(refused)))?;
    done(conn.batch_execute(PATIENCE))?;
    Ok(conn)
}

fn check_integrity(conn: &mut SqliteConnection) -> Result<(), CopyError> {
    let found = sql::<Text>("PRAGMA integrity_check(1)").get_result::<String>(conn);
    match done(found)?.as_str() {
        "ok" => Ok(()),
        damage => Err(CopyError::Damaged(damage.to_owned())),
    }
}

fn contents_of(conn: &mut SqliteConnection) -> Result<Contents, CopyError> {
    let tables = lines(conn, TABLES)?;
    let mut contents = Contents {
        migrations: Vec::new(),
        rows: BTreeMap::new(),
        audit_heads: Vec::new(),
    };
    if tables
        .iter()
        .any(|table| table == "__diesel_schema_migrations")
    {
        contents.migrations = lines(conn, MIGRATIONS)?;
    }
    for table in tables {
        if OF_PROCESSES.contains(&table.as_str()) {
            continue;
        }
        let count = format!("(SELECT count(*) FROM \"{}\")", table.replace('"', "\"\""));
        let counted = diesel::select(sql::<BigInt>(&count)).get_result::<i64>(conn);
        let counted = u64::try_from(done(counted)?).unwrap_or_default();
        contents.rows.insert(table, counted);
    }
    for table in HEADS {
        if contents.rows.contains_key(table) {
            let heads = lines(conn, &format!("{HEAD} {HEX} {table}"))?;
            contents.audit_heads.extend(heads);
        }
    }
    contents.audit_heads.sort_unstable();
    Ok(contents)
}

fn lines(conn: &mut SqliteConnection, query: &str) -> StoreResult<Vec<String>> {
    let found = done(diesel::sql_query(query).load::<Line>(conn))?;
    Ok(found.into_iter().map(|line| line.text).collect())
}

fn done<T>(outcome: QueryResult<T>) -> StoreResult<T> {
    outcome.map_err(|error| classify(error, None))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CopyError> + Send + 'static,
) -> Result<T, CopyError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(ended) => Err(StoreError::Other(Box::new(ended)).into()),
    }
}
