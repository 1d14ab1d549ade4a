//! The fields of a JSON object in the forms that polkadot.js writes them in.

use alloy_primitives::hex;
use serde_json::Value;
use vestry_domain::Invalid;
use vestry_domain::signing::Fields;

/// Most digits of a number: 256 bits, twice of what the largest field holds. Leading zeros are usual, but not without end.
const DIGITS_MAX: usize = 64;

/// An object, and where it stands in the request. `null` counts as absent.
pub(super) struct Object<'a> {
    fields: &'a Fields,
    path: &'a str,
}

impl<'a> Object<'a> {
    pub(super) fn read(value: &'a Value, path: &'a str) -> Result<Self, Invalid> {
        match value {
            Value::Object(fields) => Ok(Self { fields, path }),
            Value::Null => Err(Invalid::missing(path.to_owned())),
            _ => {
                let message = format!("{path} is not an object");
                Err(Invalid::value(path.to_owned(), message))
            }
        }
    }

    pub(super) const fn of(fields: &'a Fields, path: &'a str) -> Self {
        Self { fields, path }
    }

    /// A refusal of one field; `fault` completes the sentence that begins with the path of the field.
    pub(super) fn invalid(&self, name: &str, fault: &str) -> Invalid {
        let param = self.param(name);
        let message = format!("{param} {fault}");
        Invalid::value(param, message)
    }

    pub(super) fn missing(&self, name: &str) -> Invalid {
        Invalid::missing(self.param(name))
    }

    fn param(&self, name: &str) -> String {
        format!("{}.{name}", self.path)
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(super) fn text(&self, name: &str) -> Result<&'a str, Invalid> {
        self.optional_text(name)?.ok_or_else(|| self.missing(name))
    }

    pub(super) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, Invalid> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.invalid(name, "is not a string")),
        }
    }

    /// A number: `0x` and its hex digits, the most significant first, up to `largest`.
    pub(super) fn number<N: TryFrom<u128>>(&self, name: &str) -> Result<Option<N>, Invalid> {
        let Some(text) = self.optional_text(name)? else {
            return Ok(None);
        };
        let digits = digits(text)
            .filter(|digits| (1..=DIGITS_MAX).contains(&digits.len()))
            .ok_or_else(|| self.invalid(name, "is not a number as 0x and 1 to 64 hex digits"))?;
        // With zeros cut off, and no sign as they are digits all of them, what is left fits or is too large.
        let digits = match digits.trim_start_matches('0') {
            "" => "0",
            digits => digits,
        };
        u128::from_str_radix(digits, 16)
            .ok()
            .and_then(|number| N::try_from(number).ok())
            .map(Some)
            .ok_or_else(|| self.invalid(name, "is too large"))
    }

    /// Bytes: `0x` and two hex digits for each, up to `most` bytes.
    pub(super) fn bytes(&self, name: &str, most: usize) -> Result<Option<Vec<u8>>, Invalid> {
        let Some(text) = self.optional_text(name)? else {
            return Ok(None);
        };
        let digits = digits(text)
            .ok_or_else(|| self.invalid(name, "is not bytes as 0x and hex digits, two for each"))?;
        if digits.len().div_ceil(2) > most {
            return Err(self.invalid(name, &format!("is more than {most} bytes")));
        }
        hex::decode(digits)
            .map(Some)
            .map_err(|_odd| self.invalid(name, "has an odd number of hex digits"))
    }

    pub(super) fn hash(&self, name: &str) -> Result<Option<[u8; 32]>, Invalid> {
        let fault = |_length| self.invalid(name, "is not 32 bytes as 0x and 64 hex digits");
        self.bytes(name, 32)?
            .map(|bytes| bytes.try_into().map_err(fault))
            .transpose()
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, Invalid> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.invalid(name, "is not a boolean")),
        }
    }
}

fn digits(text: &str) -> Option<&str> {
    let digits = text.strip_prefix("0x")?;
    digits
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then_some(digits)
}
