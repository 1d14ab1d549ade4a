//! Authenticator apps.

pub(crate) mod create;
mod qr;
pub(crate) mod recovery;
pub(crate) mod recovery_codes;
pub(crate) mod verify;
