//! Opens connections to the file.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use deadpool::managed::{Metrics, RecycleResult};
use diesel::connection::SimpleConnection;
use diesel::sql_types::{Integer, Text};
use diesel::{Connection, RunQueryDsl, SqliteConnection};
use diesel_async::sync_connection_wrapper::{SpawnBlocking, SyncConnectionWrapper};
use vestry_ports::store::{StoreError, StoreResult};

use super::connection::{Conn, classify};
use super::same_file::SameFile;
use super::statement_deadline;
use super::thread::OwnThread;
use vestry_store_rows::failure::Cause;
use vestry_store_rows::settings::{Settings, Synchronous};

/// How often opening is retried while another process switches the file to write-ahead logging: SQLite does not wait for that lock.
const TRIES: u32 = 100;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// The purpose of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The only one that writes.
    Writer,
    /// Read-only.
    Reader,
    /// Writes data that can be lost.
    Limiter,
    /// Copies the file.
    Copier,
}

impl Role {
    const fn thread(self) -> &'static str {
        match self {
            Self::Writer => "sqlite-writer",
            Self::Reader => "sqlite-reader",
            Self::Limiter => "sqlite-limiter",
            Self::Copier => "sqlite-copier",
        }
    }
}

/// Opens connections of one role.
pub struct Manager {
    file: Arc<SameFile>,
    role: Role,
    synchronous: Synchronous,
    busy_timeout: Duration,
}

impl Manager {
    /// Creates a manager whose connections open the file at `path`, each on its own thread.
    pub fn new(path: &Path, role: Role, settings: &Settings) -> Self {
        Self::to_the_same(&Arc::new(SameFile::at(path)), role, settings)
    }

    /// Creates a manager whose connections must lead to the file that others have opened before.
    pub(crate) fn to_the_same(file: &Arc<SameFile>, role: Role, settings: &Settings) -> Self {
        Self {
            file: Arc::clone(file),
            role,
            synchronous: match role {
                Role::Limiter => Synchronous::Normal,
                Role::Writer | Role::Reader | Role::Copier => settings.synchronous,
            },
            busy_timeout: settings.acquire_timeout,
        }
    }

    async fn open(&self) -> StoreResult<Conn> {
        let opener = Opener {
            file: Arc::clone(&self.file),
            role: self.role,
            pragmas: self.pragmas(),
            synchronous: self.synchronous,
        };
        let mut thread = OwnThread::named(self.role.thread());
        let opened = thread.spawn_blocking(move || opener.open()).await;
        let opened = opened.map_err(StoreError::Unavailable)??;
        Ok(SyncConnectionWrapper::with_runtime(opened, thread))
    }

    /// Returns the first statements on every connection. The timeout precedes anything that might wait.
    fn pragmas(&self) -> String {
        let timeout = self.busy_timeout.as_millis();
        let journal = match self.role {
            Role::Writer => "PRAGMA journal_mode = WAL;",
            Role::Reader | Role::Limiter | Role::Copier => "",
        };
        let read_only = match self.role {
            Role::Reader => "PRAGMA query_only = ON;",
            Role::Writer | Role::Limiter | Role::Copier => "",
        };
        let level = self.synchronous.level();
        format!(
            "PRAGMA busy_timeout = {timeout}; {journal} PRAGMA synchronous = {level}; \
             PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY; \
             PRAGMA cache_size = -8000; {read_only}"
        )
    }
}

impl deadpool::managed::Manager for Manager {
    type Type = Conn;
    type Error = StoreError;

    async fn create(&self) -> StoreResult<Conn> {
        let mut tries = 0;
        loop {
            match self.open().await {
                Err(StoreError::Busy) if tries < TRIES => {
                    tries += 1;
                    tokio::time::sleep(BETWEEN_TRIES).await;
                }
                opened => return opened,
            }
        }
    }

    async fn recycle(&self, _: &mut Conn, _: &Metrics) -> RecycleResult<StoreError> {
        Ok(())
    }
}

/// Opens a connection on a blocking thread.
struct Opener {
    file: Arc<SameFile>,
    role: Role,
    pragmas: String,
    synchronous: Synchronous,
}

impl Opener {
    fn open(&self) -> StoreResult<SqliteConnection> {
        let unavailable = |cause: String| StoreError::Unavailable(Box::new(Cause(cause)));
        let path = self.file.path();
        // Only the first connection creates a file: a deleted file must not be replaced by an empty one.
        if self.role == Role::Writer && !self.file.was_opened() {
            match create_private(path) {
                Err(refused) if refused.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(unavailable(format!(
                        "cannot open the database file: {refused}"
                    )));
                }
                _made_or_there => {}
            }
        }
        let found = self.file.found()?;
        let path = path
            .to_str()
            .ok_or_else(|| unavailable("the path of the database is not UTF-8".to_owned()))?;
        let mut conn = SqliteConnection::establish(&existing(path))
            .map_err(|refused| StoreError::Unavailable(Box::new(refused)))?;
        self.file.was_opened_as(found)?;
        conn.batch_execute(&self.pragmas)
            .map_err(|error| classify(error, None))?;
        statement_deadline::register(&mut conn).map_err(|error| classify(error, None))?;
        self.check(&mut conn)?;
        Ok(conn)
    }

    /// Checks what durability depends on (K8): SQLite reports no error for a pragma that it ignores.
    fn check(&self, conn: &mut SqliteConnection) -> StoreResult<()> {
        let mode = diesel::dsl::sql::<Text>("PRAGMA journal_mode").get_result::<String>(conn);
        let mode = mode.map_err(|error| classify(error, None))?;
        let level = diesel::dsl::sql::<Integer>("PRAGMA synchronous").get_result::<i32>(conn);
        let level = level.map_err(|error| classify(error, None))?;
        if mode == "wal" && level == self.synchronous.level() {
            return Ok(());
        }
        let cause = format!("SQLite reports journal_mode={mode} and synchronous={level}");
        Err(StoreError::Unavailable(Box::new(Cause(cause))))
    }
}

/// Returns a URI with which SQLite opens the file at a path, without creating it.
pub(crate) fn existing(path: &str) -> String {
    // Two slashes are followed by a host, which is empty for an absolute path.
    let scheme = if path.starts_with('/') {
        "file://"
    } else {
        "file:"
    };
    let mut uri = scheme.to_owned();
    for character in path.chars() {
        match character {
            '%' => uri.push_str("%25"),
            '?' => uri.push_str("%3f"),
            '#' => uri.push_str("%23"),
            other => uri.push(other),
        }
    }
    uri.push_str("?mode=rw");
    uri
}

/// Creates an empty file that only its owner can read. SQLite gives the same permissions to the files next to it.
///
/// An existing file is not even opened. Closing any handle of it would release all locks of this process on it (POSIX), including those of
/// its open connections. Another process would then believe that it is the last to close the database, and delete the log that we continue
/// to write: <https://www.sqlite.org/howtocorrupt.html>, section 2.2.
///
/// # Errors
/// Errors of the file system, such as [`io::ErrorKind::AlreadyExists`].
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}
