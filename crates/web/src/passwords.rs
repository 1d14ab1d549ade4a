//! Passwords.

pub(crate) mod session_update;
pub(crate) mod strength_check;
pub(crate) mod verify;
