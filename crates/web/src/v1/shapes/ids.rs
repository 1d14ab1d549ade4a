//! Ids in bodies and queries.

use std::str::FromStr;

use vestry_domain::Invalid;

/// Parses an id; errors name the given field.
pub(crate) fn parse_id<I: FromStr<Err = Invalid>>(
    param: &'static str,
    text: &str,
) -> Result<I, Invalid> {
    text.parse().map_err(|invalid: Invalid| Invalid {
        param: param.into(),
        ..invalid
    })
}

/// Parses an optional id; errors name the given field.
pub(crate) fn optional_id<I: FromStr<Err = Invalid>>(
    param: &'static str,
    text: Option<String>,
) -> Result<Option<I>, Invalid> {
    text.map(|text| parse_id(param, &text)).transpose()
}
