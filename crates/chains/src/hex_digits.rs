//! Hex from outside, as strictly as its refusals describe it.

/// The text, if it is hex digits and nothing else.
///
/// To be asked before the library decodes: that takes an `0x` or `0X` off whatever it is given, so of `0x0x…` it would see
/// nothing.
pub(crate) fn only_digits(text: &str) -> Option<&str> {
    text.bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then_some(text)
}

/// The digits of a text that may begin with one `0x`.
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
