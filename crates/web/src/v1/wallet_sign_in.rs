//! Sign-in with an external wallet.

pub(crate) mod registrations_begin;
pub(crate) mod registrations_nonce;
pub(crate) mod siwe_verify;
pub(crate) mod verify;
