//! How Solana's clients write bytes as text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Most characters of base58. Reading and writing it takes time that grows with the square of the length; this is what
/// 1,232 bytes can need, the largest transaction before v1, and the limit of Solana's own RPC nodes. Larger ones go as
/// base64.
pub(super) const BASE58_MAX: usize = 1683;

/// The form of a signature or a transaction in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Base58 of Bitcoin's alphabet.
    Base58,
    /// Standard base64 with padding.
    Base64,
}

impl Encoding {
    /// The form of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "base58" => Some(Self::Base58),
            "base64" => Some(Self::Base64),
            _ => None,
        }
    }

    /// Its name in requests and answers.
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

    /// Text as bytes, at most `most` of them; a refusal says what the text should be.
    pub(super) fn read(self, text: &str, most: usize) -> Result<Vec<u8>, String> {
        let bytes = match self {
            Self::Base58 if text.len() > BASE58_MAX => {
                return Err(format!(
                    "must be at most {BASE58_MAX} characters of base58; send more as base64"
                ));
            }
            Self::Base58 => bs58::decode(text).into_vec().ok(),
            // Four characters for three bytes, begun ones too.
            Self::Base64 if text.len() > most.div_ceil(3).saturating_mul(4) => {
                return Err(format!("must be at most {most} bytes"));
            }
            Self::Base64 => STANDARD.decode(text).ok(),
        };
        let form = match self {
            Self::Base58 => "must be base58 of Bitcoin's alphabet",
            Self::Base64 => "must be standard base64 with padding",
        };
        bytes.ok_or_else(|| form.to_owned())
    }
}
