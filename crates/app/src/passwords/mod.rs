//! Passwords: comparing, setting, judging.
//!
//! The hash of a password is sealed under the App key (P-5), so nothing in the database can be guessed against. All hashing is
//! done before a transaction, and what was decided on a hash that was read is written only where that hash still stands.

pub mod reset_begin;
pub mod reset_complete;
pub mod strength;
pub mod update;
pub mod verify;

pub(crate) mod compare;
pub(crate) mod seal;
pub(crate) mod set;

pub use reset_begin::{BeginReset, BegunReset};
pub use reset_complete::{CompleteReset, CompleteResetError, CompletedReset};
pub use strength::PasswordStrength;
pub use update::{UpdatePassword, UpdatedPassword};
pub use verify::{VerifiedPassword, VerifyPassword};
