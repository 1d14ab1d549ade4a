//! BIP-39 phrases: entropy as words.

use bip39::Language;
use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;
use zeroize::Zeroizing;

use super::hash::{SALT, stretched};

/// The numbers of words that a phrase can have: 3 for each 32 bits.
const WORDS: [usize; 5] = [12, 15, 18, 21, 24];
/// The length of the longest word in the list.
const MAX_WORD: usize = 8;
/// The maximum length of a phrase in bytes: its words, and a space after each.
const MAX_LENGTH: usize = 24 * (MAX_WORD + 1);
/// The number of bits that a word encodes.
const BITS: u32 = 11;
/// The maximum length in bytes of the entropy and its checksum.
const MAX_ENTROPY: usize = 33;

/// A phrase with a valid checksum.
pub(crate) struct Phrase {
    /// The words in the form that is hashed: normalized, separated by single spaces.
    words: Zeroizing<String>,
    /// 16 to 32 bytes.
    entropy: Zeroizing<Vec<u8>>,
}

impl Phrase {
    /// Reads words of the English list, in upper or lower case, with any white space between and around them. Returns `None` for anything
    /// else or a wrong checksum.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let words = normalised(std::str::from_utf8(bytes).ok()?)?;
        let entropy = entropy(&words)?;
        Some(Self { words, entropy })
    }

    #[cfg(test)]
    pub(super) fn words(&self) -> &str {
        &self.words
    }

    #[cfg(test)]
    pub(super) fn entropy(&self) -> &[u8] {
        &self.entropy
    }

    /// The 64-byte seed for BIP-32 and SLIP-10, without a passphrase.
    pub(crate) fn seed(&self) -> Zeroizing<Vec<u8>> {
        stretched(self.words.as_bytes(), SALT)
    }

    /// The 64-byte seed for Substrate, which is derived from the entropy and not, as in BIP-39, from the words.
    pub(crate) fn substrate_seed(&self) -> Zeroizing<Vec<u8>> {
        stretched(&self.entropy, SALT)
    }
}

/// The text in NFKD and lower case, with single spaces. The buffer is allocated once, because one that grows leaves its old contents
/// behind.
fn normalised(text: &str) -> Option<Zeroizing<String>> {
    let mut words = Zeroizing::new(String::with_capacity(MAX_LENGTH));
    let mut between = false;
    for character in text.nfkd().map(|character| character.to_ascii_lowercase()) {
        if character.is_whitespace() {
            between = !words.is_empty();
            continue;
        }
        // The list has no other characters.
        if !character.is_ascii_lowercase() || words.len() + 2 > MAX_LENGTH {
            return None;
        }
        if between {
            words.push(' ');
            between = false;
        }
        words.push(character);
    }
    Some(words)
}

/// The entropy, if its checksum is right (BIP-39, "Generating the mnemonic").
fn entropy(words: &str) -> Option<Zeroizing<Vec<u8>>> {
    let count = words.split(' ').count();
    if !WORDS.contains(&count) {
        return None;
    }
    let mut bytes = unpacked(words)?;
    let sum = bytes.pop()?;
    let [expected, ..] = <[u8; 32]>::from(Sha256::digest(bytes.as_slice()));
    // One bit for every 3 words, in the upper part of the byte.
    let behind = 8_usize.checked_sub(count / 3)?;
    ((sum ^ expected) >> behind == 0).then_some(bytes)
}

/// The bits of the words, padded with zeros to whole bytes.
fn unpacked(words: &str) -> Option<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_ENTROPY));
    let (mut pending, mut bits) = (0_u32, 0);
    for word in words.split(' ') {
        let number = Language::English.find_word(word)?;
        pending = (pending << BITS) | u32::from(number);
        bits += BITS;
        while bits >= 8 {
            bits -= 8;
            bytes.push(low_byte(pending >> bits));
        }
    }
    if bits > 0 {
        bytes.push(low_byte(pending << (8 - bits)));
    }
    Some(bytes)
}

const fn low_byte(number: u32) -> u8 {
    let [low, ..] = number.to_le_bytes();
    low
}
