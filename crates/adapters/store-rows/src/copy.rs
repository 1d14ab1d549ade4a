//! Copies of a whole database: their contents, and why one failed.

use std::collections::BTreeMap;
use std::io;

use vestry_ports::store::StoreError;

/// The table that exists from the beginning of a restore to its end.
pub const UNFINISHED_RESTORE: &str = "unfinished_restore";

/// Creates [`UNFINISHED_RESTORE`]. Its column has no meaning; Postgres and SQLite both accept it.
pub const BEGIN_RESTORE: &str = "CREATE TABLE unfinished_restore (begun INTEGER)";

/// Drops [`UNFINISHED_RESTORE`].
pub const END_RESTORE: &str = "DROP TABLE IF EXISTS unfinished_restore";

/// Tables whose rows a copy need not have: locks of processes.
pub const OF_PROCESSES: [&str; 3] = ["migration_lock", "leases", UNFINISHED_RESTORE];

/// Begins each head of an audit chain, as one text. A statement appends how its database writes a hash in hexadecimal digits, and the table.
pub const HEAD: &str =
    "SELECT app_id || ' ' || environment || ' ' || chain || ' ' || sequence || ' ' ||";

/// The tables with heads of audit chains.
pub const HEADS: [&str; 2] = ["audit_chains", "control_chains"];

/// What a copy contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// The applied migrations, in order.
    pub migrations: Vec<String>,
    /// The number of rows of each table, without those [`OF_PROCESSES`].
    pub rows: BTreeMap<String, u64>,
    /// The end of each audit chain, sorted: App, environment, chain, position and hash, separated by spaces.
    pub audit_heads: Vec<String>,
}

/// The reason that a database could not be copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// A client program of Postgres is not installed.
    #[error("{program} is missing; install postgresql-client-{server}")]
    NoProgram {
        /// The program.
        program: &'static str,
        /// The major version of the server.
        server: u32,
    },
    /// A client program is older than the server.
    #[error(
        "{program} {version} cannot {work} Postgres {server}; install postgresql-client-{server}"
    )]
    OldProgram {
        /// The program.
        program: &'static str,
        /// Its major version.
        version: u32,
        /// The verb for what it does.
        work: &'static str,
        /// The major version of the server.
        server: u32,
    },
    /// A client program failed.
    #[error("{program} failed: {said}")]
    Program {
        /// The program.
        program: &'static str,
        /// The last line of its standard error.
        said: String,
    },
    /// The tables are distributed over several servers.
    #[error(
        "a distributed database cannot be dumped consistently; use restore points of its servers, then vestry recover"
    )]
    Distributed,
    /// The target of a restore has tables.
    #[error("database is not empty; restore into a new one")]
    NotEmpty,
    /// A SQLite file fails its integrity check.
    #[error("the database file is damaged: {0}")]
    Damaged(String),
    /// The copy could not be read or written.
    #[error("the copy could not be read or written")]
    Io(#[from] io::Error),
    /// A statement failed.
    #[error("the database failed")]
    Store(#[from] StoreError),
}
