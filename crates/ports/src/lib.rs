//! The ports of the core: traits for what it needs from outside, and the closed sets of errors that callers branch on.
//!
//! Rules of this crate:
//! - Ports are `#[port]` objects, shared as `Arc<dyn Port>`. No generics, no associated errors.
//! - Use cases choose ids, times and random values and pass them in; no port takes a clock or a source of randomness.
//! - Lookups return `Option`: "not found" is a result, not an error.
//! - Whatever must happen only once is **one** guarded statement with its outcome in the return type. Examples are consuming a code, adding
//!   an address and setting a default wallet. A unique violation is such an outcome, not an error.
//!
//! To add a repository, add a trait in `store/` and an accessor on [`store::Repositories`]. Its suite and the fake go into the `contract`
//! crate, the SQL into `store-rows/repositories`.

pub mod anchors;
pub mod clock;
pub mod custody;
pub mod entropy;
pub mod identity_providers;
pub mod journal;
pub mod limiter;
pub mod mailer;
pub mod meter;
pub mod passkeys;
pub mod passwords;
pub mod sms;
pub mod store;
pub mod tokens;
pub mod vault;
pub mod webhooks;

pub use vestry_port_macro::port;
