//! `id.json`, the key pair file of Solana's tools: a JSON array of 64 bytes, the seed and the public key.

use zeroize::Zeroizing;

use crate::import::Reading;

/// The number of elements in the array.
const LENGTH: usize = 64;

/// The bytes of the array. Parsed by hand, because a JSON parser would leave the numbers in memory.
pub(super) fn read(text: &str) -> Option<Reading> {
    let numbers = text.strip_prefix('[')?.strip_suffix(']')?;
    let mut bytes = Zeroizing::new(Vec::with_capacity(LENGTH));
    for number in numbers.split(',') {
        if bytes.len() == LENGTH {
            return None;
        }
        bytes.push(byte(number.trim_matches([' ', '\t', '\r', '\n']))?);
    }
    (bytes.len() == LENGTH).then_some(bytes)
}

/// A byte in decimal, as JSON writes it.
fn byte(digits: &str) -> Option<u8> {
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_short = digits.len() == 1 || !digits.starts_with('0');
    (is_plain && is_short).then(|| digits.parse().ok())?
}
