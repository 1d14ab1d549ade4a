//! The types of EIP-712 that are not made of others.

use alloy_dyn_abi::{DynSolType, DynSolValue};
use alloy_primitives::{B256, I256, U256, keccak256};
use serde_json::Value;
use vestry_domain::{Invalid, number};

use crate::ethereum::fields::Field;
use crate::hex_digits::only_digits;

/// Most bytes of one value of type `bytes`.
const BYTES_MAX: usize = 256 * 1024;
/// Decimal digits of 2^256.
const DECIMAL_MAX: usize = 78;

/// `bool`, `address`, `string`, `bytes`, `bytes1` to `bytes32`, `uint8` to `uint256`, `int8` to `int256`.
pub(super) struct Atom(DynSolType);

impl Atom {
    /// Reads a name; the aliases `uint` and `int` are none (EIP-712, "Definition of typed structured data").
    pub(super) fn parse(name: &str) -> Option<Self> {
        // What is no short plain name is no atom; the parser would also take tuples.
        if name.len() > 8 || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return None;
        }
        let parsed = DynSolType::parse(name).ok()?;
        let known = !matches!(parsed, DynSolType::Function) && parsed.sol_type_name() == name;
        known.then_some(Self(parsed))
    }

    /// The word that stands for a value (EIP-712, "Definition of encodeData").
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
            DynSolType::Uint(bits) => {
                unsigned(field.value(), bits).map(|number| DynSolValue::Uint(number, bits))
            }
            DynSolType::Int(bits) => {
                signed(field.value(), bits).map(|number| DynSolValue::Int(number, bits))
            }
            DynSolType::String => return Ok(keccak256(field.text()?)),
            DynSolType::Bytes => return Ok(keccak256(field.bytes(BYTES_MAX)?)),
            _ => None,
        };
        value
            .and_then(|value| value.as_word())
            .ok_or_else(|| field.refuse(&format!("must be a {}", self.0.sol_type_name())))
    }
}

/// A whole number as JSON, in decimal, or in hex after `0x`.
fn unsigned(value: &Value, bits: usize) -> Option<U256> {
    let number = match value {
        Value::Number(_) => U256::from(number::natural(value)?),
        Value::String(text) => magnitude(text)?,
        _ => return None,
    };
    (number.bit_len() <= bits).then_some(number)
}

/// As [`unsigned`], and `-` may stand before decimal digits.
fn signed(value: &Value, bits: usize) -> Option<I256> {
    let number = match value {
        Value::Number(number) => match number::whole(number) {
            Some(number) => I256::try_from(number).ok()?,
            None => I256::try_from(number::natural(value)?).ok()?,
        },
        Value::String(text) => match text.strip_prefix('-') {
            Some(digits) => negative(decimal(digits)?)?,
            None => I256::try_from(magnitude(text)?).ok()?,
        },
        _ => return None,
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
    let plain = (1..=DECIMAL_MAX).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| U256::from_str_radix(digits, 10).ok())?
}
