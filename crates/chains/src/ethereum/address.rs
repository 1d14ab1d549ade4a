//! Parsing of addresses from requests.

use alloy_primitives::{Address, hex};

use crate::hex_digits::only_digits;

/// Parses `0x` and 40 hex digits. Mixed case must match the EIP-55 checksum; a single case has none.
pub(crate) fn parse(text: &str) -> Option<Address> {
    let digits = only_digits(text.strip_prefix("0x")?)?;
    let bytes: [u8; 20] = hex::decode_to_array(digits).ok()?;
    let address = Address::from(bytes);
    let one_case = !digits.bytes().any(|byte| byte.is_ascii_lowercase())
        || !digits.bytes().any(|byte| byte.is_ascii_uppercase());
    (one_case || address.to_checksum(None) == text).then_some(address)
}
