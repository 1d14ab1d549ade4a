//! A JSON parser that rejects what parsers interpret differently: repeated names, NUL and excessive nesting.
//!
//! A [`Value`] stores whole numbers of up to 64 bits and rounds all others. [`read_with_digits`] keeps them as written.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Value};

/// Maximum nesting depth. It is below that of the underlying parser, so that the error can name the field. It is above every limit of the
/// domain, whose own error then states what is allowed.
const DEEPEST: usize = 100;

/// The name of the only member in an object that stands for a number in [`read_with_digits`]. No input can contain such an object, because
/// names with a NUL are rejected.
const DIGITS: &str = "\0";

/// The reason that a text was rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Malformed {
    /// It is not JSON.
    Syntax,
    /// It is JSON but contains a value that is not accepted.
    Value {
        /// The kind of value that is not accepted.
        fault: Fault,
        /// Where: names and `[indexes]`, outermost first. Its length is not limited.
        path: String,
    },
}

/// The kind of value that is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A repeated name in an object: two parsers may see two different values.
    Repeated,
    /// The character U+0000, which some parsers treat as the end.
    Nul,
    /// Objects and arrays nested more than a hundred levels deep.
    TooDeep,
}

/// Parses one JSON value.
///
/// # Errors
/// [`Malformed`]; if there are several faults, the first.
pub fn read(text: &[u8]) -> Result<Value, Malformed> {
    read_by(text, None)
}

/// Parses one JSON value like [`read`], but without rounding. A number that is not a whole number of at most 64 bits is kept as written,
/// and [`digits`] returns it.
///
/// # Errors
/// As [`read`].
pub fn read_with_digits(text: &[u8]) -> Result<Value, Malformed> {
    read_by(text, Some(RefCell::new(Numbers { rest: text })))
}

/// The text of a number kept by [`read_with_digits`].
pub fn digits(value: &Value) -> Option<&str> {
    value.as_object()?.get(DIGITS)?.as_str()
}

fn read_by(text: &[u8], numbers: Option<RefCell<Numbers<'_>>>) -> Result<Value, Malformed> {
    let finding = Finding {
        numbers,
        ..Finding::default()
    };
    let mut reader = serde_json::Deserializer::from_slice(text);
    let root = Strict {
        depth: 0,
        finding: &finding,
    };
    let value = root
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value));
    match finding.fault.into_inner() {
        Some(fault) => Err(Malformed::Value {
            fault,
            path: finding.path.into_inner(),
        }),
        None => value.map_err(|_malformed| Malformed::Syntax),
    }
}

/// Prepends the name of an outer field, or its `[index]`, to a path.
pub fn prepend(name: &str, path: &mut String) {
    let separator = if path.is_empty() || path.starts_with('[') {
        ""
    } else {
        "."
    };
    *path = format!("{name}{separator}{path}");
}

/// A fault and its path, which grows from the inside out while the parser unwinds.
#[derive(Default)]
struct Finding<'t> {
    fault: RefCell<Option<Fault>>,
    path: RefCell<String>,
    /// The numbers of the text, if their digits are kept. The parser visits them in the same order.
    numbers: Option<RefCell<Numbers<'t>>>,
}

impl Finding<'_> {
    /// The parser's error only unwinds; the fault itself is recorded here.
    fn report<E: Error>(&self, fault: Fault) -> E {
        *self.fault.borrow_mut() = Some(fault);
        E::custom("refused")
    }

    fn within(&self, name: &str) {
        if self.fault.borrow().is_some() {
            prepend(name, &mut self.path.borrow_mut());
        }
    }
}

#[derive(Clone, Copy)]
struct Strict<'a, 't> {
    depth: usize,
    finding: &'a Finding<'t>,
}

/// The numbers of a JSON text as written, in order.
struct Numbers<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Numbers<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            let (first, behind) = self.rest.split_first()?;
            match first {
                b'"' => self.rest = behind_string(behind),
                b'-' | b'0'..=b'9' => {
                    let is_part =
                        |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                    let length = self.rest.iter().take_while(|byte| is_part(byte)).count();
                    let (number, rest) = self.rest.split_at_checked(length)?;
                    self.rest = rest;
                    return std::str::from_utf8(number).ok();
                }
                _ => self.rest = behind,
            }
        }
    }
}

/// The text after a string whose opening quote has been read.
fn behind_string(mut text: &[u8]) -> &[u8] {
    loop {
        match text {
            [b'\\', _, rest @ ..] => text = rest,
            [b'"', rest @ ..] => return rest,
            [_, rest @ ..] => text = rest,
            [] => return text,
        }
    }
}

impl<'t> Strict<'_, 't> {
    fn inner<E: Error>(self) -> Result<Self, E> {
        if self.depth >= DEEPEST {
            return Err(self.finding.report(Fault::TooDeep));
        }
        Ok(Strict {
            depth: self.depth + 1,
            ..self
        })
    }

    /// The number being visited, if digits are kept.
    fn next_number(self) -> Option<&'t str> {
        self.finding.numbers.as_ref()?.borrow_mut().next()
    }

    fn text<E: Error>(self, text: String) -> Result<String, E> {
        if text.contains('\0') {
            return Err(self.finding.report(Fault::Nul));
        }
        Ok(text)
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.next_number();
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.next_number();
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(match self.next_number() {
            Some(written) => Value::Object(Map::from_iter([(
                DIGITS.to_owned(),
                Value::String(written.to_owned()),
            )])),
            None => value.into(),
        })
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.visit_string(text.to_owned())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Value, E> {
        self.text(text).map(Value::String)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut array = Vec::new();
        loop {
            let item = items.next_element_seed(inner);
            match item.inspect_err(|_| self.finding.within(&format!("[{}]", array.len())))? {
                Some(item) => array.push(item),
                None => return Ok(Value::Array(array)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if name.contains('\0') {
                let fault = self.finding.report(Fault::Nul);
                self.finding.within(&name);
                return Err(fault);
            }
            let value = fields.next_value_seed(inner);
            let value = value.inspect_err(|_| self.finding.within(&name))?;
            match object.entry(name) {
                Entry::Vacant(place) => {
                    place.insert(value);
                }
                Entry::Occupied(place) => {
                    let fault = self.finding.report(Fault::Repeated);
                    self.finding.within(place.key());
                    return Err(fault);
                }
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn b7_a_number_that_a_value_would_round_keeps_its_digits() {
        let text = br#"{"a": [1, -2, 18446744073709551616, {"b\"9": "3\\", "c": -18446744073709551616}], "d\\": 1.50,
            "e": 5E-1, "f": -0, "g": "77\"", "h": 18446744073709551615, "i": true, "j": null, "k": 1e400}"#;
        // The last number exceeds the floating-point range.
        assert_eq!(read_with_digits(text), Err(Malformed::Syntax));
        let text = String::from_utf8(text.to_vec())
            .unwrap()
            .replace("1e400", "123456789012345678901234567890");
        let value = read_with_digits(text.as_bytes()).unwrap();
        for (pointer, written) in [
            ("/a/2", "18446744073709551616"),
            ("/a/3/c", "-18446744073709551616"),
            ("/d\\", "1.50"),
            ("/e", "5E-1"),
            ("/f", "-0"),
            ("/k", "123456789012345678901234567890"),
        ] {
            assert_eq!(
                digits(value.pointer(pointer).unwrap()),
                Some(written),
                "{pointer}"
            );
        }
        for (pointer, plain) in [
            ("/a/0", json!(1)),
            ("/a/1", json!(-2)),
            ("/a/3/b\"9", json!("3\\")),
            ("/g", json!("77\"")),
            ("/h", json!(u64::MAX)),
            ("/i", json!(true)),
            ("/j", json!(null)),
        ] {
            let found = value.pointer(pointer).unwrap();
            assert_eq!((found, digits(found)), (&plain, None), "{pointer}");
        }
    }

    /// No input can look like a kept number.
    #[test]
    fn kept_digits_cannot_be_forged() {
        for text in [r#"{"\u0000": "5"}"#, "{\"\0\": \"5\"}"] {
            assert!(read_with_digits(text.as_bytes()).is_err(), "{text:?}");
            assert!(read(text.as_bytes()).is_err(), "{text:?}");
        }
    }
}
