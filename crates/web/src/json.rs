//! JSON from outside: read strictly, then taken apart field by field, so that every refusal names its field.

mod fields;
mod strict;

use std::borrow::Cow;

use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_json::{Map, Value};
use vestry_domain::Invalid;
use vestry_domain::invalid::Reason;

use fields::{Fields, Form};

/// Longest `param` of an answer: the names of fields are the caller's own and can be as long as a body.
const PARAM_MAX: usize = 200;

/// Why a body was not understood.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Not JSON, or not an object. Where exactly is not repeated: it would echo what was sent.
    Syntax(&'static str),
    /// One name twice in one object: the two readers of such a body may see two different requests.
    Repeated {
        /// Path of the field.
        param: String,
    },
    /// A field was refused.
    Field(Invalid),
}

/// Reads a body that must be a JSON object.
pub(crate) fn from_body<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refused> {
    let object = strict::object(body)?;
    Ok(T::deserialize(Fields::new(Value::Object(object), Form::Json)).map_err(Invalid::from)?)
}

/// Reads the names and values of a query, where every value is text.
pub(crate) fn from_query<T: DeserializeOwned>(pairs: Map<String, Value>) -> Result<T, Invalid> {
    T::deserialize(Fields::new(Value::Object(pairs), Form::Query)).map_err(Invalid::from)
}

/// Reads an optional text in which `""` says the same as nothing: that is what answers have where there is no token, id or
/// URL, and callers send back what they got.
pub(crate) fn text_or_absent<'de, D: Deserializer<'de>>(
    field: D,
) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(field)?;
    Ok(text.filter(|text| !text.is_empty()))
}

impl From<Invalid> for Refused {
    fn from(invalid: Invalid) -> Self {
        Self::Field(invalid)
    }
}

/// A refusal of one field, with its path shortened to what an answer can carry.
fn refuse(path: &str, reason: Reason, message: String) -> Invalid {
    Invalid {
        param: Cow::Owned(shortened(path)),
        reason,
        message: Cow::Owned(message),
    }
}

fn shortened(path: &str) -> String {
    path.chars().take(PARAM_MAX).collect()
}

#[cfg(test)]
mod tests;
