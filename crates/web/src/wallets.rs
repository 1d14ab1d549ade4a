//! Wallets.

pub(crate) mod audit;
pub(crate) mod create;
pub(crate) mod disable;
pub(crate) mod enable;
pub(crate) mod export;
pub(crate) mod get;
pub(crate) mod import;
pub(crate) mod import_begin;
pub(crate) mod list;
pub(crate) mod rpc;
pub(crate) mod sign_message;
pub(crate) mod sign_transaction;

use vestry_domain::Invalid;

/// The one encryption of keys on their way in and out.
const HPKE: &str = "HPKE";

fn check_encryption(encryption_type: &str) -> Result<(), Invalid> {
    if encryption_type == HPKE {
        return Ok(());
    }
    let message = "encryption_type is HPKE";
    Err(Invalid::value("encryption_type", message))
}

/// What is logged when a chain breaks the promise of [`vestry_domain::signing::Signed`].
const UNSIGNED: &str = "a chain that signs without a signature";
