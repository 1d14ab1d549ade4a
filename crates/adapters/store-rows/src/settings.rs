//! What can be set about the database.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

mod postgres_url;

pub use self::postgres_url::{PostgresUrl, Tls};

/// How to reach and use the database.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where it is.
    pub database: Database,
    /// Most connections to Postgres; about five for each core of the server are plenty.
    pub connections: usize,
    /// Most connections that read a SQLite file at the same time. There is always exactly one that writes.
    pub readers: usize,
    /// How long a caller waits for its turn before it is told that the database is busy.
    pub acquire_timeout: Duration,
    /// How long opening a connection may take.
    pub connect_timeout: Duration,
    /// What SQLite waits for at a commit.
    pub synchronous: Synchronous,
    /// Whether statements stay prepared on a Postgres connection. PgBouncer in transaction mode needs 1.21 or newer and
    /// `max_prepared_statements` either way: without this setting statements are still prepared, but only for one use.
    pub keep_statements: bool,
}

impl Settings {
    /// Settings for a machine of a few cores.
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
    /// Until the change is on disk: what was acknowledged survives a loss of power.
    #[default]
    Full,
    /// For nothing: the last changes may be lost with the power, not the file's integrity. Not for live use.
    Normal,
}

impl Synchronous {
    /// The number of the pragma.
    pub const fn level(self) -> i32 {
        match self {
            Self::Full => 2,
            Self::Normal => 1,
        }
    }
}

/// Where the database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Database {
    /// `sqlite:PATH`.
    Sqlite(PathBuf),
    /// `postgres://…`.
    Postgres(Box<PostgresUrl>),
}

/// A database URL that cannot be used. The URL itself is not repeated: it may hold a password.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseUrlError {
    /// Neither of the two schemes.
    #[error("the database URL begins with sqlite: or postgres://")]
    Scheme,
    /// No path, or one that SQLite would not take for a file.
    #[error("sqlite: is followed by the path of a file, without parameters")]
    SqlitePath,
    /// An unknown `sslmode`.
    #[error("sslmode is verify-full, verify-ca, require or disable")]
    SslMode,
    /// An `sslmode` that goes on in clear text where TLS is not to be had.
    #[error(
        "sslmode=prefer and sslmode=allow go on in clear text when the server, or somebody on the way to it, says that it \
         has no TLS; write sslmode=verify-full, with sslrootcert=FILE for an authority of your own, or sslmode=disable \
         where clear text is meant"
    )]
    MayFallBack,
    /// Something else is wrong with a Postgres URL.
    #[error("the Postgres URL cannot be read")]
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

/// A path that SQLite cannot take for one of its special names (`:memory:`, `file:…?…`).
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

#[cfg(test)]
mod tests;
