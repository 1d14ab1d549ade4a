//! Database settings.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

mod postgres_url;

pub use self::postgres_url::{PostgresUrl, Tls};

/// How to reach and use the database.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The location of the database.
    pub database: Database,
    /// Maximum number of connections to Postgres; about five per core of the server are plenty.
    pub connections: usize,
    /// Maximum number of connections that read a SQLite file. There is always exactly one that writes.
    pub readers: usize,
    /// How long a caller waits for a connection before it gets a "database busy" error.
    pub acquire_timeout: Duration,
    /// Timeout for opening a connection.
    pub connect_timeout: Duration,
    /// What SQLite waits for at a commit.
    pub synchronous: Synchronous,
    /// Whether Postgres connections keep prepared statements. PgBouncer in transaction mode needs version 1.21 or newer and
    /// `max_prepared_statements` either way: without this setting statements are still prepared, but only for a single use.
    pub keep_statements: bool,
}

impl Settings {
    /// Returns settings for a machine with a few cores.
    pub const fn new(database: Database) -> Self {
        Self {
            database,
            connections: 10,
            readers: 4,
            acquire_timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(5),
            synchronous: Synchronous::Full,
            keep_statements: true,
        }
    }
}

/// What SQLite waits for at a commit (`PRAGMA synchronous`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Synchronous {
    /// Waits until the change is on disk: acknowledged changes survive a power loss.
    #[default]
    Full,
    /// Does not wait. A power loss can lose the latest changes, but does not corrupt the file. Not for production.
    Normal,
}

impl Synchronous {
    /// Returns the numeric value of the pragma.
    pub const fn level(self) -> i32 {
        match self {
            Self::Full => 2,
            Self::Normal => 1,
        }
    }
}

/// The location of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Database {
    /// `sqlite:PATH`.
    Sqlite(PathBuf),
    /// `postgres://…`.
    Postgres(Box<PostgresUrl>),
}

/// A database URL that cannot be used. Its text is never repeated, since it may contain a password.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseUrlError {
    /// Neither of the two supported schemes.
    #[error("the database URL must begin with sqlite: or postgres://")]
    Scheme,
    /// No path, or one that SQLite does not treat as a plain file.
    #[error("sqlite: must be followed by a file path, without parameters")]
    SqlitePath,
    /// An unknown `sslmode`.
    #[error("sslmode must be verify-full, verify-ca, require or disable")]
    SslMode,
    /// An `sslmode` that falls back to plain text if TLS is not available.
    #[error(
        "sslmode=prefer and sslmode=allow fall back to plain text if the server, or an attacker on the network path, says \
         that TLS is not available; set sslmode=verify-full, with sslrootcert=FILE for a private authority, or \
         sslmode=disable to choose plain text"
    )]
    MayFallBack,
    /// Any other error in a Postgres URL.
    #[error("the Postgres URL is invalid")]
    Postgres(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl FromStr for Database {
    type Err = DatabaseUrlError;

    fn from_str(url: &str) -> Result<Self, DatabaseUrlError> {
        if let Some(path) = url.strip_prefix("sqlite:") {
            return sqlite_path(path).map(Self::Sqlite);
        }
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return url.parse().map(Box::new).map(Self::Postgres);
        }
        Err(DatabaseUrlError::Scheme)
    }
}

/// Returns the path, unless SQLite would interpret it as a special name (`:memory:`, `file:…?…`).
fn sqlite_path(path: &str) -> Result<PathBuf, DatabaseUrlError> {
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() || path == ":memory:" || path.contains(['?', '\0']) {
        return Err(DatabaseUrlError::SqlitePath);
    }
    let path = PathBuf::from(path);
    if path.is_absolute() {
        return Ok(path);
    }
    Ok(PathBuf::from(".").join(path))
}
