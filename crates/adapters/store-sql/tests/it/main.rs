//! The store on real databases: a SQLite file, and a throwaway Postgres if available.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod contract;
mod corrupt;
mod deletion;
mod events;
mod limiter;
mod migrations;
mod outbox;
mod places;
mod plans;
mod postgres;
mod search;
mod sqlite;
mod units;
mod versions;
