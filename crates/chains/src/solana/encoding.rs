//! The text encodings used by Solana clients.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The maximum number of base58 characters.
///
/// Encoding and decoding take time quadratic in the length. The limit is what 1,232 bytes can need, the largest transaction before v1, and
/// also the limit of Solana's own RPC nodes. Larger transactions must use base64.
pub(super) const MAX_BASE58: usize = 1683;

/// The encoding of a signature or transaction in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Base58 with the Bitcoin alphabet.
    Base58,
    /// Standard base64 with padding.
    Base64,
}

impl Encoding {
    /// The encoding with this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "base58" => Some(Self::Base58),
            "base64" => Some(Self::Base64),
            _ => None,
        }
    }

    /// Its name in requests and responses.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Base58 => "base58",
            Self::Base64 => "base64",
        }
    }

    /// Bytes as text.
    pub(super) fn write(self, bytes: &[u8]) -> String {
        match self {
            Self::Base58 => bs58::encode(bytes).into_string(),
            Self::Base64 => STANDARD.encode(bytes),
        }
    }

    /// Decodes text to at most `most` bytes; an error describes what the text should be.
    pub(super) fn read(self, text: &str, most: usize) -> Result<Vec<u8>, String> {
        let bytes = match self {
            Self::Base58 if text.len() > MAX_BASE58 => {
                return Err(format!(
                    "must be at most {MAX_BASE58} characters of base58; use base64 for longer data"
                ));
            }
            Self::Base58 => bs58::decode(text).into_vec().ok(),
            // Four characters for every started three bytes.
            Self::Base64 if text.len() > most.div_ceil(3).saturating_mul(4) => {
                return Err(format!("must be at most {most} bytes"));
            }
            Self::Base64 => STANDARD.decode(text).ok(),
        };
        let form = match self {
            Self::Base58 => "must be base58 (Bitcoin alphabet)",
            Self::Base64 => "must be standard base64 with padding",
        };
        bytes.ok_or_else(|| form.to_owned())
    }
}
