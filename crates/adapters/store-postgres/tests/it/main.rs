//! The Postgres store below its repositories, which `vestry-store-sql` tests.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod errors;
mod tls;
