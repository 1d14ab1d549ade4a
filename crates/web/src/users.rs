//! Users.

pub(crate) mod create;
pub(crate) mod delete_totp;
pub(crate) mod get;
