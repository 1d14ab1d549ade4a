//! What the core needs from the world: traits, and the closed sets of errors that callers branch on.
//!
//! Rules of this crate:
//! - Ports are `#[port]` objects, shared as `Arc<dyn Port>`. No generics, no associated errors.
//! - Use cases decide ids, times and randomness and hand over finished values; no port takes a clock or a
//!   source of randomness.
//! - Look-ups return `Option`: "not there" is an answer, not an error.
//! - What must be decided once (a code consumed, an address attached, a default wallet) is **one** guarded
//!   statement whose outcome is in the return type; a unique violation is such an outcome and not an error.
//!
//! How to add a repository: a trait in `store/`, an accessor on [`store::Repositories`], its suite in the
//! `contract` crate, the fake there, and the SQL in `store-rows/repositories`.

pub mod anchors;
pub mod clock;
pub mod custody;
pub mod entropy;
pub mod identity_providers;
pub mod limiter;
pub mod mailer;
pub mod passkeys;
pub mod passwords;
pub mod sms;
pub mod store;
pub mod tokens;
pub mod vault;
pub mod webhooks;

pub use vestry_port_macro::port;
