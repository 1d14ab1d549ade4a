//! Whole numbers in JSON, which has a single number type: `5.0` is five, however it is written. All code that reads a whole number from a
//! request uses this module.

use serde_json::{Number, Value};

/// Up to this value, every whole number has a distinct floating-point representation.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The integer value of this number, if it is whole.
pub fn whole(number: &Number) -> Option<i64> {
    if let Some(whole) = number.as_i64() {
        return Some(whole);
    }
    let float = number.as_f64().filter(|_| number.is_f64())?;
    let is_whole = float.fract() == 0.0 && float.abs() <= EXACT;
    // Its decimal digits are exact, so parsing them into an integer cannot lose any.
    let digits = is_whole.then(|| format!("{float:.0}"))?;
    digits.parse().ok()
}

/// The integer value of this JSON value, if it is a whole number from 0.
pub fn natural(value: &Value) -> Option<u64> {
    let number = value.as_number()?;
    number
        .as_u64()
        .or_else(|| u64::try_from(whole(number)?).ok())
}

/// The integer that a text denotes, such as the value of a query parameter. The form is that of JSON: no plus sign and no spaces.
pub fn written(text: &str) -> Option<i64> {
    if text.starts_with('+') || text.contains(char::is_whitespace) {
        return None;
    }
    // JSON does not allow leading zeros, but this service has always accepted them.
    text.parse()
        .ok()
        .or_else(|| whole(&serde_json::from_str(text).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_recognized_in_any_notation() {
        for (text, expected) in [
            ("5", Some(5)),
            ("5.0", Some(5)),
            ("-5.0", Some(-5)),
            ("50e-1", Some(5)),
            ("5e3", Some(5_000)),
            ("0.0", Some(0)),
            ("-0.0", Some(0)),
            ("9007199254740992.0", Some(9_007_199_254_740_992)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9007199254740994.0", None),
            ("9223372036854775808", None),
            ("18446744073709551616", None),
            ("1e300", None),
            ("5.5", None),
            ("4.9999999", None),
        ] {
            let number: Number = serde_json::from_str(text).unwrap();
            assert_eq!(whole(&number), expected, "{text}");
            assert_eq!(written(text), expected, "{text}");
        }
    }

    #[test]
    fn m_19_natural_numbers_are_whole_and_not_negative() {
        for (text, expected) in [
            ("5", Some(5)),
            ("5.0", Some(5)),
            ("0", Some(0)),
            ("-0.0", Some(0)),
            ("18446744073709551615", Some(u64::MAX)),
            ("-1", None),
            ("-1.0", None),
            ("5.5", None),
            ("\"5\"", None),
            ("true", None),
            ("null", None),
            ("[5]", None),
        ] {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(natural(&value), expected, "{text}");
        }
    }

    /// Texts that are not JSON numbers are rejected in queries too, except for leading zeros.
    #[test]
    fn m_19_a_number_in_a_query_is_written_as_in_json() {
        assert_eq!(written("007"), Some(7));
        for text in [
            "", " ", "+5", " 5", "5 ", "5.", ".5", "5,0", "0x5", "five", "\"5\"", "5.0.0", "NaN",
        ] {
            assert_eq!(written(text), None, "{text:?}");
        }
    }
}
