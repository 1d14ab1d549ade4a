//! Signing in with a wallet of one's own.

pub(crate) mod registrations_begin;
pub(crate) mod registrations_nonce;
pub(crate) mod siwe_verify;
pub(crate) mod verify;
