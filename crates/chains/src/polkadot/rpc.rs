//! The methods of Polkadot, with WalletConnect's names.

use serde_json::Value;
use vestry_domain::signing::{Fields, MessageRequest, SigningRefused};

use super::message::SignsMessage;
use super::payload::WITH_SIGNED_TRANSACTION;
use super::{names_the_wallet, transaction};
use crate::object::Object;
use crate::{Prepared, Signer, message};

/// All names, with aliases of one method next to each other.
pub(super) const METHODS: &[&str] = &[
    "polkadot_signMessage",
    "dot_signRaw",
    "signMessage",
    "polkadot_signTransaction",
];

/// Reads the parameters of a method.
///
/// # Errors
/// [`SigningRefused`], with the path of the field inside `params`.
pub(super) fn prepare(
    name: &str,
    params: &Fields,
    signer: Signer<'_>,
) -> Result<Box<dyn Prepared>, SigningRefused> {
    let object = Object::params(params);
    match name {
        "polkadot_signMessage" | "dot_signRaw" | "signMessage" => sign_message(&object, signer),
        "polkadot_signTransaction" => sign_transaction(&object, signer),
        _ => Err(SigningRefused::UnsupportedMethod { supported: METHODS }),
    }
}

fn sign_message(
    params: &Object<'_>,
    signer: Signer<'_>,
) -> Result<Box<dyn Prepared>, SigningRefused> {
    if params.present("address").is_some() {
        names_the_wallet(params, signer)?;
    }
    let request = MessageRequest {
        message: params.text("message")?.to_owned(),
        encoding: params.optional_text("encoding")?.map(str::to_owned),
        format: None,
    };
    let bytes = message::bytes(&request, "params.message")?;
    Ok(Box::new(SignsMessage::new(&bytes, signer)))
}

fn sign_transaction(
    params: &Object<'_>,
    signer: Signer<'_>,
) -> Result<Box<dyn Prepared>, SigningRefused> {
    const PAYLOAD: &str = "transactionPayload";
    names_the_wallet(params, signer)?;
    let payload = params
        .present(PAYLOAD)
        .ok_or_else(|| params.missing(PAYLOAD))?;
    let transaction = transaction(payload, "params.transactionPayload", signer)?;
    let named = payload
        .get(WITH_SIGNED_TRANSACTION)
        .and_then(Value::as_bool);
    Ok(Box::new(transaction.named(named.unwrap_or(false))))
}
