//! Typed access to a JSON object of a request.

use serde_json::Value;
use vestry_domain::signing::Fields;
use vestry_domain::{Invalid, number};

use crate::refuse;

/// The length limit, in characters, of an unknown member's name in an error message.
const MAX_NAME: usize = 64;

/// An object's fields, and the path that precedes their names in errors.
///
/// A field that is `null` counts as absent. Unknown fields are ignored unless the reader calls [`Object::only`].
pub(crate) struct Object<'a> {
    fields: &'a Fields,
    path: &'a str,
}

impl<'a> Object<'a> {
    /// The parameters of an `rpc` call.
    pub(crate) const fn params(fields: &'a Fields) -> Self {
        Self {
            fields,
            path: "params",
        }
    }

    /// The object in the field named by `path`.
    pub(crate) fn in_field(value: &'a Value, path: &'a str) -> Result<Self, Invalid> {
        match value {
            Value::Object(fields) => Ok(Self { fields, path }),
            Value::Null => Err(Invalid::missing(path.to_owned())),
            _ => {
                let message = format!("{path} must be an object");
                Err(Invalid::value(path.to_owned(), message))
            }
        }
    }

    /// The path of a field as the caller wrote it.
    pub(crate) fn path(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    /// An error for a field: `rule` follows its path and describes a correct value.
    pub(crate) fn refusal(&self, name: &str, rule: &str) -> Invalid {
        let path = self.path(name);
        let message = format!("{path} {rule}");
        Invalid::value(path, message)
    }

    /// Rejects unknown members. A misspelt member would otherwise be missing from what is signed.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Invalid> {
        let unknown = self
            .fields
            .iter()
            .find(|(name, value)| !value.is_null() && !known.contains(&name.as_str()));
        let Some((name, _)) = unknown else {
            return Ok(());
        };
        let shown: String = name.chars().take(MAX_NAME).collect();
        Err(refuse::unknown(self.path(&shown), known))
    }

    /// An error for a missing field.
    pub(crate) fn missing(&self, name: &str) -> Invalid {
        Invalid::missing(self.path(name))
    }

    /// A required string.
    pub(crate) fn text(&self, name: &str) -> Result<&'a str, Invalid> {
        self.optional_text(name)?.ok_or_else(|| self.missing(name))
    }

    /// An optional string.
    pub(crate) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, Invalid> {
        self.present(name)
            .map(|value| {
                value
                    .as_str()
                    .ok_or_else(|| self.refusal(name, "must be a string"))
            })
            .transpose()
    }

    /// A required non-negative integer.
    pub(crate) fn number(&self, name: &str) -> Result<u64, Invalid> {
        let value = self.present(name).ok_or_else(|| self.missing(name))?;
        number::natural(value).ok_or_else(|| self.refusal(name, "must be a whole number"))
    }

    /// A boolean; absent means false.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Invalid> {
        self.present(name).map_or(Ok(false), |value| {
            value
                .as_bool()
                .ok_or_else(|| self.refusal(name, "must be true or false"))
        })
    }

    /// The value of a field, if present.
    pub(crate) fn present(&self, name: &str) -> Option<&'a Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A whole number is accepted in any notation, and never rounded.
    #[test]
    fn m_19_a_number_of_a_request_is_whole() {
        let read = |value: Value| {
            let fields = Fields::from_iter([("version".to_owned(), value)]);
            Object::params(&fields)
                .number("version")
                .map_err(|invalid| invalid.param)
        };
        for whole in [json!(5), json!(5.0), json!(50e-1)] {
            assert_eq!(read(whole.clone()), Ok(5), "{whole}");
        }
        for other in [
            json!(5.5),
            json!(-5.0),
            json!("5"),
            json!(true),
            json!(null),
        ] {
            assert_eq!(read(other.clone()), Err("params.version".into()), "{other}");
        }
    }
}
