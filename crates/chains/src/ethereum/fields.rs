//! Typed access to the fields of a JSON object, with the path that the caller knows each by.
//!
//! A field that is `null` counts as absent. Nothing is guessed: a number is `0x` and hex digits, bytes are `0x` and pairs of hex digits.

use std::fmt::Arguments;

use alloy_primitives::{Address, Bytes, FixedBytes, U256, hex};
use serde_json::Value;
use vestry_domain::Invalid;
use vestry_domain::signing::Fields;
use vestry_domain::strict_json;

use super::address;
use crate::hex_digits::only_digits;
use crate::refuse;

/// The number of hex digits of the largest EVM integer.
const QUANTITY_DIGITS: usize = 64;
/// The length limit of a path in error messages. A path repeats names chosen by the caller, for each element of a list.
const MAX_PATH: usize = 200;

/// An object and its path.
pub(super) struct Object<'a> {
    fields: &'a Fields,
    path: String,
}

/// A field that is present.
pub(super) struct Field<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> Object<'a> {
    pub(super) fn new(fields: &'a Fields, path: impl Into<String>) -> Self {
        let path = path.into();
        Self { fields, path }
    }

    /// The path of a field of this object.
    pub(super) fn path(&self, name: &str) -> String {
        longer(&self.path, format_args!(".{name}"))
    }

    pub(super) fn find(&self, name: &str) -> Option<Field<'a>> {
        let value = self.fields.get(name).filter(|value| !value.is_null())?;
        let path = self.path(name);
        Some(Field { value, path })
    }

    pub(super) fn need(&self, name: &str) -> Result<Field<'a>, Invalid> {
        self.find(name)
            .ok_or_else(|| Invalid::missing(self.path(name)))
    }

    /// Reads a field that has several names. If it is given under more than one, the values must agree.
    pub(super) fn aliased<T: PartialEq>(
        &self,
        names: &[&str],
        read: impl Fn(&Field<'a>) -> Result<T, Invalid>,
    ) -> Result<Option<T>, Invalid> {
        let mut first: Option<(T, String)> = None;
        for field in names.iter().filter_map(|name| self.find(name)) {
            let value = read(&field)?;
            match &first {
                None => first = Some((value, field.path)),
                Some((known, _)) if *known == value => {}
                Some((_, known)) => {
                    let message = format!("{} contradicts {known}", field.path);
                    return Err(Invalid::value(field.path, message));
                }
            }
        }
        Ok(first.map(|(value, _)| value))
    }

    /// Like [`Self::aliased`], for a required field; the error names the first name.
    pub(super) fn need_aliased<T: PartialEq>(
        &self,
        names: &[&str],
        read: impl Fn(&Field<'a>) -> Result<T, Invalid>,
    ) -> Result<T, Invalid> {
        let name = names.first().copied().unwrap_or_default();
        self.aliased(names, read)?
            .ok_or_else(|| Invalid::missing(self.path(name)))
    }

    /// Rejects unknown members. A misspelt member would otherwise be missing from what is signed.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), Invalid> {
        match self.names().find(|name| !known.contains(name)) {
            None => Ok(()),
            Some(name) => Err(refuse::unknown(self.path(name), known)),
        }
    }

    /// The names of all fields that are not `null`.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, _)| name.as_str())
    }
}

impl<'a> Field<'a> {
    pub(super) fn new(value: &'a Value, path: impl Into<String>) -> Self {
        let path = path.into();
        Self { value, path }
    }

    pub(super) const fn value(&self) -> &'a Value {
        self.value
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Rejects the value; `form` describes a correct one.
    pub(super) fn refuse(&self, form: &str) -> Invalid {
        Invalid::value(self.path.clone(), format!("{} {form}", self.path))
    }

    /// A JSON-RPC quantity of at most 256 bits. Leading zeros are allowed.
    pub(super) fn quantity(&self) -> Result<U256, Invalid> {
        self.hex_digits()
            .filter(|digits| (1..=QUANTITY_DIGITS).contains(&digits.len()))
            .and_then(|digits| U256::from_str_radix(digits, 16).ok())
            .ok_or_else(|| self.refuse("must be 0x and 1 to 64 hex digits, as a string"))
    }

    pub(super) fn u128(&self) -> Result<u128, Invalid> {
        u128::try_from(self.quantity()?)
            .map_err(|_too_large| self.refuse("must be a quantity of at most 128 bits"))
    }

    pub(super) fn u64(&self) -> Result<u64, Invalid> {
        u64::try_from(self.quantity()?)
            .map_err(|_too_large| self.refuse("must be a quantity of at most 64 bits"))
    }

    /// `0x` and pairs of hex digits, at most `most` bytes.
    pub(super) fn bytes(&self, most: usize) -> Result<Bytes, Invalid> {
        let digits = self
            .hex_digits()
            .filter(|digits| digits.len() % 2 == 0)
            .ok_or_else(|| {
                self.refuse("must be 0x and an even number of hex digits, as a string")
            })?;
        if digits.len() / 2 > most {
            return Err(self.refuse(&format!("must be at most {most} bytes")));
        }
        hex::decode(digits)
            .map(Bytes::from)
            .map_err(|_malformed| self.refuse("must be 0x and an even number of hex digits"))
    }

    /// `0x` and exactly `N` bytes.
    pub(super) fn fixed<const N: usize>(&self) -> Result<FixedBytes<N>, Invalid> {
        let mut bytes = FixedBytes::ZERO;
        self.fill(bytes.as_mut_slice())?;
        Ok(bytes)
    }

    /// Like [`Self::fixed`], but fills a given buffer.
    pub(super) fn fill(&self, place: &mut [u8]) -> Result<(), Invalid> {
        self.hex_digits()
            .and_then(|digits| hex::decode_to_slice(digits, place).ok())
            .ok_or_else(|| {
                self.refuse(&format!(
                    "must be 0x and {} bytes in hex, as a string",
                    place.len()
                ))
            })
    }

    pub(super) fn address(&self) -> Result<Address, Invalid> {
        self.value.as_str().and_then(address::parse).ok_or_else(|| {
            self.refuse(
                "must be an address: 0x and 40 hex digits, with the checksum of EIP-55 if their case is mixed",
            )
        })
    }

    pub(super) fn text(&self) -> Result<&'a str, Invalid> {
        self.value
            .as_str()
            .ok_or_else(|| self.refuse("must be a string"))
    }

    pub(super) fn object(&self) -> Result<Object<'a>, Invalid> {
        self.value
            .as_object()
            .filter(|_| strict_json::digits(self.value).is_none())
            .map(|fields| Object::new(fields, self.path.clone()))
            .ok_or_else(|| self.refuse("must be an object"))
    }

    /// The elements of a list of at most `most`.
    pub(super) fn list(&self, most: usize) -> Result<Vec<Field<'a>>, Invalid> {
        let list = self
            .value
            .as_array()
            .ok_or_else(|| self.refuse("must be a list"))?;
        if list.len() > most {
            return Err(self.refuse(&format!("must have at most {most} elements")));
        }
        let elements = list.iter().enumerate();
        Ok(elements
            .map(|(place, value)| Field::new(value, longer(&self.path, format_args!("[{place}]"))))
            .collect())
    }

    /// The text after `0x`, if it consists of hex digits.
    fn hex_digits(&self) -> Option<&'a str> {
        only_digits(self.value.as_str()?.strip_prefix("0x")?)
    }
}

fn longer(path: &str, end: Arguments<'_>) -> String {
    if path.len() >= MAX_PATH {
        return path.to_owned();
    }
    let mut path = format!("{path}{end}");
    if path.len() > MAX_PATH {
        path.truncate(path.floor_char_boundary(MAX_PATH));
    }
    path
}
