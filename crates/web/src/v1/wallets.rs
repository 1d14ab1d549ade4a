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

/// The only encryption scheme for imported and exported keys.
const HPKE: &str = "HPKE";

fn check_encryption(encryption_type: &str) -> Result<(), Invalid> {
    if encryption_type == HPKE {
        return Ok(());
    }
    let message = "encryption_type must be HPKE";
    Err(Invalid::value("encryption_type", message))
}

/// Logged if a chain adapter breaks the contract of [`vestry_domain::signing::Signed`].
const UNSIGNED: &str = "the chain adapter returned no signature";
