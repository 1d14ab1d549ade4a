//! The bytes of a text message.

use alloy_primitives::hex;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use vestry_domain::Invalid;
use vestry_domain::signing::MessageRequest;
use vestry_domain::wallet::MAX_MESSAGE;

use crate::hex_digits::after_prefix;

/// The maximum number of base58 characters: decoding takes time quadratic in the length.
const MAX_BASE58: usize = 2048;

/// The bytes of a message. `field` is the path of its text in the request; the encoding field has the same parent.
pub(crate) fn bytes(request: &MessageRequest, field: &'static str) -> Result<Vec<u8>, Invalid> {
    let text = &request.message;
    let malformed = |form: &str| Invalid::value(field, format!("{field} must be {form}"));
    let bytes = match request.encoding.as_deref() {
        None | Some("utf-8") => text.as_bytes().to_vec(),
        Some("hex") => {
            let bytes = after_prefix(text).and_then(|digits| hex::decode(digits).ok());
            bytes.ok_or_else(|| {
                malformed("hex: an even number of the digits 0-9 a-f, optionally after 0x")
            })?
        }
        Some("base64") => STANDARD
            .decode(text)
            .map_err(|_malformed| malformed("standard base64 with padding"))?,
        Some("base58") if text.len() <= MAX_BASE58 => bs58::decode(text)
            .into_vec()
            .map_err(|_malformed| malformed("base58 (Bitcoin alphabet)"))?,
        Some("base58") => {
            let message = format!("{field} must be at most {MAX_BASE58} characters of base58");
            return Err(Invalid::value(field, message));
        }
        Some(_) => {
            let parent = field.strip_suffix("message").unwrap_or_default();
            return Err(Invalid::value(
                format!("{parent}encoding"),
                "encoding must be utf-8, hex, base64 or base58",
            ));
        }
    };
    if bytes.len() > MAX_MESSAGE {
        let message = format!("{field} must be at most {MAX_MESSAGE} bytes");
        return Err(Invalid::value(field, message));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message: &str, encoding: Option<&str>) -> Result<Vec<u8>, Invalid> {
        let request = MessageRequest {
            message: message.to_owned(),
            encoding: encoding.map(str::to_owned),
            format: None,
        };
        bytes(&request, "params.message")
    }

    #[test]
    fn texts_name_their_bytes() {
        for (message, encoding, expected) in [
            ("hi", None, &b"hi"[..]),
            ("0x6869", None, b"0x6869"),
            ("\u{e9}", Some("utf-8"), b"\xc3\xa9"),
            ("0x6869", Some("hex"), b"hi"),
            ("6869", Some("hex"), b"hi"),
            ("aGk=", Some("base64"), b"hi"),
            ("8wr", Some("base58"), b"hi"),
            ("", Some("base58"), b""),
        ] {
            assert_eq!(
                read(message, encoding).unwrap(),
                expected,
                "{message} {encoding:?}"
            );
        }
    }

    #[test]
    fn what_names_no_bytes_is_refused_with_the_path_of_its_field() {
        let long = "1".repeat(MAX_BASE58 + 1);
        let huge = "a".repeat(MAX_MESSAGE + 1);
        for (message, encoding, param) in [
            ("6", Some("hex"), "params.message"),
            ("zz", Some("hex"), "params.message"),
            ("0x0x6869", Some("hex"), "params.message"),
            ("0X6869", Some("hex"), "params.message"),
            ("aGk", Some("base64"), "params.message"),
            ("0OIl", Some("base58"), "params.message"),
            (&long, Some("base58"), "params.message"),
            (&huge, None, "params.message"),
            ("hi", Some("utf-16"), "params.encoding"),
            ("hi", Some(""), "params.encoding"),
        ] {
            let refused = read(message, encoding).unwrap_err();
            assert_eq!(refused.param, param, "{encoding:?}");
        }
    }
}
