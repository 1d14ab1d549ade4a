//! The stored form of encrypted data. How it is decrypted is not defined here.
//!
//! There are three layers. A root key outside the database wraps App keys. An App key of an environment and purpose wraps one data key per
//! wallet, or encrypts small secrets under derived keys. A data key encrypts one private key. Associated data binds each layer to its
//! place.

use std::fmt;
use std::str::FromStr;

use crate::ids::{WalletId, WalletKeyId};
use crate::{Invalid, Timestamp, World};

/// The purpose of an App key. A key for one purpose decrypts nothing of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyPurpose {
    /// Wallets: data keys and the integrity of wallet rows.
    Wallets,
    /// Everything else: code hashes, outbox payloads, signing keys of sessions.
    Secrets,
    /// What remains of a destroyed version of `secrets`: the one subkey that made the MACs of the audit log. Those MACs are never
    /// recomputed, and this key decrypts nothing.
    PastAudit,
    /// What remains of the first version of `secrets` once there is a second: the one subkey that derives ids for contacts that do not
    /// exist. Those ids must not change with the keys, because that would reveal which contacts exist.
    Decoys,
    /// Signs checkpoints of the audit log. Only the built-in App has one, under the root key of wallets, so the sign-in key alone is not
    /// enough to create checkpoints.
    Audit,
}

impl KeyPurpose {
    /// The two purposes for which every world has a key from the start; each has its own root key.
    pub const ALL: [Self; 2] = [Self::Wallets, Self::Secrets];
    /// The purposes of keys that are derived from `secrets` and are more restricted.
    pub const NARROW: [Self; 2] = [Self::PastAudit, Self::Decoys];
    /// The purposes of keys that only the built-in App has.
    pub const OF_DEPLOYMENT: [Self; 1] = [Self::Audit];

    /// The name, which is part of the data that binds a wrapped key to its place. Never change one.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wallets => "wallets",
            Self::Secrets => "secrets",
            Self::PastAudit => "past-audit",
            Self::Decoys => "decoys",
            Self::Audit => "audit",
        }
    }

    /// The purpose whose root key wraps keys of this purpose.
    pub const fn root(self) -> Self {
        match self {
            Self::Wallets | Self::Audit => Self::Wallets,
            Self::Secrets | Self::PastAudit | Self::Decoys => Self::Secrets,
        }
    }
}

impl fmt::Display for KeyPurpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for KeyPurpose {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let known = Self::ALL.into_iter().chain(Self::NARROW);
        known
            .chain(Self::OF_DEPLOYMENT)
            .find(|purpose| purpose.as_str() == text)
            .ok_or_else(|| Invalid::value("purpose", "unknown App key purpose"))
    }
}

/// A key encrypted under a version of the root key.
#[derive(Clone, PartialEq, Eq)]
pub struct WrappedKey {
    /// The version of the root key that wrapped it.
    pub root_version: u32,
    /// Ciphertext, in the key provider's own format.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for WrappedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WrappedKey(root version {})", self.root_version)
    }
}

/// The key of one App, environment and purpose; the middle layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppKey {
    /// App and environment.
    pub world: World,
    /// The purpose.
    pub purpose: KeyPurpose,
    /// The version, from 1; the highest one is used for new data.
    pub version: u32,
    /// The key, wrapped by the root key.
    pub wrapped: WrappedKey,
    /// When it was created.
    pub created_at: Timestamp,
}

/// A stored private key of a wallet.
#[derive(Clone, PartialEq, Eq)]
pub struct WalletKey {
    /// The id.
    pub id: WalletKeyId,
    /// The wallet it signs for.
    pub wallet_id: WalletId,
    /// The public key, in the chain's own encoding (Ethereum: 33 bytes, SEC 1 compressed).
    pub public_key: Vec<u8>,
    /// Format of the envelope. It determines how the following bytes are parsed, and is itself authenticated.
    pub format: u32,
    /// Version of the App key that wraps the data key.
    pub key_version: u32,
    /// The data key, wrapped by the App key.
    pub wrapped_data_key: Vec<u8>,
    /// The private key, encrypted with the data key.
    pub ciphertext: Vec<u8>,
}

impl fmt::Debug for WalletKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "WalletKey({}, format {}, key version {})",
            self.id, self.format, self.key_version
        )
    }
}

/// A small secret, encrypted under an App key of purpose [`KeyPurpose::Secrets`].
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed {
    /// Version of the App key.
    pub key_version: u32,
    /// Nonce and ciphertext.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealed(key version {})", self.key_version)
    }
}

/// A MAC (HMAC-SHA-256) under an App key.
#[derive(Clone, PartialEq, Eq)]
pub struct Mac {
    /// Version of the App key.
    pub key_version: u32,
    /// 32 bytes.
    pub tag: Vec<u8>,
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mac(key version {})", self.key_version)
    }
}

/// The kind of a small secret that is encrypted or MACed. Each kind has its own key, derived from the App key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SecretKind {
    /// One-time passcodes (MAC only).
    Code,
    /// Payload of an outbox job, which contains the code until it is delivered.
    OutboxPayload,
    /// Private half of a session signing key.
    SigningKey,
    /// Pepper of a password hash.
    Password,
    /// Seed of an authenticator app.
    TotpSeed,
    /// Audit log entries and chain heads (MACs only).
    Audit,
    /// A recovery code of an authenticator app (encrypted, and as a MAC for lookups).
    RecoveryCode,
    /// The client secret of a connection to an identity provider (encrypted).
    ProviderSecret,
    /// Nonce and code verifier of a sign-in with an identity provider (encrypted).
    OauthFlow,
    /// The identity that a provider vouched for, with its tokens, until it is verified (encrypted).
    OauthIdentity,
    /// The secret that signs requests to a webhook endpoint (encrypted).
    WebhookSecret,
    /// The stored response to a request with an `Idempotency-Key` (encrypted), and that request (MAC).
    StoredResponse,
}

impl SecretKind {
    /// The label used in key derivation and associated data. Never change one.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::OutboxPayload => "outbox-payload",
            Self::SigningKey => "signing-key",
            Self::Password => "password",
            Self::TotpSeed => "totp-seed",
            Self::RecoveryCode => "recovery-code",
            Self::Audit => "audit",
            Self::ProviderSecret => "provider-secret",
            Self::OauthFlow => "oauth-flow",
            Self::OauthIdentity => "oauth-identity",
            Self::WebhookSecret => "webhook-secret",
            Self::StoredResponse => "kept-answer",
        }
    }
}

/// The place of an encrypted secret. It cannot be decrypted for any other place.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// App and environment.
    pub world: World,
    /// The kind of secret.
    pub kind: SecretKind,
    /// Id of the row that it belongs to.
    pub owner: &'a str,
}

/// Joins parts unambiguously: each part is preceded by its length (4 bytes, big-endian).
///
/// Used wherever several values go into one hash or one piece of associated data.
pub fn join_with_lengths<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    // Four times what a signature joins. Growing up to that size would reallocate half a dozen times.
    let mut joined = Vec::with_capacity(512);
    for part in parts {
        let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
        joined.extend_from_slice(&length.to_be_bytes());
        joined.extend_from_slice(part);
    }
    joined
}

impl Mac {
    /// Whether two MACs are equal, compared in constant time.
    pub fn matches(&self, other: &Self) -> bool {
        self.key_version == other.key_version
            && bool::from(subtle::ConstantTimeEq::ct_eq(
                self.tag.as_slice(),
                other.tag.as_slice(),
            ))
    }
}
