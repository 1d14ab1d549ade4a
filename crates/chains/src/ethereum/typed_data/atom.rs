//! The atomic and dynamic EIP-712 types that have no members.

use std::borrow::Cow;

use alloy_dyn_abi::{DynSolType, DynSolValue};
use alloy_primitives::{B256, I256, U256, keccak256};
use serde_json::Value;
use vestry_domain::{Invalid, strict_json};

use crate::ethereum::fields::Field;
use crate::hex_digits::only_digits;

/// The maximum length in bytes of one value of type `bytes`.
const MAX_BYTES: usize = 256 * 1024;
/// Decimal digits of 2^256.
const MAX_DECIMAL: usize = 78;

/// `bool`, `address`, `string`, `bytes`, `bytes1` to `bytes32`, `uint8` to `uint256`, `int8` to `int256`.
pub(super) struct Atom(DynSolType);

impl Atom {
    /// Parses a type name. The aliases `uint` and `int` are rejected (EIP-712, "Definition of typed structured data").
    pub(super) fn parse(name: &str) -> Option<Self> {
        // Only short alphanumeric names are atoms; the parser would also accept tuples.
        if name.len() > 8 || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return None;
        }
        let parsed = DynSolType::parse(name).ok()?;
        let known = !matches!(parsed, DynSolType::Function) && parsed.sol_type_name() == name;
        known.then_some(Self(parsed))
    }

    /// The encoded word of a value (EIP-712, "Definition of encodeData").
    pub(super) fn word(&self, field: &Field<'_>) -> Result<B256, Invalid> {
        let value = match self.0 {
            DynSolType::Bool => field.value().as_bool().map(DynSolValue::Bool),
            DynSolType::Address => Some(DynSolValue::Address(field.address()?)),
            DynSolType::FixedBytes(length) => {
                let mut word = B256::ZERO;
                let place = word.get_mut(..length);
                field.fill(place.unwrap_or_default())?;
                Some(DynSolValue::FixedBytes(word, length))
            }
            DynSolType::Uint(bits) => integer(field)?
                .and_then(|text| unsigned(&text, bits))
                .map(|number| DynSolValue::Uint(number, bits)),
            DynSolType::Int(bits) => integer(field)?
                .and_then(|text| signed(&text, bits))
                .map(|number| DynSolValue::Int(number, bits)),
            DynSolType::String => return Ok(keccak256(field.text()?)),
            DynSolType::Bytes => return Ok(keccak256(field.bytes(MAX_BYTES)?)),
            _ => None,
        };
        value
            .and_then(|value| value.as_word())
            .ok_or_else(|| field.refuse(&format!("must be a {}", self.0.sol_type_name())))
    }
}

/// The text of an integer: the string, or the digits of a JSON number. Returns `None` for a value of another type.
///
/// A number with a fraction or an exponent is rejected, even if it is whole. Libraries parse such numbers as floating point, so two of them
/// could sign different values.
fn integer<'a>(field: &Field<'a>) -> Result<Option<Cow<'a, str>>, Invalid> {
    let is_plain = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let value = field.value();
    let written = match value {
        Value::String(text) => return Ok(Some(Cow::Borrowed(text))),
        Value::Number(number) => Cow::Owned(number.to_string()),
        _ => match strict_json::digits(value) {
            Some("-0") => Cow::Borrowed("0"),
            Some(written) => Cow::Borrowed(written),
            None => return Ok(None),
        },
    };
    if is_plain(&written) {
        return Ok(Some(written));
    }
    Err(field.refuse("has a fraction or an exponent; send it as a string"))
}

/// A whole number in decimal, or in hex after `0x`.
fn unsigned(text: &str, bits: usize) -> Option<U256> {
    let number = magnitude(text)?;
    (number.bit_len() <= bits).then_some(number)
}

/// Like [`unsigned`], but decimal digits may be preceded by `-`.
fn signed(text: &str, bits: usize) -> Option<I256> {
    let number = match text.strip_prefix('-') {
        Some(digits) => negative(decimal(digits)?)?,
        None => I256::try_from(magnitude(text)?).ok()?,
    };
    (usize::try_from(number.bits()).ok()? <= bits).then_some(number)
}

fn negative(magnitude: U256) -> Option<I256> {
    let number = I256::from_raw(U256::ZERO.wrapping_sub(magnitude));
    (number.is_negative() || magnitude.is_zero()).then_some(number)
}

fn magnitude(text: &str) -> Option<U256> {
    match text.strip_prefix("0x") {
        Some(digits) if (1..=64).contains(&digits.len()) => {
            U256::from_str_radix(only_digits(digits)?, 16).ok()
        }
        Some(_) => None,
        None => decimal(text),
    }
}

fn decimal(digits: &str) -> Option<U256> {
    let plain = (1..=MAX_DECIMAL).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| U256::from_str_radix(digits, 10).ok())?
}
