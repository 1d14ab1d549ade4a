//! Import and export of private keys, encrypted with HPKE (RFC 9180): the negotiated parameters, never a key in plaintext.
//!
//! The suites are DHKEM(X25519, HKDF-SHA256) or DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, and ChaCha20-Poly1305 or AES-256-GCM. Always mode
//! base, one message, sequence 0, and the tag after the ciphertext.

use std::fmt;
use std::str::FromStr;

use crate::envelope::{Sealed, join_with_lengths};
use crate::ids::{UserId, WalletImportId};
use crate::limits::Limit;
use crate::timestamp::Seconds;
use crate::wallet::WalletType;
use crate::{Invalid, Timestamp, World};

/// How long a key pair for an import is valid.
pub const LIFETIME: Seconds = Seconds(15 * 60);
/// Maximum number of new key pairs for one address within the lifetime of one. Further ones are rejected rather than replacing existing
/// ones, so starting imports in parallel cannot break another caller's import.
pub const NEW_PER_ADDRESS: Limit = Limit {
    most: 16,
    window: LIFETIME,
};
/// An upper bound on the number of valid key pairs for one address: each lifetime spans at most two windows.
pub const MAX_LIVE: u32 = 2 * NEW_PER_ADDRESS.most;
/// Maximum length of a ciphertext in bytes. A 24-word phrase has at most 215 bytes and a key in any form at most 132. Solana's `id.json`
/// has about 600 including white space, and the tag has 16.
pub const MAX_CIPHERTEXT: usize = 1024;
/// Maximum length of `info` and of `aad`, in bytes.
pub const MAX_CONTEXT: usize = 1024;
/// Highest account index: hardened derivation uses 31 bits.
const MAX_ACCOUNT_INDEX: u32 = 0x7fff_ffff;

/// The key encapsulation mechanism: how the two sides agree on a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kem {
    /// DHKEM(X25519, HKDF-SHA256), RFC 9180 number 0x0020: public keys of 32 bytes.
    #[default]
    X25519,
    /// DHKEM(P-256, HKDF-SHA256), RFC 9180 number 0x0010: public keys of 65 bytes, SEC 1 uncompressed.
    P256,
}

impl Kem {
    /// Both mechanisms.
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

/// The cipher used with that secret.
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

    /// `CHACHA20_POLY1305` or `AES_GCM256`, as other services name them in the same field.
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

/// The kind of encrypted secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntropyType {
    /// `private_key`: the private key of one wallet.
    PrivateKey,
    /// `hd`: a BIP-39 phrase, from which one key is derived. The phrase itself is not stored.
    Hd,
}

impl EntropyType {
    /// Both kinds.
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

/// The origin of an imported wallet, as stated by the caller before decryption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The chain.
    pub wallet_type: WalletType,
    /// The expected address of the key, in its canonical form.
    pub public_address: String,
    /// The kind of encrypted secret.
    pub entropy_type: EntropyType,
}

/// A single-use key pair that encrypts one private key for import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportKey {
    /// The id; never shown to callers.
    pub id: WalletImportId,
    /// App and environment.
    pub world: World,
    /// What will be imported.
    pub origin: Origin,
    /// Index of the key within a phrase, if given at the start.
    pub account_index: Option<u32>,
    /// The user who gets the wallet, if given at the start.
    pub user_id: Option<UserId>,
    /// The kind of key pair.
    pub kem: Kem,
    /// The public half, 32 or 65 bytes; see [`Kem`].
    pub public_key: Vec<u8>,
    /// The private half, encrypted under the App key and bound to [`ImportKey::sealed_fields`].
    pub private_key: Sealed,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires; no longer valid from this second on.
    pub expires_at: Timestamp,
}

impl ImportKey {
    /// The fields that the private half is bound to: everything that determines what it can decrypt and for whom.
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

    /// Whether the key pair may be used for this import: it must have been created for the same origin and user.
    pub fn serves(&self, origin: &Origin, account_index: Option<u32>, user: UserId) -> bool {
        let indexes = self.account_index.zip(account_index);
        self.origin == *origin
            && indexes.is_none_or(|(own, asked)| own == asked)
            && self.user_id.is_none_or(|own| own == user)
    }

    /// The index of the key within the phrase: as given at the start, as given now, or 0. `None` if there is no phrase.
    pub fn index(&self, asked: Option<u32>) -> Option<u32> {
        match self.origin.entropy_type {
            EntropyType::PrivateKey => None,
            EntropyType::Hd => Some(self.account_index.or(asked).unwrap_or_default()),
        }
    }
}

/// An encrypted message, as its sender created it.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedMessage {
    /// The sender's encapsulated key, in the form of [`Kem`].
    pub encapsulated_key: Vec<u8>,
    /// Ciphertext and tag.
    pub ciphertext: Vec<u8>,
    /// The cipher; if absent, all of [`AeadAlgorithm::ALL`] are tried.
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
        within("ciphertext", &self.ciphertext, MAX_CIPHERTEXT)?;
        within("hpke_config.info", &self.info, MAX_CONTEXT)?;
        within("hpke_config.aad", &self.aad, MAX_CONTEXT)
    }
}

/// A private key encrypted to an external recipient: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305, no `info`, no `aad`.
#[derive(Clone, PartialEq, Eq)]
pub struct ExportedKey {
    /// Our encapsulated key, 32 bytes.
    pub encapsulated_key: Vec<u8>,
    /// Ciphertext and tag.
    pub ciphertext: Vec<u8>,
}

impl fmt::Debug for ExportedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExportedKey")
    }
}

/// The index of a key within its phrase. Only allowed if there is a phrase.
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
        return Err(refuse(
            "account_index is only supported for entropy_type hd",
        ));
    }
    let index = u32::try_from(asked)
        .ok()
        .filter(|index| *index <= MAX_ACCOUNT_INDEX);
    index
        .map(Some)
        .ok_or_else(|| refuse("account_index must be a whole number from 0 to 2147483647"))
}

#[cfg(test)]
mod tests;
