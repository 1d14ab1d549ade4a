//! The store over SQLite or Postgres, whichever the settings name.
//!
//! This crate contains the choice between them, and the tests of both. The statements are in `store-rows`; database-specific code is in
//! `store-sqlite` and `store-postgres`.

mod copy;
mod limiter;
mod migrate;
mod scratch;
mod store;

pub use copy::{contents, dump, end_restore, load};
pub use limiter::SqlRateLimiter;
pub use migrate::{distribute, migrate, versions};
pub use scratch::Scratch;
pub use store::SqlStore;
pub use vestry_store_postgres::{Distribution, Pooler};
pub use vestry_store_rows::copy::{Contents, CopyError};
pub use vestry_store_rows::migrations::{MissingMigrations, SchemaState};
pub use vestry_store_rows::settings::{
    Database, DatabaseUrlError, PostgresUrl, Settings, Synchronous,
};
