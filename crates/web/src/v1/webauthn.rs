//! Passkeys.

pub(crate) mod authentication_begin;
pub(crate) mod delete;
pub(crate) mod registrations_begin;
pub(crate) mod registrations_create;
pub(crate) mod verify;
