//! EIP-712 typed data, as `eth_signTypedData_v4` takes it.
//!
//! Libraries differ where the standard is silent: what a missing member counts as, whether `"false"` is true, what a domain
//! means whose type is another one. Here all of that is refused, so that what is signed is what everybody else computes.

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

/// Most bytes of typed data that comes as a string.
const TEXT_MAX: usize = 256 * 1024;
/// The type of the domain.
const DOMAIN: &str = "EIP712Domain";

/// What is hashed and signed: `0x1901` ‖ domain separator ‖ hash of the message (EIP-712, "Definition of domainSeparator").
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

/// As strictly as bodies are read, and with all digits of numbers: of two members of one name, somebody else may see the other one.
fn parsed(text: &str) -> Result<Value, String> {
    let read = if text.len() > TEXT_MAX {
        Err(Malformed::Syntax)
    } else {
        strict_json::read_with_digits(text.as_bytes())
    };
    read.map_err(|malformed| match malformed {
        Malformed::Value {
            fault: Fault::Repeated,
            ..
        } => "names a member of an object twice".to_owned(),
        Malformed::Syntax | Malformed::Value { .. } => format!(
            "must be JSON of at most {TEXT_MAX} bytes, without NUL and not too deep, if a string"
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
