//! The code that both stores share.
//!
//! | module | contents |
//! |---|---|
//! | `schema` | the tables, declared once for both backends |
//! | `rows` | row structs and their conversions to domain types |
//! | `prepared`, `row_chunks` | statements that are prepared once, and their batch sizes |
//! | `load` | queries that return domain objects |
//! | `delete_limited`, `status_counters` | statements that diesel cannot express, or not for both backends |
//! | `lock_order` | the lock order of rows that many transactions change |
//! | `world`, `filter_sql`, `rate_window`, `counter_subject` | fragments of statements that both backends share |
//! | `settings`, `migrations`, `failure` | how to reach the database, which migrations it lacks, and errors that are not its own |
//! | `copy` | the contents of a whole database, for backup and restore |
//!
//! Next to `src` is `repositories`: the queries. They are **not a module of this crate**: `store-sqlite` and `store-postgres` each compile
//! them through `#[path]`, against a `dialect` of their own. The two stores can therefore compile in parallel, and this crate compiles only
//! once.
//!
//! A repository is an `impl` of its port for `Unit`, which is one pooled connection. A statement takes three lines: the query, its
//! execution on `self.reading()?` or `self.writing()?` (a view refuses the second), and `self.done(…)`, which converts the database's error
//! into the port's. Until `done` is called the unit counts as busy. If the future of a call is dropped halfway, the connection is therefore
//! discarded rather than returned to the pool.
//!
//! How to add a repository:
//! 1. the port, its contract suite and its fake, as `vestry-ports` describes;
//! 2. a pair of migrations with the same version, in `migrations/sqlite` and `migrations/postgres`. They use portable types, the World
//!    (`app_id`, `environment`) first in every key, constraints named `<table>_<columns>_key`, and `COLLATE "C"` on key text columns of
//!    Postgres;
//! 3. the table in `schema`, the row and its checks in `rows`;
//! 4. the queries in `repositories`: each begins with `in_world!`, and each UPDATE and upsert is wrapped in `Prepared`. Anything that must
//!    be decided once is one guarded statement. Uniqueness is decided by `ON CONFLICT DO NOTHING` and the row count. Anything that differs
//!    between the backends gets a name in both `dialect` modules.

#![expect(
    missing_docs,
    reason = "rows repeat the columns of their tables, and only the two stores use them"
)]

pub mod copy;
pub mod counter_subject;
pub mod delete_limited;
pub mod failure;
pub mod filter_sql;
pub mod load;
pub mod lock_order;
pub mod measured;
pub mod migrations;
pub mod prepared;
pub mod rate_window;
pub mod row_chunks;
pub mod rows;
pub mod schema;
pub mod settings;
pub mod status_counters;
pub mod world;
