//! Import of private keys: the possible readings of their bytes (IMP-3).
//!
//! The format of a key is not declared. Guessing is safe, because a reading counts only if its key has the announced address.

use alloy_primitives::hex;
use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use zeroize::Zeroizing;

use crate::hex_digits::after_prefix;

/// The length of the longest key text in a common format: `0x` and the hex of 64 bytes.
const MAX_TEXT: usize = 130;
/// The length of the longest key text in a chain's own format, which may be a list of numbers with white space between them.
const MAX_CHAIN_ID: usize = 1024;

/// Padding is optional: both forms are common.
const FORGIVING: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const BASE64: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, FORGIVING);
const BASE64_URL: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, FORGIVING);

/// Bytes that may be a key. They are wiped on drop, including spare capacity.
pub(crate) type Reading = Zeroizing<Vec<u8>>;

/// All readings of a plaintext, in this order: the raw bytes; then, as text with surrounding white space ignored, hex with optional `0x`,
/// base58, the chain's own key format, and base64.
pub(crate) fn readings(
    plaintext: &[u8],
    of_the_chain: impl FnOnce(&str) -> Option<Reading>,
) -> Vec<Reading> {
    let mut readings = vec![Zeroizing::new(plaintext.to_vec())];
    if let Some(text) = text(plaintext) {
        let short = Some(text).filter(|text| text.len() <= MAX_TEXT);
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
    (text.len() <= MAX_CHAIN_ID).then_some(text)
}

fn hex(text: &str) -> Option<Reading> {
    let digits = after_prefix(text)?;
    in_place(|buffer| {
        let bytes = buffer.get_mut(..digits.len() / 2)?;
        hex::decode_to_slice(digits, bytes).ok()?;
        Some(bytes.len())
    })
}

/// The bytes of a base58 text, including any checksum.
pub(crate) fn base58(text: &str) -> Option<Reading> {
    in_place(|buffer| bs58::decode(text).onto(buffer).ok())
}

fn base64(text: &str) -> Option<Reading> {
    let read = |engine: &GeneralPurpose| in_place(|buffer| engine.decode_slice(text, buffer).ok());
    read(&BASE64).or_else(|| read(&BASE64_URL))
}

/// Decodes into a buffer that does not grow, because growing leaves the old buffer behind. The buffer is wiped even if decoding fails
/// halfway.
fn in_place(decode: impl FnOnce(&mut [u8]) -> Option<usize>) -> Option<Reading> {
    let mut buffer = Zeroizing::new(vec![0; MAX_TEXT]);
    let length = decode(&mut buffer)?;
    buffer.truncate(length);
    Some(buffer)
}

#[cfg(test)]
mod tests;
