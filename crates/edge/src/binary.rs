//! Base64 in requests and responses.

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use vestry_domain::Invalid;

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const ORDINARY: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
const OF_URLS: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);

/// Decodes base64 in either alphabet (standard or URL-safe), with or without padding.
pub fn from_base64(param: &'static str, text: &str) -> Result<Vec<u8>, Invalid> {
    let decoded = ORDINARY.decode(text).or_else(|_other| OF_URLS.decode(text));
    decoded.map_err(|_no_base64| Invalid::value(param, format!("{param} must be base64")))
}

/// Encodes bytes as base64 in the standard alphabet, padded.
pub fn to_base64(bytes: &[u8]) -> String {
    ORDINARY.encode(bytes)
}

#[cfg(test)]
mod tests;
