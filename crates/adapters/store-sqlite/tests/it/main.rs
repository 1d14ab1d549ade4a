//! The store in a SQLite file, below its repositories. Those are tested by `vestry-store-sql`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod connections;
