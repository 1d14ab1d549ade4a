//! `SignerPayloadRaw` of polkadot.js: the bytes of a payload that the caller has put together.

use vestry_domain::Invalid;

use super::names_the_wallet;
use super::payload::METHOD_MAX;
use super::transaction::SignsTransaction;
use crate::Signer;
use crate::object::Object;

/// A call, and at most a KiB of what extensions add.
const DATA_MAX: usize = METHOD_MAX + 1024;

/// Reads the raw form. Where the call ends and the rest begins cannot be told from the bytes alone, so that no transaction is
/// made of them.
///
/// # Errors
/// [`Invalid`] with the path of the field.
pub(super) fn read(object: &Object<'_>, signer: Signer<'_>) -> Result<SignsTransaction, Invalid> {
    object.only(&["address", "data", "type"])?;
    names_the_wallet(object, signer)?;
    if object.text("type")? != "payload" {
        let fault = "is not payload; messages are signed by sign_message";
        return Err(object.refusal("type", fault));
    }
    let data = object
        .hex_bytes("data", DATA_MAX)?
        .ok_or_else(|| object.missing("data"))?;
    if data.is_empty() {
        return Err(object.refusal("data", "must not be empty"));
    }
    Ok(SignsTransaction::raw(data, signer))
}
