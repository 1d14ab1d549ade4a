//! Keys for signing session JWTs, and when each of them is active or published.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::envelope::Sealed;
use crate::ids::SigningKeyId;
use crate::timestamp::Seconds;
use crate::{Invalid, Timestamp, World};

/// Signature algorithm of session JWTs (RFC 7518, RFC 8037). HMAC and `none` are deliberately not supported (S-8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
pub enum Algorithm {
    /// ECDSA on P-256 with SHA-256: short signatures, supported by every JWKS client.
    #[default]
    ES256,
    /// RSA 2048 PKCS#1 v1.5 with SHA-256.
    RS256,
    /// Ed25519.
    EdDSA,
}

impl Algorithm {
    /// The `alg` value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ES256 => "ES256",
            Self::RS256 => "RS256",
            Self::EdDSA => "EdDSA",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Algorithm {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "ES256" => Ok(Self::ES256),
            "RS256" => Ok(Self::RS256),
            "EdDSA" => Ok(Self::EdDSA),
            _ => Err(Invalid::value(
                "jwt_algorithm",
                "jwt_algorithm must be ES256, RS256 or EdDSA",
            )),
        }
    }
}

/// A signing key of one world. Its id is the `kid`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningKey {
    /// The id and `kid`.
    pub id: SigningKeyId,
    /// App and environment.
    pub world: World,
    /// The algorithm; each key has only one.
    pub algorithm: Algorithm,
    /// The public half as a JWK (RFC 7517) with `kid`, `alg` and `use`.
    pub public_jwk: Value,
    /// The private half (PKCS#8), encrypted.
    pub private: Sealed,
    /// When it was created and published.
    pub created_at: Timestamp,
    /// From when it is used for signing. Later than `created_at` after a rotation, so that verifiers have time to fetch it (S-13).
    pub active_from: Timestamp,
}

/// Maximum number of signing keys in one environment, with those that are no longer published.
pub const MAX_KEYS: usize = 100;
/// How long a new key is published before it is used: longer than any process or client caches the key set.
pub const PUBLISHED_BEFORE_USE: Seconds = Seconds(300);

/// The current signing key: the newest one that is active.
pub fn active(keys: &[SigningKey], now: Timestamp) -> Option<&SigningKey> {
    keys.iter()
        .filter(|key| key.active_from <= now)
        .max_by_key(|key| (key.active_from, key.id))
}

/// The keys that verifiers currently need: the active one, upcoming ones, and those replaced so recently that tokens signed with them can
/// still be valid.
pub fn published(keys: &[SigningKey], lifetime: Seconds, now: Timestamp) -> Vec<&SigningKey> {
    let current = active(keys, now).map(|key| key.active_from);
    keys.iter()
        .filter(|key| {
            let replaced_at = keys
                .iter()
                .map(|other| other.active_from)
                .filter(|from| *from > key.active_from)
                .min();
            current.is_none_or(|current| key.active_from >= current)
                || replaced_at
                    .is_some_and(|replaced| now < replaced + lifetime + PUBLISHED_BEFORE_USE)
        })
        .collect()
}

#[cfg(test)]
mod tests;
