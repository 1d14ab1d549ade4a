//! What can be set about the database.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

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

/// A URL of Postgres, taken apart.
///
/// `sslmode` is `disable` (no TLS), `prefer` (the default: TLS where the server offers it and its certificate can be
/// verified, else none; no protection against somebody on the wire), or `require`, `verify-ca` or `verify-full`, which
/// all mean the same here: TLS, and a certificate of that very host from an authority that the machine or Mozilla
/// trusts. There is no way to take just any certificate. `sslrootcert=FILE` names a PEM file with the authorities to
/// trust instead.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    pub config: Config,
    pub root_certificates: Option<PathBuf>,
}

/// Only the database's name: the rest holds a password.
impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.config.get_dbname().unwrap_or_default();
        write!(f, "PostgresUrl({name})")
    }
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
    #[error("sslmode is disable, prefer, require, verify-ca or verify-full")]
    SslMode,
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

impl FromStr for PostgresUrl {
    type Err = DatabaseUrlError;

    fn from_str(url: &str) -> Result<Self, DatabaseUrlError> {
        let (address, parameters) = split_parameters(url);
        let (mut mode, mut root_certificates, mut others) = (SslMode::Prefer, None, Vec::new());
        for parameter in parameters.split('&').filter(|part| !part.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslmode", "disable")) => mode = SslMode::Disable,
                Some(("sslmode", "prefer")) => mode = SslMode::Prefer,
                Some(("sslmode", "require" | "verify-ca" | "verify-full")) => {
                    mode = SslMode::Require;
                }
                Some(("sslmode", _)) => return Err(DatabaseUrlError::SslMode),
                Some(("sslrootcert", path)) => {
                    let path = percent_encoding::percent_decode_str(path).decode_utf8();
                    let path =
                        path.map_err(|garbled| DatabaseUrlError::Postgres(garbled.into()))?;
                    root_certificates = Some(PathBuf::from(path.as_ref()));
                }
                _ => others.push(parameter),
            }
        }
        let mut config: Config = format!("{address}?{}", others.join("&")).parse().map_err(
            |unreadable: tokio_postgres::Error| DatabaseUrlError::Postgres(unreadable.into()),
        )?;
        config.ssl_mode(mode);
        Ok(Self {
            config,
            root_certificates,
        })
    }
}

/// What stands before and after the question mark. User and password may hold one, too.
fn split_parameters(url: &str) -> (&str, &str) {
    let host = url.find('@').unwrap_or(0);
    let mark = url
        .char_indices()
        .find(|(place, character)| *place > host && *character == '?');
    match mark.and_then(|(place, _)| url.split_at_checked(place)) {
        Some((address, parameters)) => (address, parameters.trim_start_matches('?')),
        None => (url, ""),
    }
}

#[cfg(test)]
mod tests;
