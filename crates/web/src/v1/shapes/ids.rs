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
