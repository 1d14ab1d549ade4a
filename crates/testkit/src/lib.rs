//! Test helpers shared by several crates. Only for dev-dependencies: shipped code must not use it.
//!
//! | module | contents |
//! |---|---|
//! | `lane` | the servers available to the tests, and those excluded on purpose |
//! | `postgres` | databases on the test server, each dropped together with its value |
//! | `receiver` | a scripted HTTP server, and a port that must not be connected to |
//! | `sqlite` | database files with all migrations |
//! | `statements` | how many statements a store executes |
//! | `wire` | a proxy to Postgres that counts statements and round trips |
//!
//! A fully migrated database is a copy of a template, because running the migrations takes longer than most tests.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "a test fails by panicking"
)]

pub mod lane;
pub mod postgres;
pub mod receiver;
pub mod sqlite;
pub mod statements;
pub mod wire;
