//! The trace that a caller belongs to.

use actix_web::http::header::{HeaderMap, HeaderName};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// The length of version, trace id, parent id and flags.
const LENGTH: usize = 55;

/// The first fields of the single `traceparent` header of a request, if it has the form of W3C Trace Context, section 3.2. They are version, trace id, parent
/// id and flags, in lowercase hexadecimal. Ids of zeros and version `ff` are invalid.
pub(crate) fn parent(headers: &HeaderMap) -> Option<String> {
    let mut sent = headers.get_all(&TRACEPARENT);
    match (sent.next(), sent.next()) {
        (Some(value), None) if is_valid(value.as_bytes()) => {
            // Fields of later versions may have any length.
            value.to_str().ok()?.get(..LENGTH).map(str::to_owned)
        }
        _ => None,
    }
}

fn is_valid(value: &[u8]) -> bool {
    let mut parts = value.split(|byte| *byte == b'-');
    let mut part = |length: usize| {
        let is_hexadecimal = |part: &&[u8]| {
            let mut digits = part.iter();
            part.len() == length && digits.all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
        };
        parts.next().filter(is_hexadecimal)
    };
    let is_some_id = |id: &[u8]| id.iter().any(|digit| *digit != b'0');
    let (Some(version), Some(trace), Some(parent), Some(_flags)) =
        (part(2), part(32), part(16), part(2))
    else {
        return false;
    };
    // Later versions may append fields; that of today may not.
    let is_version = version != b"ff" && (version != b"00" || parts.next().is_none());
    is_version && is_some_id(trace) && is_some_id(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pr_141_a_traceparent_has_the_form_of_w3c() {
        const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
        const PARENT: &str = "b7ad6b7169203331";
        let zeros = "0".repeat(32);
        for (value, expected) in [
            (format!("00-{TRACE}-{PARENT}-01"), true),
            (format!("cc-{TRACE}-{PARENT}-01-what-comes-later"), true),
            (format!("00-{TRACE}-{PARENT}-01-more"), false),
            (format!("ff-{TRACE}-{PARENT}-01"), false),
            (format!("00-{zeros}-{PARENT}-01"), false),
            (format!("00-{TRACE}-{}-01", &zeros[..16]), false),
            (format!("00-{}-{PARENT}-01", TRACE.to_uppercase()), false),
            (format!("00-{TRACE}-{PARENT}"), false),
            (format!("00-{TRACE}-{PARENT}-1"), false),
            (String::new(), false),
        ] {
            assert_eq!(is_valid(value.as_bytes()), expected, "{value}");
        }
    }
}
