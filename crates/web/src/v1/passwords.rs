//! Passwords.

pub(crate) mod reset_begin;
pub(crate) mod reset_complete;
pub(crate) mod session_update;
pub(crate) mod strength_check;
pub(crate) mod verify;
