//! EIP-712 typed data, in the form of `eth_signTypedData_v4`.
//!
//! Where the standard is silent, libraries differ: in the value of a missing member, in whether `"false"` is true, and in a domain whose
//! type does not match. All of that is rejected here, so that every library computes the same hash for what is signed.

mod atom;
mod domain;
mod types;
mod values;

use serde_json::Value;
use vestry_domain::Invalid;
use vestry_domain::strict_json::{self, Fault, Malformed};

use super::fields::{Field, Object};
use types::Types;
use values::Hasher;

/// The maximum length in bytes of typed data given as a string.
const MAX_TEXT: usize = 256 * 1024;
/// The type of the domain.
const DOMAIN: &str = "EIP712Domain";

/// The payload that is hashed and signed: `0x1901` ‖ domain separator ‖ hash of the message (EIP-712, "Definition of domainSeparator").
///
/// # Errors
/// [`Invalid`] with the path of the field or of the value inside.
pub(super) fn payload(field: &Field<'_>) -> Result<Vec<u8>, Invalid> {
    match field.value() {
        Value::String(text) => {
            let parsed = parsed(text).map_err(|rule| field.refuse(&rule))?;
            payload_of(&Field::new(&parsed, field.path()).object()?)
        }
        _ => payload_of(&field.object()?),
    }
}

/// Parses as strictly as request bodies, and keeps all digits of numbers. Duplicate members are rejected, because another parser may pick
/// the other one.
fn parsed(text: &str) -> Result<Value, String> {
    let read = if text.len() > MAX_TEXT {
        Err(Malformed::Syntax)
    } else {
        strict_json::read_with_digits(text.as_bytes())
    };
    read.map_err(|malformed| match malformed {
        Malformed::Value {
            fault: Fault::Repeated,
            ..
        } => "has a duplicate member in an object".to_owned(),
        Malformed::Syntax | Malformed::Value { .. } => format!(
            "must be JSON of at most {MAX_TEXT} bytes, without NUL and not too deep, if a string"
        ),
    })
}

fn payload_of(data: &Object<'_>) -> Result<Vec<u8>, Invalid> {
    let types = Types::read(&data.need("types")?.object()?)?;
    let primary = primary_type(data, &types)?;
    let separator = domain::separator(&data.need("domain")?.object()?, &types)?;
    let message = data.need("message")?.object()?;
    let message = Hasher::new(&types).structure(&message, primary)?;
    Ok([&[0x19, 0x01], separator.as_slice(), message.as_slice()].concat())
}

fn primary_type<'a>(data: &Object<'a>, types: &Types<'_>) -> Result<&'a str, Invalid> {
    let known = |field: &Field<'a>| match field.text()? {
        DOMAIN => Err(field.refuse("must be the type of a message, not EIP712Domain")),
        name if types.has(name) => Ok(name),
        _ => Err(field.refuse("must be a type that types defines")),
    };
    data.need_aliased(&["primaryType", "primary_type"], known)
}
