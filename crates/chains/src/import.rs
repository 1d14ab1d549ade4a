//! Private keys from outside: what the bytes of one can mean (IMP-3).
//!
//! Nobody says in which form a key is written. Guessing does no harm: a meaning counts only if the address that its key
//! has is the one that was promised.

use alloy_primitives::hex;
use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use zeroize::Zeroizing;

use crate::hex_digits::after_prefix;

/// Characters of the longest text that is a key in a common form: `0x` and the hex of 64 bytes.
const LONGEST_TEXT: usize = 130;
/// Characters of the longest text in a form of one chain, which may be a list of numbers with white space between them.
const LONGEST_OF_A_CHAIN: usize = 1024;

/// With padding or without it: both are customary.
const FORGIVING: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const BASE64: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, FORGIVING);
const BASE64_URL: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, FORGIVING);

/// Bytes that may be a key. Wiped when dropped, along with the room behind them.
pub(crate) type Reading = Zeroizing<Vec<u8>>;

/// Everything that a plaintext can mean, in the order of the rule: the bytes themselves; then, as text with white space
/// around it or without, hex with `0x` or without, base58, what the chain has for keys alone, base64.
pub(crate) fn readings(
    plaintext: &[u8],
    of_the_chain: impl FnOnce(&str) -> Option<Reading>,
) -> Vec<Reading> {
    let mut readings = vec![Zeroizing::new(plaintext.to_vec())];
    if let Some(text) = text(plaintext) {
        let short = Some(text).filter(|text| text.len() <= LONGEST_TEXT);
        let of_text = [
            short.and_then(hex),
            short.and_then(base58),
            of_the_chain(text),
            short.and_then(base64),
        ];
        readings.extend(of_text.into_iter().flatten());
    }
    readings
}

fn text(plaintext: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(plaintext.trim_ascii()).ok()?;
    (text.len() <= LONGEST_OF_A_CHAIN).then_some(text)
}

fn hex(text: &str) -> Option<Reading> {
    let digits = after_prefix(text)?;
    in_place(|buffer| {
        let bytes = buffer.get_mut(..digits.len() / 2)?;
        hex::decode_to_slice(digits, bytes).ok()?;
        Some(bytes.len())
    })
}

/// The bytes of a base58 text, with whatever checksum is in them.
pub(crate) fn base58(text: &str) -> Option<Reading> {
    in_place(|buffer| bs58::decode(text).onto(buffer).ok())
}

fn base64(text: &str) -> Option<Reading> {
    let read = |engine: &GeneralPurpose| in_place(|buffer| engine.decode_slice(text, buffer).ok());
    read(&BASE64).or_else(|| read(&BASE64_URL))
}

/// Decodes into a buffer that does not grow, since growing leaves the old one behind, and that is wiped also when the
/// text turns out to be something else halfway.
fn in_place(decode: impl FnOnce(&mut [u8]) -> Option<usize>) -> Option<Reading> {
    let mut buffer = Zeroizing::new(vec![0; LONGEST_TEXT]);
    let length = decode(&mut buffer)?;
    buffer.truncate(length);
    Some(buffer)
}

#[cfg(test)]
mod tests;
