//! The methods of `rpc`.

use alloy_primitives::utils::eip191_message;
use vestry_domain::Invalid;
use vestry_domain::signing::{Fields, MessageRequest, SigningRefused};

use super::authorization::SignsAuthorization;
use super::digest::SignsDigest;
use super::fields::Object;
use super::transaction::{Answer, SignsTransaction};
use super::{Ethereum, typed_data, user_operation};
use crate::{Prepared, Signer, message};

/// The supported methods, each followed by its aliases.
const METHODS: &[&str] = &[
    "personal_sign",
    "eth_personalSign",
    "signMessage",
    "eth_signTypedData_v4",
    "eth_signTransaction",
    "eth_sign7702Authorization",
    "eth_signUserOperation",
];

/// Reads the parameters of a method.
///
/// # Errors
/// [`SigningRefused`], whose paths begin with `params`.
pub(super) fn prepare<'a>(
    chain: &'a Ethereum,
    name: &str,
    params: &Fields,
    signer: Signer<'_>,
) -> Result<Box<dyn Prepared + 'a>, SigningRefused> {
    let params = Object::new(params, "params");
    let payload = match name {
        "personal_sign" | "eth_personalSign" | "signMessage" => {
            eip191_message(message_bytes(&params)?)
        }
        "eth_signTypedData_v4" => typed_data::payload(&params.need("typed_data")?)?,
        "eth_signTransaction" => {
            let field = params.need("transaction")?;
            let prepared = SignsTransaction::read(chain, &field, signer, Answer::Method)?;
            return Ok(Box::new(prepared));
        }
        "eth_sign7702Authorization" => {
            return Ok(Box::new(SignsAuthorization::read(chain, &params, signer)?));
        }
        "eth_signUserOperation" => user_operation::payload(&params)?,
        refused => return Err(refusal(refused)),
    };
    let prepared = SignsDigest::new(chain, &payload, signer).beside("encoding", "hex");
    Ok(Box::new(prepared))
}

/// The bytes of `personal_sign`: text, or hex if `encoding` says so.
fn message_bytes(params: &Object<'_>) -> Result<Vec<u8>, Invalid> {
    let text = params.need("message")?.text()?;
    let encoding = match params.find("encoding") {
        None => None,
        Some(field) => match field.text()? {
            known @ ("utf-8" | "hex") => Some(known.to_owned()),
            _ => return Err(field.refuse("must be utf-8 or hex")),
        },
    };
    let request = MessageRequest {
        message: text.to_owned(),
        encoding,
        format: None,
    };
    message::bytes(&request, "params.message")
}

fn refusal(name: &str) -> SigningRefused {
    match name {
        "secp256k1_sign" => SigningRefused::Denied(
            "secp256k1_sign is not allowed: a bare hash does not show whether it belongs to a sign-in or a transfer; \
             call personal_sign, eth_signTypedData_v4 or eth_signTransaction with the hashed content"
                .into(),
        ),
        "eth_sendTransaction" => Invalid::value(
            "method",
            "eth_sendTransaction is not supported: this service does not broadcast; call eth_signTransaction and send signed_transaction",
        )
        .into(),
        "eth_sign" => Invalid::value(
            "method",
            "eth_sign is not supported: its messages cannot be told from transactions; call personal_sign instead",
        )
        .into(),
        _ => SigningRefused::UnsupportedMethod { supported: METHODS },
    }
}
