//! Strict parsing of hex from requests.

/// The text, if it consists of hex digits.
///
/// To be called before the library decodes: the library strips a leading `0x` or `0X`, so it would accept `0x0x…`.
pub(crate) fn only_digits(text: &str) -> Option<&str> {
    text.bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then_some(text)
}

/// The digits of a text with at most one `0x` prefix.
pub(crate) fn after_prefix(text: &str) -> Option<&str> {
    only_digits(text.strip_prefix("0x").unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_prefix_is_taken_off() {
        for (text, digits) in [
            ("0x6869", Some("6869")),
            ("6869", Some("6869")),
            ("aF", Some("aF")),
            ("", Some("")),
            ("0x", Some("")),
            ("0X6869", None),
            ("0x0x6869", None),
            ("0x0X6869", None),
            ("0x 6869", None),
            ("é", None),
        ] {
            assert_eq!(after_prefix(text), digits, "{text}");
        }
    }
}
