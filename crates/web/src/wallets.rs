//! Wallets.

pub(crate) mod audit;
pub(crate) mod create;
pub(crate) mod disable;
pub(crate) mod enable;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod rpc;
pub(crate) mod sign_message;
pub(crate) mod sign_transaction;

/// What is logged when a chain breaks the promise of [`vestry_domain::signing::Signed`].
const UNSIGNED: &str = "a chain that signs without a signature";
