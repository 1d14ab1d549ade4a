//! Whole numbers in JSON, which has one kind of number: `5.0` is five, however it is written. Whatever reads a whole number that
//! somebody sent reads it here.

use serde_json::{Number, Value};

/// Up to here every whole number has a floating-point form of its own.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The whole number that this number is, if it is one.
pub fn whole(number: &Number) -> Option<i64> {
    if let Some(whole) = number.as_i64() {
        return Some(whole);
    }
    let float = number.as_f64().filter(|_| number.is_f64())?;
    let is_whole = float.fract() == 0.0 && float.abs() <= EXACT;
    // Its digits are exact, and the way into an integer that cannot lose any.
    let digits = is_whole.then(|| format!("{float:.0}"))?;
    digits.parse().ok()
}

/// The whole number from 0 on that this value is, if it is one.
pub fn natural(value: &Value) -> Option<u64> {
    let number = value.as_number()?;
    number
        .as_u64()
        .or_else(|| u64::try_from(whole(number)?).ok())
}

/// The whole number that a text writes, as the value of a query parameter does: as in JSON, without a plus sign or blanks.
pub fn written(text: &str) -> Option<i64> {
    if text.starts_with('+') || text.contains(char::is_whitespace) {
        return None;
    }
    // JSON has no zeros in front, which were always taken here.
    text.parse()
        .ok()
        .or_else(|| whole(&serde_json::from_str(text).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_whole_however_they_are_written() {
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
    fn m_19_a_natural_number_is_whole_and_not_below_zero() {
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

    /// What is no number in JSON is none in a query, but for zeros in front.
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
