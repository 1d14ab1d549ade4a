//! Passwords: the presented form, the stored form, and the rules for accepting one.
//!
//! All code that reads a password's characters is here and in the adapters of the ports. None of it logs or prints them.

mod rules;

use std::fmt;

use unicode_normalization::UnicodeNormalization;

use crate::envelope::Sealed;
use crate::ids::UserId;
use crate::{Invalid, Secret, Timestamp, World};

pub use rules::Rules;

/// Maximum length of a password in bytes of UTF-8, as sent. Longer ones are rejected, never truncated (P-1, attack 21).
pub const MAX_BYTES: usize = 1024;

/// How the text of a password was converted to the hashed bytes; stored with every hash (P-3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Normalization {
    /// Unicode Normalization Form C, the form of RFC 8265 (OpaqueString). Two keyboards that encode the same letter differently produce the
    /// same password. Unlike NFKC, it never merges characters that people tell apart.
    Nfc,
    /// The UTF-8 of the text as sent. Hashes from other services are assumed to be of this kind.
    Raw,
}

impl Normalization {
    /// `nfc` or `raw`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nfc => "nfc",
            Self::Raw => "raw",
        }
    }
}

impl std::str::FromStr for Normalization {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "nfc" => Ok(Self::Nfc),
            "raw" => Ok(Self::Raw),
            _ => Err(Invalid::value(
                "password_normalization",
                "password_normalization must be nfc or raw",
            )),
        }
    }
}

/// A presented password, to be verified or set.
#[derive(Debug, Clone)]
pub struct Password {
    sent: Secret<String>,
    normalized: Secret<String>,
}

impl Password {
    /// Wraps a password as sent. An empty one is accepted here and fails verification like any other wrong one (P-10).
    ///
    /// # Errors
    /// If it has more than [`MAX_BYTES`] bytes.
    pub fn presented(param: &'static str, text: Secret<String>) -> Result<Self, Invalid> {
        if text.expose().len() > MAX_BYTES {
            return Err(Invalid::value(
                param,
                format!("{param} must have at most {MAX_BYTES} bytes"),
            ));
        }
        let normalized = Secret::new(text.expose().nfc().collect());
        Ok(Self {
            sent: text,
            normalized,
        })
    }

    /// The text in one of its forms.
    pub const fn in_form(&self, form: Normalization) -> &Secret<String> {
        match form {
            Normalization::Nfc => &self.normalized,
            Normalization::Raw => &self.sent,
        }
    }

    /// Whether the password is empty.
    pub fn is_empty(&self) -> bool {
        self.sent.expose().is_empty()
    }

    /// The length in code points of the normalized text (P-3).
    pub fn length(&self) -> usize {
        self.normalized.expose().chars().count()
    }
}

/// The hash of a password: a PHC-style string (`$argon2id$v=19$m=…,t=…,p=…$salt$hash`), and the form of the text that was hashed. Secret,
/// because a hash allows offline guessing.
#[derive(Clone)]
pub struct PasswordHash {
    /// The form of the hashed text.
    pub normalization: Normalization,
    /// Scheme, parameters, salt and hash. The hasher decides which ones are supported.
    pub text: Secret<String>,
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash([redacted])")
    }
}

impl PasswordHash {
    /// A hash of no password, of the usual length. It lets requests for unknown users do the same work as for known ones.
    pub fn of_nobody() -> Self {
        Self {
            normalization: Normalization::Nfc,
            text: Secret::new("-".repeat(97)),
        }
    }

    /// The bytes to encrypt: form, a colon, text.
    pub fn to_sealable(&self) -> Secret<Vec<u8>> {
        let form = self.normalization.as_str();
        let mut bytes = Vec::with_capacity(form.len() + 1 + self.text.expose().len());
        bytes.extend_from_slice(form.as_bytes());
        bytes.push(b':');
        bytes.extend_from_slice(self.text.expose().as_bytes());
        Secret::new(bytes)
    }

    /// The inverse of [`PasswordHash::to_sealable`]; `None` for any other bytes.
    pub fn from_sealable(bytes: &Secret<Vec<u8>>) -> Option<Self> {
        let text = std::str::from_utf8(bytes.expose()).ok()?;
        let (form, text) = text.split_once(':')?;
        Some(Self {
            normalization: form.parse().ok()?,
            text: Secret::new(text.to_owned()),
        })
    }
}

/// A stored password: the hash, encrypted under the App key, which acts as the pepper (P-5). The database alone gives an attacker nothing
/// to guess against. A new App key can be applied to old hashes without knowing any password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPassword {
    /// App and environment.
    pub world: World,
    /// The user that it belongs to.
    pub user_id: UserId,
    /// The encrypted [`PasswordHash`], bound to the user.
    pub sealed: Sealed,
    /// When a password was first set.
    pub created_at: Timestamp,
    /// When the hash was last written.
    pub updated_at: Timestamp,
}

/// The lockout subject of a user's password failures.
pub fn guarded_user(user: UserId) -> String {
    format!("password:{user}")
}

#[cfg(test)]
mod tests;
