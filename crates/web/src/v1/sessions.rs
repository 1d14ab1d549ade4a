//! Sessions.

pub(crate) mod delete;
pub(crate) mod delete_all;
pub(crate) mod list;
pub(crate) mod verify;
