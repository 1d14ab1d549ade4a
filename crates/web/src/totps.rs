//! Authenticator apps.

pub(crate) mod create;
pub(crate) mod recovery;
pub(crate) mod recovery_codes;
pub(crate) mod verify;
