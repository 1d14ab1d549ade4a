//! JSON from callers, parsed strictly and then field by field, so that every error names its field.

mod fields;
mod strict;

use std::borrow::Cow;

use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_json::{Map, Value};
use vestry_domain::Invalid;
use vestry_domain::invalid::Reason;

use fields::{Fields, Form};

/// Maximum length of `param` in an error, in characters. Field names come from the caller and can be as long as a body.
const MAX_PARAM: usize = 200;

/// Why a body was rejected.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Not JSON, or not an object. The position is not reported, because it would echo the body.
    Syntax(&'static str),
    /// A name that appears twice in one object. Two parsers could read two different requests from it.
    Repeated {
        /// Path of the field.
        param: String,
    },
    /// A field was rejected.
    Field(Invalid),
}

/// Parses a body that must be a JSON object.
pub(crate) fn from_body<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refused> {
    let object = strict::object(body)?;
    Ok(from_value(Value::Object(object))?)
}

/// Reads a type from a JSON value, with the errors of a body.
///
/// # Errors
/// Names the field.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, Invalid> {
    T::deserialize(Fields::new(value, Form::Json)).map_err(Invalid::from)
}

/// Deserializes query parameters, whose values are all text.
pub(crate) fn from_query<T: DeserializeOwned>(pairs: Map<String, Value>) -> Result<T, Invalid> {
    T::deserialize(Fields::new(Value::Object(pairs), Form::Query)).map_err(Invalid::from)
}

/// Deserializes an optional string; `""` counts as absent.
///
/// Responses contain `""` where there is no token, id or URL, and callers send back what they received.
pub fn text_or_absent<'de, D: Deserializer<'de>>(field: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(field)?;
    Ok(text.filter(|text| !text.is_empty()))
}

impl From<Invalid> for Refused {
    fn from(invalid: Invalid) -> Self {
        Self::Field(invalid)
    }
}

/// Builds the error of one field. The path is shortened to what a response can carry.
fn refuse(path: &str, reason: Reason, message: String) -> Invalid {
    Invalid {
        param: Cow::Owned(shortened(path)),
        reason,
        message: Cow::Owned(message),
    }
}

fn shortened(path: &str) -> String {
    path.chars().take(MAX_PARAM).collect()
}

#[cfg(test)]
mod tests;
