//! The Store port over SQLite and Postgres.
//!
//! | module | what is there |
//! |---|---|
//! | `schema` | the tables, once for both backends |
//! | `rows` | structs of their rows, and what the domain makes of them |
//! | `repositories` | the queries: one source, **compiled twice** through `#[path]`, inside `sqlite` and inside `postgres` |
//! | `sqlite`, `postgres` | connections, pools, migrations, and `dialect`: what the two do not have in common |
//!
//! A repository is an `impl` of its port for `Unit`, which is one pooled connection. A statement is three lines: the
//! query, its run on `self.reading()?` or `self.writing()?` (a view refuses the second), and `self.done(…)`, which
//! turns the database's error into the port's. Until `done` is called the unit counts as busy, so that a call whose
//! future is dropped half way takes its connection out of the pool with it.
//!
//! How to add a repository:
//! 1. the port, its suite and its fake, as `vestry-ports` says;
//! 2. a pair of migrations with one version, in `migrations/sqlite` and `migrations/postgres`: portable types, the World
//!    (`app_id`, `environment`) first in every key, constraints named `<table>_<columns>_key`, `COLLATE "C"` on the
//!    keyed text of Postgres;
//! 3. the table in `schema`, the row and its checks in `rows`;
//! 4. the queries in `repositories`, beginning with `in_world!`. What must be decided once is one guarded statement;
//!    what is unique is decided by `ON CONFLICT DO NOTHING` and the count of rows. What does not work on both
//!    backends goes behind a name in both `dialect` modules.

#[cfg(all(
    not(debug_assertions),
    any(
        feature = "sabotage-read-then-create",
        feature = "sabotage-read-then-write"
    )
))]
compile_error!("a sabotaged store is for `cargo xtask sabotage` and is never built for use");

mod failure;
mod limiter;
mod migrations;
mod postgres;
mod rows;
mod schema;
mod settings;
mod sqlite;
mod store;
mod subject;
mod wanted;
mod window;

pub use limiter::SqlRateLimiter;
pub use migrations::{MissingMigrations, migrate};
pub use settings::{Database, DatabaseUrlError, PostgresUrl, Settings, Synchronous};
pub use store::{BackupError, SqlStore};
