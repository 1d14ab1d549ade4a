//! Wallets.

pub(crate) mod create;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod rpc;
pub(crate) mod sign_message;
pub(crate) mod sign_transaction;
