//! Passwords: comparison, changes and strength.
//!
//! Password hashes are encrypted under the App key (P-5), so a copy of the database cannot be used to guess passwords. All hashing happens
//! before a transaction. A result is written only if the hash that it was based on has not changed.

pub mod reset_begin;
pub mod reset_complete;
pub mod strength;
pub mod update;
pub mod verify;

pub(crate) mod compare;
pub(crate) mod set;

pub use reset_begin::{BeginReset, BegunReset};
pub use reset_complete::{CompleteReset, CompleteResetError, CompletedReset};
pub use strength::PasswordStrength;
pub use update::{UpdatePassword, UpdatedPassword};
pub use verify::{VerifiedPassword, VerifyPassword};
