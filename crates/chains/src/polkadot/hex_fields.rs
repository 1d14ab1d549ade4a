//! Numbers, bytes and hashes in the formats of polkadot.js.

use alloy_primitives::hex;
use vestry_domain::Invalid;

use crate::hex_digits::only_digits;
use crate::object::Object;

/// The maximum number of hex digits: 256 bits, twice the size of the largest field. Leading zeros are usual, but must be bounded.
const MAX_DIGITS: usize = 64;

impl Object<'_> {
    /// A number: `0x` and big-endian hex digits, up to `largest`.
    pub(super) fn hex_number<N: TryFrom<u128>>(&self, name: &str) -> Result<Option<N>, Invalid> {
        let Some(text) = self.optional_text(name)? else {
            return Ok(None);
        };
        let digits = digits(text)
            .filter(|digits| (1..=MAX_DIGITS).contains(&digits.len()))
            .ok_or_else(|| self.refusal(name, "must be a number: 0x and 1 to 64 hex digits"))?;
        // All characters are digits, so there is no sign. Without leading zeros the number either fits or is too large.
        let digits = match digits.trim_start_matches('0') {
            "" => "0",
            digits => digits,
        };
        u128::from_str_radix(digits, 16)
            .ok()
            .and_then(|number| N::try_from(number).ok())
            .map(Some)
            .ok_or_else(|| self.refusal(name, "is too large"))
    }

    /// Bytes: `0x` and two hex digits per byte, up to `most` bytes.
    pub(super) fn hex_bytes(&self, name: &str, most: usize) -> Result<Option<Vec<u8>>, Invalid> {
        let Some(text) = self.optional_text(name)? else {
            return Ok(None);
        };
        let digits = digits(text)
            .ok_or_else(|| self.refusal(name, "must be bytes: 0x and two hex digits per byte"))?;
        if digits.len().div_ceil(2) > most {
            return Err(self.refusal(name, &format!("must be at most {most} bytes")));
        }
        hex::decode(digits)
            .map(Some)
            .map_err(|_odd| self.refusal(name, "has an odd number of hex digits"))
    }

    pub(super) fn hex_hash(&self, name: &str) -> Result<Option<[u8; 32]>, Invalid> {
        let fault = |_length| self.refusal(name, "must be 32 bytes: 0x and 64 hex digits");
        self.hex_bytes(name, 32)?
            .map(|bytes| bytes.try_into().map_err(fault))
            .transpose()
    }
}

fn digits(text: &str) -> Option<&str> {
    only_digits(text.strip_prefix("0x")?)
}
