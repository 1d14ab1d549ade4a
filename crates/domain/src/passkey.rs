//! Passkeys (WebAuthn Level 3): what is kept of one, the challenges of its ceremonies, and whom an answer may come from.

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

/// How long a challenge can be answered (W-1); also the `timeout` that browsers are told.
pub const CHALLENGE_LIFETIME: Seconds = Seconds(300);
/// Bytes of a challenge (W-1 asks for 16 at least).
pub const CHALLENGE_BYTES: usize = 32;
/// Longest credential id of an authenticator, in bytes (section 7.1, step 25).
pub const CREDENTIAL_ID_MAX: usize = 1023;
/// Most passkeys of one user: all their ids travel in the options of a ceremony.
pub const PER_USER_MAX: usize = 50;

/// A relying party id: the domain to which browsers bind a passkey, in A-labels. `localhost`, or a name with a dot in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PasskeyDomain(String);

impl PasskeyDomain {
    /// The domain of the developer's own machine. Test worlds have it without being told.
    pub const LOCALHOST: &'static str = "localhost";

    /// Checks a domain. Two spellings of one name are one domain: browsers bind passkeys to its A-labels.
    ///
    /// # Errors
    /// Not a host name, an address, or a name without a dot.
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

    /// Whether a host is the domain or below it.
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

/// Where the authenticator sits, as far as the App asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AuthenticatorType {
    /// Built into the device.
    #[default]
    Platform,
    /// A key or phone that is carried around.
    CrossPlatform,
}

impl AuthenticatorType {
    /// Both.
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

/// Whether the authenticator shall check who is using it, by a PIN or a biometric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum UserVerification {
    /// Where it can.
    #[default]
    Preferred,
    /// Always; an answer without it is refused.
    Required,
    /// Rather not.
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

/// What a challenge is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ceremony {
    /// A passkey is made (`webauthn.create`).
    Registration,
    /// A passkey is used (`webauthn.get`).
    Authentication,
}

impl Ceremony {
    /// As stored.
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

/// What authenticators know a user by: random, so that it says nothing about the user (W-3).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct UserHandle(pub [u8; 32]);

/// Only `[redacted]`: it follows a user through all devices.
impl fmt::Debug for UserHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// A challenge that waits for its answer. The challenge itself is not kept, only its hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyChallenge {
    /// The App and environment.
    pub world: World,
    /// SHA-256 of the challenge in the base64url form in which it travels.
    pub hash: TokenHash,
    /// What for.
    pub ceremony: Ceremony,
    /// Who has to answer it; `None` when the passkey shall tell.
    pub user_id: Option<UserId>,
    /// For which domain.
    pub domain: PasskeyDomain,
    /// What kind of authenticator was asked for.
    pub authenticator_type: AuthenticatorType,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it is dead.
    pub expires_at: Timestamp,
}

/// A passkey of a user.
#[derive(Clone, PartialEq, Eq)]
pub struct Passkey {
    /// The id.
    pub id: WebauthnCredentialId,
    /// The App and environment.
    pub world: World,
    /// Whose it is.
    pub user_id: UserId,
    /// The authenticator's own id of it, 1 to 1023 bytes; unique in the world (W-3).
    pub credential_id: Vec<u8>,
    /// The public key, as a `COSE_Key` (RFC 9052).
    pub public_key: Vec<u8>,
    /// The authenticator's count of signatures, or 0 where it does not count.
    pub sign_count: u32,
    /// Whether the key can leave the authenticator (BE); never changes.
    pub backup_eligible: bool,
    /// Whether it had left it when it was last used (BS).
    pub backed_up: bool,
    /// The relying party id it is bound to.
    pub domain: PasskeyDomain,
    /// What kind of authenticator was asked for.
    pub authenticator_type: AuthenticatorType,
    /// How the authenticator can be reached, in WebAuthn's words; a hint for browsers.
    pub transports: Vec<String>,
    /// The browser in which it was made, `""` where the App did not say.
    pub user_agent: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When the record last changed.
    pub updated_at: Timestamp,
    /// When somebody last signed in with it.
    pub last_used_at: Option<Timestamp>,
}

/// Without what identifies the authenticator, and without the browser.
impl fmt::Debug for Passkey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Passkey({} of {})", self.id, self.user_id)
    }
}

impl Passkey {
    /// Whether a new count of signatures may follow the stored one: it must grow, unless the authenticator does not count
    /// (section 7.2, step 22). One that stands still or falls tells of a copy of the key.
    pub const fn may_count(&self, sign_count: u32) -> bool {
        sign_count > self.sign_count || (sign_count == 0 && self.sign_count == 0)
    }
}

#[cfg(test)]
mod tests;
