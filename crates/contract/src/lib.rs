//! Suites that every adapter of a port must pass, and in-memory fakes that pass them too.
//!
//! A suite is a set of plain async functions, one for each promise of a port, over nothing but the port. An adapter
//! writes a builder, an async function that makes the port's object and a guard that cleans up when it is dropped,
//! and runs all functions with one line; each shows as a test of its own:
//!
//! ```text
//! mod sqlite {
//!     async fn build() -> (Arc<dyn Store>, TempDir) { … }
//!     vestry_contract::store_suite!(build);
//! }
//! ```
//!
//! A builder whose server may be missing answers `Option<(Arc<dyn Store>, Guard)>`, says aloud why it has none,
//! and gives `None`. Every builder gives an **empty** object: the suites count rows.
//!
//! | suite | port | line |
//! |---|---|---|
//! | [`store`] | `Store` and all repositories | [`store_suite!`] |
//! | [`limiter`] | `RateLimiter` | [`limiter_suite!`], and [`limiter_clock_suite!`] when it follows the time it is given |
//! | [`vault`] | `KeyVault` | [`vault_suite!`], or [`vault_wrapping_suite!`] when it cannot rotate |
//! | [`custody`] | `Custodian` and `Sealer` | [`custody_suite!`] |
//!
//! The expansions name `tokio`, so the test crate needs it with its macros.
//!
//! Test data comes out of a seeded source ([`samples::Samples`]); the seed is printed, the test harness shows it when
//! a test fails, and `VESTRY_TEST_SEED` brings the same data back.
//!
//! How to add a promise: a documented function in the module of its repository, and its name in the list of the
//! macro; a test of this crate compares the two.

pub mod browser;
pub mod claims;
pub mod custody;
pub mod fakes;
pub mod fixture;
pub mod limiter;
pub mod memory;
pub mod provider;
pub mod race;
pub mod rng;
pub mod samples;
pub mod sealing;
pub mod store;
pub mod vault;
pub mod words;
