//! Passkeys (WebAuthn Level 3): their stored form, the challenges of their ceremonies, and the origins that may respond.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::domain_name::a_labels;
use crate::ids::{UserId, WebauthnCredentialId};
use crate::timestamp::Seconds;
use crate::token::TokenHash;
use crate::{Invalid, Timestamp, World};

mod origin;

pub use origin::{Origins, check_origin};

/// How long a challenge is valid (W-1); also the `timeout` sent to browsers.
pub const CHALLENGE_LIFETIME: Seconds = Seconds(300);
/// Length of a challenge in bytes (W-1 requires at least 16).
pub const CHALLENGE_BYTES: usize = 32;
/// Maximum length of a credential id in bytes (section 7.1, step 25).
pub const MAX_CREDENTIAL_ID: usize = 1023;
/// Maximum number of passkeys per user: the options of a ceremony list all their ids.
pub const MAX_PER_USER: usize = 50;

/// A relying party id: the domain to which browsers bind a passkey, in A-labels. `localhost`, or a name with a dot in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PasskeyDomain(String);

impl PasskeyDomain {
    /// The domain of the developer's own machine, always available in test worlds.
    pub const LOCALHOST: &'static str = "localhost";

    /// Checks a domain. Different spellings of one name are the same domain, because browsers bind passkeys to its A-labels.
    ///
    /// # Errors
    /// If it is not a host name, is an IP address, or has no dot.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        if text == Self::LOCALHOST {
            return Ok(Self(text.to_owned()));
        }
        let name = a_labels(text).filter(|name| name.contains('.'));
        name.map(Self).ok_or_else(|| {
            Invalid::value(
                "domain",
                "domain must be a host name such as example.com, without scheme, port or final dot",
            )
        })
    }

    /// The domain as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the developer's own machine.
    pub fn is_localhost(&self) -> bool {
        self.0 == Self::LOCALHOST
    }

    /// Whether a host is the domain or a subdomain of it.
    fn covers(&self, host: &str) -> bool {
        host.strip_suffix(self.0.as_str())
            .is_some_and(|front| front.is_empty() || front.ends_with('.'))
    }
}

impl fmt::Display for PasskeyDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for PasskeyDomain {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::parse(text)
    }
}

/// The kind of authenticator that the App requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AuthenticatorType {
    /// Built into the device.
    #[default]
    Platform,
    /// Portable, such as a security key or phone.
    CrossPlatform,
}

impl AuthenticatorType {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Platform, Self::CrossPlatform];

    /// `platform` or `cross-platform`; also `authenticatorAttachment` of WebAuthn.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::CrossPlatform => "cross-platform",
        }
    }
}

impl FromStr for AuthenticatorType {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| {
                Invalid::value(
                    "authenticator_type",
                    "authenticator_type must be platform or cross-platform",
                )
            })
    }
}

/// Whether the authenticator must verify the user with a PIN or a biometric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum UserVerification {
    /// If it can.
    #[default]
    Preferred,
    /// Always; responses without it are rejected.
    Required,
    /// Preferably not.
    Discouraged,
}

impl UserVerification {
    /// `userVerification` of WebAuthn.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Preferred => "preferred",
            Self::Required => "required",
            Self::Discouraged => "discouraged",
        }
    }
}

/// The purpose of a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ceremony {
    /// A passkey is created (`webauthn.create`).
    Registration,
    /// A passkey is used (`webauthn.get`).
    Authentication,
}

impl Ceremony {
    /// The stored name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Registration => "registration",
            Self::Authentication => "authentication",
        }
    }
}

impl FromStr for Ceremony {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        [Self::Registration, Self::Authentication]
            .into_iter()
            .find(|ceremony| ceremony.as_str() == text)
            .ok_or_else(|| {
                Invalid::value(
                    "ceremony",
                    "ceremony must be registration or authentication",
                )
            })
    }
}

/// The id by which authenticators know a user. It is random and therefore reveals nothing about the user (W-3).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct UserHandle(pub [u8; 32]);

/// Only `[redacted]`: it identifies a user across all devices.
impl fmt::Debug for UserHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// A pending challenge. Only the hash of the challenge is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyChallenge {
    /// The App and environment.
    pub world: World,
    /// SHA-256 of the challenge in its base64url form, as sent.
    pub hash: TokenHash,
    /// The purpose.
    pub ceremony: Ceremony,
    /// The user who must respond; `None` if the passkey identifies the user.
    pub user_id: Option<UserId>,
    /// The domain.
    pub domain: PasskeyDomain,
    /// The requested kind of authenticator.
    pub authenticator_type: AuthenticatorType,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
}

/// A passkey of a user.
#[derive(Clone, PartialEq, Eq)]
pub struct Passkey {
    /// The id.
    pub id: WebauthnCredentialId,
    /// The App and environment.
    pub world: World,
    /// The user that it belongs to.
    pub user_id: UserId,
    /// The authenticator's own id for it, 1 to 1023 bytes; unique in the world (W-3).
    pub credential_id: Vec<u8>,
    /// The public key, as a `COSE_Key` (RFC 9052).
    pub public_key: Vec<u8>,
    /// The authenticator's signature counter, or 0 if it does not count.
    pub sign_count: u32,
    /// Whether the key can be backed up (BE); never changes.
    pub backup_eligible: bool,
    /// Whether it was backed up when last used (BS).
    pub backed_up: bool,
    /// The relying party id that it is bound to.
    pub domain: PasskeyDomain,
    /// The requested kind of authenticator.
    pub authenticator_type: AuthenticatorType,
    /// The authenticator's transports, in WebAuthn's terms; a hint for browsers.
    pub transports: Vec<String>,
    /// The browser in which it was created, or `""` if the App did not say.
    pub user_agent: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When the record last changed.
    pub updated_at: Timestamp,
    /// When it was last used to sign in.
    pub last_used_at: Option<Timestamp>,
}

/// Without the browser and anything that identifies the authenticator.
impl fmt::Debug for Passkey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Passkey({} of {})", self.id, self.user_id)
    }
}

impl Passkey {
    /// Whether a new signature counter can follow the stored one. It must increase, unless the authenticator does not count (section 7.2,
    /// step 22). A counter that stays the same or decreases indicates a cloned key.
    pub const fn may_count(&self, sign_count: u32) -> bool {
        sign_count > self.sign_count || (sign_count == 0 && self.sign_count == 0)
    }
}

#[cfg(test)]
mod tests;
