//! Private keys on their way in and out, sealed by HPKE (RFC 9180): what is agreed on, never a key in the clear.
//!
//! The suites are DHKEM(X25519, HKDF-SHA256) or DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, and ChaCha20-Poly1305 or AES-256-GCM;
//! mode base, one message, sequence 0, the tag behind the ciphertext.

use std::fmt;
use std::str::FromStr;

use crate::envelope::{Sealed, join_with_lengths};
use crate::ids::{UserId, WalletImportId};
use crate::limits::Limit;
use crate::timestamp::Seconds;
use crate::wallet::WalletType;
use crate::{Invalid, Timestamp, World};

/// How long a key pair for an import may be used.
pub const LIFETIME: Seconds = Seconds(15 * 60);
/// Most new key pairs of one address in the time that one lives. Further ones are refused; none that was handed out is dropped
/// for them, so that whoever begins in parallel breaks nobody's import.
pub const NEW_PER_ADDRESS: Limit = Limit {
    most: 16,
    window: LIFETIME,
};
/// More key pairs of one address than are ever alive at once: a life touches two windows.
pub const MOST_LIVING: u32 = 2 * NEW_PER_ADDRESS.most;
/// Longest ciphertext, in bytes. A phrase of 24 words has at most 215, a key in any form at most 132, Solana's
/// `id.json` about 600 with its white space, the tag has 16.
pub const CIPHERTEXT_MAX: usize = 1024;
/// Longest `info` and longest `aad`, in bytes.
pub const CONTEXT_MAX: usize = 1024;
/// Highest account index: hardened derivation takes 31 bits.
const ACCOUNT_INDEX_MAX: u32 = 0x7fff_ffff;

/// How the two sides agree on a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kem {
    /// DHKEM(X25519, HKDF-SHA256), RFC 9180 number 0x0020: public keys of 32 bytes.
    #[default]
    X25519,
    /// DHKEM(P-256, HKDF-SHA256), RFC 9180 number 0x0010: public keys of 65 bytes, SEC 1 uncompressed.
    P256,
}

impl Kem {
    /// Both.
    pub const ALL: [Self; 2] = [Self::X25519, Self::P256];

    /// `x25519` or `p256`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::X25519 => "x25519",
            Self::P256 => "p256",
        }
    }
}

impl fmt::Display for Kem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Kem {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL
            .into_iter()
            .find(|kem| kem.as_str() == text)
            .ok_or_else(|| Invalid::value("kem", "kem must be x25519 or p256"))
    }
}

/// What encrypts under that secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AeadAlgorithm {
    /// RFC 9180 number 0x0003.
    ChaCha20Poly1305,
    /// RFC 9180 number 0x0002.
    Aes256Gcm,
}

impl AeadAlgorithm {
    /// Both, in the order in which they are tried.
    pub const ALL: [Self; 2] = [Self::ChaCha20Poly1305, Self::Aes256Gcm];

    /// `CHACHA20_POLY1305` or `AES_GCM256`, the names that others use in the same field.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ChaCha20Poly1305 => "CHACHA20_POLY1305",
            Self::Aes256Gcm => "AES_GCM256",
        }
    }
}

impl FromStr for AeadAlgorithm {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL
            .into_iter()
            .find(|aead| aead.as_str() == text)
            .ok_or_else(|| {
                Invalid::value(
                    "aead_algorithm",
                    "aead_algorithm must be CHACHA20_POLY1305 or AES_GCM256",
                )
            })
    }
}

/// What is sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntropyType {
    /// `private_key`: the key of one wallet.
    PrivateKey,
    /// `hd`: a BIP-39 phrase, of which one key is derived. The phrase itself is not kept.
    Hd,
}

impl EntropyType {
    /// Both.
    pub const ALL: [Self; 2] = [Self::PrivateKey, Self::Hd];

    /// `private_key` or `hd`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PrivateKey => "private_key",
            Self::Hd => "hd",
        }
    }
}

impl fmt::Display for EntropyType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for EntropyType {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| Invalid::value("entropy_type", "entropy_type must be private_key or hd"))
    }
}

/// What a wallet is made of, as far as a caller says it before anything is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The chain.
    pub wallet_type: WalletType,
    /// The address that the key must have, in its canonical form.
    pub public_address: String,
    /// What is sealed.
    pub entropy_type: EntropyType,
}

/// A key pair to which one private key can be sealed, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportKey {
    /// The id; callers never see it.
    pub id: WalletImportId,
    /// App and environment.
    pub world: World,
    /// What will be imported.
    pub origin: Origin,
    /// Which key of a phrase, when the caller said so at the beginning.
    pub account_index: Option<u32>,
    /// Who gets the wallet, when the caller said so at the beginning.
    pub user_id: Option<UserId>,
    /// The kind of key pair.
    pub kem: Kem,
    /// The public half, 32 or 65 bytes; see [`Kem`].
    pub public_key: Vec<u8>,
    /// The private half, sealed under the App key and bound to [`ImportKey::sealed_fields`].
    pub private_key: Sealed,
    /// When it was made.
    pub created_at: Timestamp,
    /// From this second on it is dead.
    pub expires_at: Timestamp,
}

impl ImportKey {
    /// What the private half is bound to: everything that decides what it may open for whom.
    pub fn sealed_fields(&self) -> Vec<u8> {
        let index = self
            .account_index
            .map(|index| index.to_string())
            .unwrap_or_default();
        let user = self.user_id.map(|id| id.to_string()).unwrap_or_default();
        join_with_lengths([
            b"wallet-import-v1".as_slice(),
            self.world.app_id.to_string().as_bytes(),
            self.world.environment.as_str().as_bytes(),
            self.id.to_string().as_bytes(),
            self.origin.wallet_type.as_str().as_bytes(),
            self.origin.public_address.as_bytes(),
            self.origin.entropy_type.as_str().as_bytes(),
            index.as_bytes(),
            user.as_bytes(),
            self.kem.as_str().as_bytes(),
            &self.public_key,
            &self.expires_at.unix().to_be_bytes(),
        ])
    }

    /// Whether the key pair may be used for this: made for the same thing, and for nobody else.
    pub fn serves(&self, origin: &Origin, account_index: Option<u32>, user: UserId) -> bool {
        let indexes = self.account_index.zip(account_index);
        self.origin == *origin
            && indexes.is_none_or(|(own, asked)| own == asked)
            && self.user_id.is_none_or(|own| own == user)
    }

    /// Which key of the phrase is meant: as said at the beginning, as said now, or the first one. None where there is no phrase.
    pub fn index(&self, asked: Option<u32>) -> Option<u32> {
        match self.origin.entropy_type {
            EntropyType::PrivateKey => None,
            EntropyType::Hd => Some(self.account_index.or(asked).unwrap_or_default()),
        }
    }
}

/// A message as its sender made it.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedMessage {
    /// The sender's half of the agreement, in the form of [`Kem`].
    pub encapsulated_key: Vec<u8>,
    /// Ciphertext and tag.
    pub ciphertext: Vec<u8>,
    /// What encrypted it; when absent, [`AeadAlgorithm::ALL`] are tried.
    pub aead: Option<AeadAlgorithm>,
    /// The `info` of RFC 9180; empty unless both sides agreed on one.
    pub info: Vec<u8>,
    /// The associated data; empty unless both sides agreed on some.
    pub aad: Vec<u8>,
}

impl fmt::Debug for SealedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealedMessage({} bytes)", self.ciphertext.len())
    }
}

impl SealedMessage {
    /// Checks the lengths.
    ///
    /// # Errors
    /// Names the field.
    pub fn check(&self) -> Result<(), Invalid> {
        let within = |param: &'static str, bytes: &[u8], most: usize| {
            if bytes.len() > most {
                let message = format!("{param} must have at most {most} bytes");
                return Err(Invalid::value(param, message));
            }
            Ok(())
        };
        within("ciphertext", &self.ciphertext, CIPHERTEXT_MAX)?;
        within("hpke_config.info", &self.info, CONTEXT_MAX)?;
        within("hpke_config.aad", &self.aad, CONTEXT_MAX)
    }
}

/// A private key, sealed to somebody outside: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305, no `info`, no `aad`.
#[derive(Clone, PartialEq, Eq)]
pub struct ExportedKey {
    /// Our half of the agreement, 32 bytes.
    pub encapsulated_key: Vec<u8>,
    /// Ciphertext and tag.
    pub ciphertext: Vec<u8>,
}

impl fmt::Debug for ExportedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExportedKey")
    }
}

/// The index of a key within its phrase. There can be one only where there is a phrase.
///
/// # Errors
/// Names `account_index`.
pub fn account_index(
    entropy_type: EntropyType,
    asked: Option<i64>,
) -> Result<Option<u32>, Invalid> {
    let refuse = |message: &'static str| Invalid::value("account_index", message);
    let Some(asked) = asked else {
        return Ok(None);
    };
    if entropy_type == EntropyType::PrivateKey {
        return Err(refuse("account_index belongs to entropy_type hd only"));
    }
    let index = u32::try_from(asked)
        .ok()
        .filter(|index| *index <= ACCOUNT_INDEX_MAX);
    index
        .map(Some)
        .ok_or_else(|| refuse("account_index must be a whole number from 0 to 2147483647"))
}

#[cfg(test)]
mod tests;
