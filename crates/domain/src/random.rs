//! Uniform sampling from random bytes, by rejection.

use zeroize::Zeroize;

use crate::Secret;

/// A source of uniformly random bytes: the domain's view of the `Entropy` port.
pub trait ByteSource {
    /// Fills the whole buffer with random bytes.
    fn fill(&mut self, buffer: &mut [u8]);
}

impl<F: FnMut(&mut [u8])> ByteSource for F {
    fn fill(&mut self, buffer: &mut [u8]) {
        self(buffer);
    }
}

const DIGITS: &[u8] = b"0123456789";
const LOWER_ALPHANUMERIC: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
const ALPHANUMERIC: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// `length` decimal digits, all equally likely, with leading zeros (OTP-1).
pub fn digits(source: &mut dyn ByteSource, length: usize) -> Secret<String> {
    draw(source, DIGITS, length)
}

/// `length` characters of `[0-9A-Za-z]`, each equally likely: 5.95 bits a character.
pub fn alphanumeric(source: &mut dyn ByteSource, length: usize) -> Secret<String> {
    draw(source, ALPHANUMERIC, length)
}

/// `length` characters of `[0-9a-z]`, each equally likely: 5.17 bits a character.
pub fn lower_alphanumeric(source: &mut dyn ByteSource, length: usize) -> Secret<String> {
    draw(source, LOWER_ALPHANUMERIC, length)
}

/// Samples by rejection: bytes at or above the largest multiple of the alphabet's size are discarded. Taking them modulo the size would
/// favour the first characters.
fn draw(source: &mut dyn ByteSource, alphabet: &[u8], length: usize) -> Secret<String> {
    let size = alphabet.len();
    let fair = 256 - 256 % size;
    let mut text = String::with_capacity(length);
    let mut bytes = [0_u8; 64];
    while text.len() < length {
        source.fill(&mut bytes);
        let fair_bytes = bytes
            .iter()
            .map(|byte| usize::from(*byte))
            .filter(|byte| *byte < fair);
        let characters = fair_bytes.filter_map(|byte| alphabet.get(byte % size));
        text.extend(
            characters
                .take(length - text.len())
                .map(|character| char::from(*character)),
        );
    }
    bytes.zeroize();
    Secret::new(text)
}

#[cfg(test)]
mod tests;
