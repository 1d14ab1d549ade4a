//! Encrypted things as they are stored: what they are, never how they are opened.
//!
//! Three layers: a root key outside the database wraps App keys; an App key of an environment and purpose wraps
//! one data key per wallet, or seals small secrets through derived keys; a data key encrypts one private key.
//! Each layer is bound to its place by associated data.

use std::fmt;
use std::str::FromStr;

use crate::ids::{WalletId, WalletKeyId};
use crate::{Invalid, Timestamp, World};

/// What an App key may be used for. A key of one purpose opens nothing of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyPurpose {
    /// Wallets: data keys and the integrity of wallet rows.
    Wallets,
    /// Everything else: code hashes, outbox payloads, signing keys of sessions.
    Secrets,
    /// What stays of a destroyed version of `secrets`: the one subkey under which the keyed hashes of the audit log were made. They
    /// are never made anew, and this key opens nothing.
    PastAudit,
    /// What stays of the first version of `secrets` once there is a second: the one subkey of which the ids of contacts are made that
    /// nobody has. They must not change when keys do, or the change would tell who exists.
    Decoys,
    /// Signs checkpoints of the audit log. Only the built-in App has one, under the root key of wallets: whoever holds the sign-in key
    /// alone can make none.
    Audit,
}

impl KeyPurpose {
    /// The two that every world has a key of from its first moment on; each has a root key of its own.
    pub const ALL: [Self; 2] = [Self::Wallets, Self::Secrets];
    /// Those of keys that are derived from one of `secrets` and can do less.
    pub const NARROW: [Self; 2] = [Self::PastAudit, Self::Decoys];
    /// Those of keys that only the built-in App has.
    pub const OF_DEPLOYMENT: [Self; 1] = [Self::Audit];

    /// Its name; part of what binds a wrapped key to its place. Never change one.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wallets => "wallets",
            Self::Secrets => "secrets",
            Self::PastAudit => "past-audit",
            Self::Decoys => "decoys",
            Self::Audit => "audit",
        }
    }

    /// The purpose whose root key wraps keys of this one.
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
            .ok_or_else(|| Invalid::value("purpose", "unknown purpose of an App key"))
    }
}

/// A key encrypted under a version of the root key.
#[derive(Clone, PartialEq, Eq)]
pub struct WrappedKey {
    /// Which root key wrapped it.
    pub root_version: u32,
    /// Ciphertext, in the key provider's own format.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for WrappedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WrappedKey(root version {})", self.root_version)
    }
}

/// Key of one App, environment and purpose; the middle layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppKey {
    /// App and environment.
    pub world: World,
    /// What it may be used for.
    pub purpose: KeyPurpose,
    /// Counts from 1; the highest is used for new things.
    pub version: u32,
    /// The key under the root key.
    pub wrapped: WrappedKey,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A wallet's private key as it is stored.
#[derive(Clone, PartialEq, Eq)]
pub struct WalletKey {
    /// The id.
    pub id: WalletKeyId,
    /// The wallet it signs for.
    pub wallet_id: WalletId,
    /// The public key, in the chain's own encoding (Ethereum: 33 bytes, SEC 1 compressed).
    pub public_key: Vec<u8>,
    /// Format of the envelope; decides how the bytes below are read and is itself authenticated.
    pub format: u32,
    /// Version of the App key that wraps the data key.
    pub key_version: u32,
    /// The data key under the App key.
    pub wrapped_data_key: Vec<u8>,
    /// The private key under the data key.
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

/// A small secret sealed under an App key of purpose [`KeyPurpose::Secrets`].
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

/// A keyed hash (HMAC-SHA-256) under an App key.
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

/// What kind of small secret is sealed or hashed; each gets a key of its own, derived from the App key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SecretKind {
    /// One-time passcodes (keyed hash only).
    Code,
    /// Payload of an outbox job: holds the code until it is delivered.
    OutboxPayload,
    /// Private half of a session signing key.
    SigningKey,
    /// Pepper over a password's hash.
    Password,
    /// Seed of an authenticator app.
    TotpSeed,
    /// An entry of the audit log, and the head of a chain of it (keyed hashes only).
    Audit,
    /// A recovery code of an authenticator app (sealed, and as keyed hash for the look-up).
    RecoveryCode,
    /// The client secret of a connection to an identity provider (sealed).
    ProviderSecret,
    /// Nonce and code verifier of a sign-in at an identity provider (sealed).
    OauthFlow,
    /// Whom an identity provider has vouched for, with its tokens, until it is verified (sealed).
    OauthIdentity,
    /// What requests to a webhook endpoint are signed with (sealed).
    WebhookSecret,
    /// The answer to a request with an `Idempotency-Key` (sealed), and that request (keyed hash).
    KeptAnswer,
}

impl SecretKind {
    /// Label in the key derivation and in the associated data. Never change one.
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
            Self::KeptAnswer => "kept-answer",
        }
    }
}

/// Where a sealed secret stands; opening it anywhere else fails.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// App and environment.
    pub world: World,
    /// What it is.
    pub kind: SecretKind,
    /// Id of the row it belongs to.
    pub owner: &'a str,
}

/// Joins parts so that no two different lists give the same bytes: each part is preceded by its length
/// (4 bytes, big-endian). Used wherever several values go into one hash or one piece of associated data.
pub fn join_with_lengths<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    // Enough for what a signature has joined, four times: growing to it would move it half a dozen times.
    let mut joined = Vec::with_capacity(512);
    for part in parts {
        let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
        joined.extend_from_slice(&length.to_be_bytes());
        joined.extend_from_slice(part);
    }
    joined
}

impl Mac {
    /// Whether two keyed hashes are the same, in constant time.
    pub fn matches(&self, other: &Self) -> bool {
        self.key_version == other.key_version
            && bool::from(subtle::ConstantTimeEq::ct_eq(
                self.tag.as_slice(),
                other.tag.as_slice(),
            ))
    }
}
