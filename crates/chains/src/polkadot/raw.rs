//! `SignerPayloadRaw` of polkadot.js: the bytes of a payload assembled by the caller.

use vestry_domain::Invalid;

use super::names_the_wallet;
use super::payload::MAX_METHOD;
use super::transaction::SignsTransaction;
use crate::Signer;
use crate::object::Object;

/// The maximum length: a call, and a KiB of extension data.
const MAX_DATA: usize = MAX_METHOD + 1024;

/// Reads the raw form.
///
/// The bytes alone do not show where the call ends, so no signed transaction is assembled.
///
/// # Errors
/// [`Invalid`] with the path of the field.
pub(super) fn read(object: &Object<'_>, signer: Signer<'_>) -> Result<SignsTransaction, Invalid> {
    object.only(&["address", "data", "type"])?;
    names_the_wallet(object, signer)?;
    if object.text("type")? != "payload" {
        let fault = "must be payload; to sign a message, call sign_message";
        return Err(object.refusal("type", fault));
    }
    let data = object
        .hex_bytes("data", MAX_DATA)?
        .ok_or_else(|| object.missing("data"))?;
    if data.is_empty() {
        return Err(object.refusal("data", "must not be empty"));
    }
    Ok(SignsTransaction::raw(data, signer))
}
