//! What both stores are made of.
//!
//! | module | what is there |
//! |---|---|
//! | `schema` | the tables, once for both backends |
//! | `rows` | structs of their rows, and what the domain makes of them |
//! | `prepared`, `portions` | statements that are prepared once, and how many rows they have |
//! | `few`, `recount` | statements that diesel cannot write, or not for both |
//! | `rank` | which rows that many change are locked first |
//! | `world`, `wanted`, `window`, `subject` | pieces of statements that are alike on both |
//! | `settings`, `migrations`, `failure` | how the database is reached, what it lacks, and what is not its fault |
//!
//! Beside `src` lies `repositories`: the queries. They are **no module of this crate**: `store-sqlite` and
//! `store-postgres` each compile them, through `#[path]`, against a `dialect` of their own. So the two are checked at
//! the same time, and this crate once.
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
//! 4. the queries in `repositories`, beginning with `in_world!`, each UPDATE and upsert in `Prepared`. What must be decided once is one guarded statement;
//!    what is unique is decided by `ON CONFLICT DO NOTHING` and the count of rows. What does not work on both
//!    backends goes behind a name in both `dialect` modules.

#![expect(
    missing_docs,
    reason = "rows repeat the columns of their tables, and nobody but the two stores reads them"
)]

pub mod failure;
pub mod few;
pub mod migrations;
pub mod portions;
pub mod prepared;
pub mod rank;
pub mod recount;
pub mod rows;
pub mod schema;
pub mod settings;
pub mod subject;
pub mod wanted;
pub mod window;
pub mod world;
