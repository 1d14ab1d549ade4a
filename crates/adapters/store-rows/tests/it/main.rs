//! The parts of the stores that need no database.
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

mod filter_sql;
mod row_chunks;
mod settings;
