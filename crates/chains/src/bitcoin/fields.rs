//! Members of a JSON object, read with the path that a refusal names.

use serde_json::Value;
use vestry_domain::Invalid;
use vestry_domain::signing::Fields;

/// A value of another type than the field takes.
pub(super) fn wrong_type(path: impl Into<String>, expected: &str) -> Invalid {
    let path = path.into();
    let message = format!("{path} is {expected}");
    Invalid::value(path, message)
}

/// A member; `null` counts as absent.
pub(super) fn member<'a>(fields: &'a Fields, name: &str) -> Option<&'a Value> {
    fields.get(name).filter(|value| !value.is_null())
}

/// A string, if it is there.
pub(super) fn text<'a>(
    fields: &'a Fields,
    parent: &str,
    name: &str,
) -> Result<Option<&'a str>, Invalid> {
    member(fields, name)
        .map(|value| {
            value
                .as_str()
                .ok_or_else(|| wrong_type(format!("{parent}.{name}"), "a string"))
        })
        .transpose()
}

/// A string that has to be there.
pub(super) fn required_text<'a>(
    fields: &'a Fields,
    parent: &str,
    name: &str,
) -> Result<&'a str, Invalid> {
    text(fields, parent, name)?.ok_or_else(|| Invalid::missing(format!("{parent}.{name}")))
}

/// A truth value; absent is false.
pub(super) fn flag(fields: &Fields, parent: &str, name: &str) -> Result<bool, Invalid> {
    member(fields, name).map_or(Ok(false), |value| {
        value
            .as_bool()
            .ok_or_else(|| wrong_type(format!("{parent}.{name}"), "true or false"))
    })
}
