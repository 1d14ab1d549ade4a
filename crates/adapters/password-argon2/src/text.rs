//! The parts of a hash's text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use vestry_ports::passwords::ForeignHashError;

/// Maximum length in bytes of a decoded part; no service produces longer ones.
const MAX_LENGTH: usize = 256;

/// Decodes the base64 variants of the services: with or without padding, with `.` instead of `+` (passlib), or URL-safe.
pub(crate) fn bytes(text: &str) -> Result<Vec<u8>, ForeignHashError> {
    let plain: String = text
        .trim_end_matches('=')
        .chars()
        .map(|c| match c {
            '.' | '-' => '+',
            '_' => '/',
            other => other,
        })
        .collect();
    let bytes = STANDARD_NO_PAD.decode(plain);
    let bytes = bytes.map_err(|_not_base64| ForeignHashError::Malformed)?;
    if bytes.len() > MAX_LENGTH {
        return Err(ForeignHashError::Malformed);
    }
    Ok(bytes)
}

/// Reads a part that is plain text. Its length limit is that of [`bytes`]; otherwise the stored form could not be parsed again.
pub(crate) fn plain(text: &str) -> Result<Vec<u8>, ForeignHashError> {
    if text.len() > MAX_LENGTH {
        return Err(ForeignHashError::Malformed);
    }
    Ok(text.as_bytes().to_vec())
}

/// Encodes base64 as in PHC strings.
pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD_NO_PAD.encode(bytes)
}

/// Parses a number without a sign or leading zeros, so that it has only one spelling.
pub(crate) fn number(text: &str) -> Result<u32, ForeignHashError> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_plain);
    number.ok_or(ForeignHashError::Malformed)
}

/// Parses `a=1,b=2`: exactly the named parameters must be present.
pub(crate) fn parameters<'a, const N: usize>(
    text: &'a str,
    names: [&str; N],
) -> Result<[&'a str; N], ForeignHashError> {
    let mut values = [""; N];
    let mut given = 0;
    for part in text.split(',') {
        let (name, value) = part.split_once('=').ok_or(ForeignHashError::Malformed)?;
        let place = names.iter().position(|known| *known == name);
        let place = place.and_then(|place| values.get_mut(place));
        let place = place.ok_or(ForeignHashError::Malformed)?;
        if !place.is_empty() || value.is_empty() {
            return Err(ForeignHashError::Malformed);
        }
        *place = value;
        given += 1;
    }
    if given == N {
        Ok(values)
    } else {
        Err(ForeignHashError::Malformed)
    }
}
