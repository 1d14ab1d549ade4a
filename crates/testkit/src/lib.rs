//! What the tests of several crates share. A dev-dependency only: nothing that is shipped may name it.
//!
//! | module | what is there |
//! |---|---|
//! | `lane` | which servers the tests were told about, and which were left out aloud |
//! | `postgres` | databases on the throwaway server, dropped with the value that stands for them |
//! | `sqlite` | files with all migrations |
//!
//! A database with all migrations is a copy of one that was migrated before: migrating takes longer than most tests.

#![allow(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test fails by panicking"
)]

pub mod lane;
pub mod postgres;
pub mod sqlite;
